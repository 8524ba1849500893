package sheet

import (
	"math"
	"testing"
	"unicode/utf8"
)

func TestSparkline(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		name   string
		values []float64
		width  int
		want   string
	}{
		{"none", nil, 10, ""},
		{"no room", []float64{1, 2}, 0, ""},
		{"less than no room", []float64{1, 2}, -1, ""},
		{"one value", []float64{3}, 10, "█"},
		{"all zero", []float64{0, 0, 0}, 10, "▁▁▁"},
		{"eighths", []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}, 9, "▁▂▃▄▅▆▇██"},
		{"constant: full, because columns stand on 0", []float64{5, 5, 5}, 3, "███"},
		{"below 0", []float64{-4, 8}, 2, "▁█"},
		{"absent", []float64{8, nan, 4}, 3, "█ ▅"},
		{"infinite", []float64{8, inf, -inf, 4}, 4, "█  ▅"},
		{"all absent", []float64{nan, nan}, 3, "  "},
		{"a peak stays when columns join values", []float64{1, 1, 1, 8, 1, 1, 1, 1}, 2, "█▂"},
		{"seven values in three columns", []float64{1, 1, 8, 1, 1, 1, 4}, 3, "▂█▅"},
		{"an absent value beside others", []float64{nan, 8, 8, nan}, 2, "██"},
		{"huge", []float64{math.MaxFloat64, math.MaxFloat64 / 2}, 2, "█▅"},
	} {
		if got := Sparkline(tt.values, tt.width); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for n := range 50 {
		for width := range 60 {
			if got := utf8.RuneCountInString(Sparkline(make([]float64, n), width)); got != min(n, width) {
				t.Fatalf("%d values in %d columns: %d characters", n, width, got)
			}
		}
	}
}

func TestShowsSparklines(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, true},
		{map[string]string{"LANG": "en_US.UTF-8"}, true},
		{map[string]string{"LANG": "C.utf8"}, true},
		{map[string]string{"LANG": "de_DE.UTF-8@euro"}, true},
		{map[string]string{"LANG": "en_US"}, true},
		{map[string]string{"LANG": "C"}, false},
		{map[string]string{"LANG": "POSIX"}, false},
		{map[string]string{"LANG": "de_DE.ISO-8859-15@euro"}, false},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_CTYPE": "C"}, false},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_CTYPE": "C", "LC_ALL": "C.UTF-8"}, true},
		{map[string]string{"LANG": "en_US.UTF-8", "TERM": "dumb"}, false},
	} {
		if got := ShowsSparklines(func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.env, got, tt.want)
		}
	}
}
