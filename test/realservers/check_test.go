//go:build realservers

package realservers

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/schematest"
)

const exportName = "profile_export.json"

// record runs pa-record in a new folder that holds the given prompts.json (if
// any) and returns the folder and what it did.
func record(t *testing.T, prompts string, args ...string) (dir string, r result) {
	t.Helper()
	return runIn(t, program(t, "pa-record"), prompts, args)
}

// mustRecord is record for a run that has to succeed. It returns the path of
// the export, checked by checkExport, and its content.
func mustRecord(t *testing.T, prompts string, args ...string) (path string, f exportFile) {
	t.Helper()
	dir, r := record(t, prompts, args...)
	if r.Code != 0 {
		t.Fatalf("pa-record: %v", r)
	}
	path = filepath.Join(dir, exportName)
	return path, checkExport(t, path)
}

// perfAnalyzer runs NVIDIA's perf_analyzer in the same way and returns the
// path of its export.
//
// It is given five attempts: llama.cpp closes the connection after every
// stream, and where perf_analyzer uses it all the same its run ends with "HTTP
// code 400".
func perfAnalyzer(t *testing.T, prompts string, args ...string) string {
	t.Helper()
	for attempt := 1; ; attempt++ {
		dir, r := runIn(t, installedPerfAnalyzer(t, "2.60.0"), prompts, args)
		if r.Code == 0 {
			return filepath.Join(dir, exportName)
		}
		if attempt == 5 {
			t.Fatalf("perf_analyzer: %v", r)
		}
		t.Logf("perf_analyzer, attempt %d: %v", attempt, r)
	}
}

func runIn(t *testing.T, program, prompts string, args []string) (dir string, r result) {
	t.Helper()
	dir = t.TempDir()
	if prompts != "" {
		if err := os.WriteFile(filepath.Join(dir, "prompts.json"), []byte(prompts), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, runProgram(t, dir, program, args...)
}

// checkExport checks all that must hold for any export of a run with
// successful requests: it keeps the JSON Schema, pa-analyze finds it valid,
// prints the averages that the original formulas give, and counts the same
// requests.
func checkExport(t *testing.T, path string) exportFile {
	t.Helper()
	checkSchema(t, path)
	f := readExport(t, path)
	requests := f.requests(t, 1)
	analyze(t, "validate", path)
	if got, want := analyze(t, "avg-first-token", path), averageFirstToken(requests); got != want {
		t.Errorf("pa-analyze avg-first-token = %q, want %q", got, want)
	}
	gaps := 0
	for _, r := range requests {
		gaps += len(r.ResponseTimestamps) - 1
	}
	if gaps > 0 {
		if got, want := analyze(t, "avg-token-to-token", path), averageTokenToToken(requests); got != want {
			t.Errorf("pa-analyze avg-token-to-token = %q, want %q", got, want)
		}
	}
	for i, e := range readReport(t, path).Experiments {
		if want := len(f.Experiments[i].Requests); e.Requests.OK != want {
			t.Errorf("pa-analyze report: experiment %d has %d requests, want %d", i, e.Requests.OK, want)
		}
	}
	return f
}

// analyze runs pa-analyze and returns its standard output. Any exit code but
// 0 fails the test.
func analyze(t *testing.T, args ...string) string {
	t.Helper()
	r := runProgram(t, t.TempDir(), program(t, "pa-analyze"), args...)
	if r.Code != 0 {
		t.Fatalf("pa-analyze: %v", r)
	}
	return r.Stdout
}

// A reportFile is what pa-analyze report --format json prints.
type reportFile struct {
	Experiments []struct {
		Requests struct {
			OK, Failed, Excluded int
		}
		Metrics map[string]metricFile
	}
}

type metricFile struct {
	N    int
	Mean float64
}

func readReport(t *testing.T, path string) reportFile {
	t.Helper()
	var r reportFile
	if err := json.Unmarshal([]byte(analyze(t, "report", "--dialect", "strict", "--format", "json", path)), &r); err != nil {
		t.Fatalf("pa-analyze report --format json: %v", err)
	}
	return r
}

func checkSchema(t *testing.T, path string) {
	t.Helper()
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := schematest.Open(t, "profile_export.schema.json").Check(t, doc); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}

// checkGenAIPerf has GenAI-Perf read the export and compares request by
// request with the file. The first response gives its time to first token, the
// last its request latency; of the OpenAI API it leaves out responses
// without text.
//
// Its time to first token is also what pa-analyze calls TTFT, because none of
// these servers starts with an empty token; its request latency is E2EL where
// it counts all responses. pa-analyze has no TTFT for answers that were not
// streamed.
func checkGenAIPerf(t *testing.T, path string, f exportFile, streamed bool) {
	t.Helper()
	levels := readByGenAIPerf(t, path)
	if len(levels) != len(f.Experiments) {
		t.Fatalf("GenAI-Perf reads %d load levels, want %d", len(levels), len(f.Experiments))
	}
	report := readReport(t, path)
	for i, l := range levels {
		requests := f.Experiments[i].Requests
		if l.Requests != len(requests) || len(l.TimeToFirstTokens) != len(requests) {
			t.Errorf("level %s %s: GenAI-Perf reads %d requests, want %d", l.Mode, l.Value, l.Requests, len(requests))
			continue
		}
		var ttft, e2el float64
		for j, r := range requests {
			first, last, ok := textSpan(r)
			if f.ServiceKind == "triton" {
				last = r.ResponseTimestamps[len(r.ResponseTimestamps)-1]
			}
			if !ok {
				t.Errorf("level %s %s: request %d has no text", l.Mode, l.Value, j)
				continue
			}
			if got, want := l.TimeToFirstTokens[j], int64(first-r.Timestamp); got != want {
				t.Errorf("level %s %s: request %d: GenAI-Perf's time to first token is %d ns, want %d", l.Mode, l.Value, j, got, want)
			}
			if got, want := l.RequestLatencies[j], int64(last-r.Timestamp); got != want {
				t.Errorf("level %s %s: request %d: GenAI-Perf's request latency is %d ns, want %d", l.Mode, l.Value, j, got, want)
			}
			ttft += float64(l.TimeToFirstTokens[j])
			e2el += float64(l.RequestLatencies[j])
		}
		metrics := report.Experiments[i].Metrics
		if m, ok := metrics["ttft_ns"]; streamed {
			checkMean(t, "TTFT", m, ttft, len(requests))
		} else if ok {
			t.Errorf("pa-analyze's TTFT is %v ns over %d requests that were not streamed", m.Mean, m.N)
		}
		if f.ServiceKind == "triton" {
			checkMean(t, "E2EL", metrics["e2el_ns"], e2el, len(requests))
		}
	}
}

// checkMean compares a mean of pa-analyze with the sum of what GenAI-Perf read
// of n requests. Both are exact to a few ulp, far below a nanosecond.
func checkMean(t *testing.T, name string, got metricFile, sum float64, n int) {
	t.Helper()
	if want := sum / float64(n); got.N != n || math.Abs(got.Mean-want) > 1e-3 {
		t.Errorf("pa-analyze's %s is %v ns over %d requests, GenAI-Perf's %v over %d", name, got.Mean, got.N, want, n)
	}
}

// textSpan returns the times of the first and the last response that holds
// text, ok false when none does.
func textSpan(r requestFile) (first, last uint64, ok bool) {
	for i, out := range r.ResponseOutputs {
		if responseText(out) == "" {
			continue
		}
		if !ok {
			first, ok = r.ResponseTimestamps[i], true
		}
		last = r.ResponseTimestamps[i]
	}
	return first, last, ok
}

// joinedText is the text of all responses of a request.
func joinedText(r requestFile) string {
	var b strings.Builder
	for _, out := range r.ResponseOutputs {
		b.WriteString(responseText(out))
	}
	return b.String()
}

// responseText is the text that one response adds: a string tensor of Triton,
// or the content of the first choice in each event or body of the OpenAI API.
func responseText(out fieldsFile) string {
	for _, tensor := range []string{"text_output", "TEXT"} {
		if _, ok := out[tensor]; ok {
			return out.text(tensor)
		}
	}
	var b strings.Builder
	for _, event := range strings.Split(strings.ReplaceAll(out.text("response"), "\r\n", "\n"), "\n\n") {
		var v struct {
			Choices []struct {
				Text           string
				Delta, Message struct{ Content string }
			}
		}
		event = strings.TrimPrefix(event, "data:")
		if json.Unmarshal([]byte(event), &v) == nil && len(v.Choices) > 0 {
			c := v.Choices[0]
			b.WriteString(c.Text + c.Delta.Content + c.Message.Content)
		}
	}
	return b.String()
}
