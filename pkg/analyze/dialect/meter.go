package dialect

import (
	"github.com/pa-tools/pa/pkg/analyze/dialect/explain"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Meter returns a Meter for tools that treat every answer as streamed. Such tools
// decide themselves which figures of other answers they print.
func Meter(run *export.Run) *answer.Meter {
	streamed := true
	return answer.NewMeter(run, answer.Config{Streaming: &streamed})
}

// NewExplainer returns an Explainer of a run; nil unless cfg.Explain is set.
func NewExplainer(run *export.Run, cfg Config) *explain.Explainer {
	if !cfg.Explain {
		return nil
	}
	var counter answer.TokenCounter
	if cfg.Tokenizer != nil {
		counter = tokenCounter{cfg.Tokenizer}
	}
	return explain.NewExplainer(run, counter, cfg.Streaming)
}

// tokenCounter is a Tokenizer as package analyze has it.
type tokenCounter struct{ t Tokenizer }

func (c tokenCounter) CountTokens(text []byte) (int, error) { return c.t.Count(string(text)), nil }
