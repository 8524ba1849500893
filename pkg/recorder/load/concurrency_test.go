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
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("ParseConcurrency(%q) = %v, %v; want %v", tt.in, got, err, tt.want)
		}
	}
}

func TestParseConcurrencyErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", "not a whole number"},
		{"zero", `"zero" is not a whole number`},
		{"0", "0 must be at least 1"},
		{"-3", "-3 must be at least 1"},
		{"1.5", "not a whole number"},
		{"1:0", "an end of 0"},
		{"8:1", "the end is before the start"},
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
