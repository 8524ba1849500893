package validate

import (
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// findRanks finds with which requests and ranks the requests of a file are compared. The result
// files of other tools have no ids of ours.
func (v *validator) findRanks(run *export.Run, cfg Config) {
	m := run.Meta
	if m == nil || m.Import != nil {
		return
	}
	if v.seen, v.file = cfg.Requests, cfg.File; v.seen == nil {
		rank := shards.AnyRank
		if m.Shard != nil {
			rank = m.Shard.Rank
		}
		v.seen = new(shards.Requests)
		v.file = v.seen.File("the file", rank)
	}
	if m.Merged != nil {
		v.ranks = map[int]bool{}
		for _, s := range m.Merged.Shards {
			v.ranks[s.Rank] = true
		}
	}
}

// place checks that a request stands once, and in a file of its rank.
func (v *validator) place(q *export.Request) {
	if v.seen == nil {
		return
	}
	if err := v.seen.Add(v.file, q); err != nil {
		v.say("%v", err)
	}
	if v.ranks != nil && q.HasMeta && !v.ranks[q.Rank] {
		v.say("rank %d sent the request, but the run was merged from shards of other ranks", q.Rank)
	}
}
