package dialect

import (
	"context"
	"errors"
	"reflect"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Strict is the name of the dialect with this project's own definitions, which package
// analyze implements.
const Strict = "strict"

// Define reads a run once and returns the figures of one load level by the
// dialect strict and by each tool: first the strict side, then the tools in their order.
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
	parts, kinds := &Parts{source: source}, explain.NewKinds(func() int { return source.turn })
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
		side.Dialect, cfg.Explain, cfg.brief = t.Name, true, true
		if t.SkipsTokenizer {
			cfg.Tokenizer = nil
		}
		cfg.strict, cfg.kinds, cfg.answers, cfg.parts = meters.meter(cfg), kinds, meters.answers, parts
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
	return sides, errors.Join(Tee(source, consumers)...)
}

// A strictMeter measures each request once for all tools that compare with the same strict
// measures. The tools read the requests in lockstep.
type strictMeter struct {
	answers   *answers
	tokenizer *checkedTokenizer // nil: without one
	meter     *answer.Meter
	measured  perTurn[*answer.Measured]
}

// Measure returns the strict measures of the current request.
func (s *strictMeter) Measure(q *export.Request) *answer.Measured {
	return s.measured.get(func() *answer.Measured { return s.meter.MeasureAnswer(q, s.answers.current()) })
}

// An answers decodes the answer to each request once for the strict analysis and all
// strictMeters.
type answers struct {
	decoder answer.Decoder
	decoded perTurn[*answer.Answer]
}

// current returns the answer to the current request.
func (a *answers) current() *answer.Answer {
	return a.decoded.get(func() *answer.Answer { return a.decoder.Decode(a.decoded.source.Request()) })
}

// A perTurn is a value that is computed once for each request, when the first consumer needs it.
type perTurn[T any] struct {
	source *turnReader
	turn   int // of value
	value  T
}

func (p *perTurn[T]) get(compute func() T) T {
	if p.turn != p.source.turn {
		p.value, p.turn = compute(), p.source.turn
	}
	return p.value
}

// A strictMeters finds or makes the strictMeter of a tool.
type strictMeters struct {
	source  *turnReader
	answers *answers
	all     map[strictConfig]*strictMeter
}

// newStrictMeters returns a strictMeters. keepText says that tokens of answers are counted.
func newStrictMeters(source *turnReader, keepText bool) *strictMeters {
	return &strictMeters{
		source:  source,
		answers: &answers{decoder: answer.NewDecoder(source.Run(), keepText), decoded: perTurn[*answer.Answer]{source: source}},
		all:     map[strictConfig]*strictMeter{},
	}
}

// A strictConfig holds what the strict measures depend on.
type strictConfig struct {
	tokenizer          Tokenizer
	known, isStreaming bool
}

// meter returns the strictMeter for a Config; nil if no other tool can share it.
func (s *strictMeters) meter(cfg Config) *strictMeter {
	key := strictConfig{tokenizer: cfg.Tokenizer, known: cfg.Streaming != nil}
	key.isStreaming = key.known && *cfg.Streaming
	if cfg.Tokenizer != nil && !reflect.TypeOf(cfg.Tokenizer).Comparable() {
		return nil
	}
	m := s.all[key]
	if m == nil {
		m = &strictMeter{answers: s.answers, tokenizer: checked(cfg.Tokenizer), measured: perTurn[*answer.Measured]{source: s.source}}
		m.meter = answer.NewMeter(s.source.Run(), answer.Config{Counter: m.tokenizer.counter(), Streaming: cfg.Streaming})
		s.all[key] = m
	}
	return m
}

// A turnReader numbers the requests that it reads.
type turnReader struct {
	export.Reader
	turn int // number of the current request, from 1
}

func (r *turnReader) Next() bool {
	r.turn++
	return r.Reader.Next()
}
