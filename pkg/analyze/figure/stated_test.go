package figure_test

import (
	"math"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// Rates over a stated duration are the stated numbers divided by it; what is not stated has no rate.
func TestStated(t *testing.T) {
	for _, tt := range []struct {
		name   string
		totals *export.StatedTotals
		want   []float64 // in the order of statedFigures, NaN for n/a; nil for no figures
	}{
		{"all", &export.StatedTotals{DurationS: 4, Requests: new(int64(2)), InputTokens: new(int64(8)), OutputTokens: new(int64(6))}, []float64{4, 0.5, 1.5, 3.5}},
		{"no input tokens", &export.StatedTotals{DurationS: 4, Requests: new(int64(2)), OutputTokens: new(int64(6))}, []float64{4, 0.5, 1.5, math.NaN()}},
		{"a duration only", &export.StatedTotals{DurationS: 4}, []float64{4, math.NaN(), math.NaN(), math.NaN()}},
		{"numbers near the limit", &export.StatedTotals{DurationS: 1, InputTokens: new(int64(math.MaxInt64)), OutputTokens: new(int64(math.MaxInt64))}, []float64{1, math.NaN(), math.MaxInt64, math.MaxInt64}},
		{"no duration", &export.StatedTotals{Requests: new(int64(2))}, nil},
		{"a negative duration", &export.StatedTotals{DurationS: -1}, nil},
		{"a duration that is no number", &export.StatedTotals{DurationS: math.NaN()}, nil},
		{"longer than a year", &export.StatedTotals{DurationS: 1e9}, nil},
		{"a negative count", &export.StatedTotals{DurationS: 1, Requests: new(int64(-1))}, nil},
		{"nothing", nil, nil},
	} {
		x := figure.NewStated(tt.totals)
		if (x == nil) != (tt.want == nil) {
			t.Errorf("%s: %+v", tt.name, x)
			continue
		}
		for i, want := range tt.want {
			f := &x.Figures[i]
			if math.IsNaN(want) != (f.Why != "") || f.Why == "" && f.Value != want {
				t.Errorf("%s: %s is %v, %q, want %v", tt.name, f.Key, f.Value, f.Why, want)
			}
		}
	}
}
