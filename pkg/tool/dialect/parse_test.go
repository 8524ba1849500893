package dialect

import (
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// The last limit of a metric counts, at the place of the first, also for very many: a file can state them.
func TestLastLimits(t *testing.T) {
	got, err := ParseLimits(strings.Repeat("a:1 b:2 ", 1<<18) + "a:3")
	if want := []Limit{{"a", 3}, {"b", 2}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%d limits, %v, want %v", len(got), err, want)
	}
}

// FuzzParse checks that limits and arguments of a command line never panic, that limits are
// numbers of 0 or more, and that nothing is lost on the way.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"ttft:200 tpot:16.5", "a:", ":1", "x:-1", "x:NaN", "x:Inf", "a=b", "=", "concurrency:8", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		testenv.BoundMemory(t, len(text), 1<<20, 200, func() { _, _ = ParseLimits(text) })
		limits, err := ParseLimits(text)
		metrics := map[string]bool{}
		for pair := range strings.FieldsSeq(text) {
			name, _, _ := strings.Cut(pair, ":")
			metrics[name] = true
		}
		if err == nil && len(limits) != len(metrics) {
			t.Errorf("%q: %d limits", text, len(limits))
		}
		for _, l := range limits {
			if !(l.Value >= 0) || !strings.Contains(text, l.Metric+":") {
				t.Errorf("%q: limit %+v", text, l)
			}
		}
		args, err := ParseArgs([]string{text})
		for key, value := range args {
			if key+"="+value != text || err != nil {
				t.Errorf("%q became %q=%q, %v", text, key, value, err)
			}
		}
		if l := ParseLevel(text); l.Mode+":"+l.Value != text && l.Value != text {
			t.Errorf("%q became %+v", text, l)
		}
	})
}
