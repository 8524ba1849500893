package figure

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/export"
)

// answeredRequest returns a request that started at a second, and whose tokens came at others.
func answeredRequest(start float64, tokens ...float64) export.Request {
	var pieces []string
	for range tokens {
		pieces = append(pieces, memrun.Delta("x"))
	}
	q := memrun.OpenAI(pieces...)
	q.StartNS = uint64(start * 1e9)
	for i, s := range tokens {
		q.Responses[i].RecvNS = uint64(s * 1e9)
	}
	return q
}

// A level is judged by the percentiles of its own requests: warm-up and other levels do not
// count, and failures only by their share.
func TestJudge(t *testing.T) {
	objective, err := expr.ParseLevelObjective("ttft_p50<=200ms && itl_max<=1s && tpot_mean<1s && output_tokens_min>=2")
	if err != nil {
		t.Fatal(err)
	}
	kind, endpoint := "openai", "v1/chat/completions"
	j := NewObjectiveJudge(objective, &export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{Streaming: new(true)}})
	warm := answeredRequest(1, 9, 19)
	warm.Phase = export.PhaseWarmup
	failed := answeredRequest(1, 9, 19)
	failed.Status = export.StatusTimeout
	many := func(n int, q export.Request) (all []export.Request) {
		for range n {
			all = append(all, q)
		}
		return all
	}
	for _, tt := range []struct {
		name     string
		requests []export.Request
		want     Verdict
	}{
		{"met", []export.Request{answeredRequest(1, 1.125, 1.25), answeredRequest(1, 1.25, 1.5), answeredRequest(2, 2.0625, 2.5, 3)}, Verdict{true, "ttft_p50 125 ms, itl_max 500 ms, tpot_mean 281.2 ms, output_tokens_min 2"}},
		{"the next level begins anew", []export.Request{answeredRequest(1, 1.5, 1.75)}, Verdict{false, "ttft_p50 500 ms, itl_max 250 ms, tpot_mean 250 ms, output_tokens_min 2"}},
		{"warm-up", []export.Request{warm, answeredRequest(1, 1.125, 1.25)}, Verdict{true, "ttft_p50 125 ms, itl_max 125 ms, tpot_mean 125 ms, output_tokens_min 2"}},
		{"a gap is too long", []export.Request{answeredRequest(1, 1.125, 2.25)}, Verdict{false, "ttft_p50 125 ms, itl_max 1125 ms, tpot_mean 1125 ms, output_tokens_min 2"}},
		{"some fail", append(many(99, answeredRequest(1, 1.125, 1.25)), failed), Verdict{true, "ttft_p50 125 ms, itl_max 125 ms, tpot_mean 125 ms, output_tokens_min 2"}},
		{"many fail", append(many(98, answeredRequest(1, 1.125, 1.25)), failed, failed), Verdict{false, "ttft_p50 125 ms, itl_max 125 ms, tpot_mean 125 ms, output_tokens_min 2, 2 of 100 requests failed"}},
		{"all fail", many(2, failed), Verdict{false, "ttft_p50 unknown, itl_max unknown, tpot_mean unknown, output_tokens_min unknown, 2 of 2 requests failed"}},
		{"no gap", []export.Request{answeredRequest(1, 1.125)}, Verdict{false, "ttft_p50 125 ms, itl_max unknown, tpot_mean unknown, output_tokens_min 1"}},
		{"nothing", nil, Verdict{false, "ttft_p50 unknown, itl_max unknown, tpot_mean unknown, output_tokens_min unknown"}},
	} {
		for i := range tt.requests {
			j.Add(&tt.requests[i])
		}
		met := j.Met()
		if got := j.Verdicts[len(j.Verdicts)-1]; got != tt.want || met != tt.want.Met {
			t.Errorf("%s: %v, %+v, want %+v", tt.name, met, got, tt.want)
		}
	}
}

// A search over an objective of percentiles has bounds: levels that surely meet it, and that surely
// do not.
func TestJudgedMaxLoad(t *testing.T) {
	kind, endpoint := "openai", "v1/chat/completions"
	failed := answeredRequest(1, 9, 19)
	failed.Status = export.StatusTimeout
	// A level has so many requests, of which some are slow to begin, some have a slow gap and some
	// fail, in turn.
	type level struct {
		load                    float64
		n, late, stalled, fails int
	}
	for _, tt := range []struct {
		name, objective string
		levels          []level
		within, beyond  string // "": none
		low, high       float64
		na              string
		none            bool
	}{
		{"found", "ttft_p90<=200ms", []level{{1, 500, 5, 0, 0}, {16, 500, 400, 0, 0}, {8, 500, 150, 0, 0}, {4, 500, 10, 0, 0}}, "4", "8", 4.5, 6.5, "", false},
		{"the lowest of two", "ttft_p90<=200ms && itl_p90<=300ms", []level{{1, 500, 5, 5, 0}, {2, 500, 5, 10, 0}, {4, 500, 5, 200, 0}, {8, 500, 200, 200, 0}}, "2", "4", 2, 3, "", false},
		{"few requests", "ttft_p90<=200ms", []level{{1, 20, 0, 0, 0}, {2, 20, 0, 0, 0}}, "", "", 0, 0, "no level surely attains or misses the target", false},
		{"not surely at the limit", "ttft_p90<=200ms", []level{{1, 100, 0, 0, 0}, {2, 100, 11, 0, 0}}, "1", "", 1, 2, "no level surely misses the target", false},
		{"requests fail", "ttft_p90<=200ms", []level{{1, 1000, 0, 0, 0}, {2, 1000, 0, 0, 0}, {4, 1000, 0, 0, 300}}, "2", "4", 2, 3, "", false},
		{"no request has a gap", "itl_p90<=300ms && ttft_p90<=200ms", []level{{1, 500, 0, 0, 0}, {2, 500, 0, -1, 0}}, "1", "2", 1, 2, "", false},
		{"a mean", "ttft_mean<=200ms", []level{{1, 100, 0, 0, 0}, {2, 100, 100, 0, 0}}, "", "", 0, 0, "", true},
		{"one level", "ttft_p90<=200ms", []level{{1, 100, 0, 0, 0}}, "", "", 0, 0, "", true},
	} {
		objective, err := expr.ParseLevelObjective(tt.objective)
		if err != nil {
			t.Fatal(err)
		}
		j := NewObjectiveJudge(objective, &export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{Streaming: new(true)}})
		var loads []LoadLevel
		random := rand.New(rand.NewPCG(1, 1))
		for _, l := range tt.levels {
			late, stalled, fails := random.Perm(l.n), random.Perm(l.n), random.Perm(l.n)
			for i := range l.n {
				begin, gap := 1.1, 0.1
				if late[i] < l.late {
					begin = 1.5
				}
				if stalled[i] < l.stalled {
					gap = 0.5
				}
				q := answeredRequest(1, begin, begin+gap)
				if l.stalled < 0 {
					q = answeredRequest(1, begin)
				}
				if fails[i] < l.fails {
					q = failed
				}
				j.Add(&q)
			}
			j.Met()
			loads = append(loads, LoadLevel{Load: l.load, Value: strconv.FormatFloat(l.load, 'f', -1, 64)})
		}
		m := j.MaxLoad(export.ModeConcurrency, loads)
		if m == nil || tt.none {
			if (m == nil) != tt.none {
				t.Errorf("%s: %+v", tt.name, m)
			}
			continue
		}
		named := func(l *LoadLevel) string {
			if l == nil {
				return ""
			}
			return l.Value
		}
		if named(m.Within) != tt.within || named(m.Beyond) != tt.beyond || m.NA != tt.na ||
			math.IsNaN(m.Estimate) != (tt.high == 0) || m.Estimate < tt.low || tt.high > 0 && m.Estimate > tt.high {
			t.Errorf("%s: %+v, within %q, beyond %q", tt.name, m, named(m.Within), named(m.Beyond))
		}
	}
}
