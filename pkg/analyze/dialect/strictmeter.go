package dialect

import (
	"reflect"
	"sync"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A strictMeter measures each request once for all tools that compare with the same strict
// measures. The tools read the requests in lockstep.
type strictMeter struct {
	source    *turnReader
	answers   *answers
	tokenizer *CheckedTokenizer // nil: without one

	mu       sync.Mutex
	meter    *answer.Meter
	measured *answer.Measured // of the request number turn
	turn     int
}

// Measure returns the strict measures of the current request.
func (s *strictMeter) Measure(q *export.Request) *answer.Measured {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != s.source.turn {
		s.measured, s.turn = s.meter.MeasureAnswer(q, s.answers.of(q)), s.source.turn
	}
	return s.measured
}

// An answers decodes the answer to each request once for all strictMeters.
type answers struct {
	source *turnReader

	mu      sync.Mutex
	decoder answer.Decoder
	answer  *answer.Answer // to the request number turn
	turn    int
}

// of returns the answer to the current request.
func (a *answers) of(q *export.Request) *answer.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn != a.source.turn {
		a.answer, a.turn = a.decoder.Decode(q), a.source.turn
	}
	return a.answer
}

// A strictMeters finds or makes the strictMeter of a tool.
type strictMeters struct {
	source  *turnReader
	answers *answers
	all     map[strictConfig]*strictMeter
}

func newStrictMeters(source *turnReader) *strictMeters {
	return &strictMeters{
		source:  source,
		answers: &answers{source: source, decoder: answer.NewDecoder(source.Run(), true)},
		all:     map[strictConfig]*strictMeter{},
	}
}

// A strictConfig holds what the strict measures depend on.
type strictConfig struct {
	tokenizer          Tokenizer
	known, isStreaming bool
}

// of returns the strictMeter for a Config; nil if no other tool can share it.
func (s *strictMeters) of(cfg Config) *strictMeter {
	key := strictConfig{tokenizer: cfg.Tokenizer, known: cfg.Streaming != nil}
	key.isStreaming = key.known && *cfg.Streaming
	if cfg.Tokenizer != nil && !reflect.TypeOf(cfg.Tokenizer).Comparable() {
		return nil
	}
	m := s.all[key]
	if m == nil {
		m = &strictMeter{source: s.source, answers: s.answers, tokenizer: Checked(cfg.Tokenizer)}
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

func (r *turnReader) Skipped(experiment int) (counted, excluded int) {
	return export.Skipped(r.Reader, experiment)
}
