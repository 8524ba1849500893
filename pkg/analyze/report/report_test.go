package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// analyzed returns the report of one golden run of perf_analyzer.
func analyzed(t *testing.T, fsys fs.FS, name string) Input {
	t.Helper()
	b, err := fs.ReadFile(fsys, path.Join(name, "profile_export.json"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := profilejson.NewReader(context.Background(), name, bytes.NewReader(b), int64(len(b)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rep, err := analyze.Run(context.Background(), r, analyze.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return Input{Name: name, Report: rep}
}

// full is a report that holds everything a report can hold.
func full() Input {
	kind, endpoint, version := "openai", "v1/chat/completions", "2.60.0"
	e := analyze.Experiment{
		Mode: "concurrency", Value: "8", OK: 97,
		Failed: []figure.Count{{Name: "timeout", N: 2}, {Name: "http_error", N: 1}}, Excluded: []figure.Count{{Name: "warmup", N: 8}}, Unreadable: 4,
		TokenSource: answer.TokenUsage, TokenEvents: 12345, SharedStamps: 17,
		Level: figure.Level{DurationNS: 12_345_678_901, Throughput: figure.Throughput{
			Requests: figure.PerSecond(7.857), OutputTokens: figure.PerSecond(1005.7), TotalTokens: figure.PerSecond(123456.7), OutputTokensPerUser: figure.PerSecond(125.7125),
		}},
		Client: &export.ClientMeta{
			DurationNS: 12_345_678_901, AchievedPerSecond: 7.9, Turnaround: &export.LatencySummary{N: 96, P50NS: 45_678, P99NS: 1_234_567, MaxNS: 2_000_000},
			IssueToStart: &export.LatencySummary{N: 97, P50NS: 23_456, P99NS: 98_765, MaxNS: 100_000}, GC: &export.GCMeta{Cycles: 12, PauseTotalNS: 300_000, PauseMaxNS: 56_789},
			SchedLatencyP99NS: 81_920, CPU: &export.CPUMeta{UserNS: 2e9, SystemNS: 1e9, Cores: 2, Share: 0.1215}, MaxRSSBytes: 36 << 20,
			FDs: &export.FDMeta{Open: 25, Limit: 1024}, Reads: &export.ReadMeta{Responses: 12345, Merged: 17}, Stamps: &export.StampCount{Kernel: 12334, User: 11, Waited: 11},
		},
		Warnings: []error{errors.New("a warning that is so long that it does not fit a line of eighty columns and has to go on in the next one"), errors.New("evil \x1b[31mred\x1b[0m text")},
	}
	for i := range answer.StrictMetrics {
		d := &answer.StrictMetrics[i]
		s := &summary.Summary{N: 97 * (i + 1), Mean: 123.456, Std: 12.3, Min: 3, Max: 1234}
		if d.Unit() == answer.Nanoseconds {
			*s = summary.Summary{N: 97 * (i + 1), Mean: 123_456_789, Std: 12_345_678, Min: 1_234_567, Max: 1_234_567_890}
		}
		for j := range s.Pct {
			s.Pct[j] = s.Min + (s.Max-s.Min)*summary.Levels[j]/100
		}
		e.Metrics = append(e.Metrics, summary.Metric{Definition: d, Summary: s})
	}
	rate := analyze.Experiment{Mode: "request_rate", Value: "2.5", Sent: figure.Rate{PerSecond: 2.125, OK: true}}
	return Input{Name: "evil\x1b]0;title\a\n.json", Report: &analyze.Report{
		Run: &export.Run{
			Version: &version, ServiceKind: &kind, Endpoint: &endpoint,
			Meta: &export.RunMeta{Tool: "pa-record 1.0", StartNS: 1, EndNS: 2, Interrupted: "interrupt", Calibration: calibrated(), Repeat: &export.RepeatMeta{Label: "o\u202eld", Index: 2, Of: 3}},
		},
		Model: "m\u202eodel", From: answer.FromSent,
		Stamps:      analyze.Stamps{Kernel: 1000, User: 5, Unknown: 1, Mixed: 2},
		Experiments: []analyze.Experiment{e, rate},
		Warnings:    []error{errors.New("2 requests hold both kernel and user-space stamps")},
	}}
}

// calibrated is what two services were calibrated to; the names are a stranger's.
func calibrated() *export.Calibration {
	e := func(p99 int64) *export.ClockError {
		return &export.ClockError{N: 9, Truth: export.StampCount{Kernel: 9}, MedianNS: -1, P50NS: 1, P90NS: 2, P99NS: p99, P999NS: p99, MaxNS: p99 + 1}
	}
	return &export.Calibration{
		Schema: export.CalibrationSchema, Tool: "pa-record 1.0", StartNS: 1, EndNS: 2,
		Services: []export.CalibratedService{
			{
				Service: "openai", Transport: "loop", Streams: 64, TokensPerSecond: 50, TokensPerRequest: 63, Rounds: 2,
				Recordings: []export.CalibratedRecording{
					{Stamps: "kernel", Requests: 9, Sources: export.StampCount{Kernel: 9}, StartSources: export.StampCount{Kernel: 9}, Receive: e(19_123), Start: e(1_204)},
					{Stamps: "user", Requests: 9, Sources: export.StampCount{User: 9}, StartSources: export.StampCount{User: 9}, Merged: 1, Receive: e(12_367_812), Start: e(6_099)},
				},
			},
			{Service: "evil\x1b]0;title\a", Streams: 1, TokensPerSecond: 0.5, TokensPerRequest: 1, Rounds: 2, Recordings: []export.CalibratedRecording{{Stamps: "user", Skipped: 1}}},
		},
		Limits: []string{"Loopback has no wire."},
	}
}

// renderers are all outputs of one list of reports.
func renderers(in []Input) map[string]Renderer {
	return map[string]Renderer{
		"table.txt":       Table(in, Options{}),
		"percentiles.txt": Table(in, Options{Percentiles: true}),
		"report.csv":      CSV(in),
		"report.json":     jsonOf(in),
		"report.md":       Markdown(in),
	}
}

// jsonOf is what the command prints for one file or for several.
func jsonOf(in []Input) Renderer {
	if len(in) == 1 {
		return JSON(in[0])
	}
	return JSONArray(in)
}

func TestGolden(t *testing.T) {
	fsys := golden.FS(t, "perf_analyzer")
	for name, in := range map[string][]Input{
		"full":    {full()},
		"sweep":   {analyzed(t, fsys, "2.60.0/vllm_sweep")},
		"old":     {analyzed(t, fsys, "2.39.0/guide")},
		"merged":  {analyzed(t, fsys, "2.49.0/openai_merged")},
		"failed":  {analyzed(t, fsys, "2.49.0/openai_error_event")},
		"two":     {analyzed(t, fsys, "2.60.0/vllm_csv"), analyzed(t, fsys, "2.49.0/openai_reasoning")},
		"nothing": {{Name: "nothing.json", Report: &analyze.Report{Run: &export.Run{}}}},
		"parts":   {measured(t, "sweep.json", sweep(), parts(t))},
		"steady":  {measured(t, "sweep.json", sweep()[1:2], steady(t))},
		"busy":    {measured(t, "busy.json", busy(), analyze.Config{SLO: expression(t, "ttft<=250ms"), SLOTarget: 0.9})},
		"edges":   edges(t),
	} {
		for file, render := range renderers(in) {
			t.Run(name+"/"+file, func(t *testing.T) {
				var got bytes.Buffer
				if err := render(&got); err != nil {
					t.Fatal(err)
				}
				file := filepath.Join("testdata", name+"_"+file)
				if *update {
					if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got.String()); diff != "" {
					t.Errorf("(-want +got, -update rewrites):\n%s", diff)
				}
			})
		}
	}
}

// The document of the CSV names its columns, in their order, and every metric that
// there is a line of; it says which version it is by how the header begins. -update writes its
// row of the metrics of requests.
func TestCSVDocument(t *testing.T) {
	const path = "../../../schemas/report_csv.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, m := range answer.StrictMetrics {
		keys = append(keys, "`"+m.Key()+"`")
	}
	row := "| " + strings.Join(keys, ", ") + " | `n` to `max` |"
	if *update {
		doc = regexp.MustCompile("(?m)^.* \\| `n` to `max` \\|$").ReplaceAllLiteral(doc, []byte(row))
		if err := os.WriteFile(path, doc, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(string(doc), "\n"+row+"\n") {
		t.Errorf("the document lacks this row (-update writes it):\n%s", row)
	}
	var b bytes.Buffer
	cfg := parts(t)
	if err := CSV([]Input{measured(t, "sweep.json", sweep(), cfg), measured(t, "busy.json", busy(), analyze.Config{SLO: expression(t, "ttft<=250ms"), SLOTarget: 0.9}), full()})(&b); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if head := strings.Join(lines[0][:5], ","); !strings.Contains(string(doc), "`pa-report-csv/1`: its header begins with `"+head+"`") {
		t.Errorf("the document says of another header than %s", head)
	}
	rest := string(doc)
	for _, column := range lines[0] {
		var found bool
		if _, rest, found = strings.Cut(rest, "`"+column+"`"); !found {
			t.Fatalf("column %s is not described, or not in its place", column)
		}
	}
	seen := map[string]bool{}
	for _, line := range lines[1:] {
		name, _, condition := strings.Cut(line[4], "[")
		if condition {
			name += "[CONDITION]"
		}
		seen[name] = true
	}
	for name := range seen {
		if !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("metric %s is not described", name)
		}
	}
	if !seen["max_load_under_slo_interval"] || !seen["slo_attained[CONDITION]"] || !seen["cached_tokens"] {
		t.Errorf("the test does not see all metrics: %v", seen)
	}
}

// The document of the Markdown lists the parts in the order in which they come, and
// describes none that does not.
func TestMarkdownDocument(t *testing.T) {
	doc, err := os.ReadFile("../../../schemas/report_markdown.md")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	cfg, quality := parts(t), quality.Default()
	cfg.Quality, cfg.Economics, cfg.Prefix, cfg.Phases = &quality, &figure.EconomicsConfig{}, true, true
	in := measured(t, "sweep.json", sweep(), cfg)
	for i := range in.Report.Experiments {
		e := &in.Report.Experiments[i]
		e.Server = []serverfigures.Figure{{Name: "queue", Metric: "q", Of: "m version 1", Unit: "ns", N: 1, Mean: 1e6}}
		e.Models = []analyze.ModelPart{{Model: "m", OK: 1}}
	}
	in.Report.Warnings = append(in.Report.Warnings, errors.New("a warning"))
	if err := Markdown([]Input{in})(&b); err != nil {
		t.Fatal(err)
	}
	// Where each part of the document begins: of what is said for each level, in the
	// first one.
	parts := []struct{ part, begins string }{
		{"`### FILE`", `### sweep\.json`},
		{"paragraph", `recorded by `},
		{"table", `\| concurrency \| requests /s \|`},
		{"``SLO `EXPRESSION` `` and a table", "SLO `.*`\n\n\\| concurrency \\|.*\n(\\|.*\n)*\nmaximum concurrency"},
		{"for each level `**LEVEL**: …`", `\*\*concurrency .*\*\*: `},
		{"paragraph", `(window|trimmed|steady state): `},
		{"table", `\| TTFT \| ms \|`},
		{"paragraphs", `.* requests/s · `},
		{"list", `- SLO `},
		{"paragraph, table, list, paragraph", `quality: (.*\n)+\n\|(.*\n)+\| fluidity index \|(.*\n)+\n- (.*\n)+\nmean ITL by position: `},
		{"paragraph and list", `economics: .*\n\n- output tokens/s/user \(decode\): `},
		{"list and table", `- prefix`},
		{"table and list", `- phases`},
		{"table", `\|.*\n\|[:| -]*\n\| queue \|`},
		{"table", `\| model \| requests /s \|`},
		{"paragraph and table", `windows of .*\n\n\| from s \|`},
		{"`Warnings:` and a list", `Warnings:\n\n- `},
	}
	_, list, _ := strings.Cut(string(doc), "| part | is |\n|---|---|\n")
	list, _, _ = strings.Cut(list, "\n\n")
	lines := strings.Split(list, "\n")
	if len(lines) != len(parts) {
		t.Fatalf("the document lists %d parts, want %d", len(lines), len(parts))
	}
	rest := b.String()
	for i, p := range parts {
		if name, _, _ := strings.Cut(strings.TrimPrefix(lines[i], "| "), " | "); name != p.part {
			t.Errorf("part %d of the document is %s, want %s", i+1, name, p.part)
		}
		at := regexp.MustCompile(`(?m)^` + p.begins).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("no %s (%s) after the earlier parts, in:\n%s", p.part, p.begins, b.String())
		}
		rest = rest[at[1]:]
	}
}

// No line is wider than the width, holds a control character or a trailing blank,
// for any recorded run, and every width shows the same figures: what does not fit
// goes on below.
func TestTableFits(t *testing.T) {
	fsys := golden.FS(t, "perf_analyzer")
	inputs := append(edges(t), full(), measured(t, "sweep.json", sweep(), parts(t)), measured(t, "sweep.json", sweep()[1:2], steady(t)))
	golden.Each(t, "perf_analyzer", "profile_export.json", 100, func(name string, data []byte) {
		if len(data) >= 10 {
			inputs = append(inputs, analyzed(t, fsys, path.Dir(name)))
		}
	})
	figure := regexp.MustCompile(`\d+\.\d+`)
	for _, in := range inputs {
		for _, percentiles := range []bool{false, true} {
			var wanted map[string]bool
			for _, width := range []int{0, 120, 80, 60, 40} {
				var b strings.Builder
				if err := Table([]Input{in}, Options{Percentiles: percentiles, Width: width})(&b); err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(b.String()) {
					line = strings.TrimSuffix(line, "\n")
					if n := utf8.RuneCountInString(line); width > 0 && n > width {
						t.Errorf("%s: width %d: %d columns: %s", in.Name, width, n, line)
					}
					if plain(line) != line || strings.TrimRight(line, " ") != line {
						t.Errorf("%s: %q holds control characters or ends in a blank", in.Name, line)
					}
				}
				shown := map[string]bool{}
				for _, f := range figure.FindAllString(b.String(), -1) {
					shown[f] = true
				}
				if wanted == nil {
					wanted = shown
				}
				if !maps.Equal(wanted, shown) {
					t.Errorf("%s: width %d shows other figures (-any width +this):\n%s", in.Name, width, cmp.Diff(wanted, shown))
				}
			}
		}
	}
}

// JSON writes documents that agree with schemas/report.schema.json.
func TestJSONSchema(t *testing.T) {
	schema := schematest.Open(t, "report.schema.json")
	fsys := golden.FS(t, "perf_analyzer")
	inputs := []Input{full(), {Name: "nothing.json", Report: &analyze.Report{Run: &export.Run{}}}}
	for _, name := range []string{"2.39.0/guide", "2.60.0/vllm_sweep", "2.49.0/openai_reasoning", "2.49.0/openai_error_event", "2.60.0/openai_fixed_schedule", "2.52.0/vllm_periodic"} {
		inputs = append(inputs, analyzed(t, fsys, name))
	}
	inputs = append(append(inputs, edges(t)...), measured(t, "sweep.json", sweep(), parts(t)), measured(t, "sweep.json", sweep()[1:2], steady(t)))
	q := quality.Default()
	inputs = append(inputs, measured(t, "sweep.json", sweep(), analyze.Config{Quality: &q, Economics: &figure.EconomicsConfig{GPUs: 2, GPUHourPrice: 3}, Prefix: true, Phases: true}))
	lists := [][]Input{inputs, {}}
	for _, in := range inputs {
		lists = append(lists, []Input{in})
	}
	for i, list := range lists {
		var b bytes.Buffer
		if err := jsonOf(list)(&b); err != nil {
			t.Fatal(err)
		}
		if err := schema.Check(t, b.Bytes()); err != nil {
			t.Errorf("list %d: %v", i, err)
		}
	}
	for _, wrong := range []string{`{}`, `[{}]`, `null`} {
		if schema.Check(t, []byte(wrong)) == nil {
			t.Errorf("the schema takes %s", wrong)
		}
	}
}

// Warnings about the same thing on several levels and in several files are one line
// with the sums, the most severe first; a line names its levels and files only where
// there are several.
func TestWarnings(t *testing.T) {
	rep := func(warnings ...[]error) *analyze.Report {
		r := &analyze.Report{Run: &export.Run{}}
		for i, w := range warnings {
			r.Experiments = append(r.Experiments, analyze.Experiment{Mode: "concurrency", Value: strconv.Itoa(1 << i), Warnings: w})
		}
		return r
	}
	together := func(n, of string) error {
		return analyze.RecorderWarning(n + " of " + of + " tokens arrived together with the previous one, so their gaps are unknown")
	}
	limit := analyze.RecorderWarning("the client may be the limit: it used 95% of the time of its 2 cores; give it more cores, or send less load")
	limit2 := analyze.RecorderWarning("the client may be the limit: it used 99% of the time of its 2 cores; give it more cores, or send less load")
	const rest = ", so their gaps are unknown; either the server sends them together or this machine is overloaded: try a lower load"
	const client = "the client may be the limit: it used 95% of the time of its 2 cores; give it more cores, or send less load"
	whole := rep(nil, nil)
	whole.Warnings = []error{errors.New("a.json: byte 7: odd"), errors.New("evil \x1b[31mred")}
	for _, tt := range []struct {
		name   string
		inputs []Input
		every  bool
		want   []string
	}{
		{"one level", []Input{{"a.json", rep([]error{together("78", "4544")})}}, false, []string{
			"78 of 4,544 tokens arrived together with the previous one" + rest,
		}},
		{"one level of several, severe ones first", []Input{{"a.json", rep([]error{errors.New("odd")}, []error{together("78", "4544"), limit})}}, false, []string{
			"concurrency 2: " + client,
			"concurrency 2: 78 of 4,544 tokens arrived together with the previous one" + rest,
			"concurrency 1: odd",
		}},
		{"sums of levels", []Input{{"a.json", rep([]error{together("78", "4544")}, nil, []error{together("2", "456")})}}, false, []string{
			"concurrency 1, 4: 80 of 5,000 tokens arrived together with the previous one" + rest,
		}},
		{"sums of files", []Input{{"a.json", rep([]error{together("78", "4544")})}, {"b.json", rep([]error{together("2", "456")})}, {"c.json", rep(nil)}}, false, []string{
			"a.json, b.json: 80 of 5,000 tokens arrived together with the previous one" + rest,
		}},
		{"all levels, and numbers that do not add up", []Input{{"a.json", rep([]error{limit, errors.New("same")}, []error{limit2, errors.New("same")})}}, false, []string{
			"concurrency 1: " + client + " (and 1 warning like it on concurrency 2; pa-analyze report --all-warnings shows each)",
			"both levels: same",
		}},
		{"each", []Input{{"a.json", rep([]error{limit}, []error{limit2})}}, true, []string{
			"concurrency 1: " + client,
			"concurrency 2: " + strings.Replace(client, "95", "99", 1),
		}},
		{"of the whole run, without the name of its file", []Input{{"a.json", whole}}, false, []string{"byte 7: odd", `evil \x1b[31mred`}},
		{"of one of two files", []Input{{"a.json", whole}, {"b.json", rep(nil)}}, false, []string{"a.json: byte 7: odd", `a.json: evil \x1b[31mred`}},
		{"none (edge)", []Input{{"a.json", rep(nil)}}, false, nil},
	} {
		if d := cmp.Diff(tt.want, Warnings(tt.inputs, tt.every)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// The schema and the definitions name the same metrics.
func TestJSONSchemaIsComplete(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "schemas", "report.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Metrics struct {
				Properties map[string]any `json:"properties"`
			} `json:"metrics"`
			WarningKinds struct {
				Items struct {
					Enum []analyze.WarningKind `json:"enum"`
				} `json:"items"`
			} `json:"warningKinds"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for k := range schema.Defs.Metrics.Properties {
		got = append(got, k)
	}
	for _, d := range answer.StrictMetrics {
		want = append(want, d.Key())
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-definitions +schema):\n%s", diff)
	}
	if diff := cmp.Diff(analyze.WarningKinds(), schema.Defs.WarningKinds.Items.Enum); diff != "" {
		t.Errorf("kinds of warnings (-order of severity +schema):\n%s", diff)
	}
}

// JSON loses no digit.
func TestJSONPrecision(t *testing.T) {
	in := full()
	s := in.Report.Experiments[0].Metrics[0].Summary
	s.Mean, s.Std, s.Max = 0.1+0.2, 1e-12, 1.7976931348623157e18
	var b bytes.Buffer
	if err := JSON(in)(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Experiments []struct {
			Metrics map[string]map[string]float64 `json:"metrics"`
		} `json:"experiments"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	m := doc.Experiments[0].Metrics["ttft_ns"]
	if m["mean"] != s.Mean || m["std"] != s.Std || m["max"] != s.Max || m["p99.9"] != s.P(99.9) {
		t.Errorf("read back %v, want %+v", m, s)
	}
}

func TestCSVIsRectangular(t *testing.T) {
	var b bytes.Buffer
	if err := CSV([]Input{full()})(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll() // checks that all have one length
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 15 {
		t.Errorf("%d rows", len(rows))
	}
}

// A renderer reports that its writer is full.
func TestRendererErrors(t *testing.T) {
	full := []Input{full()}
	for name, render := range renderers(full) {
		if err := render(failingWriter{}); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v, want %v", name, err, errFull)
		}
	}
}

var errFull = errors.New("disk full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }
