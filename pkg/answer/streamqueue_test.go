package answer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// A queuedRequest is a request of a test: its level, and how many responses it has.
type queuedRequest struct {
	level, responses int
	whole            bool // the request asks for an answer that is not streamed
}

// passed sends requests through a queue. It returns the level of each and whether it has a first token, in the order
// of use, and the largest number of requests that were held.
func passed(all []queuedRequest) (used []string, most int) {
	m := NewMeter(&export.Run{}, Config{})
	use := func(level int, m Measured) {
		used = append(used, fmt.Sprintf("%d %s %v", level, [...]string{"?", "yes", "no"}[m.Streamed], m.TTFT.OK))
	}
	q := NewStreamQueue(use)
	for i := range all {
		r := at(1000)
		for k := range all[i].responses {
			r.Responses = append(r.Responses, export.Response{RecvNS: 1010 + uint64(k)})
		}
		if all[i].whole {
			r.Inputs = export.Fields{{Name: "stream", Value: export.JSON("false")}}
		}
		d := m.Measure(&r)
		if q.Pass(all[i].level, d) {
			use(all[i].level, *d)
		} else {
			q.Hold(all[i].level, d, func() Measured { return *d })
		}
		most = max(most, len(q.held)-q.used)
	}
	q.End()
	return used, most
}

// A request of one response is streamed if its level is, before or after it. The order of the requests stays.
func TestStreamQueue(t *testing.T) {
	t.Parallel()
	one, several, whole, none := queuedRequest{responses: 1}, queuedRequest{responses: 3}, queuedRequest{responses: 1, whole: true}, queuedRequest{}
	in := func(level int, q queuedRequest) queuedRequest {
		q.level = level
		return q
	}
	for _, tt := range []struct {
		name string
		all  []queuedRequest
		want string
		held int
	}{
		{"nothing", nil, "", 0},
		{"nothing shows it", []queuedRequest{one, one}, "0 ? false, 0 ? false", 2},
		{"the last shows it", []queuedRequest{one, whole, one, several}, "0 yes true, 0 no false, 0 yes true, 0 yes true", 3},
		{"the first shows it", []queuedRequest{several, one, whole}, "0 yes true, 0 yes true, 0 no false", 0},
		{"no response decides nothing", []queuedRequest{none, one, none}, "0 ? false, 0 ? false, 0 ? false", 2},
		{"another level", []queuedRequest{one, in(1, several), in(1, one), one}, "0 ? false, 1 yes true, 1 yes true, 0 ? false", 4},
		{"both levels", []queuedRequest{in(1, one), one, in(1, several), in(1, one), several}, "1 yes true, 0 yes true, 1 yes true, 1 yes true, 0 yes true", 3},
		{"known not to be", []queuedRequest{whole, whole}, "0 no false, 0 no false", 0},
	} {
		used, most := passed(tt.all)
		if got := strings.Join(used, ", "); got != tt.want || most != tt.held {
			t.Errorf("%s: used %s, held %d; want %s, %d", tt.name, got, most, tt.want, tt.held)
		}
	}
}

// The queue never holds more than mostHeld requests: then the level is decided, for the later requests too.
func TestStreamQueueBound(t *testing.T) {
	t.Parallel()
	one, several := queuedRequest{responses: 1}, queuedRequest{responses: 2}
	for n, first := range map[int]string{mostHeld - 1: "0 yes true", mostHeld: "0 ? false", 3 * mostHeld: "0 ? false"} {
		used, most := passed(append(slices.Repeat([]queuedRequest{one}, n), several, one))
		if len(used) != n+2 || most >= mostHeld || used[0] != first || used[n-1] != first || used[n] != "0 yes true" || used[n+1] != first {
			t.Errorf("%d requests: used %d, at most %d were held; the first is %q, the last is %q", n, len(used), most, used[0], used[len(used)-1])
		}
	}
}

// Each request may have a level of its own. Deciding one level then frees one request at a time.
func TestStreamQueueOfManyLevels(t *testing.T) {
	t.Parallel()
	var all []queuedRequest
	for level := range 3 * mostHeld {
		all = append(all, queuedRequest{level: level, responses: 1})
	}
	used, most := passed(all)
	if len(used) != len(all) || most >= mostHeld {
		t.Fatalf("used %d of %d, at most %d were held", len(used), len(all), most)
	}
	for i, got := range used {
		if want := fmt.Sprintf("%d ? false", i); got != want {
			t.Fatalf("request %d: %q, want %q", i, got, want)
		}
	}
}
