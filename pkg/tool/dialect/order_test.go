package dialect

import (
	"slices"
	"testing"
)

func TestInOrder(t *testing.T) {
	type request struct{ id, startNS uint64 }
	for _, tt := range []struct {
		name      string
		all, want []request
	}{
		{"by ids, whatever the starts", []request{{2, 1}, {0, 3}, {1, 2}}, []request{{0, 3}, {1, 2}, {2, 1}}},
		{"by starts where an id is twice", []request{{0, 3}, {0, 1}, {1, 2}}, []request{{0, 1}, {1, 2}, {0, 3}}},
		{"as they are where they start together", []request{{0, 1}, {0, 1}, {7, 1}}, []request{{0, 1}, {0, 1}, {7, 1}}},
		{"none", nil, nil},
	} {
		got := InOrder(tt.all, func(r request) uint64 { return r.id }, func(r request) uint64 { return r.startNS })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
