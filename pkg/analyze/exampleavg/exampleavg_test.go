package exampleavg

import (
	"errors"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

const base = 1_700_000_000_000_000_000

// The values were computed with the scripts' own arithmetic in Python.
func TestAverages(t *testing.T) {
	warmup := at(base, base+1)
	warmup.Phase = export.PhaseWarmup
	for _, tt := range []struct {
		name     string
		requests []export.Request
		first    string // "" for an error
		gaps     string
	}{
		{
			// pooled over all gaps; an average of averages would give 0.021545078
			"two requests of different length",
			[]export.Request{
				at(base, base+306565471, base+309655627, base+312745783),
				at(base+1000000000, base+1250000000, base+1290000000),
			},
			"0.2782827355", "0.015393437333333334",
		},
		{"one nanosecond", []export.Request{at(base, base+1, base+2)}, "1e-09", "1e-09"},
		{"zero", []export.Request{at(base, base, base)}, "0.0", "0.0"},
		{"the clock set back", []export.Request{at(base, base-500, base-1000)}, "-5e-07", "-5e-07"},
		{"a third of a nanosecond", []export.Request{at(base, base+1, base+2), at(base, base, base), at(base, base, base)}, "3.333333333333333e-10", "3.333333333333333e-10"},
		{"zero timestamp", []export.Request{at(0, base, base+5)}, "1700000000.0", "5e-09"},
		{"the whole range of uint64", []export.Request{at(0, 18446744073709551615, 0)}, "18446744073.709553", "-18446744073.709553"},
		{"one response each", []export.Request{at(base, base+10), at(base, base+20)}, "1.5e-08", ""},
		{"not measured ones do not count", []export.Request{at(base, base+10, base+20), warmup}, "1e-08", "1e-08"},
		{"a request without responses", []export.Request{at(base, base+10, base+20), at(base)}, "", ""},
		{"no request", nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// a second experiment must not change anything
			other := []export.Request{at(5, 7, 100)}
			checkLine(t, FirstToken, reader("", tt.requests, other), "Average first-token latency: ", tt.first)
			checkLine(t, TokenToToken, reader("", tt.requests, other), "Average token-to-token latency: ", tt.gaps)
		})
	}
}

func checkLine(t *testing.T, f func(export.Reader) (string, error), r export.Reader, prefix, want string) {
	t.Helper()
	got, err := f(r)
	if want == "" {
		if err == nil || got != "" || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q, %v, want nothing and an error of one line", got, err)
		}
		return
	}
	if want = prefix + want + " s"; err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// Each way in which the scripts fail has its reason.
func TestAverageReasons(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    *memrun.Reader
		want string
	}{
		{"no experiment", reader(""), "no experiment"},
		{"no request", reader("", nil), "no request"},
		{"IndexError", reader("", []export.Request{at(5, 6), at(7)}), "no response in 1 of 2 requests of the first experiment (the first was sent at 7 ns)"},
		{"KeyError", &memrun.Reader{
			Header: export.Run{Experiments: make([]export.Experiment, 1)}, Requests: [][]export.Request{{at(5, 6)}}, Unread: []int{2},
			Notes: []export.Warning{{Msg: "odd"}, {Msg: "member \"timestamp\" is missing", Offset: 75, LeftOut: true}},
		}, `2 of 3 requests of the first experiment cannot be read (the first at byte 75: member "timestamp" is missing)`},
		{"ZeroDivisionError", reader("", []export.Request{at(5, 6), at(7, 8)}), "no request of the first experiment has two responses"},
	} {
		if _, err := TokenToToken(tt.r); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// A file that breaks off gives the average of what was readable.
func TestAverageOfCutFile(t *testing.T) {
	r := reader("", []export.Request{at(base, base+10, base+20)})
	r.Failure = errors.New("cut")
	line, err := FirstToken(r)
	if want := "Average first-token latency: 1e-08 s"; line != want || err != nil {
		t.Errorf("%q, %v, want %q", line, err, want)
	}
}
