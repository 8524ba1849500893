package llmperf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// words is a tokenizer that counts words, and puts nothing around them.
type words struct{}

func (words) Count(text string) int            { return len(strings.Fields(text)) }
func (words) AddSpecial(ids []uint32) []uint32 { return ids }

const base = 1_000_000_000

// A sent is a request of an export that a test builds.
type sent struct {
	prompt  string
	atNS    []int
	texts   []string
	stream  bool
	pa      string
	startNS int
}

func (q *sent) json() string {
	var at, outputs []string
	for i, ns := range q.atNS {
		at = append(at, strconv.Itoa(base+q.startNS+ns))
		outputs = append(outputs, fmt.Sprintf(`{"text_output":%q}`, q.texts[i]))
	}
	return fmt.Sprintf(`{"timestamp":%d,"request_inputs":{"text_input":%q,"stream":%t},"response_timestamps":[%s],"response_outputs":[%s]%s}`,
		base+q.startNS, q.prompt, q.stream, strings.Join(at, ","), strings.Join(outputs, ","), q.pa)
}

func levelJSON(concurrency string, wallNS int, all []sent) string {
	var requests []string
	for i := range all {
		requests = append(requests, all[i].json())
	}
	return fmt.Sprintf(`{"experiment":{"mode":"concurrency","value":%s},"requests":[%s],"window_boundaries":[%d,%d]}`, concurrency, strings.Join(requests, ","), base, base+wallNS)
}

func document(levels ...string) string {
	return `{"experiments":[` + strings.Join(levels, ",") + `],"version":"1","service_kind":"triton","endpoint":""}`
}

// A column of the readme's numbers.
type readmeLevel struct {
	inRate, outRate, ttft, latency, p99TTFT, p99Latency, throughput float64
}

// The readme of the tool: 1376 prompts, 400817 tokens of them and 190 tokens of
// answers, at three levels. No export has just these numbers, as TestReadmeClock
// proves; what comes nearest, to half a nanosecond of a percentile and of a sum, is
// what is asked for.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("testdata/readme.txt")
	if err != nil {
		t.Fatal(err)
	}
	const n, inTokens, outTokens = 1376, 400817, 190
	var levels []string
	want := readmeLines(string(readme))
	for c, l := range readmeLevels(t, want) {
		sum := inTokens / l.inRate // of all latencies, in seconds
		if out := sum * l.outRate; math.Abs(out-outTokens) > 1e-6 {
			t.Fatalf("%v output tokens", out)
		}
		latencies := spread(n, sum, l.p99Latency)
		ttfts := spread(n, l.ttft*n, l.p99TTFT)
		var all []sent
		for i := range n {
			q := sent{prompt: strings.Repeat("a ", inTokens/n), atNS: []int{ttfts[i], latencies[i]}, texts: []string{"", ""}, stream: true}
			if i < inTokens%n {
				q.prompt += "a"
			}
			if i < outTokens {
				q.texts[0] = "B"
			}
			all = append(all, q)
		}
		levels = append(levels, levelJSON([]string{"1", "4", "8"}[c], int(math.Round(n/l.throughput*1e9)), all))
	}
	rep, err := reportOf("llm_perf-v1", runtest.Open(t, []byte(document(levels...))), dialect.Config{Tokenizer: words{}, Args: map[string]string{"uri": "localhost:9001"}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := rep.Console(&b, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), " infer/sec. \n") {
		t.Error("the rate of requests ends without a blank")
	}
	got := strings.Split(strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "infer/sec. \n", "infer/sec.\n"), "\n")
	got[len(got)-1] = strings.TrimSuffix(got[len(got)-1], " ")
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), b.String())
	}
	for i := range want {
		sameLine(t, got[i], want[i])
	}
}

// readmeLines returns the tool's lines. The line about special tokens is from
// transformers, the blank line from an editor.
func readmeLines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "Special tokens") {
			all = append(all, line)
		}
	}
	return all
}

func readmeLevels(t *testing.T, lines []string) []readmeLevel {
	t.Helper()
	var all []readmeLevel
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, ": ")
		number, _, _ := strings.Cut(rest, " ")
		v, err := strconv.ParseFloat(number, 64)
		if name == "Request concurrency" {
			all = append(all, readmeLevel{})
			continue
		}
		if err != nil || len(all) == 0 {
			continue
		}
		l := &all[len(all)-1]
		if to := map[string]*float64{
			"average_input_token_per_sec": &l.inRate, "average_output_token_per_sec": &l.outRate, "average_ttft": &l.ttft, "average_latency": &l.latency,
			"p99_ttft": &l.p99TTFT, "p99_latency": &l.p99Latency, "throughput": &l.throughput,
		}[name]; to != nil {
			*to = v
		}
	}
	if len(all) != 3 {
		t.Fatalf("%d levels in the readme", len(all))
	}
	return all
}

// spread returns n times in nanoseconds with that sum, in seconds, and that 99th
// percentile.
func spread(n int, sum, p99 float64) []int {
	top := n - int(0.99*float64(n-1))
	high := int(math.Round(p99 * 1e9))
	rest := int(math.Round(sum*1e9)) - top*high
	all := make([]int, n)
	for i := range all {
		switch low := n - top; {
		case i >= low:
			all[i] = high
		case i < rest%low:
			all[i] = rest/low + 1
		default:
			all[i] = rest / low
		}
	}
	return all
}

// The readme's times are differences of seconds since 1970 in 64 bits, which are
// 2⁻²² s apart. They are no sums of whole nanoseconds, which are all that an export can
// have: the sum of its 1376 latencies, as far as 16 digits tell, is a whole number of
// 2⁻²² s, and no whole number of nanoseconds. The 99th percentile, a quarter of the way
// from one latency to the next, is a whole number of quarters of 2⁻²² s.
func TestReadmeClock(t *testing.T) {
	readme, err := os.ReadFile("testdata/readme.txt")
	if err != nil {
		t.Fatal(err)
	}
	off := func(x float64) float64 { return math.Abs(x - math.Round(x)) }
	const n, digits = 1376, 1e-3
	for i, l := range readmeLevels(t, readmeLines(string(readme))) {
		for name, times := range map[string]float64{"ttft": l.ttft * n, "latency": l.latency * n, "p99 ttft": 4 * l.p99TTFT, "p99 latency": 4 * l.p99Latency} {
			if off(times*(1<<22)) > digits || off(times*1e9) < digits {
				t.Errorf("level %d: %s: %v steps of the clock, %v ns", i, name, times*(1<<22), times*1e9)
			}
		}
	}
}

// sameLine holds a line to another: letter by letter, but numbers to what half a
// nanosecond makes of them: in a percentile, in a sum of tens of seconds.
func sameLine(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, " "), strings.Split(want, " ")
	if len(g) != len(w) {
		t.Errorf("%q, want %q", got, want)
		return
	}
	for i := range w {
		x, err1 := strconv.ParseFloat(g[i], 64)
		y, err2 := strconv.ParseFloat(w[i], 64)
		switch {
		case err1 != nil || err2 != nil:
			if g[i] != w[i] {
				t.Errorf("%q, want %q", got, want)
			}
		case strings.HasPrefix(want, "p99") && math.Abs(x-y) > 0.5e-9+1e-16, !strings.HasPrefix(want, "p99") && math.Abs(x-y) > math.Abs(y)*2e-11:
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Where the tool ends, and with which exception.
func TestCrash(t *testing.T) {
	good := sent{prompt: "a b", stream: true, atNS: []int{1e8, 2e8, 3e8}, texts: []string{"x", " y", ""}}
	for _, tt := range []struct {
		name, version, export, crash, last string // the last line printed
	}{
		{"an answer of one token", "llm_perf-v2", document(levelJSON("1", 1e9, []sent{good, {prompt: "a", stream: true, atNS: []int{5}, texts: []string{"x"}}})), "ZeroDivisionError: float division by zero (the answer to request 1", "Request concurrency: 1"},
		{"no response", "llm_perf-v1", document(levelJSON("1", 1e9, []sent{good, {prompt: "a", stream: true}})), "UnboundLocalError: cannot access local variable 'ttft'", "Request concurrency: 1"},
		{"a stop word at once", "llm_perf-v1", document(levelJSON("1", 1e9, []sent{{prompt: "a", stream: true, atNS: []int{5}, texts: []string{"</s>"}}})), "UnboundLocalError", "Request concurrency: 1"},
		{"a request that failed", "llm_perf-v1", document(levelJSON("1", 1e9, []sent{good}), levelJSON("2", 1e9, []sent{{prompt: "a", stream: true, pa: `,"pa":{"status":"rpc_error","message":"no"}`}}), levelJSON("4", 1e9, []sent{good})), "TypeError: can only concatenate str", "Request concurrency: 2"},
		{"a level without time", "llm_perf-v1", document(levelJSON("1", 0, []sent{good})), "ZeroDivisionError", "p99_latency: 0.3"},
		{"no requests", "llm_perf-v2", document(levelJSON("1", 1e9, nil)), "ValueError: min() arg is an empty sequence", "Request concurrency: 1"},
		{"no requests", "llm_perf-v1", document(levelJSON("1", 1e9, nil)), "ZeroDivisionError: division by zero", "Request concurrency: 1"},
	} {
		t.Run(tt.version+" "+tt.name, func(t *testing.T) {
			rep, err := reportOf(tt.version, runtest.Open(t, []byte(tt.export)), dialect.Config{Tokenizer: words{}})
			if err != nil {
				t.Fatal(err)
			}
			if rep.Crash == nil || !strings.Contains(rep.Crash.Error(), tt.crash) || !strings.Contains(rep.Warnings()[0].Error(), "itself stops at this file: "+tt.crash[:9]) {
				t.Errorf("crash %v, want %s", rep.Crash, tt.crash)
			}
			var b bytes.Buffer
			if err := rep.Console(&b, 0); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(b.String(), "\n"+tt.last+"\n") {
				t.Errorf("ends otherwise than with %q:\n%s", tt.last, b.String())
			}
			if err := rep.JSON(&b); err == nil || !strings.Contains(err.Error(), "writes no result of this file") {
				t.Errorf("JSON: %v", err)
			}
		})
	}
}

// Answers end at a stop word; over HTTP they are cut.
func TestAnswers(t *testing.T) {
	export := document(levelJSON("1", 1e9, []sent{
		{prompt: "a", stream: true, atNS: []int{1e8, 2e8, 3e8, 4e8}, texts: []string{"x", " y", "<|im_end|>", " z"}},
		{prompt: "a", stream: false, atNS: []int{1e8}, texts: []string{"[INST]a[/INST] yes it is </s> no"}},
	}))
	rep, err := reportOf("llm_perf-v1", runtest.Open(t, []byte(export)), dialect.Config{Tokenizer: words{}})
	if err != nil {
		t.Fatal(err)
	}
	got := rep.Levels[0].results
	if q := got[0]; q.text != "x y" || q.ttft != 0.1 || q.latency != 0.3 || q.output != 2 {
		t.Errorf("%+v", q)
	}
	if q := got[1]; q.text != "yes it is" || q.ttft != -1 || q.latency != 0.1 || q.output != 3 {
		t.Errorf("%+v", q)
	}
}

// A result that is written and read again is the same.
func TestRoundTrip(t *testing.T) {
	good := sent{prompt: "a b", stream: true, atNS: []int{1e8 + 1, 2e8, 3e8 + 7}, texts: []string{"x", " yé", ""}}
	for _, v := range releases {
		var b, again bytes.Buffer
		rep, err := reportOf(v.Name, runtest.Open(t, []byte(document(levelJSON("1", 1e9, []sent{good, good}), levelJSON("8", 1e9, []sent{good})))), dialect.Config{Tokenizer: words{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.JSON(&b); err != nil {
			t.Fatal(err)
		}
		rep, err = reportOf(v.Name, runtest.Import(t, b.Bytes(), resultfile.Formats(ResultFile())...), dialect.Config{Args: map[string]string{"wall_ns 1": "1000000000", "wall_ns 8": "1000000000"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.JSON(&again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(b.String(), again.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", v.Name, d)
		}
	}
}

func TestMistakes(t *testing.T) {
	data := []byte(document(levelJSON("1", 1e9, []sent{{prompt: "a", stream: true, atNS: []int{5}, texts: []string{"x"}}})))
	for key, value := range map[string]string{"no_such": "1", "protocol": "ftp", "concurrency": "1,x", "wall_ns 1": "-5", "tool": "vllm"} {
		_, err := reportOf("llm_perf-v1", runtest.Open(t, data), dialect.Config{Tokenizer: words{}, Args: map[string]string{key: value}})
		argument := new(dialect.ArgError)
		if !errors.As(err, &argument) || argument.Key != key {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
	if _, err := reportOf("llm_perf-v1", runtest.Open(t, data), dialect.Config{}); !errors.Is(err, dialect.ErrNoTokenizer) {
		t.Errorf("no tokenizer: %v", err)
	}
	if _, err := reportOf("llm_perf-v1", runtest.Open(t, data), dialect.Config{Tokenizer: words{}, Level: dialect.Level{Value: "2"}}); err == nil || !strings.Contains(err.Error(), "no such load level") {
		t.Errorf("no such level: %v", err)
	}
}
