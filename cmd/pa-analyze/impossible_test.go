package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// extremes are numbers that hardly any quantity of a run can have.
var extremes = []int64{math.MinInt64, math.MinInt64 + 1, -1 << 53, -5, -1, 1 << 40, 1 << 53, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}

// honestRun returns a run of one level with eight requests of four tokens.
func honestRun() *memrun.Reader {
	const start = 1_700_000_000_000_000_000
	var all []export.Request
	for i := range uint64(8) {
		r := memrun.OpenAI(memrun.Role, memrun.Delta("a"), memrun.Delta("b"), memrun.Delta("c"),
			`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":2}}}`+"\n\n")
		r.ID, r.StartNS, r.HasMeta, r.Status, r.Phase = i, start+i*40_000_000, true, export.StatusOK, export.PhaseMeasured
		r.Inputs = export.Fields{{Name: "payload", Value: export.Text(`{"model":"m","stream":true}`)}}
		for k := range r.Responses {
			r.Responses[k].RecvNS = r.StartNS + uint64(k+1)*5_000_000
		}
		all = append(all, r)
	}
	run := memrun.New("openai", all)
	run.Header.Meta = &export.RunMeta{Schema: export.Schema, Tool: "pa-record 1", StartNS: start - 1_000_000, EndNS: start + 400_000_000, Model: "m"}
	run.Header.Experiments[0].Meta = &export.ExperimentMeta{
		StartNS: start - 500_000, EndNS: start + 390_000_000, RequestCounts: export.RequestCounts{Measured: len(all)},
		Client: &export.ClientMeta{
			DurationNS: 390_000_000, AchievedPerSecond: 25, CPU: &export.CPUMeta{UserNS: 40e6, SystemNS: 38e6, Cores: 2, Share: 0.1},
			Turnaround: &export.LatencySummary{N: 8, P50NS: 1e5, P99NS: 2e5, MaxNS: 3e5}, GC: &export.GCMeta{Cycles: 1, PauseTotalNS: 1e4, PauseMaxNS: 1e4}, MaxRSSBytes: 1 << 24,
		},
	}
	run.Header.Experiments[0].WindowBoundaries = []uint64{start, start + 385_000_000}
	return run
}

// addTelemetry adds scrapes of a gauge, a counter, and a time, whose values are v; the values around v are honest.
func addTelemetry(run *memrun.Reader, v float64) {
	from := run.Requests[0][0].StartNS
	run.Header.Meta.Telemetry = []export.TelemetrySource{{Source: "http://h/metrics", Kind: "prometheus", Host: "h", IntervalNS: 1e8, Scrapes: 4}}
	series := []*export.Series{
		{Source: "http://h/metrics", Name: "vllm:num_requests_running", Type: "gauge"},
		{Source: "http://h/metrics", Name: "vllm:prompt_tokens_total", Type: "counter"},
		{Source: "http://h/metrics", Name: "vllm:time_to_first_token_seconds_sum", Type: "histogram"},
		{Source: "http://h/metrics", Name: "vllm:time_to_first_token_seconds_count", Type: "histogram"},
		{Source: "http://h/metrics", Name: "DCGM_FI_DEV_POWER_USAGE", Type: "gauge", Labels: []export.Label{{Name: "UUID", Value: "GPU-1"}}},
	}
	for i := range uint64(4) {
		s := export.Scrape{Source: "http://h/metrics", StartNS: from + i*130_000_000 - 2_000_000, EndNS: from + i*130_000_000 - 1_000_000}
		for k := range series {
			x := float64(i + 1)
			if i == 2 || k == 2 && i == 3 {
				x = v
			}
			s.Samples = append(s.Samples, export.Sample{Series: series[k], Value: x})
		}
		run.Telemetry = append(run.Telemetry, s)
	}
}

// writeHonest writes two honest files into dir, and returns the name of the first.
func writeHonest(t *testing.T, dir string) string {
	t.Helper()
	for _, name := range []string{"again.json", "honest.json"} {
		run := honestRun()
		run.Requests[0][0].Responses[4].RecvNS += uint64(len(name)) // no run counts twice
		exporttest.Write(t, filepath.Join(dir, name), run)
	}
	return filepath.Join(dir, "honest.json")
}

// commandsOfRun are command lines that print figures of the file FILE. HONEST and AGAIN are honest
// files.
var commandsOfRun = []string{
	"report --width 2000 FILE", "report --format json FILE", "report --format csv FILE", "report --format markdown FILE",
	"report --format json --metrics quality,economics,prefix,phases --windows 100ms FILE",
	"report --format json --window 0s:200ms FILE", "report --format json --metrics sessions,audio,images,realtime FILE",
	"requests --format csv FILE", "requests --format jsonl --metrics quality FILE",
	"check --format json FILE", "check FILE",
	"diff --format json --single-run HONEST FILE",
	"plot timeline FILE", "plot cdf FILE", "pareto --gpus 1 FILE", "trace FILE", "html FILE",
	"rig HONEST AGAIN FILE", "trend HONEST FILE", "plot heatmap FILE", "plot scatter FILE",
	"write --to pytorch-hud FILE",
}

// runLine runs a command line in which FILE and HONEST stand for files.
func runLine(t *testing.T, line, file, honest string) result {
	t.Helper()
	files := map[string]string{"FILE": file, "HONEST": honest, "AGAIN": filepath.Join(filepath.Dir(honest), "again.json")}
	args := strings.Fields(line)
	for i, a := range args {
		args[i] = cmp.Or(files[a], a)
	}
	return exec(t, "", args...)
}

var (
	notFinite = regexp.MustCompile(`[+-]?\bInf\b|\bNaN\b|"[+-]?(Inf|NaN)"`)
	belowZero = regexp.MustCompile(`(^|[\s,|])[-−][0-9]`)
	tooLong   = regexp.MustCompile(`(^|[^.0-9])[0-9]{14}|[0-9]{1,3}(,[0-9]{3}){5}|[0-9]e\+?[1-9][0-9]`)
)

// impossibleFigures returns the figures in the output of a command that cannot be true.
func impossibleFigures(line, out string) []string {
	command, _, _ := strings.Cut(line, " ")
	if strings.Contains(line, "--format json ") {
		var v any
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			return []string{"no JSON: " + err.Error()}
		}
		return impossibleNumbers(command, "", v)
	}
	switch command {
	case "html", "trace", "plot":
		return notFinite.FindAllString(withoutScripts(out), 3)
	}
	var all []string
	for l := range strings.Lines(out) {
		if strings.Contains(l, "impossible") || strings.Contains(l, "contradict the recorded") || strings.Contains(l, "is as low as") || strings.Contains(l, "is as high as") || strings.Contains(l, " fell from ") || strings.Contains(l, "comes to") {
			continue // it names the number
		}
		found := append(notFinite.FindAllString(l, 2), belowZero.FindAllString(l, 2)...)
		if command != "requests" { // which has times since 1970
			found = append(found, tooLong.FindAllString(l, 2)...)
		}
		if found != nil {
			all = append(all, fmt.Sprintf("%q in %q", found, l))
		}
	}
	return all
}

var scripts = regexp.MustCompile(`(?s)<script.*?</script>`)

// withoutScripts returns a page without the texts of its programs.
func withoutScripts(page string) string { return scripts.ReplaceAllString(page, "") }

// impossibleNumbers returns the numbers of a JSON report that cannot be true, by their paths.
func impossibleNumbers(command, path string, v any) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			switch {
			case strings.HasSuffix(k, "start_ns"), strings.HasSuffix(k, "end_ns"), k == "change", k == "difference", k == "ci", k == "interval", k == "offset_ns", strings.HasPrefix(k, "ttft_by"), strings.HasPrefix(k, "client_minus_server"):
				continue // instants, and differences
			case strings.HasPrefix(k, "ttft_rest"), k == "least_rest_ns", v["part"] == answer.RestPart.String():
				continue // below 0 if the server states more time than passed
			}
			all = append(all, impossibleNumbers(command, path+"."+k, v[k])...)
		}
	case []any:
		for i := range v {
			all = append(all, impossibleNumbers(command, path+"["+strconv.Itoa(i)+"]", v[i])...)
		}
	case float64:
		if command != "diff" && v < 0 || math.Abs(v) > 1e17 {
			all = append(all, fmt.Sprintf("%s = %v", path, v))
		}
	}
	return all
}

// A lie puts a wrong number into a run, or into the derived columns of its table.
type lie struct {
	name string
	run  func(r *memrun.Reader, v int64)
	// derived changes the derived columns of one request; nil: none.
	derived func(d *export.Derived, v int64)
}

// usage returns the last event of an answer, whose server states v as a number of tokens.
func usage(format string, v int64) func(*memrun.Reader) {
	return func(r *memrun.Reader) {
		last := &r.Requests[0][3].Responses[4]
		last.Outputs = export.Fields{{Name: "response", Value: export.Text("data: " + fmt.Sprintf(format, v) + "\n\n")}}
	}
}

// lies are the wrong numbers that a file can state.
var lies = []lie{
	{name: "ttft_ns", derived: func(d *export.Derived, v int64) { d.TTFT.V = v }},
	{name: "e2el_ns", derived: func(d *export.Derived, v int64) { d.E2EL.V = v }},
	{name: "itl_ns", derived: func(d *export.Derived, v int64) { d.ITL[0][1] = v }},
	{name: "first_response_ns", derived: func(d *export.Derived, v int64) { d.Responses.First = v }},
	{name: "ttfat_ns", derived: func(d *export.Derived, v int64) { d.TTFAT = export.IntOf(v) }},
	{name: "output_tokens", derived: func(d *export.Derived, v int64) { d.OutputTokens.V = v }},
	{name: "input_tokens", derived: func(d *export.Derived, v int64) { d.InputTokens.V = v }},
	{name: "cached_tokens", derived: func(d *export.Derived, v int64) { d.CachedTokens.V = v }},
	{name: "reasoning_tokens", derived: func(d *export.Derived, v int64) { d.ReasoningTokens = export.IntOf(v) }},
	{name: "server_prefill_ns", derived: func(d *export.Derived, v int64) { d.Server.Prefill = export.IntOf(v) }},
	{name: "server_decode_ns", derived: func(d *export.Derived, v int64) { d.Server.Decode = export.IntOf(v) }},
	{name: "server_queue_ns", derived: func(d *export.Derived, v int64) { d.Server.Queue = export.IntOf(v) }},
	{name: "server_ttft_ns", derived: func(d *export.Derived, v int64) { d.Server.TTFT = export.IntOf(v) }},
	{name: "server_e2e_ns", derived: func(d *export.Derived, v int64) { d.Server.E2E = export.IntOf(v) }},
	{name: "cached_local_tokens", derived: func(d *export.Derived, v int64) { d.Server.CachedLocal = export.IntOf(v) }},
	{name: "draft_steps", derived: func(d *export.Derived, v int64) { d.Server.DraftSteps = export.IntOf(v) }},
	{name: "accepted_tokens", derived: func(d *export.Derived, v int64) { d.Server.AcceptedTokens = export.IntOf(v) }},
	{name: "retractions", derived: func(d *export.Derived, v int64) { d.Server.Retractions = export.IntOf(v) }},
	{name: "usage completion_tokens", run: func(r *memrun.Reader, v int64) {
		usage(`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`, v)(r)
	}},
	{name: "usage prompt_tokens", run: func(r *memrun.Reader, v int64) {
		usage(`{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":4}}`, v)(r)
	}},
	{name: "usage cached_tokens", run: func(r *memrun.Reader, v int64) {
		usage(`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":%d}}}`, v)(r)
	}},
	{name: "usage reasoning_tokens", run: func(r *memrun.Reader, v int64) {
		usage(`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"completion_tokens_details":{"reasoning_tokens":%d}}}`, v)(r)
	}},
	{name: "start", run: func(r *memrun.Reader, v int64) { r.Requests[0][2].StartNS = uint64(v) }},
	{name: "end", run: func(r *memrun.Reader, v int64) { r.Requests[0][2].Responses[4].RecvNS = uint64(v) }},
	{name: "all starts", run: func(r *memrun.Reader, v int64) {
		for i := range r.Requests[0] {
			r.Requests[0][i].StartNS = uint64(v)
		}
	}},
	{name: "client.cpu.cores", run: func(r *memrun.Reader, v int64) { client(r).CPU.Cores = int(v) }},
	{name: "client.cpu.share", run: func(r *memrun.Reader, v int64) { client(r).CPU.Share = float64(v) }},
	{name: "client.turnaround.p50_ns", run: func(r *memrun.Reader, v int64) { client(r).Turnaround.P50NS = v }},
	{name: "client.turnaround.p99_ns", run: func(r *memrun.Reader, v int64) { client(r).Turnaround.P99NS = v }},
	{name: "client.gc", run: func(r *memrun.Reader, v int64) { client(r).GC.PauseMaxNS = v }},
	{name: "client.max_rss_bytes", run: func(r *memrun.Reader, v int64) { client(r).MaxRSSBytes = v }},
	{name: "client.duration_ns", run: func(r *memrun.Reader, v int64) { client(r).DurationNS = v }},
	{name: "client.achieved", run: func(r *memrun.Reader, v int64) { client(r).AchievedPerSecond = float64(v) }},
	{name: "telemetry", run: func(r *memrun.Reader, v int64) { addTelemetry(r, float64(v)) }},
	{name: "calibration", run: func(r *memrun.Reader, v int64) {
		r.Header.Meta.Calibration = &export.Calibration{Services: []export.CalibratedService{{Service: "openai", Recordings: []export.CalibratedRecording{{Stamps: "user", Receive: &export.ClockError{P99NS: v}}}}}}
	}},
	{name: "calibration streams", run: func(r *memrun.Reader, v int64) {
		r.Header.Meta.Calibration = &export.Calibration{Services: []export.CalibratedService{{Service: "openai", Streams: int(v), TokensPerSecond: float64(v)}}}
	}},
	{name: "merged.world_size", run: func(r *memrun.Reader, v int64) {
		r.Header.Meta.Merged = &export.MergedMeta{WorldSize: int(v), Shards: []export.MergedShard{{}, {Rank: 1}}}
	}},
	{name: "merged.clock_bound_ns", run: func(r *memrun.Reader, v int64) {
		r.Header.Meta.Merged = &export.MergedMeta{WorldSize: 2, Shards: []export.MergedShard{{}, {Rank: 1}}, ClockBoundNS: &v}
	}},
	{name: "measured", run: func(r *memrun.Reader, v int64) { r.Header.Experiments[0].Meta.Measured = int(v) }},
	{name: "failed", run: func(r *memrun.Reader, v int64) { r.Header.Experiments[0].Meta.Failed = int(v) }},
	{name: "run.start_ns", run: func(r *memrun.Reader, v int64) { r.Header.Meta.StartNS = uint64(v) }},
	{name: "run.end_ns", run: func(r *memrun.Reader, v int64) { r.Header.Meta.StartNS, r.Header.Meta.EndNS = uint64(v), uint64(v) }},
	{name: "value", run: func(r *memrun.Reader, v int64) { r.Header.Experiments[0].Value = strconv.FormatInt(v, 10) }},
}

// client returns the figures of the client of the level of r.
func client(r *memrun.Reader) *export.ClientMeta { return r.Header.Experiments[0].Meta.Client }

// tell writes a file with the lie about the number v.
func (l *lie) tell(t *testing.T, file string, v int64) {
	t.Helper()
	run := honestRun()
	if l.run != nil {
		l.run(run, v)
	}
	exporttest.WriteEdited(t, file, run, func(r *export.Request, d *export.Derived) {
		if l.derived != nil && r.ID == 3 {
			l.derived(d, v)
		}
	})
}

// No command prints a figure that cannot be true, whatever a file states.
func TestImpossibleNumbers(t *testing.T) {
	testenv.NoRace(t)
	t.Parallel()
	dir := t.TempDir()
	honest := writeHonest(t, dir)
	random := rand.New(rand.NewPCG(1, 2))
	every := testenv.Stride(41)
	n := 0
	for i := range lies {
		l := &lies[i]
		for _, v := range extremes {
			ends := []string{".json", ".parquet", ".arrow"}
			if l.derived != nil {
				ends = ends[1:]
			}
			end := ends[random.IntN(len(ends))]
			file := filepath.Join(dir, fmt.Sprintf("lie%d%s", n, end))
			l.tell(t, file, v)
			for k, line := range commandsOfRun {
				if n++; n%every != 0 {
					continue
				}
				res := runLine(t, line, file, honest)
				if res.code == 2 {
					t.Fatalf("%s: %s", line, res.stderr)
				}
				out := res.stdout
				if out == "" && strings.Contains(res.stderr, "the clocks of the ranks ") {
					continue // windows and parts need them
				}
				if l.name == "telemetry" && !strings.Contains(line, "--format json ") { // the lines of a text end anywhere in a message with the value
					out = strings.ReplaceAll(out, strconv.FormatFloat(float64(v), 'g', -1, 64), "")
				}
				if bad := impossibleFigures(line, out); bad != nil {
					t.Errorf("%s = %d in %s, command %d %q: %q", l.name, v, end, k, line, bad)
				}
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Not finite telemetry makes no figure, and check fails because of it.
func TestImpossibleTelemetry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	honest := writeHonest(t, dir)
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e308} {
		file := filepath.Join(dir, strconv.Itoa(i)+".parquet")
		run := honestRun()
		addTelemetry(run, v)
		exporttest.Write(t, file, run)
		for _, line := range []string{"report --width 2000 FILE", "report --format json --metrics economics FILE", "check FILE", "html FILE", "plot timeline FILE", "diff --format json --single-run HONEST FILE"} {
			if bad := impossibleFigures(line, runLine(t, line, file, honest).stdout); bad != nil {
				t.Errorf("%v, %s: %q", v, line, bad)
			}
		}
	}
}

// A report names the number that cannot be true, its request, and the figures that have no value
// because of it. check fails.
func TestImpossibleMessages(t *testing.T) {
	t.Parallel()
	find := func(name string) *lie {
		i := slices.IndexFunc(lies, func(l lie) bool { return l.name == name })
		if i < 0 {
			t.Fatalf("no lie about %s", name)
		}
		return &lies[i]
	}
	for i, tt := range []struct {
		lie            string
		v              int64
		report, stderr string // what the report and the warnings hold
		check          string
	}{
		{"usage completion_tokens", -7, "token rates: n/a (1 of 8 requests stated an impossible number of output tokens)", "1 of 8 requests stated an impossible number of output tokens, such as -7 (request 3): left out, and token rates are n/a; --token-source responses counts chunks", "fail  values: 1 of 8 requests stated an impossible number of output tokens"},
		{"usage completion_tokens", 1 << 62, "output tokens", "such as 4611686018427387904 (request 3)", "fail  values: "},
		{"usage completion_tokens", math.MaxInt64, "token rates: n/a", "such as 9223372036854775807 (request 3)", "fail  values: "},
		{"usage prompt_tokens", -7, "input tokens", "1 of 8 requests stated an impossible number of input tokens, such as -7 (request 3): left out, and the rate of all tokens is n/a", "fail  values: "},
		{"usage cached_tokens", 10, "input tokens", "1 of 8 requests stated an impossible number of cached tokens, below 0 or above the input tokens, such as 10 (request 3): left out", "fail  values: "},
		{"start", 1, "rates: n/a (1 of 8 requests started or ended at an impossible time)", "1 of 8 requests started or ended at an impossible time, such as 1 (request 2): latencies that need the time, and rates, are n/a", "fail  values: "},
		{"start", math.MinInt64, "rates: n/a", "such as 9223372036854775808 (request 2)", "fail  values: "},
		{"all starts", math.MaxInt64, "rates: n/a (8 of 8 requests", "8 of 8 requests started or ended", "fail  values: "},
		{"end", math.MaxInt64, "rates: n/a", "such as 9223372036854775807 (request 2)", "fail  values: "},
		{"client.cpu.cores", 0, "client (pa-record): 16 MB of memory", "the client's measurements of itself are impossible and left out: cpu.cores is 0", "fail  client: the client's measurements of itself are impossible"},
		{"client.turnaround.p50_ns", math.MinInt64, "client (pa-record): 10.00% of 2 CPU cores", "turnaround is -9223372036854775808", "fail  client: "},
		{"calibration", -5, "ITL", "errors of the calibration are impossible and left out: the p99 error of openai with user stamps is -5 ns", "fail  clock: errors of the calibration are impossible"},
		{"calibration streams", -7, "ITL", "errors of the calibration are impossible and left out: the load of openai is -7 streams of -7 tokens/s", "fail  clock: errors of the calibration are impossible"},
		{"merged.world_size", -4, "ITL", "facts of the run are impossible and left out: pa.merged.world_size is -4", "fail  values: facts of the run are impossible"},
		{"merged.clock_bound_ns", -5, "2 of 2 ranks", "facts of the run are impossible and left out: pa.merged.clock_bound_ns is -5", "fail  values: "},
		{"measured", math.MaxInt64, "8 requests ok", "facts of the run are impossible and left out: experiment 0: pa.measured is 9223372036854775807", "fail  values: "},
		{"run.end_ns", math.MaxInt64, "8 requests ok", "facts of the run are impossible and left out: pa.start_ns is 9223372036854775807 and pa.end_ns is 9223372036854775807", "fail  values: "},
		{"value", -7, "load not known: 8 requests ok", "facts of the run are impossible and left out: experiment 0: concurrency is -7", "fail  values: "},
		{"telemetry", -1, "running requests", "vllm:num_requests_running is as low as -1", "fail  values: running requests of http://h/metrics: vllm:num_requests_running is as low as -1"},
	} {
		t.Run(fmt.Sprintf("%s %d", tt.lie, tt.v), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "run.json")
			find(tt.lie).tell(t, file, tt.v)
			res := runLine(t, "report --width 2000 FILE", file, "")
			flat := strings.Join(strings.Fields(res.stdout), " ")
			if !strings.Contains(flat, tt.report) {
				t.Errorf("%d: report\n%s\nwant %q", i, res.stdout, tt.report)
			}
			if !strings.Contains(res.stderr, tt.stderr) {
				t.Errorf("%d: warnings\n%s\nwant %q", i, res.stderr, tt.stderr)
			}
			if res := runLine(t, "check FILE", file, ""); !strings.Contains(res.stdout, tt.check) {
				t.Errorf("%d: check\n%s\nwant %q", i, res.stdout, tt.check)
			}
		})
	}
}

// A load that cannot be true is in no list, trace or report of another tool.
func TestImpossibleLoad(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.json")
	lies[slices.IndexFunc(lies, func(l lie) bool { return l.name == "value" })].tell(t, file, -7)
	for _, line := range []string{"requests FILE", "requests --format csv FILE", "requests --format jsonl FILE", "trace FILE", "report --dialect vllm --tokenizer built-in FILE", "report --dialect perf_analyzer FILE"} {
		res := runLine(t, line, file, "")
		if text := res.stdout + res.stderr; res.stdout == "" || strings.Contains(strings.ReplaceAll(text, "concurrency is -7", ""), "-7") {
			t.Errorf("%s: %s", line, text)
		}
		if strings.HasPrefix(line, "report") && !strings.Contains(res.stderr, "facts of the run are impossible, such as experiment 0: concurrency is -7: the figures leave them out") {
			t.Errorf("%s: %s", line, res.stderr)
		}
	}
}

// A count of tokens that is no whole number is no count: 5.5 output tokens were once read as 5.
func TestFractionOfTokens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole, file := filepath.Join(dir, "whole.json"), filepath.Join(dir, "run.json")
	lies[slices.IndexFunc(lies, func(l lie) bool { return l.name == "usage completion_tokens" })].tell(t, whole, -7)
	text, err := os.ReadFile(whole)
	if err == nil {
		err = os.WriteFile(file, bytes.Replace(text, []byte("-7"), []byte("5.5"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	const want = "1 of 8 requests stated an impossible number of output tokens, such as a number with a fraction, or below -2^62 (request 3): left out, and token rates are n/a"
	if res := runLine(t, "report FILE", file, ""); !strings.Contains(res.stderr, want) {
		t.Errorf("report: %s%s, want %q", res.stdout, res.stderr, want)
	}
	if res := runLine(t, "check FILE", file, ""); !strings.Contains(res.stdout, "fail  values: 1 of 8 requests stated") {
		t.Errorf("check: %s", res.stdout)
	}
}

// An honest run has no warning about impossible numbers, and check has no item for them.
func TestHonestNumbers(t *testing.T) {
	t.Parallel()
	file := writeHonest(t, t.TempDir())
	res := runLine(t, "check FILE", file, "")
	if all := res.stdout + res.stderr + runLine(t, "report FILE", file, "").stderr; strings.Contains(all, "values") || strings.Contains(all, "impossible") {
		t.Errorf("check says\n%s", all)
	}
}
