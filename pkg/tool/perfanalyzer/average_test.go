package perfanalyzer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math/big"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

const base = 1_700_000_000_000_000_000

// The values were computed with the scripts' own arithmetic in Python.
func TestAverages(t *testing.T) {
	warmup := memrun.At(base, base+1)
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
				memrun.At(base, base+306565471, base+309655627, base+312745783),
				memrun.At(base+1000000000, base+1250000000, base+1290000000),
			},
			"0.2782827355", "0.015393437333333334",
		},
		{"one nanosecond", []export.Request{memrun.At(base, base+1, base+2)}, "1e-09", "1e-09"},
		{"zero", []export.Request{memrun.At(base, base, base)}, "0.0", "0.0"},
		{"the clock set back", []export.Request{memrun.At(base, base-500, base-1000)}, "-5e-07", "-5e-07"},
		{"a third of a nanosecond", []export.Request{memrun.At(base, base+1, base+2), memrun.At(base, base, base), memrun.At(base, base, base)}, "3.333333333333333e-10", "3.333333333333333e-10"},
		{"zero timestamp", []export.Request{memrun.At(0, base, base+5)}, "1700000000.0", "5e-09"},
		{"the whole range of uint64", []export.Request{memrun.At(0, 18446744073709551615, 0)}, "18446744073.709553", "-18446744073.709553"},
		{"one response each", []export.Request{memrun.At(base, base+10), memrun.At(base, base+20)}, "1.5e-08", ""},
		{"not measured ones do not count", []export.Request{memrun.At(base, base+10, base+20), warmup}, "1e-08", "1e-08"},
		{"a request without responses", []export.Request{memrun.At(base, base+10, base+20), memrun.At(base)}, "", ""},
		{"no request", nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// a second experiment must not change anything
			other := []export.Request{memrun.At(5, 7, 100)}
			checkLine(t, AverageFirstToken, memrun.New("", tt.requests, other), "Average first-token latency: ", tt.first)
			checkLine(t, AverageTokenToToken, memrun.New("", tt.requests, other), "Average token-to-token latency: ", tt.gaps)
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
		{"no experiment", memrun.New(""), "no experiment"},
		{"no request", memrun.New("", nil), "no request"},
		{"IndexError", memrun.New("", []export.Request{memrun.At(5, 6), memrun.At(7)}), "no response in 1 of 2 requests of the first experiment (the first was sent at 7 ns)"},
		{"KeyError", &memrun.Reader{
			Header: export.Run{Experiments: make([]export.Experiment, 1)}, Requests: [][]export.Request{{memrun.At(5, 6)}}, Unread: []int{2},
			Notes: []export.Warning{{Msg: "odd"}, {Msg: "member \"timestamp\" is missing", Offset: 75, LeftOut: true}},
		}, `2 of 3 requests of the first experiment cannot be read (the first at byte 75: member "timestamp" is missing)`},
		{"ZeroDivisionError", memrun.New("", []export.Request{memrun.At(5, 6), memrun.At(7, 8)}), "no request of the first experiment has two responses"},
	} {
		if _, err := AverageTokenToToken(tt.r); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

// A file that breaks off gives the average of what was readable.
func TestAverageOfCutFile(t *testing.T) {
	r := memrun.New("", []export.Request{memrun.At(base, base+10, base+20)})
	r.Failure = errors.New("cut")
	line, err := AverageFirstToken(r)
	if want := "Average first-token latency: 1e-08 s"; line != want || err != nil {
		t.Errorf("%q, %v, want %q", line, err, want)
	}
}

// The output of NVIDIA's scripts, character for character. They cannot read files that are not
// UTF-8; for those pa-analyze still gives a number.
func TestGoldenAverages(t *testing.T) {
	files, fsys := golden.ProfileExports(t)
	compared := 0
	for name, b := range files {
		for _, s := range []struct {
			file string
			f    func(export.Reader) (string, error)
		}{{"avg_first_token.txt", AverageFirstToken}, {"avg_token_to_token.txt", AverageTokenToToken}} {
			r, err := profilejson.NewReader(t.Context(), name, bytes.NewReader(b), int64(len(b)), export.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.f(r)
			if r.Err() != nil {
				t.Errorf("%s: %v", name, r.Err())
			}
			_ = r.Close()
			text, readErr := fs.ReadFile(fsys, path.Join(name, s.file))
			if readErr != nil {
				t.Fatal(readErr)
			}
			switch want := strings.TrimSuffix(string(text), "\n"); {
			case strings.HasPrefix(want, "Average"):
				compared++
				if err != nil || got != want {
					t.Errorf("%s: %q, %v, want %q", name, got, err, want)
				}
				if oracle, _ := plainAverage(t, b, s.file); oracle != want {
					t.Errorf("%s: the test's own formula gives %q, the script %q", name, oracle, want)
				}
			case strings.HasPrefix(want, "ZeroDivisionError"):
				compared++
				if err == nil || got != "" {
					t.Errorf("%s: %q, want an error: the script says %s", name, got, want)
				}
			case strings.HasPrefix(want, "UnicodeDecodeError"):
				compared++
				oracle, ok := plainAverage(t, b, s.file)
				if ok != (err == nil) || got != oracle {
					t.Errorf("%s: %q, %v, want %q", name, got, err, oracle)
				}
			default:
				t.Errorf("%s: %s: %q is no known result", name, s.file, want)
			}
		}
	}
	if compared < 180 {
		t.Errorf("%d results compared, want 180 or more", compared)
	}
}

// plainAverage is what a script would print that could read bytes which are not
// UTF-8: it takes every byte for a character (Latin-1), reads with
// encoding/json and counts with big numbers. ok is false when there is nothing
// to average. average names the golden file whose output it computes.
func plainAverage(t *testing.T, file []byte, average string) (line string, ok bool) {
	t.Helper()
	var latin1 strings.Builder
	for _, c := range file {
		latin1.WriteRune(rune(c))
	}
	var doc struct {
		Experiments []struct {
			Requests []struct {
				Timestamp          json.Number
				ResponseTimestamps []json.Number `json:"response_timestamps"`
			}
		}
	}
	if err := json.Unmarshal([]byte(latin1.String()), &doc); err != nil {
		t.Fatal(err)
	}
	number := func(n json.Number) *big.Int {
		i, ok := new(big.Int).SetString(n.String(), 10)
		if !ok {
			t.Fatalf("%q is not a whole number", n)
		}
		return i
	}
	sum, n := new(big.Int), int64(0)
	for _, r := range doc.Experiments[0].Requests {
		before := r.Timestamp
		for i, after := range r.ResponseTimestamps {
			if first := average == "avg_first_token.txt"; first == (i == 0) {
				sum.Add(sum, new(big.Int).Sub(number(after), number(before)))
				n++
			}
			before = after
		}
	}
	if n == 0 {
		return "", false
	}
	avg, _ := new(big.Rat).SetFrac(sum, big.NewInt(n)).Float64()
	what := map[string]string{"avg_first_token.txt": "first-token", "avg_token_to_token.txt": "token-to-token"}[average]
	return "Average " + what + " latency: " + strconv.FormatFloat(avg/1e9, 'f', -1, 64) + " s", true
}
