//go:build realservers

package realservers

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
)

// An exportFile is a profile_export.json, read the plain way.
type exportFile struct {
	Version     string           `json:"version"`
	ServiceKind string           `json:"service_kind"`
	Endpoint    string           `json:"endpoint"`
	Experiments []experimentFile `json:"experiments"`
}

type experimentFile struct {
	Experiment struct {
		Mode  string      `json:"mode"`
		Value json.Number `json:"value"`
	} `json:"experiment"`
	Requests         []requestFile `json:"requests"`
	WindowBoundaries []uint64      `json:"window_boundaries"`
	PA               *struct {
		ExcludedRequests []requestFile `json:"excluded_requests"`
	} `json:"pa"`
}

type requestFile struct {
	Timestamp          uint64       `json:"timestamp"`
	RequestInputs      fieldsFile   `json:"request_inputs"`
	ResponseTimestamps []uint64     `json:"response_timestamps"`
	ResponseOutputs    []fieldsFile `json:"response_outputs"`
	PA                 *struct {
		ID      uint64 `json:"id"`
		Status  string `json:"status"`
		Code    int    `json:"code"`
		Message string `json:"message"`
		Reason  string `json:"reason"`
	} `json:"pa"`
}

// A fieldsFile is request_inputs or one of response_outputs: names and the
// JSON text of their values.
type fieldsFile map[string]json.RawMessage

// text returns the string value of a field, and "" when it is no string.
func (f fieldsFile) text(name string) string {
	var s string
	if json.Unmarshal(f[name], &s) != nil {
		return ""
	}
	return s
}

// readExport reads a profile_export.json and checks what holds for each: one
// output per timestamp, times in order, windows in order, unless a window is
// open-ended.
func readExport(t *testing.T, path string) exportFile {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f exportFile
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&f); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(f.Experiments) == 0 {
		t.Fatalf("%s: no experiments", path)
	}
	for i, e := range f.Experiments {
		for j, r := range e.Requests {
			if len(r.ResponseTimestamps) == 0 || len(r.ResponseTimestamps) != len(r.ResponseOutputs) {
				t.Errorf("experiment %d: request %d: %d response_timestamps and %d response_outputs, want the same number, at least 1",
					i, j, len(r.ResponseTimestamps), len(r.ResponseOutputs))
			}
			last := r.Timestamp
			for k, ns := range r.ResponseTimestamps {
				if ns < last {
					t.Errorf("experiment %d: request %d: response %d at %d, before %d", i, j, k, ns, last)
				}
				last = ns
			}
		}
		for k := 1; k < len(e.WindowBoundaries); k++ {
			if e.WindowBoundaries[k] < e.WindowBoundaries[k-1] {
				t.Errorf("experiment %d: window boundary %d is before the previous one", i, k)
			}
		}
	}
	return f
}

// requests returns the requests of the first experiment and fails the test
// when there are fewer than n.
func (f exportFile) requests(t *testing.T, n int) []requestFile {
	t.Helper()
	r := f.Experiments[0].Requests
	if len(r) < n {
		t.Fatalf("%d requests in the export, want at least %d", len(r), n)
	}
	return r
}

// excluded returns the requests of all experiments that perf_analyzer would
// not have exported.
func (f exportFile) excluded() []requestFile {
	var all []requestFile
	for _, e := range f.Experiments {
		if e.PA != nil {
			all = append(all, e.PA.ExcludedRequests...)
		}
	}
	return all
}

// averageFirstToken is what calculate_avg_first_token_latency.py prints:
// the mean of first response - timestamp over the first experiment.
func averageFirstToken(requests []requestFile) string {
	sum := new(big.Int)
	for _, r := range requests {
		sum.Add(sum, difference(r.ResponseTimestamps[0], r.Timestamp))
	}
	return "Average first-token latency: " + pythonSeconds(sum, len(requests)) + " s\n"
}

// averageTokenToToken is what calculate_avg_token_to_token_latency.py prints:
// the mean of all gaps between consecutive responses, pooled.
func averageTokenToToken(requests []requestFile) string {
	sum, n := new(big.Int), 0
	for _, r := range requests {
		for i := 1; i < len(r.ResponseTimestamps); i++ {
			sum.Add(sum, difference(r.ResponseTimestamps[i], r.ResponseTimestamps[i-1]))
			n++
		}
	}
	return "Average token-to-token latency: " + pythonSeconds(sum, n) + " s\n"
}

func difference(a, b uint64) *big.Int {
	return new(big.Int).Sub(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
}

// pythonSeconds is str(sum / n / 1000000000) in Python: both divisions round
// to the nearest float64, the first one from exact integers.
func pythonSeconds(sum *big.Int, n int) string {
	mean, _ := new(big.Rat).SetFrac(sum, big.NewInt(int64(n))).Float64()
	v := mean / 1e9
	s := strconv.FormatFloat(v, 'e', -1, 64)
	exp, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if exp < -4 || exp >= 16 {
		return s
	}
	s = strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// TestFormulas holds the formulas above to values that the two scripts
// printed.
func TestFormulas(t *testing.T) {
	const start = 1700000000000000000
	requests := []requestFile{
		{Timestamp: start, ResponseTimestamps: []uint64{start + 306565471, start + 309655627, start + 312745783}},
		{Timestamp: start + 1e9, ResponseTimestamps: []uint64{start + 1e9 + 250000000, start + 1e9 + 290000000}},
	}
	if got, want := averageFirstToken(requests), "Average first-token latency: 0.2782827355 s\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := averageTokenToToken(requests), "Average token-to-token latency: 0.015393437333333334 s\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, c := range []struct {
		sum  int64
		want string
	}{
		{2e9, "2.0"},
		{1, "1e-09"},
		{123456, "0.000123456"},
	} {
		if got := pythonSeconds(big.NewInt(c.sum), 1); got != c.want {
			t.Errorf("pythonSeconds(%d, 1) = %s, want %s", c.sum, got, c.want)
		}
	}
}
