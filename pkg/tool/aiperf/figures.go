package aiperf

import (
	"math"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// statedFigures lists the tags whose figures are copied from AIPerf's own records, not computed.
var statedFigures = []string{
	"http_req_blocked", "http_req_dns_lookup", "http_req_connecting", "http_req_sending", "http_req_waiting", "http_req_receiving",
	"http_req_connection_reused", "http_req_data_sent", "http_req_chunks_sent", "http_req_data_received", "http_req_chunks_received",
	"http_req_connection_overhead", "http_req_duration", "http_req_total",
	"usage_reasoning_tokens", cacheRead, "reasoning_token_count", "osl_mismatch_diff_pct",
	promptDiff, completionDiff, "usage_reasoning_tokens_diff_pct",
}

// addFigures adds the figures of a request other than its times and lengths. It takes them from
// AIPerf's record, or computes what another file allows.
func (a *analysis) addFigures(r *record, q *export.Request, m *answer.Measured) {
	if s := q.Stated; s != nil && s.Figures != nil {
		for _, tag := range statedFigures {
			if v, ok := s.Figures[tag]; ok {
				if scale := a.release.column(tag).scale(); scale != 1 {
					v = math.Round(v / scale)
				}
				r.figures[tag] = v
			}
		}
		return
	}
	r.addHTTPFigures(q)
	u := usageOf(m)
	if r.hasUsage && u.Reasoning.OK {
		r.figures["usage_reasoning_tokens"] = float64(u.Reasoning.V)
	}
	if r.hasUsage && u.Cached.OK {
		r.figures[cacheRead] = float64(u.Cached.V)
	}
	if r.hasReasoning {
		r.figures["reasoning_token_count"] = float64(r.reasoning)
	}
	if n, ok := requestedTokens(a.parts.JSONPayload(q)); ok && r.hasOutput {
		r.figures["osl_mismatch_diff_pct"] = float64(r.output-n) / float64(n) * 100
	}
	if a.fromUsage || !r.hasUsage {
		return
	}
	differ := func(tag string, server, client int64) {
		if client != 0 {
			r.figures[tag] = math.Abs(float64(server-client)) / float64(client) * 100
		}
	}
	if r.hasInput {
		differ(promptDiff, r.usage[0], r.input)
	}
	if r.hasOutput {
		differ(completionDiff, r.usage[1], r.output)
	}
	if r.hasReasoning && u.Reasoning.OK {
		differ("usage_reasoning_tokens_diff_pct", u.Reasoning.V, r.reasoning)
	}
}

// addHTTPFigures adds the parts of an HTTP exchange from the times that pa-record
// recorded. It recorded no bytes on the wire and no sent chunks.
func (r *record) addHTTPFigures(q *export.Request) {
	if !q.HasMeta || q.SentNS < q.StartNS || q.FirstByteNS < q.SentNS || q.SentNS == 0 || len(q.Responses) == 0 {
		return
	}
	connecting, reused := float64(q.Connect+q.TLS), 0.0
	if q.Reused {
		connecting, reused = 0, 1
	}
	last := q.Responses[len(q.Responses)-1]
	dns, sending, waiting, receiving := float64(q.DNS), float64(q.SentNS-q.StartNS), float64(q.FirstByteNS-q.SentNS), 0.0
	if last.Read > 0 && last.RecvNS > q.FirstByteNS {
		receiving = float64(last.RecvNS - q.FirstByteNS)
	}
	f := r.figures
	f["http_req_blocked"], f["http_req_dns_lookup"], f["http_req_connecting"] = 0, dns, connecting
	f["http_req_sending"], f["http_req_waiting"], f["http_req_receiving"] = sending, waiting, receiving
	f["http_req_connection_reused"] = reused
	f["http_req_chunks_received"] = float64(last.Read) + 1
	f["http_req_connection_overhead"] = dns + connecting
	f["http_req_duration"] = float64(max(last.RecvNS, q.FirstByteNS) - q.StartNS)
	f["http_req_total"] = dns + connecting + sending + waiting + receiving
}

// discrepant reports whether the server's counts differ from AIPerf's by more than the
// limit; ok is false if there are no such differences of both prompt and completion.
func (r *record) discrepant(limits *release) (yes, ok bool) {
	prompt, ok1 := r.figures[promptDiff]
	completion, ok2 := r.figures[completionDiff]
	return max(prompt, completion, r.figures["usage_reasoning_tokens_diff_pct"]) > float64(limits.usagePct), ok1 && ok2
}

// mismatched reports whether the answer's length differs from the requested length by
// more than the limits; ok is false if no length was requested.
func (r *record) mismatched(limits *release) (yes, ok bool) {
	pct, ok := r.figures["osl_mismatch_diff_pct"]
	if !ok {
		return false, false
	}
	if r.output == 0 { // the requested length is not in the percentage, and does not matter
		return true, true
	}
	wanted := math.Round(float64(r.output) / (1 + pct/100))
	return math.Abs(float64(r.output)-wanted) > min(wanted*float64(limits.mismatchPct)/100, float64(limits.mismatchTokens)), true
}

// A tally counts the requests with a known answer to a question, and the yeses among
// them.
type tally struct{ yes, known int }

func (t *tally) add(yes, ok bool) {
	if ok {
		t.known++
		if yes {
			t.yes++
		}
	}
}
