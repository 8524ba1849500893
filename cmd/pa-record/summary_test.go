package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
)

// A jsonReport is of pa-analyze report --format json what a summary prints.
type jsonReport struct {
	Experiments []struct {
		Value    any
		Requests struct {
			OK     int
			Failed json.RawMessage
		}
		Metrics    map[string]map[string]float64
		SentRate   *float64 `json:"sent_requests_per_s"`
		Throughput map[string]*float64
	}
}

// reportOf returns the report of pa-analyze on a file.
func reportOf(t *testing.T, path string) jsonReport {
	t.Helper()
	r := exporttest.Open(t, path)
	rep, err := analyze.Run(t.Context(), r, analyze.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.JSON(report.Input{Name: path, Report: rep})(&out); err != nil {
		t.Fatal(err)
	}
	var all jsonReport
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// metricKeys and unitsNS are how the JSON names what the heads of a summary do.
var (
	metricKeys = map[string]string{"TTFT": "ttft_ns", "ITL": "itl_ns", "E2EL": "e2el_ns"}
	unitsNS    = map[string]float64{"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
)

// compareSummary compares a printed summary, two lines of column heads and a line per
// level, with a report: each figure must be the report's, rounded to its last digit.
// heads names the columns after the level.
func compareSummary(t *testing.T, printed string, heads string, want jsonReport) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(printed, "\n"), "\n")
	if len(lines) != 2+len(want.Experiments) {
		t.Fatalf("%d lines, want two and one for each of %d levels:\n%s", len(lines), len(want.Experiments), printed)
	}
	if !strings.HasSuffix(strings.Join(strings.Fields(lines[0]), " "), heads) {
		t.Errorf("heads %q, want %s", lines[0], heads)
	}
	columns := strings.Fields(heads)
	below := strings.Fields(lines[1]) // p50 ms p99 ms … tok/s
	for i, line := range lines[2:] {
		e := want.Experiments[i]
		cells := strings.Fields(line)
		cells = cells[len(cells)-len(columns):]
		rest := below
		for j, head := range columns {
			var value float64
			known := true
			switch key, isMetric := metricKeys[head]; {
			case head == "ok":
				value = float64(e.Requests.OK)
			case head == "failed":
				var n int
				if err := json.Unmarshal(e.Requests.Failed, &n); err != nil {
					t.Fatalf("failed: %s: %v", e.Requests.Failed, err)
				}
				value = float64(n)
			case isMetric:
				var metric map[string]float64
				if metric, known = e.Metrics[key]; known {
					value = metric[rest[0]] / unitsNS[rest[1]]
				}
				rest = rest[2:]
			case rest[0] == "/s" && head == "sent":
				if known = e.SentRate != nil; known {
					value = *e.SentRate
				}
				rest = rest[1:]
			default:
				rate := map[string]string{"tok/s": "output_tokens_per_s", "/s": "requests_per_s"}[rest[0]]
				p := e.Throughput[rate]
				if known = p != nil; known {
					value = *p
				}
				rest = rest[1:]
			}
			if !known {
				if cells[j] != "n/a" {
					t.Errorf("level %d, %s: %s, the report has none", i, head, cells[j])
				}
				continue
			}
			_, decimals, _ := strings.Cut(cells[j], ".")
			got, err := strconv.ParseFloat(cells[j], 64)
			if half := 0.5000001 * math.Pow10(-len(decimals)); err != nil || math.Abs(got-value) > half || value != 0 && got == 0 {
				t.Errorf("level %d, %s: %s, the report has %v (%v)\n%s", i, head, cells[j], value, err, printed)
			}
		}
	}
}

// The figures at the end of a run against an OpenAI server equal pa-analyze's figures
// of its export.
func TestSummary(t *testing.T) {
	t.Parallel()
	const streamed, unstreamed = "ok failed TTFT TTFT ITL ITL output", "ok failed E2EL E2EL"
	sessions := filepath.Join(t.TempDir(), "sessions.json")
	if err := os.WriteFile(sessions, []byte(`{"data":[{"session_id":"a","payload":[{"messages":[{"role":"user","content":"one"}]}]},{"session_id":"b","payload":[{"messages":[{"role":"user","content":"two"}]}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, url, args, heads string }{
		{"one level", "", "--concurrency-range 2 --request-count 8", streamed},
		{"a sweep", "", "--concurrency-range 1,2,4 --request-count 8 --warmup-request-count 2", streamed},
		{"rates", "", "--request-rate-range 100:200:100 --request-count 8", "ok failed sent TTFT TTFT ITL ITL output"},
		{"sessions", "", "--session-concurrency 2 --input-data " + sessions, streamed},
		{"requests fail", "&fault=http_500:every=3", "--request-count 9", streamed},
		{"one token", "&output_tokens=1", "--request-count 4", streamed},
		{"numbers", "", "--service-kind openai --endpoint v1/embeddings --request-count 4", unstreamed + " requests"},
		{"whole answers", "", "--service-kind openai --request-count 4", unstreamed + " output"},
		{"runs", "", "--concurrency-range 1,2 --request-count 4 --repeat 2", streamed},
		{"with -v", "", "--concurrency-range 1,2 --request-count 4 -v", streamed},
		{"windows", "", "--concurrency-range 2 -p 100 -s 999", streamed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b.parquet")}
			args := append([]string{"-u", "sim://?ttft=2ms&itl=300us&output_tokens=5" + tt.url, "--quiet", "--profile-export-file", files[0], "--profile-export-file", files[1]}, strings.Fields(tt.args)...)
			code, stdout, stderr := inProcess(t.Context(), t, args...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if strings.Contains(tt.args, "--repeat") {
				first, second, ok := strings.Cut(strings.TrimPrefix(stdout, "Run 1 of 2\n"), "\n\nRun 2 of 2\n")
				if !ok {
					t.Fatalf("no two runs:\n%s", stdout)
				}
				compareSummary(t, first, tt.heads, reportOf(t, filepath.Join(dir, "a.1.json")))
				compareSummary(t, second, tt.heads, reportOf(t, filepath.Join(dir, "b.2.parquet")))
				return
			}
			if strings.Contains(tt.args, "-v") {
				console, own, ok := strings.Cut(stdout, "\n\nconcurrency ")
				if !ok || !strings.Contains(console, "Request concurrency: 2\n") {
					t.Fatalf("no console of perf_analyzer, or nothing after it:\n%s", stdout)
				}
				stdout = "concurrency " + own
			}
			for _, file := range files {
				compareSummary(t, stdout, tt.heads, reportOf(t, file))
			}
		})
	}
}

// Whole answers have no TTFT, and the run says what gives it; numbers never have one.
// The simulated server streams if nothing else is asked for.
func TestSummaryWhole(t *testing.T) {
	t.Parallel()
	const note = "pa-record: note: the answers were not streamed, so there is no TTFT and no ITL; "
	prompts := filepath.Join(t.TempDir(), "p.txt")
	if err := os.WriteFile(prompts, []byte("Hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--service-kind openai":                          "add --streaming for them\n",
		"--service-kind openai --quiet":                  "",
		"--service-kind openai --streaming":              "",
		"--service-kind openai --endpoint v1/embeddings": "",
		"":                         "",
		"--streaming=false":        "add --streaming for them\n",
		"--endpoint v1/embeddings": "",
		"--endpoint v1/ranking --input-data " + ranking(t):             "",
		`--request-template {"messages":"{{messages}}"}`:               `add "stream": true to --request-template for them` + "\n",
		`--request-template {"messages":"{{messages}}","stream":true}`: "",
	} {
		all := append([]string{"-u", "sim://?ttft=1ms&itl=1ms&output_tokens=3", "--request-count", "2", "--profile-export-file", filepath.Join(t.TempDir(), "a.json")}, strings.Fields(args)...)
		if strings.Contains(args, "template") {
			all = append(all, "--input-data", prompts)
		}
		code, _, stderr := inProcess(t.Context(), t, all...)
		_, got, _ := strings.Cut(stderr, note)
		if code != 0 || !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%q: exit code %d, note %q, want %q:\n%s", args, code, got, want, stderr)
		}
	}
}

// ranking returns the name of a file with a query and passages.
func ranking(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "q.jsonl")
	if err := os.WriteFile(name, []byte(`{"query": "a", "passages": ["b"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A run that is interrupted ends with the figures of what was measured.
func TestSummaryInterrupted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.json")
	signals := make(chan os.Signal, 1)
	env := newEnvironment(noEnv, signals)
	var stdout, stderr bytes.Buffer
	over, sent := make(chan struct{}), make(chan struct{})
	go func() { // sends the signal once the journal holds requests
		defer close(sent)
		journal := strings.TrimSuffix(file, ".json") + ".journal"
		var empty int64 // size of the journal without requests
		for {
			if info, err := os.Stat(journal); err == nil {
				if empty == 0 {
					empty = info.Size()
				}
				if info.Size() > empty {
					signals <- syscall.SIGINT
					return
				}
			}
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	code := run(t.Context(), []string{"pa-record", "-u", "sim://?ttft=2ms&itl=300us&output_tokens=5", "--duration", "1m", "--profile-export-file", file}, env, strings.NewReader(""), &stdout, &stderr)
	close(over)
	<-sent
	if code != 128+int(syscall.SIGINT) {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	compareSummary(t, stdout.String(), "ok failed TTFT TTFT ITL ITL output", reportOf(t, file))
}

// A run of more responses than memory is given to says where its figures are.
func TestSummaryTooLarge(t *testing.T) {
	s := runSummary{ctx: t.Context(), most: 2}
	s.add(&export.Request{Responses: make([]export.Response, 3)})
	s.compute(nil) // it need not be opened
	var stdout, stderr strings.Builder
	s.print(&stdout, &stderr, runIndex{}, false)
	if want := "pa-record: note: no figures: more than 2 responses; pa-analyze report computes them\n"; stderr.String() != want || stdout.Len() > 0 {
		t.Errorf("standard error %q, want %q; standard output %q", stderr.String(), want, stdout.String())
	}
}

// analyzeJournal computes the figures of a journal. A second signal ends it.
func TestAnalyzeJournal(t *testing.T) {
	q := export.Request{ID: 1, StartNS: 1_000, Status: export.StatusOK, Responses: []export.Response{{RecvNS: 2_000}}}
	open := func(context.Context) (export.Reader, error) {
		return &memrun.Reader{
			Header:   export.Run{Experiments: []export.Experiment{{Mode: export.ModeConcurrency, Value: "1"}}},
			Requests: [][]export.Request{{q}},
		}, nil
	}
	rep, err := analyzeJournal(t.Context(), open)
	if err != nil || len(rep.Experiments) != 1 || rep.Experiments[0].OK != 1 {
		t.Errorf("report %+v, error %v, want one level with one request", rep, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rep, err := analyzeJournal(ctx, open); rep != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("report %+v, error %v, want that it was cancelled", rep, err)
	}
	s := &runSummary{ctx: ctx, most: 1}
	s.compute(open)
	if s.report != nil || s.err == nil || s.err.Error() != "a second signal ended the run" {
		t.Errorf("report %+v, error %v, want the second signal", s.report, s.err)
	}
}
