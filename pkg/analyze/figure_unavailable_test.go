package analyze

import (
	"math"
	"slices"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A report says why there are no metrics of tokens.
func TestNumbersHoldNoTokens(t *testing.T) {
	for endpoint, why := range map[string]string{
		"v1/embeddings": "embeddings hold no tokens",
		"v1/ranking":    "rankings hold no tokens",
		"rerank":        "rankings hold no tokens",
		"pooling":       "pooled values hold no tokens",
		"score":         "scores hold no tokens",
	} {
		var keys []string
		for _, u := range figure.UnavailableIn(&export.Run{Endpoint: &endpoint}) {
			if keys = append(keys, u.Key); u.Why != why {
				t.Errorf("%s: %s is n/a because %q, want %q", endpoint, u.Key, u.Why, why)
			}
		}
		want := metricsBut(answer.E2EL, answer.InputTokens, answer.ReasoningTokens, answer.CachedTokens)
		if !slices.Equal(keys, want) {
			t.Errorf("%s: n/a are %v, want %v", endpoint, keys, want)
		}
	}
	chat := "v1/chat/completions"
	if all := figure.UnavailableIn(&export.Run{Endpoint: &chat}); len(all) > 0 {
		t.Errorf("n/a of chat: %v", all)
	}
}

// metricsBut returns the keys of the strict metrics but some.
func metricsBut(some ...answer.Metric) []string {
	var keys []string
	for i := range answer.StrictMetrics {
		if m := answer.StrictMetrics[i].Metric; !slices.Contains(some, m) {
			keys = append(keys, m.Key())
		}
	}
	return keys
}

// tolerance is relative: stats.Mean and stats.StandardDeviation sum in floats.
const tolerance = 1e-12

func close12(a, b float64) bool {
	return a == b || math.Abs(a-b) <= tolerance*math.Max(math.Abs(a), math.Abs(b))
}
