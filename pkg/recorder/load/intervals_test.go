package load

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
)

func TestReadIntervals(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []time.Duration // in µs
	}{
		{"100000\n110000\n130000\n", []time.Duration{100000, 110000, 130000}},
		{"5", []time.Duration{5}},
		{" 5 \r\n0\r\n\n\n", []time.Duration{5, 0}}, // CR LF, and blank lines at the end
	} {
		got, err := ReadIntervals("i.txt", strings.NewReader(tt.in))
		for i := range tt.want {
			tt.want[i] *= time.Microsecond
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: %v, %v, want %v", tt.in, got, err, tt.want)
		}
	}
	if got, err := ReadIntervals("i.txt", strings.NewReader("0.5")); err != nil || got[0] != 500*time.Nanosecond {
		t.Errorf("half a microsecond: %v, %v", got, err)
	}
}

func TestReadIntervalsErrors(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", "i.txt: holds no interval"},
		{"blank", "\n\n", "i.txt: holds no interval"},
		{"a word", "5\nfive\n", `i.txt: line 2: expected a number of microseconds, found "five"`},
		{"a column", "5,6\n", `line 1: expected a number of microseconds, found "5,6"`},
		{"a blank line inside", "5\n\n6\n", "line 2: expected a number of microseconds, found none"},
		{"negative", "-5\n", "line 1: -5 µs: must be from 0 to 292 years"},
		{"not a number", "NaN\n", "line 1: expected"},
		{"infinite", "inf\n", "line 1: inf µs: must be from 0 to 292 years"},
		{"too long", "1e300\n", "must be from 0 to 292 years"},
		{"all zero", "0\n0\n", "all intervals are 0"},
		{"a long line", strings.Repeat("1", 100_000), "line 1: "},
	} {
		if got, err := ReadIntervals("i.txt", strings.NewReader(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 200 {
			t.Errorf("%s: %v, %v, want an error with %q", tt.name, got, err, tt.want)
		}
	}
}

// FuzzReadIntervals checks that accepted intervals give a valid schedule, except for rates
// that no machine can send.
func FuzzReadIntervals(f *testing.F) {
	f.Add("100000\n110000\n")
	f.Add("0\n0.0001\n")
	f.Add("3110003310003333\n3") // after the longest time that there is, none is earlier
	f.Fuzz(func(t *testing.T, in string) {
		testenv.BoundMemory(t, len(in), 1<<20, 200, func() { _, _ = ReadIntervals("in", strings.NewReader(in)) })
		gaps, err := ReadIntervals("in", strings.NewReader(in))
		if err != nil {
			return
		}
		level := Intervals{Gaps: gaps}
		if err := level.Validate(); err != nil && !strings.Contains(err.Error(), "at most") {
			t.Fatalf("%q: %v", in, err)
		}
		before := time.Duration(0)
		for _, due := range first(level, 3*len(gaps)) {
			if due < before {
				t.Fatalf("%q: due at %v after %v", in, due, before)
			}
			before = due
		}
	})
}
