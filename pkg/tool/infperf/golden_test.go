package infperf

import (
	"bytes"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/guidellm"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
	"github.com/pa-tools/pa/pkg/tool/serving"
)

func file(t *testing.T, name string) []byte {
	t.Helper()
	b, err := fs.ReadFile(golden.FS(t, "peers"), path.Join("infperf", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// write returns the file of requests that is made of one, and its summaries.
func write(t *testing.T, data []byte, cfg dialect.Config) (requests string, w *writer) {
	t.Helper()
	r := runtest.Import(t, data, resultfile.Formats(ResultFile())...)
	var b bytes.Buffer
	w = newWriter(releases[len(releases)-1], r.Run(), cfg, &b)
	if err := w.writeAll(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return b.String(), w
}

// notKept are the members of inference-perf's files that an import of its
// requests does not keep, and why: they are null in what is written.
var notKept = map[string]string{
	"response":       "an import keeps the chunks with text, not the body with the others",
	"schedule_delay": "no file says when requests were due",
	"send_duration":  "an import does not know the level, without which a stage has no rates",
	"requested_rate": "the same",
	"achieved_rate":  "the same",
	"concurrency":    "the same",
}

// same compares two files line by line: they are indented, a member on a line,
// in the same order. It returns how many lines were the same.
func same(t *testing.T, where, got, want string) int {
	t.Helper()
	g, w := kept(t, got), kept(t, want)
	n := 0
	for i := range max(len(g), len(w)) {
		a, b := "", ""
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("%s: line %d is\n%.200s, want\n%.200s", where, i+1, a, b)
			return n
		}
		n++
	}
	return n
}

// kept returns the lines of a file without the members that are not kept.
func kept(t *testing.T, text string) []string {
	t.Helper()
	v, err := py.ParseJSON(text, py.JSON)
	if err != nil {
		t.Fatal(err)
	}
	// The text itself is as json.dumps writes it.
	if again := string(py.AppendJSON(nil, v.Any(), 2)); again != text {
		t.Fatal("not as json.dumps(…, indent=2) writes it")
	}
	return strings.Split(string(py.AppendJSON(nil, without(v.Any()), 2)), "\n")
}

func without(v any) any {
	switch v := v.(type) {
	case py.Object:
		o := py.Object{}
		for _, m := range v {
			if _, not := notKept[m.Name]; !not {
				o = append(o, py.Member{Name: m.Name, Value: without(m.Value)})
			}
		}
		return o
	case py.Array:
		var all py.Array
		for _, e := range v {
			all = append(all, without(e))
		}
		return all
	}
	return v
}

// inference-perf's own requests, read and written again: the same text, and its
// summaries made of them to the last digit.
func TestGolden(t *testing.T) {
	for _, name := range []string{"ok", "cut"} {
		data := file(t, name+"/reports/per_request_lifecycle_metrics.json")
		got, w := write(t, data, dialect.Config{})
		if n := same(t, name, got, string(data)); n < 8*80 {
			t.Errorf("%s: %d lines compared", name, n)
		}
		if len(w.warnings()) > 0 {
			t.Errorf("%s: warnings %v", name, w.warnings())
		}
		all := w.summaries()
		if len(all) != 2 {
			t.Fatalf("%d summaries, want the summary of all and the summary of the stage", len(all))
		}
		for i := range all {
			var b bytes.Buffer
			if err := all[i].write(&b); err != nil {
				t.Fatal(err)
			}
			if n := same(t, name+"/"+all[i].name, b.String(), string(file(t, name+"/reports/"+all[i].name))); n < 200 {
				t.Errorf("%s: %d lines compared", all[i].name, n)
			}
		}
	}
}

// What is written is read again as the same requests.
func TestRead(t *testing.T) {
	data := file(t, "cut/reports/per_request_lifecycle_metrics.json")
	written, _ := write(t, data, dialect.Config{})
	formats := resultfile.Formats(ResultFile())
	in, out := runtest.Import(t, data, formats...), runtest.Import(t, []byte(written), formats...)
	if n := runtest.SameRequests(t, out, in); n != 20 {
		t.Errorf("%d requests, want 20", n)
	}
	if len(out.Warnings()) > 0 {
		t.Errorf("warnings %v", out.Warnings())
	}
}

// A recording of ours, and what inference-perf would have said of it, by hand:
// 2 chunks of 3 tokens in one second, 5 ms of waiting for its turn.
func TestOwn(t *testing.T) {
	const event = `{"choices":[{"index":0,"text":"%s"}]}`
	one, two := strings.ReplaceAll(event, "%s", "a b"), strings.ReplaceAll(event, "%s", " c")
	usage := `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}}`
	quoted := func(s string) string { return string(py.AppendJSONString(nil, s)) }
	events := []string{quoted("data: " + one + "\n\n"), quoted("data: " + two + "\n\n"), quoted("data: " + usage + "\n\n"), quoted("data: [DONE]\n\n")}
	request := func(startNS, extra string) string {
		return `{"timestamp":` + startNS + `,"request_inputs":{"payload":"{\"prompt\":\"x y\",\"stream\":true}"},` + extra + `}`
	}
	text := `{"experiments":[{"experiment":{"mode":"request_rate","value":2.0},"pa":{"measured":1,"failed":1},"requests":[` +
		request("1000000000", `"response_timestamps":[1250000000,1750000000,1800000000,2000000000],"response_outputs":[{"response":`+strings.Join(events, `},{"response":`)+`}],"pa":{"id":0,"status":"ok","phase":"measured","scheduled_ns":995000000}`) +
		`],"window_boundaries":[0,3000000000]}],"version":"1","service_kind":"openai","endpoint":"v1/completions","pa":{"schema":"pa-export/1","tool":"pa-record"}}`
	r, err := profilejson.Format{}.Open(t.Context(), "x.json", strings.NewReader(text), int64(len(text)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := newWriter(releases[len(releases)-1], r.Run(), dialect.Config{Tokenizer: words{}}, &b)
	if err := w.writeAll(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	all, err := py.ParseJSON(b.String(), py.JSON)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := all.First()
	for path, want := range map[string]string{
		"start_time": "1.0", "end_time": "2.0", "error": "null",
		"request":                                  `"{\"prompt\":\"x y\",\"stream\":true}"`,
		"response":                                 quoted("data: " + one + "\n\ndata: " + two + "\n\ndata: " + usage + "\n\ndata: [DONE]\n\n"),
		"info.input_tokens":                        "7",
		"info.response_metrics.output_tokens":      "3",
		"info.response_metrics.chunk_times":        "[1.25, 1.75]",
		"info.response_metrics.output_token_times": "[1.25, 1.25, 1.75]",
		"info.response_metrics.response_chunks":    "[" + quoted(one) + ", " + quoted(two) + "]",
		"info.response_metrics.server_usage":       `{"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}`,
	} {
		if got := onOneLine(at(first, path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	var stage bytes.Buffer
	if err := w.summaries()[1].write(&stage); err != nil {
		t.Fatal(err)
	}
	summary, err := py.ParseJSON(stage.String(), py.JSON)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"benchmark_time_seconds":                                  "1.0",
		"load_summary.requested_rate":                             "2.0",
		"load_summary.achieved_rate":                              "0.0",
		"load_summary.schedule_delay.median":                      "0.0050000000000000044", // 1.0 − 0.995
		"successes.latency.time_to_first_token.mean":              "0.25",
		"successes.latency.time_per_output_token.mean":            "0.25", // ½ s over 2 tokens
		"successes.latency.inter_token_latency.max":               "0.5",
		"successes.latency.inter_token_latency.min":               "0.0",
		"successes.latency.normalized_time_per_output_token.mean": "0.3333333333333333",
		"successes.prompt_tokens.cached":                          "2.0",
		"successes.prompt_tokens.uncached":                        "5.0",
		"successes.request_size_bytes.mean":                       "30.0",
		"successes.token_count_mismatches":                        "0",
		"failures.request_latency":                                "null",
	} {
		if got := onOneLine(at(summary, path)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// words counts the words of a text.
type words struct{}

func (words) Count(text string) int            { return len(strings.Fields(text)) }
func (words) AddSpecial(ids []uint32) []uint32 { return ids }

// at returns the member at the end of a path.
func at(v py.Value, path string) py.Value {
	for name := range strings.SplitSeq(path, ".") {
		v, _ = v.Member(name)
	}
	return v
}

func onOneLine(v py.Value) string { return string(py.AppendJSON(nil, v.Any(), 0)) }

// How failures are named, as the tool does.
func TestLabel(t *testing.T) {
	for _, tt := range []struct{ kind, message, want string }{
		{"HTTP Error 503", "x", "503 - Service Unavailable"},
		{"HTTP Error 400", `This model's maximum context length is 8 tokens`, "400 - Context Window"},
		{"HTTP Error 400", "Expecting value: line 1", "400 - Invalid JSON"},
		{"HTTP Error 404", "no such model: m", "404 - Model Not Found"},
		{"HTTP Error 418", "x", "418 - other"},
		{"TimeoutError", "Request timed out", "Timeout"},
		{"ClientConnectorError", "Cannot connect to host", "Connection Error"},
		{"ClientPayloadError", "Response payload is not completed", "clientpayloaderror"},
	} {
		if got := releases[len(releases)-1].label(tt.kind, tt.message); got != tt.want {
			t.Errorf("label(%q, %q) = %q, want %q", tt.kind, tt.message, got, tt.want)
		}
	}
	for message, want := range map[string]string{
		`{"error":{"message":"too long","type":"x"}}`: "too long",
		`{"message":"m"}`:   "m",
		`{"error":"plain"}`: `{"error":"plain"}`,
		`no JSON`:           "no JSON",
	} {
		if got := readable(message); got != want {
			t.Errorf("readable(%s) = %q, want %q", message, got, want)
		}
	}
}

// A file without starts, or without gaps, cannot be requests of inference-perf.
func TestRefused(t *testing.T) {
	for name, want := range map[string]string{
		"sglang/ok/result.jsonl":      "does not say when requests were sent",
		"guidellm/ok/benchmarks.json": "GuideLLM keeps the times of the first and the last token",
	} {
		data, err := fs.ReadFile(golden.FS(t, "peers"), name)
		if err != nil {
			t.Fatal(err)
		}
		r := runtest.Import(t, data, resultfile.Formats(guidellm.ResultFile(), serving.ResultFile())...)
		if err := newWriter(releases[len(releases)-1], r.Run(), dialect.Config{}, &bytes.Buffer{}).writeAll(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}
