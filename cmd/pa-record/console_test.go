package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/export/pawindow"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/tool"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// newTestConsole returns a console and what it prints.
func newTestConsole(t *testing.T) (*console, *strings.Builder) {
	t.Helper()
	var out strings.Builder
	kind := kindOpenAI
	c, err := newConsole(&out, "", &export.Run{ServiceKind: &kind, Meta: &export.RunMeta{Protocol: protocolHTTP}}, &settings{})
	if err != nil {
		t.Fatal(err)
	}
	return c, &out
}

// measuredLevel is a level with one request.
func measuredLevel(n int) recorder.Level {
	return recorder.Level{
		Load: load.Concurrency{N: n}, OK: 1,
		Reported: window.Window{Summary: pawindow.Summary{Duration: time.Second, Requests: 1, Mean: 5 * time.Millisecond}},
	}
}

// Where percentiles are not exact, the console says so, and else not.
func TestConsoleApproximate(t *testing.T) {
	for _, approximate := range []bool{false, true} {
		c, out := newTestConsole(t)
		l := measuredLevel(4)
		l.Latency.Approximate = approximate
		c.level(&l)
		if got := strings.Contains(out.String(), "percentiles are up to 0.03% too high"); got != approximate {
			t.Errorf("approximate %v, console:\n%s", approximate, out.String())
		}
	}
}

// Requests that were sent again are counted, where there are any.
func TestConsoleResent(t *testing.T) {
	for n, want := range map[int]string{0: "", 3: "    Requests sent again: 3 (their connections were closed under them)\n"} {
		c, out := newTestConsole(t)
		l := measuredLevel(4)
		l.Resent = n
		c.level(&l)
		if got := strings.Contains(out.String(), "sent again"); got != (n > 0) || !strings.Contains(out.String(), want) {
			t.Errorf("%d sent again, console:\n%s", n, out.String())
		}
	}
}

// Levels are printed as they end, but nothing before one that measured something.
func TestConsoleBegins(t *testing.T) {
	c, out := newTestConsole(t)
	failed := recorder.Level{Load: load.Concurrency{N: 1}, Failed: 9}
	c.level(&failed)
	if out.Len() > 0 {
		t.Errorf("nothing was measured, console:\n%s", out.String())
	}
	two, three := measuredLevel(2), failed
	three.Load = load.Concurrency{N: 3}
	c.level(&two)
	if got := out.String(); !strings.HasPrefix(got, "*** Measurement Settings ***\n") || !strings.Contains(got, "\n\nRequest concurrency: 1\nRequest concurrency: 2\n  Client: \n") {
		t.Errorf("after a level that failed and one that did not, console:\n%s", got)
	}
	c.level(&three)
	c.summary(c.all([]recorder.Level{failed, two, three}))
	const end = "Request concurrency: 3\nInferences/Second vs. Client Average Batch Latency\nConcurrency: 2, throughput: 1 infer/sec, latency 5000 usec\n"
	if got := out.String(); !strings.HasSuffix(got, end) {
		t.Errorf("at the end, console:\n%s", got)
	}
}

// pa-record prints during a run, and writes as CSV, exactly what pa-analyze makes of the export.
func TestConsoleIsTheExports(t *testing.T) {
	t.Parallel()
	inputs := map[string]string{
		"triton":        `{"data":[{"text_input":["Hi"],"stream":[true],"sampling_parameters":["{\"max_tokens\":4}"]}]}`,
		"schedule":      `{"data":[{"timestamp":[0],"text_input":["Hi"],"stream":[true],"sampling_parameters":["{}"]},{"timestamp":[9],"text_input":["Hi"],"stream":[true],"sampling_parameters":["{}"]}]}`,
		"conversations": `{"data":[{"session_id":"a","payload":[{"messages":[{"role":"user","content":"one"}]}]},{"session_id":"b","payload":[{"messages":[{"role":"user","content":"two"}]}]}]}`,
	}
	for name, args := range map[string][]string{ // an OpenAI server's is there with -v only
		"windows":       {"--concurrency-range", "1:3:1", "--measurement-mode", "count_windows", "--measurement-request-count", "8", "-s", "999", "-v"},
		"percentile":    {"--concurrency-range", "2", "-p", "60", "-s", "999", "--percentile", "97", "--verbose-csv", "-v"},
		"rates":         {"--request-rate-range", "200:300:100", "--request-count", "20", "-v", "--warmup-request-count", "3"},
		"triton":        {"-m", "vllm", "-i", "grpc", "--streaming", "--request-count", "5", "--verbose-csv"},
		"batches":       {"-m", "add_sub", "-b", "4", "--request-count", "6", "-v"},
		"sequences":     {"-m", "sequence", "-i", "grpc", "--request-count", "12", "--sequence-length", "3", "--sequence-length-variation", "0"},
		"synchronous":   {"-m", "sequence", "--request-count", "12", "--sync"},
		"conversations": {"--service-kind", "openai", "--session-concurrency", "2", "-v"},
		"duration":      {"--duration", "300ms", "-v"},
		"schedule":      {"-m", "vllm", "-i", "grpc", "--streaming", "--fixed-schedule"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file, csv := filepath.Join(dir, "run.json"), filepath.Join(dir, "run.csv")
			all := append([]string{"-u", "sim://?ttft=1ms&itl=500us&output_tokens=4", "--profile-export-file", file, "-f", csv, "--quiet"}, args...)
			if data := inputs[name]; data != "" {
				prompts := filepath.Join(dir, "prompts.json")
				if err := os.WriteFile(prompts, []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
				all = append(all, "--input-data", prompts)
			}
			code, console, stderr := inProcess(t.Context(), t, all...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			calls := "asynchronous"
			if name == "batches" || name == "synchronous" {
				calls = "synchronous"
			}
			if !strings.Contains(console, "  Using "+calls+" calls for inference\n") {
				t.Errorf("not by %s calls:\n%s", calls, console)
			}
			o := export.Opener{Formats: formats.Readers()}
			r, err := o.Open(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			rep, err := dialect.Analyze(t.Context(), tool.Dialects().Find("perf_analyzer"), r, dialect.Config{
				Verbose: slices.Contains(args, "-v"), VerboseCSV: slices.Contains(args, "--verbose-csv"),
			})
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := rep.Console(&out, 0); err != nil {
				t.Fatal(err)
			}
			if before, _, ok := strings.Cut(console, "  ok  failed  "); ok { // the head of pa-record's own lines
				console = console[:strings.LastIndexByte(before, '\n')]
			}
			if diff := cmp.Diff(out.String(), console); diff != "" {
				t.Errorf("console (-export +recorder):\n%s", diff)
			}
			out.Reset()
			if err := rep.CSV(&out); err != nil {
				t.Fatal(err)
			}
			written, err := os.ReadFile(csv)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(out.String(), string(written)); diff != "" {
				t.Errorf("CSV (-export +recorder):\n%s", diff)
			}
		})
	}
}
