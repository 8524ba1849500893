package guidellm

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
	"github.com/pa-tools/pa/pkg/tool/serving"
)

func file(t *testing.T, name string) []byte {
	t.Helper()
	b, err := fs.ReadFile(golden.FS(t, "peers"), path.Join("guidellm", name, "benchmarks.json"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// write returns the file that is made of another.
func write(t *testing.T, r export.Reader) string {
	t.Helper()
	w := newWriter(releases[len(releases)-1], r.Run())
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := w.readAll(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := w.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// notKept are the members, by the ends of their paths, whose values an import
// does not keep, and why. They are there, null or what GuideLLM writes for
// nothing.
var notKept = map[string]string{
	"metadata.python_version":            "nothing of ours ran in Python",
	"metadata.platform":                  "of that Python",
	"config.spec":                        "an import keeps the load, the target, the model and the endpoint",
	"benchmarks[].config":                "the same",
	"scheduler_state":                    "how GuideLLM's processes shared the work is not kept; counts are",
	"generation_delay":                   "how long GuideLLM took to make prompts is not kept",
	"_delay_avg":                         "when requests were queued, taken and finished is not kept",
	"queued_time_avg":                    "the same",
	"resolve_time_avg":                   "the same",
	"scheduler_metrics.start_time":       "the same",
	"scheduler_metrics.end_time":         "the same",
	"dataset_incomplete":                 "nothing says whether the data set was used up",
	"root_dispatch_delay":                "when a request of a closed loop was targeted is not kept",
	"request_streaming_iterations_count": "how many events an answer had is not kept",
	"mean_ci":                            "GuideLLM is told to make no confidence intervals",
	"percentile_cis":                     "the same",
	"request_id":                         "an id is the number of the request",
	"response_id":                        "the id of the answer is not kept",
	"scheduler_node_id":                  "which process sent it is not kept",
	"scheduler_process_id":               "the same",
	"scheduler_start_time":               "the same",
	"timings.targeted_start":             "when a request of a closed loop was targeted is not kept",
	"timings.queued":                     "not kept",
	"timings.dequeued":                   "not kept",
	"timings.scheduled_at":               "not kept",
	"timings.first_request_iteration":    "the first event without text is not kept",
	"timings.request_iterations":         "not kept",
	"timings.finalized":                  "not kept",
	"timings.resolve_end":                "kept of requests that failed",
	"info.completed_at":                  "is resolve_end",
	"info.traceback":                     "the error keeps its message",
	"request_dispatch_delay":             "is made of targeted_start",
	"turn_predecessor_delay":             "the same",
	"turn_scheduling_delay":              "the same",
	"request_scheduled_latency":          "the same",
	"benchmarks[].warnings":              "are about generation_delay",
}

func isNotKept(path string) bool {
	for end := range notKept {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// compare walks through two values: the same members in the same order
// everywhere, the same text of numbers and strings where they are kept.
func compare(t *testing.T, where string, got, want any, n *int) {
	t.Helper()
	if isNotKept(where) {
		return
	}
	switch w := want.(type) {
	case py.Object:
		g, ok := got.(py.Object)
		if !ok || !slices.Equal(names(g), names(w)) {
			t.Errorf("%s: members %v, want %v", where, names(g), names(w))
			return
		}
		for i := range w {
			compare(t, where+"."+w[i].Name, g[i].Value, w[i].Value, n)
		}
	case py.Array:
		g, _ := got.(py.Array)
		if len(g) != len(w) {
			t.Errorf("%s: %d elements, want %d", where, len(g), len(w))
			return
		}
		for i := range w {
			compare(t, where+"[]", g[i], w[i], n)
		}
	default:
		*n++
		if got != want {
			t.Errorf("%s is %v, want %v", where, got, want)
		}
	}
}

func names(o py.Object) []string {
	var all []string
	for _, m := range o {
		all = append(all, m.Name)
	}
	return all
}

func parse(t *testing.T, text string) any {
	t.Helper()
	v, err := py.ParseJSON(text, py.JSON)
	if err != nil {
		t.Fatal(err)
	}
	if again := string(py.AppendJSON(nil, v.Any(), 0)); again != text {
		t.Fatal("not as json.dumps writes it")
	}
	return v.Any()
}

// GuideLLM's own file, read and written again.
func TestGolden(t *testing.T) {
	for _, name := range []string{"ok", "cut"} {
		data := file(t, name)
		n := 0
		compare(t, name+":", parse(t, write(t, runtest.Import(t, data, resultfile.Formats(ResultFile())...))), parse(t, string(data)), &n)
		if n < 2000 {
			t.Errorf("%s: %d values compared", name, n)
		}
	}
}

// A written file is read again as the same requests, and its figures follow from them.
func TestRead(t *testing.T) {
	for _, name := range []string{"ok", "cut"} {
		data := file(t, name)
		formats := resultfile.Formats(ResultFile())
		in, out := runtest.Import(t, data, formats...), runtest.Import(t, []byte(write(t, runtest.Import(t, data, formats...))), formats...)
		if n := runtest.SameRequests(t, out, in); n < 8 {
			t.Errorf("%s: %d requests", name, n)
		}
		if c, ok := export.Checked(out); !ok || c.Differing > 0 || c.Compared < 50 {
			t.Errorf("%s: self-check %+v: %v", name, c, out.Warnings())
		}
		if x, y := in.Run().Experiments[0], out.Run().Experiments[0]; x.Mode != y.Mode || x.Value != y.Value {
			t.Errorf("%s: level %s %s, want %s %s", name, y.Mode, y.Value, x.Mode, x.Value)
		}
		if x, y := in.Run().Meta, out.Run().Meta; x.Model != y.Model || x.URL != y.URL || x.Tool != y.Tool {
			t.Errorf("%s: run %+v, want %+v", name, y, x)
		}
	}
}

// A recording of ours with two levels, one of them of a rate, and what GuideLLM
// would have said of it, by hand.
func TestOwn(t *testing.T) {
	quoted := func(s string) string { return string(py.AppendJSONString(nil, s)) }
	event := func(text string) string {
		return quoted(`data: {"choices":[{"index":0,"text":` + quoted(text) + "}]}\n\n")
	}
	usage := quoted(`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}` + "\n\n")
	responses := `"response_timestamps":[1250000000,1500000000,1750000000,1800000000,2000000000],"response_outputs":[{"response":` +
		strings.Join([]string{event("a b"), event(" c"), event(" ä"), usage, quoted("data: [DONE]\n\n")}, `},{"response":`) + `}]`
	text := `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1000000000,"request_inputs":{"payload":"{\"prompt\":\"x\",\"stream\":true}"},` + responses +
		`,"pa":{"id":0,"status":"ok","phase":"measured"}}],"window_boundaries":[0,3000000000],"pa":{"measured":1,"failed":1,"excluded_requests":[` +
		`{"timestamp":1000000000,"response_timestamps":[],"response_outputs":[],"pa":{"id":1,"status":"timeout","message":"too slow","phase":"measured","ended_ns":3000000000}}]}},` +
		`{"experiment":{"mode":"request_rate","value":2.5},"requests":[{"timestamp":1000000000,` + responses + `,"pa":{"id":2,"status":"ok","phase":"measured","scheduled_ns":875000000}}],"window_boundaries":[0,3000000000]}` +
		`],"version":"1","service_kind":"openai","endpoint":"v1/completions","pa":{"schema":"pa-export/1","tool":"pa-record","streaming":true}}`
	r, err := profilejson.Format{}.Open(t.Context(), "x.json", strings.NewReader(text), int64(len(text)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := py.ParseJSON(write(t, r), py.JSON)
	if err != nil {
		t.Fatal(err)
	}
	var levels []py.Value
	benchmarks, _ := doc.Member("benchmarks")
	benchmarks.Elements(func(_ int, v py.Value) bool {
		levels = append(levels, v)
		return true
	})
	if len(levels) != 2 {
		t.Fatalf("%d benchmarks, want 2", len(levels))
	}
	for _, tt := range []struct {
		level      int
		path, want string
	}{
		{0, "config.strategy.type_", `"concurrent"`},
		{0, "config.strategy.streams", "1"},
		{0, "metrics.request_totals", `{"successful": 1, "errored": 1, "incomplete": 0, "total": 2}`},
		{0, "metrics.request_latency.successful.mean", "1.0"},
		{0, "metrics.time_to_first_token_ms.successful.median", "250.0"},
		{0, "metrics.inter_token_latency_ms.successful.mean", "250.0"},
		{0, "metrics.time_per_output_token_ms.successful.mean", "250.0"}, // (1.75 − 1)/3
		{0, "metrics.text.words.output.successful.mean", "4.0"},
		{0, "metrics.text.words.input.successful.mean", "1.0"},
		{0, "metrics.text.characters.total.successful.mean", "4.0"},
		{0, "metrics.text.characters.output.successful.mean", "7.0"},
		{0, "metrics.text.tokens.total.successful.total_sum", "10.0"},
		{0, "metrics.request_dispatch_delay", "null"},
		{0, "metrics.request_concurrency.total.max", "2.0"},
		{0, "metrics.request_concurrency.total.mean", "1.5"}, // two of them for one of two seconds
		{0, "duration", "2.0"},
		{0, "requests.errored.info.status", `"errored"`},
		{0, "requests.errored.info.error", `"too slow"`},
		{0, "requests.errored.info.timings.request_end", "null"},
		{0, "requests.errored.request_end_time", "3.0"},
		{0, "requests.successful.output", string(py.AppendJSONString(nil, "a b c ä"))},
		{0, "requests.successful.info.timings.request_iterations", "5"},
		{0, "requests.successful.info.timings.token_iterations", "3"},
		{0, "requests.successful.request_args", quoted(`{"method":null,"stream":true,"headers":null,"params":null,"body":{"prompt":"x","stream":true},"files":null,"content":null}`)},
		{1, "config.strategy.rate", "2.5"},
		{1, "metrics.request_dispatch_delay.successful.mean", "0.125"},
		{1, "metrics.request_scheduled_latency.successful.mean", "1.125"},
		{1, "requests.successful.info.timings.targeted_start", "0.875"},
	} {
		v := levels[tt.level]
		for name := range strings.SplitSeq(tt.path, ".") {
			if first, ok := v.First(); ok {
				v = first
			}
			v, _ = v.Member(name)
		}
		if got := v.Raw(); got != tt.want {
			t.Errorf("%d %s is %s, want %s", tt.level, tt.path, got, tt.want)
		}
	}
}

// A file without starts cannot be one of GuideLLM.
func TestRefused(t *testing.T) {
	data, err := fs.ReadFile(golden.FS(t, "peers"), "sglang/ok/result.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	r := runtest.Import(t, data, resultfile.Formats(serving.ResultFile())...)
	w := newWriter(releases[len(releases)-1], r.Run())
	if err := w.readAll(t.Context(), r); err == nil || !strings.Contains(err.Error(), "does not say when requests were sent") {
		t.Errorf("error %v", err)
	}
}
