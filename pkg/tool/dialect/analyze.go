package dialect

import (
	"context"
	"errors"

	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Analyze reads a run to its end and returns the report of a tool.
//
// The report is nil if there is none: the error is then about an argument
// (*ArgError), about the load level or about cfg.Memory, or wraps ErrNoExperiment,
// ErrNoTokenizer, ErrNotCounted or [export.ErrContradiction]. An error beside a report is the
// reader's, or the cause of ctx's end; the report then covers the requests that were read. The
// error also says that requests have numbers that cannot be true, which the report leaves out. A
// file at which the tool itself would have stopped is no error: the report warns about it.
func Analyze(ctx context.Context, t *Tool, r export.Reader, cfg Config) (Report, error) {
	checked := checked(cfg.Tokenizer)
	if checked != nil {
		cfg.Tokenizer = checked
	}
	r = export.Read(r, export.Need{Envelopes: true})
	if cfg.parts == nil {
		source := &turnReader{Reader: r}
		r, cfg.parts = source, &Parts{source: source}
	}
	rep, err := analyzeUnchecked(ctx, t, r, cfg)
	refused := checked.Err()
	if refused == nil && cfg.strict != nil {
		refused = cfg.strict.tokenizer.Err()
	}
	if refused != nil {
		return nil, refused
	}
	return rep, err
}

// analyzeUnchecked trusts every count of the tokenizer.
func analyzeUnchecked(ctx context.Context, t *Tool, r export.Reader, cfg Config) (Report, error) {
	in := Input{Config: cfg, Run: r.Run(), Explainer: newExplainer(r.Run(), cfg), Parts: cfg.parts, Brief: cfg.brief}
	if cfg.Memory == nil {
		cfg.Memory = NewMemory(0)
	}
	in.Values = cfg.Memory.store
	if cfg.Tokenizer == nil && cfg.Explain {
		in.Tokenizer, in.Uncounted = Uncounted(), true
	}
	if in.Tokenizer != nil {
		in.Special = len(in.Tokenizer.AddSpecial(nil))
	}
	var err error
	if in.Levels, err = t.Levels.Choose(in.Run, cfg.Level); err != nil {
		return nil, err
	}
	a, err := t.New(in)
	if err != nil {
		return nil, err
	}
	p := pass{analysis: a, at: -1, wanted: make([]bool, len(in.Run.Experiments)), sieve: sieve{bounds: answer.BoundsOf(in.Run)}}
	for i := range p.wanted {
		p.wanted[i] = t.Levels.ReadAll
	}
	for _, i := range in.Levels {
		p.wanted[i] = true
	}
	err = p.read(ctx, r)
	if errors.Is(err, ErrNoTokenizer) || errors.Is(err, export.ErrContradiction) {
		return nil, err
	}
	if s, ok := a.(scrapeReader); ok && err == nil {
		err = s.ReadScrapes(ctx, r)
	}
	if err == nil {
		err = p.sieve.err()
	}
	rep := a.Report()
	if lost := in.Values.Err(); lost != nil {
		return nil, lost
	}
	return rep, err
}

// A pass hands the requests of a run to an Analysis.
type pass struct {
	analysis Analysis
	wanted   []bool // by level
	at       int    // the level that is read; -1 before the first
	sieve    sieve
}

// read passes the requests of the wanted levels to their analyses.
func (p *pass) read(ctx context.Context, r export.Reader) error {
	err := Requests(ctx, r, func(level int, q *export.Request) error {
		p.advance(level)
		if !p.wanted[level] {
			return nil
		}
		q, ok := p.sieve.pass(q)
		if !ok {
			return nil
		}
		return p.analysis.Request(q)
	})
	if err == nil {
		err = r.Err()
	}
	p.advance(len(p.wanted))
	return err
}

// advance ends the levels before level and begins it.
func (p *pass) advance(level int) {
	for p.at < level {
		if p.at >= 0 && p.wanted[p.at] {
			p.analysis.End()
		}
		if p.at++; p.at < len(p.wanted) && p.wanted[p.at] {
			p.analysis.Begin(p.at)
		}
	}
}

// Requests calls f with each request of r and the index of its level, until f returns
// an error or ctx ends. It returns f's error or the cause of ctx's end, but not the
// reader's error: see r.Err.
func Requests(ctx context.Context, r export.Reader, f func(level int, q *export.Request) error) error {
	for n := 0; r.Next(); n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := f(r.Experiment(), r.Request()); err != nil {
			return err
		}
	}
	return nil
}

// Meter returns a Meter for tools that treat every answer as streamed. Such tools
// decide themselves which figures of other answers they print.
func Meter(run *export.Run) *answer.Meter {
	return answer.NewMeter(run, answer.Config{Streaming: new(true)})
}

// Meter returns what the function Meter returns for the run, and shares the decoding of answers with other tools.
func (in *Input) Meter() explain.Meter {
	m := Meter(in.Run)
	if in.answers == nil {
		return m
	}
	return &sharingMeter{m, in.answers}
}

// A sharingMeter measures answers that are decoded for several tools.
type sharingMeter struct {
	meter   *answer.Meter
	answers *answers
}

// Measure implements [explain.Meter].
func (s *sharingMeter) Measure(q *export.Request) *answer.Measured {
	if q != s.answers.decoded.source.Request() { // a copy without impossible numbers
		return s.meter.Measure(q)
	}
	return s.meter.MeasureAnswer(q, s.answers.current())
}

// newExplainer returns an Explainer of a run; nil unless cfg.Explain is set.
func newExplainer(run *export.Run, cfg Config) *explain.Explainer {
	switch {
	case !cfg.Explain:
		return nil
	case cfg.strict != nil:
		return explain.NewExplainer(cfg.strict, cfg.kinds)
	}
	var counter answer.TokenCounter
	if cfg.Tokenizer != nil {
		counter = tokenCounter{cfg.Tokenizer}
	}
	return explain.NewExplainer(answer.NewMeter(run, answer.Config{Counter: counter, Streaming: cfg.Streaming}), new(explain.Kinds))
}

// tokenCounter makes a Tokenizer an answer.TokenCounter.
type tokenCounter struct{ t Tokenizer }

func (c tokenCounter) CountTokens(text []byte) (int, error) { return c.t.Count(string(text)), nil }
