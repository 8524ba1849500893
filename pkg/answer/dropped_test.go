package answer

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// A request without its outputs has an end-to-end latency and nothing that
// rests on tokens: a response may have been a role, a usage or the end.
func TestOutputsDropped(t *testing.T) {
	dropped := at(1000, 1010, 1030, 1060)
	dropped.NoOutputs, dropped.HasMeta, dropped.OutputsDropped = false, true, true
	for _, want := range []TokenSource{TokenAuto, TokenResponses, TokenUsage} {
		m := NewMeter(&export.Run{}, Config{TokenSource: want})
		q := m.Measure(&dropped)
		if !q.Counted || q.OutputTokens.OK || q.TokenSource != TokenAuto || q.TTFT.OK || len(q.Gaps) != 0 || q.E2EL != export.IntOf(60) {
			t.Errorf("--token-source %v: %+v; want an end-to-end latency of 60 alone", want, q)
		}
	}
}
