package exampleavg

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/big"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

func open(t *testing.T, name string, b []byte) export.Reader {
	t.Helper()
	r, err := profilejson.NewReader(t.Context(), name, bytes.NewReader(b), int64(len(b)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// What NVIDIA's scripts printed, character for character. They cannot read
// files that are not UTF-8; those must give a number all the same.
func TestGoldenAverages(t *testing.T) {
	files, fsys := golden.ProfileExports(t)
	compared := 0
	for name, b := range files {
		for _, s := range []struct {
			file string
			f    func(export.Reader) (string, error)
		}{{"avg_first_token.txt", FirstToken}, {"avg_token_to_token.txt", TokenToToken}} {
			r := open(t, name, b)
			got, err := s.f(r)
			if r.Err() != nil {
				t.Errorf("%s: %v", name, r.Err())
			}
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
// to average. file is the golden file whose output it computes.
func plainAverage(t *testing.T, export []byte, file string) (line string, ok bool) {
	t.Helper()
	var latin1 strings.Builder
	for _, c := range export {
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
			if first := file == "avg_first_token.txt"; first == (i == 0) {
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
	what := map[string]string{"avg_first_token.txt": "first-token", "avg_token_to_token.txt": "token-to-token"}[file]
	return "Average " + what + " latency: " + strconv.FormatFloat(avg/1e9, 'f', -1, 64) + " s", true
}
