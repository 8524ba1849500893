package dialect

import (
	"context"
	"errors"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/dialect/explain"
	"github.com/pa-tools/pa/pkg/export"
)

// Strict is the name of the dialect that package analyze itself is: its definitions
// are those of this project.
const Strict = "strict"

// Define reads a run once and returns what the strict definitions and each tool give
// for one load level: first the strict side, then the tools in their order. config
// returns the Config of a tool; Explain is set. The side of a tool that makes no report
// has a remark that says why. The error is the one that the strict analysis met.
func Define(ctx context.Context, r export.Reader, level int, tools []*Tool, config func(*Tool) Config, strict analyze.Config) ([]explain.Side, error) {
	sides := make([]explain.Side, 1+len(tools))
	consumers := []func(export.Reader) error{func(r export.Reader) error {
		rep, err := analyze.Run(ctx, r, strict)
		sides[0].Dialect = Strict
		if level < len(rep.Experiments) {
			sides[0].Definitions = explain.Strict(rep, &rep.Experiments[level])
		}
		return err
	}}
	for i, t := range tools {
		side, cfg := &sides[1+i], config(t)
		side.Dialect, cfg.Explain = t.Name, true
		if t.SkipsTokenizer {
			cfg.Tokenizer = nil
		}
		consumers = append(consumers, func(r export.Reader) error {
			rep, err := Analyze(ctx, t, r, cfg)
			d, ok := rep.(explain.Definer)
			switch {
			case ok:
				side.Definitions, side.Remarks = d.Definitions(), d.Remarks()
			case err != nil: // the other tools may still report
				side.Remarks = []string{"n/a: " + err.Error()}
			}
			return nil // the strict analysis meets the same error of the reader
		})
	}
	return sides, errors.Join(Tee(r, consumers)...)
}
