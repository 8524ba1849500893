package figure

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/export"
)

// The loads to measure next lie within the interval, are few, and have not been measured.
func TestNextLoads(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		name           string
		mode           string
		loads          []float64
		within, beyond float64 // 0: none
		low, high      float64
		want           []float64
	}{
		{"whole numbers", export.ModeConcurrency, []float64{4, 8}, 4, 8, 5.2, 7.1, []float64{5, 6, 7}},
		{"many whole numbers", export.ModeConcurrency, []float64{1, 128, 256}, 128, 256, 131, 239, []float64{150, 180, 210}},
		{"large whole numbers", export.ModeConcurrency, []float64{128, 136}, 128, 136, 130.5, 132.5, []float64{130, 131, 132}},
		{"neighbours", export.ModeConcurrency, []float64{6, 7}, 6, 7, 6.1, 6.8, nil},
		{"rates", export.ModeRequestRate, []float64{40, 60}, 40, 60, 48, 56, []float64{49.9, 51.8, 53.9}},
		{"rates in a wide interval", export.ModeRequestRate, []float64{32, 64}, 32, 64, 42, 55, []float64{45, 48, 51}},
		{"a rate that was measured", export.ModeRequestRate, []float64{32, 48.2, 64}, 32, 64, 42, 55, []float64{45, 51}},
		{"all attain", export.ModeRequestRate, []float64{2.5, 5}, 5, 0, 5, inf, []float64{10, 20}},
		{"none attains", export.ModeRequestRate, []float64{2.5, 5}, 0, 2.5, -inf, 2.5, []float64{0.63, 1.3}},
		{"none attains, one at a time", export.ModeConcurrency, []float64{1, 2}, 0, 1, -inf, 1, nil},
		{"no bound", export.ModeConcurrency, []float64{1, 2}, 0, 0, -inf, inf, nil},
	} {
		m := MaxLoad{Mode: tt.mode, Interval: inference.Interval{Low: tt.low, High: tt.high}}
		var levels []LoadLevel
		for _, load := range tt.loads {
			levels = append(levels, LoadLevel{Load: load, Value: strconv.FormatFloat(load, 'f', -1, 64)})
		}
		if tt.within > 0 {
			m.Within = &LoadLevel{Load: tt.within}
		}
		if tt.beyond > 0 {
			m.Beyond = &LoadLevel{Load: tt.beyond}
		}
		if got := m.between(levels); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
