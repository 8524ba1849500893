package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
)

// experimentFlag chooses load levels.
func experimentFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "experiment", Usage: "only this load `LEVEL`: 8, concurrency:8, request_rate:2.5 (repeatable)", Category: "What to count"}
}

// A loaded is what load levels have in common, analyzed or read to be compared.
type loaded struct {
	mode, value string
	problem     error // why the level lacks the part asked for
}

func ofExperiment(e *analyze.Experiment) loaded { return loaded{e.Mode, e.Value, e.Problem} }

func ofLevel(l *diff.Level) loaded { return loaded{l.Mode, l.Value, l.Problem} }

// chosen returns those of all levels of a file that were asked for, "8" or
// "concurrency:8", compared as numbers, and that have the part asked for. The
// error names levels that are not there, or says why others lack the part; what
// is returned is good all the same.
func chosen[L any](path string, all []L, of func(*L) loaded, levels []string) ([]L, error) {
	asked := make([]bool, len(all))
	for _, level := range levels {
		found := false
		for i := range all {
			if of(&all[i]).is(level) {
				asked[i], found = true, true
			}
		}
		if !found {
			var have []string
			for i := range all {
				have = append(have, of(&all[i]).String())
			}
			return nil, fmt.Errorf("%s: no load level %q; there is %s", path, level, sanitize.Text(strings.Join(have, ", ")))
		}
	}
	var those, keep []L
	for i := range all {
		if len(levels) == 0 || asked[i] {
			those = append(those, all[i])
		}
	}
	var errs []error
	for i := range those {
		switch l := of(&those[i]); {
		case l.problem == nil:
			keep = append(keep, those[i])
		case len(those) == 1:
			errs = append(errs, named(path, l.problem))
		default:
			errs = append(errs, named(path+": "+l.String(), l.problem))
		}
	}
	return keep, errors.Join(errs...)
}

// String returns "concurrency:8".
func (l loaded) String() string { return l.mode + ":" + l.value }

// is reports whether the level is the one named.
func (l loaded) is(level string) bool {
	mode, value, ok := strings.Cut(level, ":")
	if !ok {
		mode, value = l.mode, level
	}
	if mode != l.mode {
		return false
	}
	x, err1 := strconv.ParseFloat(value, 64)
	y, err2 := strconv.ParseFloat(l.value, 64)
	if err1 != nil || err2 != nil {
		return value == l.value
	}
	return x == y // 10 and 10.0 are the same level
}
