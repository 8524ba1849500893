package ranks

import (
	"fmt"
	"slices"
	"testing"
)

func TestDifferentParts(t *testing.T) {
	t.Parallel()
	type plan = map[string]string
	large := plan{}
	for i := range 300 {
		large[fmt.Sprintf("setting_%d", i)] = "1"
	}
	for _, tt := range []struct {
		name string
		a, b plan
		want []string
	}{
		{"equal", plan{"x": "1", "input data": "2"}, plan{"x": "1", "input data": "2"}, nil},
		{"a value", plan{"x": "1", "y": "1", "z": "1"}, plan{"x": "2", "y": "1", "z": "3"}, []string{"x", "z"}},
		{"only one has it", plan{"x": "1"}, plan{"y": "1"}, []string{"x", "y"}},
		{"an older program", plan{"x": "1"}, nil, nil},
		{"too many", large, plan{"x": "1"}, nil},
		{"a name that no plan has", plan{"x": "1"}, plan{"x": "1", "\x1b[31m": "1"}, nil},
	} {
		if got := differentParts(partsText(tt.a), partsText(tt.b)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	err := &DifferentError{Ranks: []int{1, 2}, Parts: []string{"request_count", "seed"}}
	if got, want := err.Error(), "ranks 1 and 2 have other settings or input data than rank 0 (request_count, seed); start all ranks with the same command line and files"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
