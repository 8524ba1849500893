package analyze

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// An Unavailable is a metric, or a rate, that no request of a run can have,
// because the file, one of another tool, does not hold what it is made of.
type Unavailable struct {
	Key  string // as in JSON: "itl_ns", "throughput"
	Name string // for people: "ITL", "rates"
	Why  string
}

// unavailable lists them for a run, in the order of a report.
func unavailable(run *export.Run) []Unavailable {
	var all []Unavailable
	numbers := ""
	if run.Endpoint != nil {
		numbers, _ = openai.Numbers(*run.Endpoint)
	}
	for i := range Strict {
		d := &Strict[i]
		if numbers != "" && d.ofTokens && !d.rare {
			all = append(all, Unavailable{d.Key, d.Name, numbers + " hold no tokens"})
			continue
		}
		if why, lacks := run.Lacks(d.needs); lacks {
			all = append(all, Unavailable{d.Key, d.Name, why})
		}
	}
	if why, lacks := run.Lacks(export.PartStarts); lacks {
		all = append(all, Unavailable{"throughput", "rates", why})
	}
	return all
}

// placed reports why a run has no parts and no windows, if it was asked for
// some: its requests are at no known time.
func placed(run *export.Run, cfg Config) error {
	why, lacks := run.Lacks(export.PartStarts)
	if !lacks || cfg.Selection.wholeLevel() && cfg.Windows == (Windows{}) {
		return nil
	}
	return fmt.Errorf("no part of it can be chosen: %s", why)
}
