package analyze

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"math/big"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/golden"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// goldenFiles returns the exports of real perf_analyzer runs that hold
// something, by name, and the folder of all runs.
func goldenFiles(t *testing.T) (map[string][]byte, fs.FS) {
	t.Helper()
	fsys := golden.FS(t, "perf_analyzer")
	files := map[string][]byte{}
	err := fs.WalkDir(fsys, ".", func(p string, _ fs.DirEntry, err error) error {
		if err != nil || path.Base(p) != "profile_export.json" {
			return err
		}
		b, err := fs.ReadFile(fsys, p)
		if len(b) > 2 {
			files[path.Dir(p)] = b
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("%d golden exports, want 100 or more", len(files))
	}
	return files, fsys
}

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
	files, fsys := goldenFiles(t)
	compared := 0
	for name, b := range files {
		for _, s := range []struct {
			file string
			f    func(export.Reader) (string, error)
		}{{"avg_first_token.txt", AvgFirstToken}, {"avg_token_to_token.txt", AvgTokenToToken}} {
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
// to average. file is that of the golden output it stands for.
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

// Every request of every export is accounted for, and nothing in them is
// unreadable to us.
func TestGoldenReports(t *testing.T) {
	files, _ := goldenFiles(t)
	for name, b := range files {
		r := open(t, name, b)
		want := 0
		for r.Next() {
			want++
		}
		rep, err := Run(context.Background(), open(t, name, b), Config{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := 0
		for i := range rep.Experiments {
			e := &rep.Experiments[i]
			got += e.OK + e.FailedRequests() + e.ExcludedRequests()
			for _, m := range e.Metrics {
				if m.Summary.Min < 0 || m.Summary.N == 0 {
					t.Errorf("%s: %s: min %v of %d", name, m.Definition.Key, m.Summary.Min, m.Summary.N)
				}
			}
			for _, w := range e.Warnings {
				if strings.Contains(w.Error(), "protocol") {
					t.Errorf("%s: %v", name, w)
				}
			}
		}
		if got != want {
			t.Errorf("%s: %d requests accounted for, the file holds %d", name, got, want)
		}
	}
}

// Token events per request, as the server of each case sent them.
func TestGoldenTokens(t *testing.T) {
	files, _ := goldenFiles(t)
	for _, tt := range []struct {
		suffix string
		tokens float64 // of each request; 0: one response each is no count of tokens
	}{
		{"/guide", 16},
		{"/guide_generation", 40},
		{"/guide_prefill", 1},
		{"/guide_one_response", 1},
		{"/vllm", 8},
		{"/vllm_csv", 8},
		{"/vllm_request_count", 8},
		{"/vllm_warmup", 8},
		{"/openai_chat", 6},
		{"/openai_merged", 6},
		{"/openai_crlf", 6},
		{"/openai_comments", 6},
		{"/openai_tightdone", 6},
		{"/openai_nodone", 6},
		{"/openai_reasoning", 6},
		{"/openai_tools", 6},
		{"/openai_split", 12},
		{"/vllm_no_stream", 0},
		{"/types_scalars", 0},
		{"/types_arrays", 0},
		{"/sequence", 0},
	} {
		found := false
		for name, b := range files {
			if !strings.HasSuffix(name, tt.suffix) {
				continue
			}
			found = true
			rep, err := Run(context.Background(), open(t, name, b), Config{TokenSource: answer.TokenResponses})
			if err != nil {
				t.Fatal(err)
			}
			want := tt.tokens
			if strings.HasPrefix(name, "2.39.0/") && !strings.Contains(tt.suffix, "types") {
				want++ // no outputs: the empty final response counts
			}
			s := rep.Experiments[0].Metric("output_tokens")
			if tt.tokens == 0 {
				if x := &rep.Experiments[0]; s != nil || x.Metric("ttft_ns") != nil || x.Throughput.OutputTokens.OK || x.Metric("e2el_ns") == nil {
					t.Errorf("%s: output tokens %+v, metrics %v: want an end-to-end latency and no tokens", name, s, x.Metrics)
				}
				continue
			}
			if s == nil || s.Min != want || s.Max != want {
				t.Errorf("%s: output tokens %+v, want %v each", name, s, want)
			}
		}
		if !found {
			t.Errorf("no golden export %s", tt.suffix)
		}
	}
}

// No golden export is in violation: perf_analyzer wrote them all.
func TestGoldenValid(t *testing.T) {
	files, _ := goldenFiles(t)
	for name, b := range files {
		_, err := Validate(context.Background(), open(t, name, b), func(v Violation) {
			t.Errorf("%s: %v", name, v)
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
