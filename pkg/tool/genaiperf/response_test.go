package genaiperf

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// A run counts as each of its responses.
func TestTimes(t *testing.T) {
	run := func(ns ...uint64) response {
		r := response{recvNS: ns[0]}
		for _, at := range ns {
			r.run = append(r.run, export.Response{RecvNS: at})
		}
		return r
	}
	single := func(ns uint64) response { return response{recvNS: ns, raw: "x"} }
	for _, tt := range []struct {
		name           string
		rs             []response
		n              int
		second, lastNS uint64
	}{
		{"one", []response{single(1)}, 1, 0, 1},
		{"two", []response{single(1), single(5)}, 2, 5, 5},
		{"a run", []response{run(1, 2, 4)}, 3, 2, 4},
		{"before a run", []response{single(1), run(2, 3), single(9)}, 4, 2, 9},
		{"after a run of one", []response{run(1), run(3, 7)}, 3, 3, 7},
	} {
		n, second, last := times(tt.rs)
		if n != tt.n || second != tt.second || last != tt.lastNS {
			t.Errorf("%s: %d, %d, %d", tt.name, n, second, last)
		}
		split := new(analysis).split(tt.rs)
		n2, second2, last2 := times(split)
		if len(split) != n || n2 != n || second2 != second || last2 != last {
			t.Errorf("%s, split: %d of %d, %d, %d", tt.name, len(split), n2, second2, last2)
		}
	}
}
