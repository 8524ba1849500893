package analyze

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A request without its outputs has an end-to-end latency and nothing that
// rests on tokens: a response may have been a role, a usage or the end.
func TestOutputsDropped(t *testing.T) {
	dropped := at(1000, 1010, 1030, 1060)
	dropped.NoOutputs, dropped.HasMeta, dropped.OutputsDropped = false, true, true
	whole := openaiRequest(
		`data: {"choices":[{"index":0,"delta":{"content":"a"}}]}`+"\n\n",
		`data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}`+"\n\n",
	)
	rep, err := Run(context.Background(), reader("openai", []export.Request{whole, dropped}), Config{})
	if err != nil {
		t.Fatal(err)
	}
	e := &rep.Experiments[0]
	if n := e.Metric(answer.TTFT).N; n != 1 || e.Metric(answer.E2EL).N != 2 || e.Metric(answer.OutputTokens).N != 1 {
		t.Errorf("%d TTFT, %d latencies, %d token counts; want 1, 2, 1", n, e.Metric(answer.E2EL).N, e.Metric(answer.OutputTokens).N)
	}
	if tp := e.Throughput; !tp.Requests.OK || tp.OutputTokens.OK || tp.TotalTokens.OK || tp.OutputTokensPerUser.OK {
		t.Errorf("throughput %+v, want requests alone: half of the tokens are not known", tp)
	}
	if !slices.ContainsFunc(e.Warnings, func(w error) bool {
		return strings.Contains(w.Error(), "1 of 2 requests lost outputs")
	}) {
		t.Errorf("warnings %v do not tell", e.Warnings)
	}
}
