package endpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// Lines of a file of mlcommons/endpoints, as the tool writes them.

func endpointsLine(kind string, ns uint64, sample, data string) string {
	if data == "" {
		data = "null"
	}
	return fmt.Sprintf(`{"event_type":%q,"timestamp_ns":%d,"sample_uuid":%q,"conversation_id":"","turn":null,"data":%s}`, kind, ns, sample, data) + "\n"
}

const (
	endpointsBegin = `{"event_type":"session.started","timestamp_ns":100,"sample_uuid":"","conversation_id":"","turn":null,"data":null}
{"event_type":"session.start_performance_tracking","timestamp_ns":110,"sample_uuid":"","conversation_id":"","turn":null,"data":null}
`
	endpointsEnd = `{"event_type":"session.stop_performance_tracking","timestamp_ns":9000,"sample_uuid":"","conversation_id":"","turn":null,"data":null}
{"event_type":"session.ended","timestamp_ns":9001,"sample_uuid":"","conversation_id":"","turn":null,"data":null}
`
)

func issued(ns uint64, sample string) string {
	return endpointsLine("sample.issued", ns, sample, `["PromptData","hi `+sample+`",null,null,null,null,null,null]`)
}

func first(ns uint64, sample string) string {
	return endpointsLine("sample.recv_first", ns, sample, "")
}

func later(ns uint64, sample string) string {
	return endpointsLine("sample.recv_non_first", ns, sample, "")
}

func complete(ns uint64, sample, output string) string {
	return endpointsLine("sample.complete", ns, sample, `["TextModelOutput",`+output+`,null,null]`)
}

// openText opens the text of a file of events.
func openText(t *testing.T, text string) export.Reader {
	t.Helper()
	return runtest.Import(t, []byte(text), resultfile.Formats(ResultFile())...)
}

func TestEndpointsEvents(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
		lacks      string
		warnings   []string
		err        string
	}{
		{
			name: "the first chunk and the end",
			text: endpointsBegin + issued(200, "a") + first(250, "a") + complete(300, "a", `["x","yz"]`) + endpointsEnd,
			want: []string{`0@200 ok 50 100 streamed=true "xyz"`}, lacks: "epoch texts gaps",
		},
		{
			name: "all chunks, the end after the last",
			text: endpointsBegin + issued(200, "a") + first(250, "a") + later(260, "a") + complete(300, "a", `["x","yz"]`) + endpointsEnd,
			want: []string{`0@200 ok 50 60 100sf streamed=true "xyz"`}, lacks: "epoch texts",
		},
		{
			name: "the end before the last chunk, which came through a queue",
			text: endpointsBegin + issued(200, "a") + first(250, "a") + later(310, "a") + complete(300, "a", `["x","yz"]`) + endpointsEnd,
			want: []string{`0@200 ok 50 110 streamed=true "xyz"`}, lacks: "epoch texts",
		},
		{
			name: "an answer of one chunk",
			text: endpointsBegin + issued(200, "a") + first(250, "a") + complete(300, "a", `["x"]`) + endpointsEnd,
			want: []string{`0@200 ok 50 100sf events=1 streamed=true "x"`}, lacks: "epoch texts gaps", // nothing shows later chunks
		},
		{
			name: "not streamed",
			text: endpointsBegin + issued(200, "a") + complete(300, "a", `"xyz"`) + endpointsEnd,
			want: []string{`0@200 ok 100 streamed=false "xyz"`}, lacks: "epoch texts",
		},
		{
			name: "reasoning comes before the answer",
			text: endpointsBegin + issued(200, "a") + first(250, "a") +
				endpointsLine("sample.complete", 300, "a", `["TextModelOutput",["an","swer"],["th","ink"],null]`) + endpointsEnd,
			want: []string{`0@200 ok 50 100 streamed=true "thinkanswer"`}, lacks: "epoch texts gaps",
		},
		{
			name: "two samples overlap: each is delivered when it is complete",
			text: endpointsBegin + issued(200, "a") + issued(210, "b") + first(250, "b") + first(255, "a") +
				complete(290, "b", `["x","y"]`) + complete(300, "a", `["x","y"]`) + endpointsEnd,
			want: []string{`1@210 ok 40 80 streamed=true "xy"`, `0@200 ok 55 100 streamed=true "xy"`}, lacks: "epoch texts gaps",
		},
		{
			name: "a failure has an error event and then its complete",
			text: endpointsBegin + issued(200, "a") + endpointsLine("error.generic", 280, "a", `["ErrorData","error","HTTP 503: busy"]`) +
				endpointsLine("sample.complete", 290, "a", "") + endpointsEnd,
			want: []string{`0@200 http_error 503 streamed=false`}, lacks: "epoch texts",
		},
		{
			name: "a failure that the worker words",
			text: endpointsBegin + issued(200, "a") + first(250, "a") +
				endpointsLine("error.generic", 280, "a", `["ErrorData","ConnectionResetError","ConnectionResetError('reset')"]`) +
				endpointsLine("sample.complete", 290, "a", "") + endpointsEnd,
			want: []string{`0@200 truncated 50 streamed=true`}, lacks: "epoch texts gaps",
		},
		{
			name: "the warm-up has no ends, and late chunks of it are not missed",
			text: endpointsLine("session.started", 100, "", "") + issued(105, "w") + first(107, "w") + issued(106, "v") +
				endpointsLine("session.start_performance_tracking", 110, "", "") + later(120, "w") +
				issued(200, "a") + first(250, "a") + complete(300, "a", `["x"]`) + endpointsEnd,
			want: []string{`2@200 ok 50 100sf events=1 streamed=true "x"`}, lacks: "epoch texts",
			warnings: []string{"a request of the warm-up has no end in mlcommons/endpoints events.jsonl"},
		},
		{
			name: "requests after the measurement are late",
			text: endpointsBegin + endpointsLine("session.stop_performance_tracking", 150, "", "") +
				issued(200, "a") + complete(300, "a", `"x"`) + endpointsLine("session.ended", 400, "", ""),
			want: []string{`0@200 ok 100 streamed=false "x" late`}, lacks: "epoch texts",
		},
		{
			name: "requests under way at the end of the run",
			text: endpointsBegin + issued(200, "a") + first(250, "a") + issued(210, "b") + endpointsEnd,
			want: []string{`0@200 cancelled 50 streamed=true cancelled`, `1@210 cancelled cancelled`}, lacks: "epoch texts gaps",
		},
		{
			name: "without session.ended the file is cut",
			text: endpointsBegin + issued(200, "a") + complete(300, "a", `"x"`) + issued(310, "b"),
			want: []string{`0@200 ok 100 streamed=false "x"`}, lacks: "epoch texts", err: "cut",
		},
		{
			name: "cut within a line",
			text: endpointsBegin + issued(200, "a") + complete(300, "a", `"x"`) + issued(310, "b")[:30],
			want: []string{`0@200 ok 100 streamed=false "x"`}, lacks: "epoch texts", err: "cut",
		},
		{
			name: "bad events are left out, one kind a warning",
			text: endpointsBegin + complete(300, "nobody", `"x"`) + issued(200, "a") + issued(201, "a") + issued(202, "") +
				`{"event_type":"sample.issued","sample_uuid":"b"}` + "\n" + `{"event_type":"sample.issued","timestamp_ns":-5,"sample_uuid":"c"}` + "\n" +
				issued(0, "d") + endpointsLine("sample.unheard_of", 203, "a", "") + complete(300, "a", `"x"`) + endpointsEnd,
			want: []string{`0@200 ok 100 streamed=false "x"`}, lacks: "epoch texts",
			warnings: []string{
				"sample.complete of a sample without sample.issued", "sample.issued again for a sample that is under way", "sample.issued without sample_uuid",
				"timestamp_ns is missing", "timestamp_ns: expected a whole number from 0, found number -5", "timestamp_ns of sample.issued is 0",
			},
		},
		{
			name: "errors that name no request",
			text: endpointsBegin + endpointsLine("error.generic", 120, "", `["ErrorData","DecodeError","bad"]`) + endpointsLine("error.session", 130, "", "") +
				issued(200, "a") + complete(300, "a", `"x"`) + endpointsEnd,
			want: []string{`0@200 ok 100 streamed=false "x"`}, lacks: "epoch texts",
			warnings: []string{"2 errors without a request; the first: DecodeError: bad"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openText(t, tt.text)
			var got, lacks, warnings []string
			for r.Next() {
				q := r.Request()
				line := runtest.Shown(q)
				if e := q.Excluded(); e == "late" || e == "cancelled" {
					line += " " + string(e)
				}
				got = append(got, line)
				if p, ok := q.Inputs.Get("prompt"); !ok || !strings.HasPrefix(string(p.Data), "hi ") {
					t.Errorf("request %d: prompt %q, want one that begins with hi", q.ID, p.Data)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("requests\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			for _, l := range r.Run().Meta.Import.Lacks {
				lacks = append(lacks, string(l.Part))
			}
			if s := strings.Join(lacks, " "); s != tt.lacks {
				t.Errorf("lacks %q, want %q", s, tt.lacks)
			}
			for _, w := range r.Warnings() {
				warnings = append(warnings, w.Msg)
			}
			if !slices.Equal(warnings, tt.warnings) {
				t.Errorf("warnings %q, want %q", warnings, tt.warnings)
			}
			var cut *export.CutError
			if got := r.Err(); tt.err == "" && got != nil || tt.err != "" && !errors.As(got, &cut) {
				t.Errorf("error %v, want %q", got, tt.err)
			}
		})
	}
}

// A prompt can be token ids or messages.
func TestEndpointsPrompt(t *testing.T) {
	for _, tt := range []struct{ data, want string }{
		{`["PromptData",null,[1, 2],null]`, `[1,2]`},
		{`["PromptData",null,null,[{"role": "user"}]]`, `[{"role":"user"}]`},
		{`["PromptData","",null]`, ``},
		{`["PromptData"]`, "none"},
		{`{"text":"x"}`, "none"},
	} {
		r := openText(t, endpointsBegin+endpointsLine("sample.issued", 200, "a", tt.data)+complete(300, "a", `"x"`)+endpointsEnd)
		if !r.Next() {
			t.Fatalf("%s: no request: %v", tt.data, r.Err())
		}
		p, ok := r.Request().Inputs.Get("prompt")
		if got := string(p.Data); !ok && tt.want != "none" || ok && got != tt.want {
			t.Errorf("%s: prompt %q, want %q", tt.data, got, tt.want)
		}
	}
}

// The real files cut at lines, and around them, give the requests that are whole.
func TestEndpointsCut(t *testing.T) {
	data, err := fs.ReadFile(golden.FS(t, "peers"), "endpoints/chunks/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	lines := 0
	for at := range text {
		if text[at] != '\n' || at == len(text)-1 || at < 200 {
			continue
		}
		if lines++; lines%testenv.Stride(5) > 0 {
			continue
		}
		for _, end := range []int{at - 1, at, at + 1, at + 30} {
			cut := text[:min(end, len(text)-2)]
			r := openText(t, cut)
			n := 0
			for r.Next() {
				n++
			}
			whole := 0
			for line := range strings.Lines(cut) {
				if strings.Contains(line, `"sample.complete"`) && strings.HasSuffix(strings.TrimSpace(line), "}") && strings.Contains(line, `"worker_id":`) {
					whole++
				}
			}
			var c *export.CutError
			if n != whole || !errors.As(r.Err(), &c) {
				t.Fatalf("cut at byte %d: %d requests, %v, want %d and the cut", len(cut), n, r.Err(), whole)
			}
		}
	}
}

// beside writes a case of the archive into a folder and opens the folder's file with the files
// beside it.
func beside(t *testing.T, kind string, change func(name string, data []byte) []byte) export.Reader {
	t.Helper()
	fsys, dir := golden.FS(t, "peers"), t.TempDir()
	for _, name := range []string{"events.jsonl", "performance/result_summary.json", "config.yaml"} {
		data, err := fs.ReadFile(fsys, "endpoints/"+kind+"/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if data = change(name, data); data == nil {
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	o := export.Opener{Formats: resultfile.Formats(ResultFile()), Beside: true}
	r, err := o.Open(t.Context(), filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	for r.Next() {
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return r
}

func unchanged(_ string, data []byte) []byte { return data }

// The tool's own figures follow from the events: distributions, percentiles by early stopping,
// counts, rates. The files beside give load, model and service.
func TestEndpointsSummary(t *testing.T) {
	for _, tt := range []struct {
		kind     string
		compared int // counts and rates, distributions, percentiles by early stopping
		warnings int
	}{
		{"ok", 3 + 1 + 1 + 6 + 2*(6+12), 0},
		{"chunks", 3 + 1 + 1 + 6 + 2*(6+12), 0},
		{"cut", 3 + 1 + 1 + 6 + 2*(6+12+1), 1}, // 20 samples certify the median
	} {
		r := beside(t, tt.kind, unchanged)
		if c, ok := export.Checked(r); !ok || c.Compared != tt.compared || c.Differing != 0 || len(r.Warnings()) != tt.warnings {
			t.Errorf("%s: %+v, %v, want %d compared, none to differ, %d warnings", tt.kind, c, r.Warnings(), tt.compared, tt.warnings)
		}
		run := r.Run()
		e := run.Experiments[0]
		if e.Mode != export.ModeConcurrency || e.Value != "4" || run.Meta.Model != "stamp" || run.Meta.Streaming == nil || !*run.Meta.Streaming ||
			run.Meta.Tool != "mlcommons/endpoints 0.1.0" || run.Endpoint == nil || *run.Endpoint != "v1/chat/completions" || !strings.HasPrefix(run.Meta.URL, "http://127.0.0.1:") {
			t.Errorf("%s: run %+v, level %+v", tt.kind, run.Meta, e)
		}
	}
	r := beside(t, "cut", unchanged)
	if w := r.Warnings()[0].Msg; w != "2 of 20 answers have no finish_reason, unlike the others: the client counts a stream that broke off as complete" {
		t.Errorf("warning %q", w)
	}
}

// A figure that was changed is found out.
func TestEndpointsSummaryChanged(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{`"n_samples_issued": 20`, `"n_samples_issued": 21`, "the file says n_samples_issued is 21, its requests give 20"},
		{`"n_samples_failed": 0`, `"n_samples_failed": 2`, "the file says n_samples_failed is 2, its requests give 0"},
		{`"duration_ns": 1060433955`, `"duration_ns": 1060433967`, "the file says duration_ns is 1.060433967e+09, its requests give 1.060433955e+09"},
		{`"50.0": 22785538.0`, `"50.0": 22785600.0`, "the file says ttft.early_stopping_percentiles.50.0 is 2.27856e+07, its requests give 2.2785538e+07"},
		{`"std_dev": 508510.16612950095`, `"std_dev": 508511`, "the file says ttft.std_dev is 508511"},
		{`"90.0": 213014342.0`, `"90.0": 213086892.0`, "the file says latency.percentiles.90.0 is 2.13086892e+08, its requests give 2.13014342e+08"},
		{`"qps": 18.860203321195993`, `"qps": 18.86`, "the file says qps is 18.86"},
		{`"stop": 18`, `"stop": 20`, "the file says finish_reason_counts.stop is 20, its requests give 18"},
	} {
		r := beside(t, "cut", func(name string, data []byte) []byte {
			if !strings.HasSuffix(name, ".json") {
				return data
			}
			changed := strings.Replace(string(data), tt.from, tt.to, 1)
			if changed == string(data) {
				t.Fatalf("%q is not in the summary", tt.from)
			}
			return []byte(changed)
		})
		c, _ := export.Checked(r)
		if c.Differing != 1 || !strings.Contains(r.Warnings()[0].Msg, tt.want) {
			t.Errorf("%+v, %v, want one difference: %s", c, r.Warnings(), tt.want)
		}
	}
}

// The load comes from either file. A file of another kind is a warning.
func TestEndpointsBeside(t *testing.T) {
	for _, tt := range []struct {
		drop, poison string
		content      string // of poison
		value        string
		warning      string
	}{
		{drop: "config.yaml", value: "4"},
		{drop: "performance/result_summary.json", value: "4"},
		{poison: "config.yaml", content: "[1]", value: "4", warning: "is not the YAML of mlcommons/endpoints' settings"},
		{poison: "config.yaml", content: "{}", value: "4", warning: "has no settings.load_pattern"},
		{poison: "performance/result_summary.json", content: "[1]", value: "4", warning: "is not the JSON object of a summary"},
		{poison: "performance/result_summary.json", content: "{}", value: "4", warning: "is not a summary of mlcommons/endpoints"},
	} {
		r := beside(t, "ok", func(name string, data []byte) []byte {
			switch name {
			case tt.drop:
				return nil
			case tt.poison:
				return []byte(tt.content + "\n")
			}
			return data
		})
		w := ""
		if len(r.Warnings()) > 0 {
			w = r.Warnings()[0].Msg // the warning has the name of the file
		}
		if e := r.Run().Experiments[0]; e.Value != tt.value || !strings.HasPrefix(w, tt.warning) || tt.warning == "" && w != "" {
			t.Errorf("without %q, with %q in %q: level %+v, warning %q", tt.drop, tt.content, tt.poison, e, w)
		}
	}
}

// YAML has infinite numbers; a load has not.
func TestEndpointsInfiniteLoad(t *testing.T) {
	r := beside(t, "ok", func(name string, data []byte) []byte {
		switch name {
		case "events.jsonl":
			return data
		case "config.yaml":
			return []byte("settings:\n  load_pattern: {type: concurrency, target_concurrency: .inf}\n")
		}
		return nil
	})
	if e := r.Run().Experiments[0]; e.Mode != "" || e.Value != "" {
		t.Errorf("level %+v", e)
	}
}

// Poisson loads can be reported over LoadGen's window.
func TestEndpointsPoisson(t *testing.T) {
	text := endpointsBegin + issued(200, "a") + issued(210, "b") + complete(400, "b", `"x"`) + complete(500, "a", `"x"`) + endpointsEnd
	summary := `{"n_samples_issued":2,"n_samples_completed":2,"duration_ns":390,"legacy_loadgen_window_duration_ns":200,"qps":5e6,
"run_config":{"load_pattern":{"type":"poisson","target_qps":12.5}}}`
	r := beside(t, "ok", func(name string, _ []byte) []byte {
		switch name {
		case "events.jsonl":
			return []byte(text)
		case "config.yaml":
			return []byte("settings:\n  load_pattern: {type: poisson, target_qps: 12.5}\n")
		}
		return nil
	})
	if c, _ := export.Checked(r); c.Compared != 0 || len(r.Warnings()) > 0 {
		t.Errorf("without a summary: %+v, %v", c, r.Warnings())
	}
	r = beside(t, "ok", func(name string, data []byte) []byte {
		switch name {
		case "events.jsonl":
			return []byte(text)
		case "config.yaml":
			return nil
		}
		return []byte(summary)
	})
	if c, _ := export.Checked(r); c.Compared != 5 || c.Differing != 0 {
		t.Errorf("%+v, %v", c, r.Warnings())
	}
	if e := r.Run().Experiments[0]; e.Mode != export.ModeRequestRate || e.Value != "12.5" {
		t.Errorf("level %+v", e)
	}
}
