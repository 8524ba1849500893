package plan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// testEvents is a stream of a role, n one-token events 10 ms apart, usage and
// [DONE].
func testEvents(n int) []Event {
	events := []Event{{At: 10 * time.Millisecond, Data: []byte("data: role\n\n"), Kind: EventOutput}}
	for i := range n {
		at := time.Duration(i+1) * 10 * time.Millisecond
		events = append(events, Event{At: at, Data: fmt.Appendf(nil, "data: é%d\n\n", i), Tokens: 1, Kind: EventOutput})
	}
	at := events[n].At
	return append(events, Event{At: at, Data: []byte("data: usage\n\n"), Kind: EventUsage}, Event{At: at, Data: []byte("data: [DONE]\n\n"), Kind: EventDone})
}

func testFraming() Framing {
	return Framing{SSE: true, Newline: "\n", Garbage: []byte("data: \xff\n\n"), Failure: func() []byte { return []byte("data: error\n\n") }}
}

// show prints a chunk per line: time, events/tokens, text without "data: " and with | for
// the blank line, and the action that follows.
func show(writes []Chunk) string {
	var lines []string
	for _, w := range writes {
		text := strings.ReplaceAll(strings.ReplaceAll(string(w.Data), "data: ", ""), "\n\n", "|")
		lines = append(lines, fmt.Sprintf("%d %d/%d %q %d", w.At/time.Millisecond, w.Events, w.Tokens, text, w.Then))
	}
	return strings.Join(lines, "\n")
}

func TestScript(t *testing.T) {
	rows := []struct {
		name   string
		fault  Fault
		tokens int
		after  int
		want   string
	}{
		{"none", FaultNone, 2, 3, `
10 1/0 "role|" 0
10 1/1 "é0|" 0
20 1/1 "é1|" 0
20 1/0 "usage|" 0
20 1/0 "[DONE]|" 0`},
		{"no_done", FaultNoDone, 1, 3, `
10 1/0 "role|" 0
10 1/1 "é0|" 0
10 1/0 "usage|" 0`},
		{"reset after one token", FaultReset, 3, 1, `
10 1/0 "role|" 0
10 1/1 "é0|" 0
20 0/0 "" 1`},
		{"reset after no token", FaultReset, 3, 0, `
10 1/0 "role|" 0
10 0/0 "" 1`},
		{"reset after more tokens than there are: before the end", FaultReset, 1, 9, `
10 1/0 "role|" 0
10 1/1 "é0|" 0
10 0/0 "" 1`},
		{"truncate in the middle of an event", FaultTruncate, 3, 1, `
10 1/0 "role|" 0
10 1/1 "é0|" 0
20 0/0 "data:" 2`},
		{"stall", FaultStall, 3, 1, `
10 1/0 "role|" 0
10 1/1 "é0|" 0
20 0/0 "" 3`},
		{"error_event", FaultErrorEvent, 3, 1, `
10 1/0 "role|" 0
10 1/1 "é0|" 0
20 1/0 "error|" 0
20 1/0 "[DONE]|" 0`},
		{"error_event at the end", FaultErrorEvent, 1, 9, `
10 1/0 "role|" 0
10 1/1 "é0|" 0
10 1/0 "error|" 0
10 1/0 "[DONE]|" 0`},
		{"garbage", FaultGarbage, 2, 1, `
10 1/0 "role|" 0
10 1/1 "é0|" 0
20 1/0 "\xff|" 0
20 1/1 "é1|" 0
20 1/0 "usage|" 0
20 1/0 "[DONE]|" 0`},
		{"merged", FaultMerged, 3, 0, `
20 3/2 "role|é0|é1|" 0
30 3/1 "é2|usage|[DONE]|" 0`},
		{"merged with a rest", FaultMerged, 4, 0, `
20 3/2 "role|é0|é1|" 0
40 3/2 "é2|é3|usage|" 0
40 1/0 "[DONE]|" 0`},
		{"oneshot", FaultOneshot, 2, 0, `
20 5/2 "role|é0|é1|usage|[DONE]|" 0`},
		{"split", FaultSplit, 1, 0, `
10 0/0 "" 0
12 1/0 "role|" 0
10 0/0 "\xc3" 0
12 1/1 "\xa90|" 0
10 0/0 "" 0
12 1/0 "usage|" 0
10 0/0 "[" 0
12 1/0 "DONE]|" 0`},
		{"comments", FaultComments, 2, 0, `
10 1/0 "role|" 0
10 0/0 ": keep-alive|" 0
10 1/1 "é0|" 0
20 1/1 "é1|" 0
20 0/0 ": keep-alive|" 0
20 1/0 "usage|" 0
20 1/0 "[DONE]|" 0`},
	}
	for _, row := range rows {
		writes := slices.Collect(Script(slices.Values(testEvents(row.tokens)), row.fault, row.after, testFraming()))
		if got := show(writes); got != strings.TrimPrefix(row.want, "\n") {
			t.Errorf("%s: writes\n%s\nwant%s", row.name, got, row.want)
		}
	}
}

// Faults of framing keep all bytes and all counts of events and tokens.
func TestScriptKeepsBytes(t *testing.T) {
	for _, f := range []Fault{FaultNone, FaultMerged, FaultOneshot, FaultSplit, FaultCRLF, FaultSlowHeader} {
		for n := range 9 {
			var want, got []byte
			events, tokens := 0, 0
			for _, e := range testEvents(n + 1) {
				want = append(want, e.Data...)
			}
			for w := range Script(slices.Values(testEvents(n+1)), f, 3, testFraming()) {
				got = append(got, w.Data...)
				events += w.Events
				tokens += w.Tokens
			}
			if !bytes.Equal(got, want) || events != n+4 || tokens != n+1 {
				t.Errorf("%v: %q, %d events, %d tokens, want %q, %d, %d", f, got, events, tokens, want, n+4, n+1)
			}
		}
	}
}

// A consumer may stop at every write.
func TestScriptStops(t *testing.T) {
	for f := FaultNone; f < numFaults; f++ {
		all := slices.Collect(Script(slices.Values(testEvents(5)), f, 2, testFraming()))
		for stop := range all {
			n := 0
			for range Script(slices.Values(testEvents(5)), f, 2, testFraming()) {
				if n++; n > stop {
					break
				}
			}
			if n != stop+1 {
				t.Errorf("%v: %d writes before the stop, want %d", f, n, stop+1)
			}
		}
	}
}

// Messages cannot be cut or joined.
func TestScriptWithoutSSE(t *testing.T) {
	w := testFraming()
	w.SSE = false
	for _, f := range []Fault{FaultNone, FaultMerged, FaultOneshot, FaultSplit, FaultComments, FaultTruncate} {
		known := map[string]bool{}
		for _, e := range testEvents(6) {
			known[string(e.Data)] = true
		}
		n := 0
		for w := range Script(slices.Values(testEvents(6)), f, 3, w) {
			if w.Data != nil && (!known[string(w.Data)] || w.Events != 1) {
				t.Errorf("%v: a write of %q, %d events", f, w.Data, w.Events)
			}
			n += w.Events
		}
		want := 9
		if f == FaultTruncate {
			want = 4
		}
		if n != want {
			t.Errorf("%v: %d events, want %d", f, n, want)
		}
	}
}

func TestParseFaultRule(t *testing.T) {
	rows := []struct {
		in   string
		want FaultRule
	}{
		{"hang", FaultRule{Fault: FaultHang}},
		{"http_500:every=6", FaultRule{Fault: FaultHTTP500, Every: 6}},
		{"reset:every=10,after=5", FaultRule{FaultReset, 10, 5}},
		{"reset:after=0", FaultRule{Fault: FaultReset, After: -1}},
	}
	for _, row := range rows {
		got, err := ParseFaultRule(row.in)
		if err != nil || got != row.want || got.String() != row.in {
			t.Errorf("ParseFaultRule(%q) = %+v (%v), %v, want %+v", row.in, got, got, err, row.want)
		}
	}
	for _, in := range []string{"", "no", "reset:every", "reset:every=0", "reset:every=x", "reset:after=-1", "reset:when=3"} {
		if got, err := ParseFaultRule(in); err == nil {
			t.Errorf("ParseFaultRule(%q) = %+v, want an error", in, got)
		}
	}
	for _, f := range Faults() {
		if got, err := ParseFault(f.String()); got != f || err != nil {
			t.Errorf("ParseFault(%q) = %v, %v", f, got, err)
		}
	}
}

func TestFaultFor(t *testing.T) {
	rules := []FaultRule{{Fault: FaultHTTP500, Every: 3}, {Fault: FaultReset, Every: 2, After: -1}}
	var got []string
	for i := range uint64(6) {
		f, after := FaultFor(rules, i)
		got = append(got, fmt.Sprintf("%v %d", f, after))
	}
	want := []string{"none 3", "reset 0", "http_500 3", "reset 0", "none 3", "http_500 3"}
	if !slices.Equal(got, want) {
		t.Errorf("faults of requests 0 to 5: %q, want %q", got, want)
	}
}
