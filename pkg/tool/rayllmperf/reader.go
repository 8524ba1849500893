package rayllmperf

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// LLMPerf writes an array with an object for each request, in the order in which they ended:
//
//	[{"error_code":N|null,"error_msg":S,"inter_token_latency_s":T,"ttft_s":T,"end_to_end_latency_s":T,
//	  "request_output_throughput_token_per_s":R,"number_total_tokens":N,"number_output_tokens":N,"number_input_tokens":N},…]
//
// T are seconds. A request that failed has an error code, −1 for a failure without a status, and no latency.

const (
	toolName   = "Ray LLMPerf"
	suffix     = "individual_responses.json"
	formatName = toolName + " " + suffix
)

// wrongITL says what is wrong with the tool's inter-token latency.
const wrongITL = "LLMPerf's inter_token_latency_s is not a gap between tokens: it is the time from the start to the last token, " +
	"divided by the number of tokens or, in newer releases, of events"

// ResultFile describes the files of LLMPerf.
func ResultFile() resultfile.Kind {
	return resultfile.Kind{Name: formatName, Sniff: sniff, Open: open, Stated: []resultfile.Statement{statement()}, Beside: []resultfile.Neighbour{
		{Is: isSummary, What: "the summary of " + toolName, Holds: "statistics", Give: "the file …_" + suffix + " from the same folder"},
	}}
}

func sniff(o *resultfile.Outline) bool {
	return o.Array && o.Has("error_code", "ttft_s", "end_to_end_latency_s")
}

type fileRequest struct {
	ErrorCode  json.RawMessage `json:"error_code"` // a number, or the text that the server gave in an event
	ErrorMsg   string          `json:"error_msg"`
	ITL        *float64        `json:"inter_token_latency_s"`
	TTFT       *float64        `json:"ttft_s"`
	Latency    *float64        `json:"end_to_end_latency_s"`
	Throughput *float64        `json:"request_output_throughput_token_per_s"`
	Output     *int64          `json:"number_output_tokens"`
	Input      *int64          `json:"number_input_tokens"`
}

// failed reports whether the request failed.
func (q *fileRequest) failed() bool {
	return len(q.ErrorCode) > 0 && string(q.ErrorCode) != "null" || q.ErrorMsg != ""
}

// open reads the file up to its first request.
func open(f *resultfile.File) (*export.Run, resultfile.Source, error) {
	c, err := f.Start()
	if err == nil {
		err = resultfile.Enter(c, '[', "the document")
	}
	if err != nil {
		return nil, nil, err
	}
	const firstAndEnd = "LLMPerf keeps the first token and the end of a request"
	return &export.Run{
		Experiments: make([]export.Experiment, 1),
		ServiceKind: new("openai"),
		Meta: &export.RunMeta{
			Schema: export.Schema, Tool: toolName, Streaming: new(true),
			Import: &export.Import{Format: formatName, Lacks: []export.Lack{
				{Part: export.PartStarts, Why: "LLMPerf does not keep when requests were sent"},
				{Part: export.PartGaps, Why: firstAndEnd},
				{Part: export.PartLast, Why: firstAndEnd},
				{Part: export.PartTexts, Why: "LLMPerf keeps no texts"},
				{Part: export.PartInputs, Why: "LLMPerf does not keep what was sent"},
			}},
			Warnings: []string{wrongITL, "LLMPerf counts tokens with the tokenizer of Llama 2, whatever the model is"},
		},
	}, &source{Requests: resultfile.Requests{C: c}, file: f}, nil
}

// source is the source of the array.
type source struct {
	resultfile.Requests
	file   *resultfile.File
	totals *totals
	// failures says that a request of the file failed.
	failures bool
}

// Next implements resultfile.Source.
func (s *source) Next(r *export.Request) (int, error) {
	var q fileRequest
	at, err := s.NextRequest(r, &q)
	if err != nil {
		return 0, err
	}
	if bad := q.request(r); bad != nil {
		bad.At = at
		return 0, bad
	}
	s.totals.add(&q)
	s.failures = s.failures || q.failed()
	return 0, nil
}

// Notes implements noter.
func (s *source) Notes() []string {
	if s.failures {
		return nil
	}
	return []string{"no request failed, or LLMPerf left them out: in newer releases a failed request ends its client and is in no file"}
}

// request fills in r.
func (q *fileRequest) request(r *export.Request) *resultfile.BadEntry {
	r.StartNS, r.StartSource = resultfile.SyntheticStart, export.SourceUser
	r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
	r.Stated = &export.Stated{InputTokens: q.Input}
	if q.failed() {
		code := 0
		if json.Unmarshal(q.ErrorCode, &code) != nil || code < 300 || code > 599 {
			code = 0
		}
		resultfile.Fail(r, code, q.ErrorMsg)
		r.Stated.ErrorType = strings.Trim(string(q.ErrorCode), `"`)
		return nil
	}
	if q.Latency == nil {
		return &resultfile.BadEntry{Msg: "end_to_end_latency_s is missing"}
	}
	whole, ok := resultfile.Nanoseconds(*q.Latency)
	if !ok {
		return resultfile.BadTime(0, "end_to_end_latency_s", *q.Latency)
	}
	r.Stated.OutputTokens = q.Output
	if q.TTFT == nil || *q.TTFT == 0 { // no chunk had text
		resultfile.Respond(r, r.StartNS+whole, nil)
		r.Stated.Silent = []int{0}
		return nil
	}
	first, ok := resultfile.Nanoseconds(*q.TTFT)
	if !ok || first > whole {
		return resultfile.BadTime(0, "ttft_s", *q.TTFT)
	}
	resultfile.Respond(r, r.StartNS+first, nil)
	resultfile.Respond(r, r.StartNS+whole, nil)
	r.Responses[1].Final = true
	return nil
}

// Check compares the figures of the summary. The file itself states none.
func (s *source) Check(c *resultfile.SelfCheck) {
	if s.totals == nil {
		return
	}
	t := s.totals
	computed := map[string]float64{
		"num_requests_started": float64(t.started), "num_completed_requests": float64(t.started - t.errors),
		"number_errors": float64(t.errors), "error_rate": float64(t.errors) / float64(t.started),
	}
	for i, name := range metrics {
		if !t.stored.Kept.Partial() { // the figures are of all requests
			t.spreads[i].Figures(computed, t.stored, name, statistic)
		}
	}
	c.File = t.stored.File
	t.stored.Compare(c, computed)
	t.stored.Rest(c)
}

// statistic returns a statistic as pandas computes it.
func statistic(s resultfile.Sample, name string) float64 {
	if n := float64(len(s)); name == "stddev" {
		return s.Stat("std") * math.Sqrt(n/(n-1))
	}
	return s.Stat(name)
}
