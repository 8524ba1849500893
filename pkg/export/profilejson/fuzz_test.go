package profilejson

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// seeds are documents for fuzzing.
func seeds(f *testing.F) [][]byte {
	docs := [][]byte{
		[]byte(twoLevels), []byte(one("")), []byte(`{"experiments":[]}`), generate(2, 2),
		[]byte(one(`{"timestamp":1, "request_inputs":{"a": [ 1,2 ],"s":"\ud83d\ude00\\\"\u0000"},"response_timestamps":[2 ,3],"response_outputs":[{},{"b":null}]}`)),
		[]byte(`{"version":"x","experiments":[{"requests":[{"response_outputs":[{"a":1}],"response_timestamps":[5],"timestamp":1,"new":[{}]}],"experiment":{"value":7.5,"mode":"request_rate"}}]}`),
		[]byte(`{"experiments":[{"requests":[{"timestamp":1}]}],"x":[{"y":[{"timestamp":1}]}]}`),
		[]byte(`{"experiments":[{"\u0072equests":[{"timestamp":1}],"requests":[]}]} x`),
	}
	for _, d := range docs {
		f.Add(d, uint16(7))
	}
	return docs
}

// FuzzReader checks that a Reader never panics and ends; that what it says does
// not depend on how the file is cut into windows; that encoding/json, where both
// find nothing to complain about, reads the same; and that what was read can be
// written and is then read the same.
func FuzzReader(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, chunk uint16) {
		lim := export.Limits{MaxValueBytes: 4096}
		testenv.BoundMemory(t, len(data), 16<<20, 200, func() { _, _ = readAll(data, jsonscan.DefaultChunk, lim) })
		want, err := readAll(data, jsonscan.DefaultChunk, lim)
		got, errChunk := readAll(data, int(chunk)%512+1, lim)
		if (err == nil) != (errChunk == nil) || err != nil && err.Error() != errChunk.Error() {
			t.Fatalf("in one piece: %v; in pieces: %v", err, errChunk)
		}
		if err != nil {
			return
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(result{})); d != "" {
			t.Fatalf("(-in one piece +in pieces):\n%s", d)
		}
		checkRewrite(t, data, want)
		if want.err != "" || len(want.warnings) > 0 || !utf8.Valid(data) || !json.Valid(data) || oracleDiffers(data) {
			return
		}
		checkOracle(t, "fuzz", data, want)
	})
}

// oracleDiffers reports that data has what encoding/json reads in another way
// on purpose: names in any case, lone surrogates, members that are there twice
// within inputs and outputs, null where a Go type has no null, integers that
// are written as floats.
func oracleDiffers(data []byte) bool {
	lower := bytes.ToLower(data)
	if bytes.Contains(lower, []byte(`\u`)) || bytes.Contains(data, []byte("null")) || !bytes.Equal(lower, data) {
		return true
	}
	for _, name := range []string{"requests", "response_outputs", "request_inputs", "version", "excluded_requests"} {
		if bytes.Count(data, []byte(`"`+name+`"`)) > 2 {
			return true
		}
	}
	tree := parseTree(data)
	return duplicates(tree) || floatTimes(tree) || bytes.Contains(data, []byte("excluded_requests"))
}

// floatTimes reports whether a member that is an integer or a list of them is
// written with a point or an exponent.
func floatTimes(n *node) bool {
	for i, kid := range n.kids {
		if n.kind == '{' {
			switch string(n.names[i]) {
			case `"timestamp"`, `"sequence_id"`, `"response_timestamps"`, `"window_boundaries"`:
				for _, x := range append(kid.kids, kid) {
					if bytes.ContainsAny(x.raw, ".e") {
						return true
					}
				}
			}
		}
		if floatTimes(kid) {
			return true
		}
	}
	return false
}

func duplicates(n *node) bool {
	seen := map[string]bool{}
	for i, kid := range n.kids {
		if n.kind == '{' {
			// Go matches names without regard to case, some letters beyond
			// ASCII included.
			name := strings.ToLower(string(n.names[i]))
			if seen[name] || strings.ContainsAny(name, "\\ſK") {
				return true
			}
			seen[name] = true
		}
		if duplicates(kid) {
			return true
		}
	}
	return false
}

// checkRewrite writes what was read of data and reads it again.
func checkRewrite(t *testing.T, data []byte, want *result) {
	t.Helper()
	r, err := NewReader(context.Background(), "x.json", bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		return // larger limits, so that only the smaller ones had to give up
	}
	if want.err != "" || len(want.warnings) > 0 {
		return
	}
	out := rewrite(t, r)
	again, err := readAll(out, jsonscan.DefaultChunk, export.Limits{})
	if err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	// A request among the counted requests may say that it does not count; it moves.
	requests := slices.Clone(want.requests)
	level := slices.Clone(want.level)
	order := make([]int, len(requests))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := want.requests[a].Excluded() != export.NotExcluded, want.requests[b].Excluded() != export.NotExcluded
		if c := level[a] - level[b]; c != 0 || x == y {
			return c
		}
		if x {
			return 1
		}
		return -1
	})
	for i, k := range order {
		requests[i] = want.requests[k]
	}
	if d := cmp.Diff(requests, again.requests); d != "" || !slices.Equal(level, again.level) {
		t.Fatalf("(-read +written and read):\n%s\n%q", d, out)
	}
	// Go's omitempty does not tell an empty list of warnings from none.
	if d := cmp.Diff(want.run, again.run, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("(-read +written and read):\n%s\n%q", d, out)
	}
	if again.err != "" || len(again.warnings) > 0 {
		t.Fatalf("written and read: %s, %v: %q", again.err, again.warnings, out)
	}
}

// FuzzRoundTrip checks that any bytes survive as name, input, output, message
// and session of a request.
func FuzzRoundTrip(f *testing.F) {
	f.Add("response", []byte("data: {\"a\":1}\n\n"), uint64(1), int64(1))
	f.Add("\xff\"", []byte("\\\x00\xed\xa0\xbd"), uint64(1<<64-1), int64(-1))
	f.Fuzz(func(t *testing.T, name string, data []byte, ns uint64, n int64) {
		value := export.Value{Text: true, Data: append([]byte{}, data...)}
		want := &export.Request{
			StartNS: ns, SequenceID: ns, SentNS: ns, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured,
			Turn: int(n), Message: string(data), SessionID: name, Model: name,
			Inputs:    export.Fields{{Name: name, Value: value}},
			Responses: []export.Response{{RecvNS: ns, Read: uint32(ns), Outputs: export.Fields{{Name: name, Value: value}, {Name: "", Value: value}}}},
		}
		out := write(t, &export.Experiment{Mode: name, Value: "1"}, &export.Run{Version: &name}, want)
		res, err := readAll(out, int(ns%100)+1, export.Limits{})
		if err != nil || res.err != "" || len(res.warnings) > 0 || len(res.requests) != 1 {
			t.Fatalf("%v, %+v: %q", err, res, out)
		}
		if d := cmp.Diff(want, res.requests[0]); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		if res.run.Experiments[0].Mode != name || *res.run.Version != name {
			t.Fatalf("header: %+v", res.run)
		}
	})
}
