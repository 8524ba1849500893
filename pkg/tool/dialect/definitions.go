package dialect

import (
	"context"
	"errors"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Strict is the name of the dialect with this project's own definitions, which package
// analyze implements.
const Strict = "strict"

// Define reads a run once and returns the figures of one load level by the strict
// definitions and by each tool: first the strict side, then the tools in their order.
// config returns the Config of a tool; Define sets its Explain. If a tool makes no report,
// a remark on its side says why. The error comes from the strict analysis.
func Define(ctx context.Context, r export.Reader, level int, tools []*Tool, config func(*Tool) Config, strict analyze.Config) ([]explain.Side, error) {
	source := &turnReader{Reader: export.Read(r, export.Need{Envelopes: true})}
	configs := make([]Config, len(tools))
	keepText := strict.Counter != nil
	for i, t := range tools {
		configs[i] = config(t)
		keepText = keepText || configs[i].Tokenizer != nil
	}
	meters := newStrictMeters(source, keepText)
	strict.Decode = func(*export.Request) *answer.Answer { return meters.answers.current() }
	joined := &joinedRequests{perTurn: perTurn[*export.Request]{source: source}}
	outputs := &Outputs{source: source}
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
		side, cfg := &sides[1+i], configs[i]
		side.Dialect, cfg.Explain = t.Name, true
		if t.SkipsTokenizer {
			cfg.Tokenizer = nil
		}
		cfg.strict, cfg.outputs = meters.of(cfg), outputs
		consumers = append(consumers, func(r export.Reader) error {
			if !t.Envelopes {
				r = &joiningReader{r, joined}
			}
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
	return sides, errors.Join(Tee(source, consumers)...)
}
