package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// ExperimentFlag returns --experiment, which chooses load levels.
func ExperimentFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "experiment", Usage: "only this load `LEVEL`: 8, concurrency:8, request_rate:2.5 (repeatable)", Category: "Counting"}
}

// A Level is a load level that was read.
type Level struct {
	export.Experiment       // its Mode and Value
	Problem           error // why the level lacks the part of the run that was asked for
}

// OfExperiment returns the Level of an analyzed experiment.
func OfExperiment(e *analyze.Experiment) Level {
	return Level{export.Experiment{Mode: e.Mode, Value: e.Value}, e.Problem}
}

// OfLevel returns the Level of a load level of a comparison.
func OfLevel(l *diff.Level) Level {
	return Level{export.Experiment{Mode: l.Mode, Value: l.Value}, l.Problem}
}

// Chosen returns the levels of a file that were asked for ("8" or "concurrency:8",
// compared as numbers) and that have the part of the run that was asked for. If a level
// does not exist, Chosen returns no levels and an error that names it. Levels that lack
// the part are left out and explained in the error; the levels returned with that error
// can be used. Chosen moves the levels that it returns to the front of all.
func Chosen[L any](path string, all []L, of func(*L) Level, levels []string) ([]L, error) {
	asked := make([]bool, len(all))
	for _, level := range levels {
		found := false
		for i := range all {
			if l := of(&all[i]); dialect.ParseLevel(level).Matches(&l.Experiment) {
				asked[i], found = true, true
			}
		}
		if !found {
			var have []string
			for i := range all {
				have = append(have, of(&all[i]).String())
			}
			return nil, fmt.Errorf("%s: no load level %q; the file has %s", path, level, sanitize.Text(strings.Join(have, ", ")))
		}
	}
	selected := all
	if len(levels) > 0 {
		selected = all[:0]
		for i := range all {
			if asked[i] {
				selected = append(selected, all[i])
			}
		}
	}
	keep := selected[:0]
	var errs []error
	for i := range selected {
		switch l := of(&selected[i]); {
		case l.Problem == nil:
			keep = append(keep, selected[i])
		case len(selected) == 1:
			errs = append(errs, Named(path, l.Problem))
		default:
			errs = append(errs, Named(path+": "+l.String(), l.Problem))
		}
	}
	return keep, errors.Join(errs...)
}

// String returns "concurrency:8".
func (l Level) String() string { return l.Mode + ":" + l.Value }
