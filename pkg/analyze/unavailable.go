package analyze

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// An Unavailable is a metric or a rate that has no value in a run, with the reason: the
// file of another tool lacks its inputs, or answers hold no tokens.
type Unavailable struct {
	Key  string // as in JSON: "itl_ns", "throughput"
	Name string // for people: "ITL", "rates"
	Why  string
}

// unavailable returns the metrics and rates that run cannot have, in the order of a
// report.
func unavailable(run *export.Run) []Unavailable {
	var all []Unavailable
	numbers := ""
	if run.Endpoint != nil {
		numbers, _ = openai.Numbers(*run.Endpoint)
	}
	for i := range Strict {
		d := &Strict[i]
		if numbers != "" && d.ofTokens && !d.rare {
			all = append(all, Unavailable{d.Key(), d.Label(), numbers + " hold no tokens"})
			continue
		}
		if why, lacks := run.Lacks(d.needs); lacks {
			all = append(all, Unavailable{d.Key(), d.Label(), why})
		}
	}
	if why, lacks := run.Lacks(export.PartStarts); lacks {
		all = append(all, Unavailable{"throughput", "rates", why})
	}
	return all
}

// placed returns an error if cfg asks for a part or for windows of a run whose requests
// have no known times, or to leave out the pauses of single ranks.
func placed(run *export.Run, cfg Config) error {
	if m := run.Meta; cfg.Selection.WithoutPauses && m != nil && m.Merged != nil && len(m.Pauses) > 0 {
		return fmt.Errorf("the pause of one rank cannot be left out of a merged run: the other ranks went on; leave out the shard of rank %d instead", m.Pauses[0].Rank)
	}
	why, lacks := run.Lacks(export.PartStarts)
	if !lacks || cfg.Selection.wholeLevel() && cfg.Windows == (Windows{}) {
		return nil
	}
	return fmt.Errorf("no part of it can be chosen: %s", why)
}
