package tool

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/export"
)

// readBeside reads requests from a folder that also holds a summary, and
// returns the comparison and its warnings.
func readBeside(t *testing.T, file string, requests []byte, summary string, figures []byte) (export.SelfCheck, []string) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{file: requests, summary: figures} {
		if name == "" || data == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := export.Opener{Formats: Formats(), Beside: true}
	r, err := o.Open(t.Context(), filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for r.Next() {
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	var warnings []string
	for _, w := range r.Warnings() {
		warnings = append(warnings, strings.TrimPrefix(w.String(), dir+string(filepath.Separator)))
	}
	c, _ := export.Checked(r)
	return c, warnings
}

var summaryFiles = []struct {
	dir, requests, summary string
	// figures of the file itself: distributions, counts and rates
	compared int
}{
	{"aiperf/ok", "profile_export.jsonl", "profile_export_aiperf.json", 48 + 465 + 9 + 5},
	{"aiperf/cut", "profile_export.jsonl", "profile_export_aiperf.json", 108 + 465 + 10 + 5},
	{"aiperf/int", "profile_export.jsonl", "profile_export_aiperf.json", 48 + 465 + 9 + 5},
	{"aiperf/ok", "profile_export_raw.jsonl", "profile_export_aiperf.json", 3},
	{"aiperf/cut", "profile_export_raw.jsonl", "profile_export_aiperf.json", 4},
	{"infperf/ok", "reports/per_request_lifecycle_metrics.json", "reports/summary_lifecycle_metrics.json", 6*14 + 6},
	{"infperf/cut", "reports/per_request_lifecycle_metrics.json", "reports/summary_lifecycle_metrics.json", 7*14 + 6},
}

// The figures that the tools wrote follow from their requests.
func TestSummaries(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for _, tt := range summaryFiles {
		t.Run(tt.dir+"/"+path.Base(tt.requests), func(t *testing.T) {
			requests, figures := pair(t, fsys, tt.dir, tt.requests, tt.summary)
			c, warnings := readBeside(t, path.Base(tt.requests), requests, path.Base(tt.summary), figures)
			if c.Compared != tt.compared || c.Differing != 0 || len(warnings) > 0 {
				t.Errorf("%+v, %v, want %d compared and none to differ", c, warnings, tt.compared)
			}
		})
	}
}

func pair(t *testing.T, fsys fs.FS, dir, requests, summary string) (a, b []byte) {
	t.Helper()
	a, err := fs.ReadFile(fsys, dir+"/"+requests)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = fs.ReadFile(fsys, dir+"/"+summary); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// A summary that was changed, or is of other requests, is found out figure by
// figure.
func TestSummariesChanged(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for _, tt := range []struct {
		name   string
		tool   int      // in summaryFiles
		change []string // the members that lead to the figure
		factor float64
		want   string
	}{
		{"AIPerf mean", 0, []string{"request_latency", "avg"}, 2, "profile_export_aiperf.json: the file says request_latency.avg is 837.15543125, its requests give 418.577715625"},
		{"AIPerf percentile", 0, []string{"inter_chunk_latency", "p99"}, 1 + 2e-9, "profile_export_aiperf.json: the file says inter_chunk_latency.p99 is 25.81"},
		{"AIPerf deviation", 1, []string{"time_to_first_token", "std"}, 0.5, "profile_export_aiperf.json: the file says time_to_first_token.std is "},
		{"AIPerf requests", 1, []string{"request_count", "avg"}, 0.5, "profile_export_aiperf.json: the file says request_count.avg is 9, its requests give 18"},
		{"AIPerf failures", 1, []string{"error_request_count", "avg"}, 2, "the file says error_request_count.avg is 4, its requests give 2"},
		{"AIPerf tokens", 0, []string{"total_osl", "avg"}, 2, "the file says total_osl.avg is 320, its requests give 160"},
		{"AIPerf duration", 1, []string{"benchmark_duration", "avg"}, 1.00001, "the file says benchmark_duration.avg is 2.0594"},
		{"AIPerf rate over the requests", 2, []string{"output_token_throughput", "avg"}, 1.01, "the file says output_token_throughput.avg is 199.7"},
		{"AIPerf rate over the phase", 0, []string{"request_throughput", "avg"}, 1.01, "the file says request_throughput.avg is 9.23"},
		{"AIPerf raw", 3, []string{"request_count", "avg"}, 2, "the file says request_count.avg is 16, its requests give 8"},
		{"inference-perf mean", 5, []string{"successes", "latency", "time_to_first_token", "mean"}, 1.01, "summary_lifecycle_metrics.json: the file says successes.latency.time_to_first_token.mean is 0.0273"},
		{"inference-perf gap", 5, []string{"successes", "latency", "inter_token_latency", "p99.9"}, 1.01, "the file says successes.latency.inter_token_latency.p99.9 is "},
		{"inference-perf failures", 6, []string{"failures", "request_latency", "max"}, 1.01, "the file says failures.request_latency.max is "},
		{"inference-perf tokens", 5, []string{"successes", "output_len", "mean"}, 2, "the file says successes.output_len.mean is 40, its requests give 20"},
		{"inference-perf rate", 5, []string{"successes", "throughput", "requests_per_sec"}, 2, "the file says successes.throughput.requests_per_sec is 11.4"},
		{"inference-perf time", 5, []string{"benchmark_time_seconds"}, 1 + 2e-9, "the file says benchmark_time_seconds is 1.39972440"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := summaryFiles[tt.tool]
			requests, figures := pair(t, fsys, f.dir, f.requests, f.summary)
			var tree map[string]any
			if err := json.Unmarshal(figures, &tree); err != nil {
				t.Fatal(err)
			}
			at, last := tree, len(tt.change)-1
			for _, name := range tt.change[:last] {
				at = at[name].(map[string]any)
			}
			at[tt.change[last]] = at[tt.change[last]].(float64) * tt.factor
			changed, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			c, warnings := readBeside(t, path.Base(f.requests), requests, path.Base(f.summary), changed)
			if c.Differing != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], tt.want) {
				t.Errorf("%+v, warnings %q, want one: %s", c, warnings, tt.want)
			}
		})
	}
}

// A summary that cannot be read costs nothing but the comparison.
func TestSummariesUnread(t *testing.T) {
	fsys := golden.FS(t, "peers")
	aiperf, infperf := summaryFiles[0], summaryFiles[5]
	for _, tt := range []struct {
		name, as string // "": as the tool calls it
		tool     int
		content  string
		warn     string
	}{
		{"cut", "", 0, `{"aiperf_version":"0.13.0","request_latency":{"avg"`, "profile_export_aiperf.json: is not the JSON object of a summary: unexpected end of JSON input; it is not used"},
		{"no object", "", 0, `[]`, "profile_export_aiperf.json: is not the JSON object of a summary"},
		{"null", "", 0, `null`, "profile_export_aiperf.json: is not the JSON object of a summary"},
		{"of another tool", "", 0, `{"load_summary":{"count":8}}`, "profile_export_aiperf.json: is not a summary of AIPerf: it has neither an aiperf_version nor a request_count in requests; it is not used"},
		{"of another tool", "", 5, `{"aiperf_version":"0.13.0"}`, "summary_lifecycle_metrics.json: is not a summary of inference-perf: it has no load_summary with a count"},
		{"too large", "", 0, strings.Repeat(" ", 16<<20+1), "profile_export_aiperf.json: is larger than 16777216 bytes; it is not used"},
		{"requests of another name", "run.jsonl", 0, `{`, ""},
		{"requests with a prefix, and a summary without", "x-per_request_lifecycle_metrics.json", 5, `{`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := aiperf
			if tt.tool == 5 {
				f = infperf
			}
			requests, _ := pair(t, fsys, f.dir, f.requests, f.summary)
			file := tt.as
			if file == "" {
				file = path.Base(f.requests)
			}
			own, _ := readBeside(t, file, requests, "", nil)
			c, warnings := readBeside(t, file, requests, path.Base(f.summary), []byte(tt.content))
			if !reflect.DeepEqual(c, own) {
				t.Errorf("%+v, want %+v as without a summary", c, own)
			}
			if got := strings.Join(warnings, "\n"); (tt.warn == "") != (got == "") || !strings.HasPrefix(got, tt.warn) {
				t.Errorf("warnings %q, want %q", got, tt.warn)
			}
		})
	}
}

// The load of a run is in the tool's files of the same folder. They are read where
// Beside or the name of the folder allows it, and are not even opened otherwise.
func TestLoadBeside(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for _, tt := range []struct {
		name, requests string
		others         []string
		want           string
		phase          bool // its ends are known
	}{
		{"aiperf/ok", "profile_export.jsonl", []string{"profile_export_aiperf.json"}, "concurrency:4", true},
		{"aiperf/ok raw", "profile_export_raw.jsonl", []string{"profile_export_aiperf.json"}, "concurrency:4", true},
		{"infperf/ok", "reports/per_request_lifecycle_metrics.json", []string{"reports/summary_lifecycle_metrics.json", "reports/config.yaml"}, "concurrency:4", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tool, _, _ := strings.Cut(tt.name, " ")
			for _, name := range append([]string{tt.requests}, tt.others...) {
				data, err := fs.ReadFile(fsys, tool+"/"+name)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, path.Base(name)), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(dir, path.Base(tt.requests))
			for _, open := range []struct {
				path   string
				beside bool
				want   string
			}{{file, false, ":"}, {file, true, tt.want}, {dir, false, tt.want}} {
				o := export.Opener{Formats: Formats(), Beside: open.beside}
				r, err := o.Open(t.Context(), open.path)
				if err != nil {
					t.Fatal(err)
				}
				run := r.Run()
				if got := run.Experiments[0].Mode + ":" + run.Experiments[0].Value; got != open.want {
					t.Errorf("%s, beside %v: load %q, want %q", open.path, open.beside, got, open.want)
				}
				if known := run.Meta.EndNS > run.Meta.StartNS; known != (tt.phase && open.want != ":") {
					t.Errorf("%s, beside %v: phase from %d to %d", open.path, open.beside, run.Meta.StartNS, run.Meta.EndNS)
				}
				for r.Next() {
				}
				if r.Err() != nil || len(r.Warnings()) > 0 {
					t.Errorf("%v, %v", r.Err(), r.Warnings())
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The settings of a run name its load, or leave it open.
func TestLoads(t *testing.T) {
	for _, tt := range []struct{ name, content, want string }{
		{"AIPerf, a rate", `{"aiperf_version":"1","input_config":{"phases":[{"kind":"warmup","type":"concurrency","concurrency":1},{"kind":"profiling","type":"poisson","rate":2.5}]}}`, "request_rate:2.5"},
		{"AIPerf, two phases that are measured", `{"aiperf_version":"1","input_config":{"phases":[{"kind":"profiling","type":"concurrency","concurrency":1},{"kind":"profiling","type":"concurrency","concurrency":2}]}}`, ":"},
		{"AIPerf before there were phases", `{"aiperf_version":"0.4.0","input_config":{"loadgen":{"concurrency":4,"request_rate_mode":"concurrency_burst"}}}`, "concurrency:4"},
		{"AIPerf before there were versions", `{"request_count":{"unit":"requests","avg":0},"input_config":{"loadgen":{"concurrency":2,"request_rate":7.5,"request_rate_mode":"poisson"}}}`, "request_rate:7.5"},
		{"AIPerf with its metrics in an object", `{"records":{"request_count":{"unit":"requests","avg":0}},"input_config":{"loadgen":{"concurrency":2}}}`, "concurrency:2"},
		{"AIPerf, no phases", `{"aiperf_version":"1"}`, ":"},
		{"AIPerf, a load below 0", `{"aiperf_version":"1","input_config":{"phases":[{"kind":"profiling","type":"concurrency","concurrency":-1}]}}`, ":"},
		{"inference-perf, a rate", "load: {type: poisson, stages: [{rate: 8, duration: 1}]}", "request_rate:8"},
		{"inference-perf, two stages", "load: {type: constant, stages: [{rate: 8}, {rate: 9}]}", ":"},
		{"inference-perf, another type", "load: {type: trace_replay, stages: [{rate: 8}]}", ":"},
	} {
		run, warnings := settled(t, tt.content)
		if got := run.Experiments[0].Mode + ":" + run.Experiments[0].Value; got != tt.want || len(run.Experiments) != 1 || warnings != "" {
			t.Errorf("%s: %q, %s, want %q", tt.name, got, warnings, tt.want)
		}
	}
	if _, warnings := settled(t, "load: ["); !strings.Contains(warnings, "it is not used") {
		t.Errorf("settings that are no YAML are taken: %s", warnings)
	}
}

// settled opens a file of AIPerf, or of inference-perf if content is YAML, with content as the file with
// the settings beside it. It returns the run and the warnings about settings that are not used.
func settled(t *testing.T, content string) (run *export.Run, notUsed string) {
	t.Helper()
	files := map[string]string{
		"profile_export.jsonl":       `{"metadata":{"session_num":0,"request_start_ns":10,"request_end_ns":20},"metrics":{}}` + "\n",
		"profile_export_aiperf.json": content,
	}
	if !strings.HasPrefix(content, "{") {
		files = map[string]string{"per_request_lifecycle_metrics.json": `[{"start_time":1,"end_time":2,"request":"{}","response":"x"}]`, "config.yaml": content}
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := export.Opener{Formats: Formats()}
	r, err := o.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for r.Next() {
	}
	for _, w := range r.Warnings() {
		if strings.Contains(w.Msg, "not used") {
			notUsed += w.Msg
		}
	}
	return r.Run(), notUsed
}

// The files of a folder are found under every name under which they can be read.
func TestFolders(t *testing.T) {
	const record = `{"metadata":{"session_num":0,"request_start_ns":10,"request_end_ns":20},"metrics":{"request_latency":{"value":2,"unit":"ms"}}}` + "\n"
	const summary = `{"aiperf_version":"0.4.0","input_config":{"phases":[{"kind":"profiling","type":"concurrency","concurrency":4}]}}`
	const infperf = `[{"start_time":1,"end_time":2,"request":"{}","response":"x"}]`
	packed := map[string]func(string) []byte{
		"": func(s string) []byte { return []byte(s) },
		".gz": func(s string) []byte {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			_, _ = w.Write([]byte(s))
			_ = w.Close()
			return b.Bytes()
		},
		".zst": func(s string) []byte {
			w, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			return w.EncodeAll([]byte(s), nil)
		},
	}
	for _, tool := range []struct{ file, text, summary, figures, want string }{
		{"profile_export.jsonl", record, "profile_export_aiperf.json", summary, "concurrency:4"},
		{"profile_export_raw.jsonl", record, "profile_export_aiperf.json", summary, "concurrency:4"},
		{"per_request_lifecycle_metrics.json", infperf, "config.yaml", "load: {type: constant, stages: [{rate: 8}]}", "request_rate:8"},
		{"benchmarks.json", fmt.Sprintf(guideFrame, `{"type_":"synchronous"}`, ""), "", "", "concurrency:1"},
	} {
		for suffix, pack := range packed {
			dir := t.TempDir()
			for name, text := range map[string]string{tool.file: tool.text, tool.summary: tool.figures} {
				if name == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name+suffix), pack(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o := export.Opener{Formats: Formats()}
			r, err := o.Open(t.Context(), dir)
			if err != nil {
				t.Errorf("%s%s: %v", tool.file, suffix, err)
				continue
			}
			if e := r.Run().Experiments[0]; e.Mode+":"+e.Value != tool.want {
				t.Errorf("%s%s: load %s:%s, want %s, %v", tool.file, suffix, e.Mode, e.Value, tool.want, r.Warnings())
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// The summary of AIPerf names the model, the server and the release, in the places of each release.
func TestAIPerfServer(t *testing.T) {
	for _, tt := range []struct{ name, content, tool, model, url string }{
		{
			"0.13", `{"aiperf_version":"0.13.0","input_config":{"endpoint":{"urls":["http://u:p@h:1/v1?key=x"],"streaming":true},"models":{"items":[{"name":"a"},{"name":"b"}]}}}`,
			"AIPerf 0.13.0", "a, b", "http://h:1/v1",
		},
		{
			"0.4", `{"aiperf_version":"0.4.0","input_config":{"endpoint":{"model_names":["meta/llama"],"url":"http://h:8000","streaming":true}}}`,
			"AIPerf 0.4.0", "meta/llama", "http://h:8000",
		},
		{
			"before 0.4", `{"request_count":{"unit":"requests","avg":64},"input_config":{"endpoint":{"model_names":["meta/llama"],"streaming":true}}}`,
			"AIPerf", "meta/llama", "",
		},
	} {
		run, warnings := settled(t, tt.content)
		if warnings != "" {
			t.Errorf("%s: %s", tt.name, warnings)
		}
		if m := run.Meta; m.Tool != tt.tool || m.Model != tt.model || m.URL != tt.url || m.Streaming == nil || !*m.Streaming {
			t.Errorf("%s: %+v", tt.name, m)
		}
	}
}
