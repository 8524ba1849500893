package workload

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestPossibleHits checks which blocks of a prompt an earlier request had left in a cache.
func TestPossibleHits(t *testing.T) {
	type request struct {
		start, end float64 // s; end 0 for unknown
		scope      string
		tokens     int
		ids        []int64
	}
	for _, tt := range []struct {
		name string
		all  []request
		want []Hit
	}{
		{"prompts that grow", []request{{0, 1, "", 8, []int64{1, 2}}, {2, 3, "", 12, []int64{1, 2, 3}}, {4, 5, "", 8, []int64{1, 4}}}, []Hit{{0, 2}, {2, 3}, {1, 2}}},
		{"one that has not ended", []request{{0, 5, "", 8, []int64{1, 2}}, {2, 3, "", 8, []int64{1, 2}}, {4, 6, "", 8, []int64{1, 2}}}, []Hit{{0, 2}, {0, 2}, {2, 2}}},
		{"ends that are not known", []request{{0, 0, "", 8, []int64{1, 2}}, {0, 0, "", 8, []int64{1, 2}}}, []Hit{{0, 2}, {2, 2}}},
		{"not in order of time", []request{{3, 4, "", 8, []int64{1, 2}}, {0, 1, "", 4, []int64{1}}}, []Hit{{1, 2}, {0, 1}}},
		{"a run from the first block", []request{{0, 1, "", 12, []int64{1, 2, 3}}, {2, 3, "", 12, []int64{9, 2, 3}}}, []Hit{{0, 3}, {0, 3}}},
		{"more ids than blocks, and fewer", []request{{0, 1, "", 10, []int64{1, 2, 3}}, {2, 3, "", 15, []int64{1, 2, 3, 4}}, {4, 5, "", 40, []int64{1, 2, 3, 4}}, {6, 7, "", 3, []int64{1}}}, []Hit{{0, 2}, {3, 3}, {4, 4}, {0, 0}}},
		{"other scopes", []request{{0, 1, "a", 8, []int64{1, 2}}, {2, 3, "b", 8, []int64{1, 2}}, {4, 5, "a", 8, []int64{1, 2}}}, []Hit{{0, 2}, {0, 2}, {2, 2}}},
	} {
		s := &Session{Blocks: func(i int) Blocks {
			return Blocks{Scope: tt.all[i].scope, Size: 4, IDs: tt.all[i].ids, Tokens: tt.all[i].tokens}
		}}
		for _, r := range tt.all {
			seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
			s.Nodes = append(s.Nodes, Node{Past: Span{Known: true, Start: seconds(r.start), Ended: r.end > 0, End: seconds(r.end)}})
		}
		if got := PossibleHits(s); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := PossibleHits(&Session{Nodes: make([]Node, 2)}); !slices.Equal(got, make([]Hit, 2)) {
		t.Errorf("without blocks: %v", got)
	}
}

// Random sessions of few scopes, ids and times have the hits of the definition.
func TestPossibleHitsOfRandomSessions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		nodes, blocks := make([]Node, r.IntN(12)), []Blocks{}
		for i := range nodes {
			start := time.Duration(r.IntN(20))
			nodes[i].Past = Span{Known: true, Start: start, Ended: r.IntN(4) > 0, End: start + time.Duration(r.IntN(6))}
			b := Blocks{Scope: string(rune('a' + r.IntN(2))), Size: 1}
			for k := range r.IntN(6) {
				b.IDs = append(b.IDs, int64(k*(1+r.IntN(2))))
			}
			b.Tokens = r.IntN(len(b.IDs) + 2)
			blocks = append(blocks, b)
		}
		got := PossibleHits(&Session{Nodes: nodes, Blocks: func(i int) Blocks { return blocks[i] }})
		for i, b := range blocks {
			want := Hit{Total: len(b.Full())}
			for _, id := range b.Full() {
				held := slices.ContainsFunc(nodesBefore(nodes, i), func(k int) bool {
					return blocks[k].Scope == b.Scope && slices.Contains(blocks[k].IDs, id) && nodes[k].Past.end() <= nodes[i].Past.Start
				})
				if !held {
					break
				}
				want.Hit++
			}
			if got[i] != want {
				t.Fatalf("request %d of %+v, %+v: %v, want %v", i, nodes, blocks, got[i], want)
			}
		}
	}
}

// nodesBefore returns the nodes that were sent before node i.
func nodesBefore(nodes []Node, i int) (before []int) {
	for k := range nodes {
		if nodes[k].Past.Start < nodes[i].Past.Start || nodes[k].Past.Start == nodes[i].Past.Start && k < i {
			before = append(before, k)
		}
	}
	return before
}
