package load

import (
	"slices"
	"strings"
	"testing"
)

func TestParseConcurrency(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []int
	}{
		{"1", []int{1}},
		{"128", []int{128}},
		{"1:4", []int{1, 2, 3, 4}},
		{"1:8:2", []int{1, 3, 5, 7}},
		{"4:4:9", []int{4}},
		{"1,4,8", []int{1, 4, 8}},
		{"8, 1 ,8", []int{8, 1, 8}},
	} {
		got, err := ParseConcurrency(tt.in)
		if err != nil || !slices.Equal(got.List, tt.want) {
			t.Errorf("ParseConcurrency(%q) = %v, %v; want %v", tt.in, got, err, tt.want)
		}
	}
}

// TestSweepAt checks that only a range with the end 0 has no end.
func TestSweepAt(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []float64 // levels 0 to 3; 0 for a level that does not exist
	}{
		{"2:0:3", []float64{2, 5, 8, 11}},
		{"0.1:0.0:0.1", []float64{0.1, 0.2, 0.3, 0.4}},
		{"5:0", []float64{5, 6, 7, 8}},
		{"1:2.2:0.5", []float64{1, 1.5, 2, 0}},
		{"7", []float64{7, 0, 0, 0}},
		{"3,1", []float64{3, 1, 0, 0}},
	} {
		s, err := ParseRates(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range tt.want {
			if got, ok := s.At(i); got != want || ok != (want != 0) {
				t.Errorf("level %d of %q: %v, %v, want %v", i, tt.in, got, ok, want)
			}
		}
	}
	s, err := ParseConcurrency("1:0:2")
	if last, ok := s.At(maxLevels - 1); err != nil || s.Start != 1 || s.End != 0 || s.Step != 2 || last != 2*maxLevels-1 || !ok {
		t.Errorf("%+v, %v, level %d: %v", s, err, maxLevels, last)
	}
	if _, ok := s.At(maxLevels); ok {
		t.Errorf("there are more than %d levels", maxLevels)
	}
}

func TestParseRates(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []float64
	}{
		{"10", []float64{10}},
		{"7.5", []float64{7.5}},
		{"5:15:5", []float64{5, 10, 15}},
		{"1.5:3", []float64{1.5, 2.5}},
		{"0.1:0.5:0.1", []float64{0.1, 0.2, 0.3, 0.4, 0.5}},
		{"2.5, 1", []float64{2.5, 1}},
	} {
		got, err := ParseRates(tt.in)
		if err != nil || !slices.Equal(got.List, tt.want) {
			t.Errorf("ParseRates(%q) = %v, %v; want %v", tt.in, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"", `request rate "": "" is not a number`},
		{"fast", `"fast" is not a number`},
		{"NaN", `"NaN" is not a number`},
		{"0", "0 must be above 0"},
		{"-1", "-1 must be above 0"},
		{"1e9", "1e9 is too large"},
		{"1e999", "1e999 is too large"},
		{"3:1", "the end is before the start; write 1:3"},
		{"8.5:2:0.5", "the end is before the start; write 2:8.5:0.5"},
		{"1:2:0", "0 must be above 0"},
		{"1:2:1e-9", "levels; at most 10000"},
		{"1:2:1e-8", "100000001 levels; at most 10000"},
		{"1:2,3", "not both"},
	} {
		if got, err := ParseRates(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseRates(%q) = %v, %v; want an error with %q", tt.in, got, err, tt.want)
		}
	}
}

func TestParsePeriodic(t *testing.T) {
	for in, want := range map[string]Periodic{
		"1:10:3": {Start: 1, End: 10, Step: 3},
		"1:20":   {Start: 1, End: 20, Step: 1},
	} {
		if got, err := ParsePeriodic(in); err != nil || got != want {
			t.Errorf("ParsePeriodic(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"10", "expected start:end:step"},
		{"1:2:3:4", "expected start:end:step"},
		{"1:x", `"x" is not a whole number`},
		{"0:4", "0 must be at least 1"},
	} {
		if got, err := ParsePeriodic(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParsePeriodic(%q) = %v, %v; want an error with %q", tt.in, got, err, tt.want)
		}
	}
}

// FuzzParseRates checks that an accepted text gives levels within the bounds of a rate, and
// that a range gives at most maxLevels.
func FuzzParseRates(f *testing.F) {
	for _, in := range []string{"10", "1:8:2", "0.1:0.5:0.1", "1,2.5", "1:2:1e-9", "1e7:1e7", "1:0", "0.3:0.0:0.1"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		rates, err := ParseRates(in)
		endless := rates.Start > 0 && rates.End == 0
		if (err == nil) != (len(rates.List) > 0 || endless) || len(rates.List) > maxLevels && !strings.Contains(in, ",") {
			t.Fatalf("ParseRates(%q) = %d rates, %v", in, len(rates.List), err)
		}
		if first, ok := rates.At(0); ok != (err == nil) || endless && first != rounded(rates.Start) {
			t.Fatalf("ParseRates(%q) begins with %v, %v", in, first, ok)
		}
		for _, r := range rates.List {
			if !(r > 0 && r <= maxRate) {
				t.Fatalf("ParseRates(%q) holds %v", in, r)
			}
		}
	})
}

func TestParseConcurrencyErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", "not a whole number"},
		{"zero", `"zero" is not a whole number`},
		{"0", "0 must be at least 1"},
		{"-3", "-3 must be at least 1"},
		{"1.5", "not a whole number"},
		{"8:1", "the end is before the start; write 1:8"},
		{"1:8:0", "0 must be at least 1"},
		{"1:2:3:4", "at most three parts"},
		{"1:4,8", "not both"},
		{"1,,8", `"" is not a whole number`},
		{"99999999999", "too large"},
		{"1:2000000000", "at most 10000"},
	} {
		if got, err := ParseConcurrency(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseConcurrency(%q) = %v, %v; want an error with %q", tt.in, got, err, tt.want)
		}
	}
}
