package aiperf

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// The parts of an exchange that pa-record noted, in ns from 1000.
func TestExchange(t *testing.T) {
	noted := func(change func(q *export.Request)) *export.Request {
		q := &export.Request{
			HasMeta: true, StartNS: 1000, SentNS: 1010, FirstByteNS: 1100, DNS: 3 * time.Nanosecond, Connect: 20 * time.Nanosecond, TLS: 30 * time.Nanosecond,
			Responses: []export.Response{{RecvNS: 1100}, {RecvNS: 1150, Read: 1}, {RecvNS: 1150, Read: 1}},
		}
		change(q)
		return q
	}
	tags := []string{
		"http_req_blocked", "http_req_dns_lookup", "http_req_connecting", "http_req_sending", "http_req_waiting", "http_req_receiving",
		"http_req_connection_reused", "http_req_chunks_received", "http_req_connection_overhead", "http_req_duration", "http_req_total",
	}
	with := func(values ...float64) map[string]float64 {
		all := map[string]float64{}
		for i, v := range values {
			all[tags[i]] = v
		}
		return all
	}
	for _, tt := range []struct {
		name string
		q    *export.Request
		want map[string]float64
	}{
		{"a new connection", noted(func(*export.Request) {}), with(0, 3, 50, 10, 90, 50, 0, 2, 53, 150, 203)},
		{"one that is there", noted(func(q *export.Request) { q.Reused, q.DNS = true, 0 }), with(0, 0, 0, 10, 90, 50, 1, 2, 0, 150, 150)},
		{"one read", noted(func(q *export.Request) { q.Responses = q.Responses[:1] }), with(0, 3, 50, 10, 90, 0, 0, 1, 53, 100, 153)},
		{"no response", noted(func(q *export.Request) { q.Responses = nil }), with()},
		{"nothing noted of what was sent", noted(func(q *export.Request) { q.SentNS = 0 }), with()},
		{"the first byte before the last of the request", noted(func(q *export.Request) { q.FirstByteNS = 1005 }), with()},
		{"not of pa-record", noted(func(q *export.Request) { q.HasMeta = false }), with()},
	} {
		r := record{figures: map[string]float64{}}
		r.addHTTPFigures(tt.q)
		if d := cmp.Diff(tt.want, r.figures); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
	}
}

// An answer is of another length when it is off by more than 5 %, or by more than
// 50 tokens.
func TestMismatched(t *testing.T) {
	for _, tt := range []struct {
		wanted, output int64
		yes            bool
	}{{100, 105, false}, {100, 106, true}, {100, 94, true}, {1000, 1050, false}, {2000, 2051, true}, {2000, 2050, false}, {3, 3, false}, {3, 2, true}, {7, 0, true}} {
		r := record{output: tt.output, figures: map[string]float64{}}
		if _, ok := r.mismatched(releases[0]); ok {
			t.Error("there is a mismatch of nothing")
		}
		r.figures["osl_mismatch_diff_pct"] = float64(tt.output-tt.wanted) / float64(tt.wanted) * 100
		yes, ok := r.mismatched(releases[0])
		if yes != tt.yes || !ok {
			t.Errorf("%d tokens for %d: %v, %v, want %v", tt.output, tt.wanted, yes, ok, tt.yes)
		}
	}
}

// Limits are the most of a time and the least of a rate, in the units that are
// printed.
func TestGood(t *testing.T) {
	r := &record{latency: 500e6, ttft: 100e6, ttfo: -1, gaps: []int64{200e6, 200e6}, input: 5, hasInput: true, output: 9, hasOutput: true}
	for _, tt := range []struct {
		limits string
		want   bool
	}{
		{"request_latency:500", true},
		{"request_latency:499.9", false},
		{"time_to_first_token:100 time_to_second_token:200 decode_duration:400", true},
		{"inter_token_latency:50", true},
		{"inter_token_latency:49", false},
		{"output_token_throughput_per_user:20", true},
		{"output_token_throughput_per_user:20.1", false},
		{"e2e_output_token_throughput:18 prefill_throughput_per_user:50", true},
		{"output_sequence_length:9 input_sequence_length:5 output_token_count:9", true},
		{"output_sequence_length:10", false},
		{"request_latency:1 request_latency:500", true}, // the last one counts
		{"time_to_first_output_token:1000", false},      // there is none
		{"usage_total_tokens:1", false},
		{"http_req_waiting:90", false},
		{"request_count:0", false}, // not of a request
	} {
		a := &analysis{release: releases[0]}
		a.c.streamed = true
		var err error
		if a.cfg.Goodput, err = dialect.ParseLimits(tt.limits); err != nil {
			t.Fatal(err)
		}
		if got, _ := a.good(r); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.limits, got, tt.want)
		}
	}
	err := releases[0].checkGoodput([]dialect.Limit{{Metric: "ttft"}})
	if err == nil || !strings.Contains(err.Error(), "Unknown metric tag(s) in --goodput: ttft.") {
		t.Errorf("an unknown metric: %v", err)
	}
}

// An export of requests without any usage: lengths are the tokenizer's, and what
// was asked for is in the payload.
func TestAskedFor(t *testing.T) {
	text := `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` +
		`{"timestamp":1000,"request_inputs":{"payload":"{\"messages\":[{\"content\":\"a b\"}],\"max_tokens\":4,\"stream\":true}"},"response_timestamps":[2000,3000],` +
		`"response_outputs":[{"response":"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"x y\"}}]}\n\n"},{"response":"data: {\"choices\":[{\"delta\":{\"content\":\"z\"}}]}\n\n"}]}` +
		`],"window_boundaries":[]}],"version":"1","service_kind":"openai","endpoint":"v1/chat/completions"}`
	r, err := profilejson.NewReader(context.Background(), "run.json", strings.NewReader(text), int64(len(text)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := reportOf(r, dialect.Config{Tokenizer: words{}, Goodput: []dialect.Limit{{Metric: "reasoning_token_count", Value: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]float64{
		outputLength: 3, inputLength: 2, "reasoning_token_count": 2, "output_token_count": 1, "total_reasoning_tokens": 2,
		"osl_mismatch_diff_pct": -25, "osl_mismatch_count": 1, goodCount: 1, "good_request_fraction": 1, "time_to_first_output_token": 0.002,
	} {
		if m := rep.Metric(tag); m == nil || m.Avg != want {
			t.Errorf("%s: %+v, want %v", tag, m, want)
		}
	}
	for _, tag := range []string{"usage_prompt_tokens", "usage_discrepancy_count", "http_req_waiting"} {
		if m := rep.Metric(tag); m != nil {
			t.Errorf("there is a %s: %v", tag, m.Avg)
		}
	}
}

// words is a tokenizer that counts words.
type words struct{}

func (words) Count(text string) int            { return len(strings.Fields(text)) }
func (words) AddSpecial(ids []uint32) []uint32 { return ids }
