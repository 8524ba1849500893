package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// A series is a line of a form, read back.
type series struct {
	name   string
	labels map[string]string
	value  float64
	time   string
}

// written returns what a form writes.
func written(t *testing.T, form string, runs []*Run) string {
	t.Helper()
	f, err := Find(form)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(runs)(&b); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(b.Bytes()) {
		t.Fatalf("%s: no UTF-8: %q", form, b.Bytes())
	}
	return b.String()
}

var (
	metricName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	sampleLine = regexp.MustCompile(`^([a-z][a-z0-9_]*)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\} (\S+) ([0-9]+\.[0-9]{3})$`)
	labelText  = regexp.MustCompile(`([a-z]+)="((?:[^"\\\n]|\\[\\"n])*)"`)
)

// readOpenMetrics reads OpenMetrics strictly: each family is in one place, begins with its type, ends with its unit, and no
// series occurs twice.
func readOpenMetrics(t *testing.T, text string) (all []series) {
	t.Helper()
	lines := strings.Split(text, "\n")
	if n := len(lines); n < 2 || lines[n-2] != "# EOF" || lines[n-1] != "" {
		t.Fatalf("the end is %q", lines[max(0, len(lines)-3):])
	}
	families, family, kind := map[string]bool{}, "", ""
	seen := map[string]bool{}
	for _, line := range lines[:len(lines)-2] {
		if comment, ok := strings.CutPrefix(line, "# "); ok {
			parts := strings.SplitN(comment, " ", 3)
			switch {
			case parts[0] == "TYPE":
				if families[parts[1]] || !metricName.MatchString(parts[1]) {
					t.Fatalf("family %q again, or no name", parts[1])
				}
				family, kind = parts[1], parts[2]
				families[family] = true
			case parts[1] != family || parts[0] == "UNIT" && !strings.HasSuffix(family, "_"+parts[2]):
				t.Fatalf("%q in the family %s", line, family)
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("no sample: %q", line)
		}
		suffix, ok := strings.CutPrefix(m[1], family)
		if !ok || (kind == "gauge") != (suffix == "") {
			t.Fatalf("%q in the %s %s", line, kind, family)
		}
		if seen[m[1]+m[2]] {
			t.Fatalf("the series %q occurs twice", line)
		}
		seen[m[1]+m[2]] = true
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		s := series{m[1], map[string]string{}, v, m[4]}
		for _, l := range labelText.FindAllStringSubmatch(m[2], -1) {
			if _, twice := s.labels[l[1]]; twice {
				t.Fatalf("%q has a label twice", line)
			}
			s.labels[l[1]] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(l[2])
		}
		all = append(all, s)
	}
	return all
}

// readInflux reads the line protocol by its rules: a backslash escapes a comma, a space or an equals sign, and is itself otherwise.
func readInflux(t *testing.T, text string) (all []series) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		var parts [3][][2]string // names and values of measurement and tags, fields, time
		part, atName := 0, true
		pair := [2]string{}
		for i := 0; i < len(line); i++ {
			c, into := line[i], &pair[1]
			if atName {
				into = &pair[0]
			}
			switch {
			case c == '\\' && i+1 < len(line) && strings.IndexByte(",= ", line[i+1]) >= 0:
				i++
				*into += line[i : i+1]
			case c == '=' && atName:
				atName = false
			case c == ',' || c == ' ':
				parts[part] = append(parts[part], pair)
				pair, atName = [2]string{}, true
				if c == ' ' {
					part++
				}
			default:
				*into += string([]byte{c})
			}
			if part > 2 {
				t.Fatalf("a space too many: %q", line)
			}
		}
		parts[part] = append(parts[part], pair)
		if part != 2 || len(parts[2]) != 1 {
			t.Fatalf("%d parts: %q", part+1, line)
		}
		tags := map[string]string{}
		for _, p := range parts[0][1:] {
			if p[0] == "" || p[1] == "" {
				t.Fatalf("an empty tag: %q", line)
			}
			tags[p[0]] = p[1]
		}
		for _, p := range parts[1] {
			v, err := strconv.ParseFloat(p[1], 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			s := series{parts[0][0][0], map[string]string{"statistic": p[0]}, v, parts[2][0][0]}
			for name, value := range tags {
				s.labels[name] = value
			}
			all = append(all, s)
		}
	}
	return all
}

// hostile has all that the forms must escape.
const hostile = "a b,c=\"d\"\\\n\t{e}\u202e'#\\"

// small is a run with one level, whose names are hostile.
func small() *Run {
	at := time.Unix(1_700_000_000, 123_456_789)
	return &Run{
		File: "x.json", Name: "x", Definitions: "pa", Tool: "t 1", Model: hostile, Attributes: map[string]string{explain.OTelModel: hostile},
		Levels: []Level{{
			Name: "concurrency 8", Mode: "concurrency", Value: "8", Start: at, End: at.Add(time.Second),
			Figures: []Figure{
				{Name: "ttft_seconds", Statistic: "p99.9", Unit: "seconds", Text: "0.125", Model: hostile},
				{Name: "ttft_seconds", Statistic: "mean", Unit: "seconds", Text: "0.0625", Model: hostile},
				{Name: "slo_attained", Of: hostile, Text: "1", Model: hostile},
			},
			Histograms: []Histogram{{Name: "ttft_distribution_seconds", Unit: "seconds", OTel: explain.OTelOf("ttft_ns"), Bounds: []string{"0.1", "1"}, AtMost: []int{2, 3}, N: 4, Mean: 0.5}},
		}},
	}
}

func TestOpenMetrics(t *testing.T) {
	all := readOpenMetrics(t, written(t, "openmetrics", []*Run{small()}))
	if len(all) != 3+3+2 {
		t.Fatalf("%d samples: %v", len(all), all)
	}
	if s := all[0]; s.name != "pa_ttft_seconds" || s.labels["model"] != hostile || s.labels["statistic"] != "p99.9" || s.value != 0.125 || s.time != "1700000001.123" {
		t.Errorf("%+v", s)
	}
	for i, want := range []struct {
		le    string
		value float64
	}{{"0.1", 2}, {"1.0", 3}, {"+Inf", 4}, {"", 4}, {"", 2}} {
		if s := all[3+i]; s.labels["le"] != want.le || s.value != want.value {
			t.Errorf("%+v, want %v", s, want)
		}
	}
}

func TestInflux(t *testing.T) {
	all := readInflux(t, written(t, "influx", []*Run{small()}))
	if len(all) != 3 {
		t.Fatalf("%d values: %v", len(all), all)
	}
	// A line break cannot be escaped, and a backslash at the end would escape what follows.
	if s := all[1]; s.name != "pa_ttft_seconds" || s.labels["model"] != `a b,c="d"\\n\t{e}\u202e'#\_` || s.labels["statistic"] != "mean" || s.value != 0.0625 || s.time != "1700000001123456789" {
		t.Errorf("%+v", s)
	}
}

func TestOTLP(t *testing.T) {
	text := written(t, "otlp-json", []*Run{small(), small()})
	if strings.Count(text, "\n") != 2 {
		t.Fatalf("want a line for each run: %s", text)
	}
	type attribute struct {
		Key   string
		Value struct{ StringValue string }
	}
	type point struct {
		Attributes          []attribute
		TimeUnixNano, Count string
		StartTimeUnixNano   string
		AsDouble, Sum       float64
		BucketCounts        []string
		ExplicitBounds      []float64
	}
	var doc struct {
		ResourceMetrics []struct {
			Resource     struct{ Attributes []attribute }
			ScopeMetrics []struct {
				Metrics []struct {
					Name, Unit       string
					Gauge, Histogram struct {
						DataPoints             []point
						AggregationTemporality int
					}
				}
			}
		}
	}
	line, _, _ := strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte(line), &doc); err != nil {
		t.Fatal(err)
	}
	metrics := doc.ResourceMetrics[0].ScopeMetrics[0].Metrics
	if len(metrics) != 3 || metrics[0].Name != "pa.ttft_seconds" || metrics[0].Unit != "s" || len(metrics[0].Gauge.DataPoints) != 2 {
		t.Fatalf("%+v", metrics)
	}
	p := metrics[0].Gauge.DataPoints[0]
	if last := p.Attributes[len(p.Attributes)-1]; p.AsDouble != 0.125 || p.TimeUnixNano != "1700000001123456789" || last.Key != "gen_ai.request.model" || last.Value.StringValue != hostile {
		t.Errorf("%+v", p)
	}
	h := metrics[2]
	if p := h.Histogram.DataPoints[0]; h.Name != "gen_ai.client.operation.time_to_first_chunk" || h.Histogram.AggregationTemporality != 2 || p.Count != "4" || p.Sum != 2 ||
		strings.Join(p.BucketCounts, ",") != "2,1,1" || len(p.ExplicitBounds) != 2 || p.StartTimeUnixNano != "1700000000123456789" {
		t.Errorf("%+v", h)
	}
}

func TestPyTorch(t *testing.T) {
	var records []struct {
		Benchmark struct {
			Name, Mode string
			ExtraInfo  map[string]string `json:"extra_info"`
		}
		Model  struct{ Name string }
		Metric struct {
			Name            string
			BenchmarkValues []float64         `json:"benchmark_values"`
			ExtraInfo       map[string]string `json:"extra_info"`
		}
	}
	d := json.NewDecoder(strings.NewReader(written(t, "pytorch-hud", []*Run{small()})))
	d.DisallowUnknownFields()
	if err := d.Decode(&records); err != nil {
		t.Fatal(err)
	}
	r := records[0]
	if len(records) != 3 || r.Metric.Name != "ttft_seconds_p99.9" || len(r.Metric.BenchmarkValues) != 1 || r.Metric.BenchmarkValues[0] != 0.125 || r.Model.Name != hostile ||
		r.Benchmark.Mode != "inference" || r.Benchmark.ExtraInfo["level"] != "concurrency 8" || records[2].Metric.ExtraInfo["of"] != hostile {
		t.Errorf("%+v", records)
	}
}

// mlflowName is what MLflow takes as the name of a metric or parameter, on each system.
var mlflowName = regexp.MustCompile(`^[a-z0-9_.]+$`)

// readMLflow returns the lines of metrics in a folder that a run wrote, with the step as the label "step".
func readMLflow(t *testing.T, files []File) (all []series) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range files {
		path, err := filepath.Rel("mlruns", f.Path)
		if err != nil || !filepath.IsLocal(path) || seen[strings.ToLower(path)] {
			t.Fatalf("file %q, error %v, seen %v", f.Path, err, seen[strings.ToLower(path)])
		}
		seen[strings.ToLower(path)] = true
		parts := strings.Split(filepath.ToSlash(path), "/")
		switch name := parts[len(parts)-1]; {
		case f.Content == nil:
		case name == "meta.yaml":
			var meta map[string]any
			if err := yaml.Unmarshal(f.Content, &meta); err != nil || meta["experiment_id"] != parts[0] || len(parts) == 3 && meta["run_id"] != parts[1] {
				t.Fatalf("%s: %v, %v", path, meta, err)
			}
		case len(name) > 250:
			t.Fatalf("%q is too long", name)
		case parts[2] == "metrics":
			if !mlflowName.MatchString(name) {
				t.Fatalf("metric %q", name)
			}
			for line := range strings.Lines(string(f.Content)) {
				cells := strings.Split(strings.TrimSuffix(line, "\n"), " ")
				if len(cells) != 3 {
					t.Fatalf("%s: %q", name, line)
				}
				v, err := strconv.ParseFloat(cells[1], 64)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, series{name, map[string]string{"step": cells[2], "run": parts[1]}, v, cells[0]})
			}
		case strings.ContainsAny(string(f.Content), "\n\r"):
			t.Fatalf("%s has several lines: %q", path, f.Content)
		}
	}
	return all
}

func TestMLflow(t *testing.T) {
	r := small()
	files := mlflow("mlruns", []*Run{r})
	all := readMLflow(t, files)
	if len(all) != 3 || all[0].name != "ttft_seconds.p99_9" || all[0].labels["step"] != "8" || all[0].value != 0.125 || all[0].time != "1700000001123" || all[2].name != "slo_attained.a_b_c_d_e" {
		t.Errorf("%v", all)
	}
	if again := mlflow("mlruns", []*Run{small()}); again[len(again)-1].Path != files[len(files)-1].Path {
		t.Errorf("the same run has the IDs %s and %s", files[len(files)-1].Path, again[len(again)-1].Path)
	}
	dir := t.TempDir()
	form, _ := Find("mlflow")
	for range 2 { // the experiment is there the second time
		if err := form.WriteFolder(dir, []*Run{r}, func(path string, content func(io.Writer) error) error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			defer f.Close()
			return content(f)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// After a failure nothing is there that was not there before, however far the writing came.
func TestMLflowFails(t *testing.T) {
	a, b, c := small(), small(), small()
	a.File, b.File, c.File = "a/x.json", "b/x.json", "c/x.json"
	form, _ := Find("mlflow")
	tree := func(dir string) (all []string) {
		if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			all = append(all, path)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	write := func(dir string, runs []*Run, most int) error {
		return form.WriteFolder(filepath.Join(dir, "new", "mlruns"), runs, func(path string, content func(io.Writer) error) error {
			if most--; most < 0 {
				return &disk.OutputError{Path: path, Err: syscall.ENOSPC}
			}
			var text bytes.Buffer
			if err := content(&text); err != nil {
				return err
			}
			return os.WriteFile(path, text.Bytes(), 0o600)
		})
	}
	for _, used := range []bool{false, true} {
		for most, done := 0, false; !done; most++ {
			dir := t.TempDir()
			if used { // a run is there already
				if err := write(dir, []*Run{a}, 100); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(dir)
			err := write(dir, []*Run{b, c}, most)
			after := tree(dir)
			switch done = err == nil; {
			case done && (most < 10 || strings.Contains(strings.Join(after, " "), partialSuffix)):
				t.Errorf("after %d files: %q", most, after)
			case !done && (most > 100 || strings.Contains(err.Error(), partialSuffix) || !slices.Equal(after, before)):
				t.Fatalf("after %d files: %v\n%q\nbefore: %q", most, err, after, before)
			}
		}
	}
}

// Steps are loads where these are numbers that tell the levels apart.
func TestSteps(t *testing.T) {
	for _, tt := range []struct {
		loads string
		want  []int
		what  string
	}{
		{"concurrency:1 concurrency:16", []int{1, 16}, "concurrency"},
		{"request_rate:2.5 request_rate:3", []int{1, 2}, "number of the level"},
		{"concurrency:4 concurrency:4", []int{1, 2}, "number of the level"},
		{"concurrency:4 request_rate:8", []int{1, 2}, "number of the level"},
		{":", []int{1}, "number of the level"},
		{"", nil, ""},
	} {
		r := &Run{}
		for load := range strings.FieldsSeq(tt.loads) {
			mode, value, _ := strings.Cut(load, ":")
			r.Levels = append(r.Levels, Level{Mode: mode, Value: value})
		}
		got, what := r.steps()
		if what != tt.what || len(got) != len(tt.want) {
			t.Fatalf("%q: %v %q", tt.loads, got, what)
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%q: %v, want %v", tt.loads, got, tt.want)
			}
		}
	}
}

// sweep returns a report of a recorded run with three levels and histograms.
func sweep(t *testing.T) report.Input {
	t.Helper()
	b, err := fs.ReadFile(golden.FS(t, "perf_analyzer"), "2.60.0/vllm_sweep/profile_export.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := profilejson.NewReader(context.Background(), "sweep", bytes.NewReader(b), int64(len(b)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rep, err := analyze.Run(t.Context(), r, analyze.Config{Bounds: Bounds})
	if err != nil {
		t.Fatal(err)
	}
	return report.Input{Name: "dir/sweep.json", Report: rep}
}

// Each number of the report's metrics is in each form, with the same value, and histograms count all values.
func TestReport(t *testing.T) {
	in := sweep(t)
	run := Report(in)
	if run.Name != "sweep" || len(run.Levels) != len(in.Report.Experiments) || len(run.Levels) < 2 {
		t.Fatalf("%q, %d levels", run.Name, len(run.Levels))
	}
	if !run.timed() {
		t.Fatal("the levels have no time")
	}
	forms := map[string][]series{
		"openmetrics": readOpenMetrics(t, written(t, "openmetrics", []*Run{run})), "influx": readInflux(t, written(t, "influx", []*Run{run})),
	}
	for i := range in.Report.Experiments {
		e := &in.Report.Experiments[i]
		for _, m := range e.Metrics {
			name, unit := ours(m.Definition.Key(), string(m.Definition.Unit()))
			want := m.Summary.P(99)
			if unit == "seconds" {
				want /= 1e9
			}
			for form, all := range forms {
				n := 0
				for _, s := range all {
					if s.name == "pa_"+name && s.labels["statistic"] == "p99" && s.labels["level"] == run.Levels[i].Name {
						if n++; math.Abs(s.value-want) > 1e-15*math.Abs(want) {
							t.Errorf("%s: %s is %v, want %v", form, name, s.value, want)
						}
					}
				}
				if n != 1 {
					t.Errorf("%s: %d numbers %s at %s", form, n, name, run.Levels[i].Name)
				}
			}
		}
		if len(run.Levels[i].Histograms) < 3 {
			t.Errorf("%d histograms", len(run.Levels[i].Histograms))
		}
		for _, h := range run.Levels[i].Histograms {
			last := 0
			for _, n := range h.AtMost {
				if n < last {
					t.Errorf("%s: %v", h.Name, h.AtMost)
				}
				last = n
			}
			if last > h.N || h.AtMost[0] == h.N || len(h.AtMost) != len(h.Bounds) {
				t.Errorf("%s: %v of %d, %v", h.Name, h.AtMost, h.N, h.Bounds)
			}
		}
	}
}

// result is a file of figures with one level for each name.
func result(file, model, began string, levels ...stated.Level) *stated.Result {
	return &stated.Result{File: file, Definitions: "vllm bench serve", Model: model, Began: began, Levels: levels}
}

// A stated figure keeps its number and never has the name of one of ours.
func TestStated(t *testing.T) {
	f := []stated.Figure{
		stated.NewFigure("ttft", "p99", "ms", "20.10", 20.1), stated.NewFigure("Time To First Token", "avg", "ms", "007", 7), stated.NewFigure("tpot", "mean", "ms", "null", math.NaN()),
		stated.NewFigure("ttft", "p99", "ms", "20.10", 20.1),
	}
	run := Stated(result("dir/a.json", "m", "20260101-120000", stated.Level{Mode: "concurrency", Value: "2", Figures: f}, stated.Level{Mode: "concurrency", Value: "2", Figures: f}))
	if run.Missing != 2 || run.Levels[1].Name != "concurrency 2 (2)" || !run.Levels[0].End.Equal(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", run)
	}
	text := written(t, "openmetrics", []*Run{run})
	for _, want := range []string{
		`pa_stated_ttft_ms{run="a",definitions="vllm bench serve",tool="vllm bench serve",model="m",level="concurrency 2",mode="concurrency",load="2",statistic="p99"} 20.10 1767268800.000`,
		`of="Time To First Token",statistic="avg"} 7 `, "# UNIT pa_stated_ttft_ms ms\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s:\n%s", want, text)
		}
	}
	if all := readOpenMetrics(t, text); len(all) != 4 {
		t.Errorf("%d samples, want 4: the figure that is there twice is written once", len(all))
	}
	if all := readMLflow(t, mlflow("mlruns", []*Run{run})); len(all) != 4 {
		t.Errorf("%v", all)
	}
}

func TestPrepare(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		form, began string
		at          time.Time
		want, err   string
	}{
		{"openmetrics", "2026-01-02T03:04:05Z", time.Time{}, "2026-01-02T03:04:05Z", ""},
		{"openmetrics", "2026-01-02T03:04:05Z", at, "2026-01-31T12:00:00Z", ""},
		{"influx", "yesterday", time.Time{}, "", "a.json does not say when the run was, which influx needs; give --time"},
		{"mlflow", "", time.Time{}, "", "give --time"},
		{"influx", "", at, "2026-01-31T12:00:00Z", ""},
		{"pytorch-hud", "", time.Time{}, "0001-01-01T00:00:00Z", ""},
		{"influx", "0001-01-01T00:00:00Z", time.Time{}, "", "give --time"},
	} {
		form, err := Find(tt.form)
		if err != nil {
			t.Fatal(err)
		}
		run := Stated(result("a.json", "", tt.began, stated.Level{Figures: []stated.Figure{stated.NewFigure("x", "", "", "null", math.NaN())}}))
		notes, err := form.Prepare([]*Run{run}, tt.at)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%+v: error %v", tt, err)
			}
			continue
		}
		if got := run.Levels[0].End.Format(time.RFC3339); err != nil || got != tt.want || len(notes) != 1 || !strings.Contains(notes[0], "1 figure without a value") {
			t.Errorf("%+v: %s, notes %q, error %v", tt, got, notes, err)
		}
	}
	if _, err := Find("nope"); err == nil || !strings.Contains(err.Error(), `"nope": give one of openmetrics, otlp-json, mlflow`) {
		t.Errorf("error %v", err)
	}
}

// A name is never returned twice, however names collide.
func TestDistinct(t *testing.T) {
	d, seen := distinct{}, map[string]bool{}
	for _, name := range strings.Split("a,a,a (2),a,a (2),a (2),a (3),b,a", ",") {
		got := d.name(name, secondLevel)
		if seen[got] {
			t.Errorf("%q again", got)
		}
		seen[got] = true
	}
	if !seen["a"] || !seen["a (2)"] || !seen["b"] {
		t.Errorf("%v", seen)
	}
}

// Names as long as they get stay within MLflow's limits.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("é1", 500)
	figures := []stated.Figure{stated.NewFigure(long, long, long, "1", 1), stated.NewFigure(long+"2", long, long, "2", 2)}
	run := Stated(result("f.json", long, "2026-01-01", stated.Level{Mode: long, Value: long, Figures: figures}))
	if all := readMLflow(t, mlflow("mlruns", []*Run{run})); len(all) != 2 {
		t.Errorf("%v", all)
	}
}

// A run without levels is refused, because it would be an empty file.
func TestNoLevels(t *testing.T) {
	form, _ := Find("mlflow")
	if _, err := form.Prepare([]*Run{{File: "x.json"}}, time.Time{}); err == nil || !strings.Contains(err.Error(), "x.json: no load level has figures") {
		t.Errorf("error %v", err)
	}
}

// Runs with the same name are told apart by their files.
func TestSameNames(t *testing.T) {
	a, b := small(), small()
	a.File, b.File = "a/x.json", "b/x.json"
	runs := map[string]bool{}
	for _, s := range readOpenMetrics(t, written(t, "openmetrics", []*Run{a, b})) {
		runs[s.labels["run"]] = true
	}
	if len(runs) != 2 || !runs["a/x.json"] {
		t.Errorf("%v", runs)
	}
}

// The dashboard asks for metrics that are written, and for labels that they have.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../../examples/grafana/pa-analyze.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title, UID    string
		SchemaVersion int
		Panels        []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, RefID string }
		}
		Templating struct {
			List []struct{ Name, Type string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range readOpenMetrics(t, written(t, "openmetrics", []*Run{Report(sweep(t))})) {
		names[s.name] = true
	}
	ids, asked := map[int]bool{}, 0
	for _, p := range board.Panels {
		if p.GridPos.W < 1 || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.H < 1 || ids[p.ID] || p.Title == "" {
			t.Errorf("panel %+v", p)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`\bpa_[a-z0-9_]+`).FindAllString(target.Expr, -1) {
				if asked++; !names[name] {
					t.Errorf("%s asks for %s, which is not written", p.Title, name)
				}
			}
		}
	}
	if board.SchemaVersion < 36 || board.UID == "" || asked < 8 || len(board.Templating.List) < 3 {
		t.Errorf("%+v", board)
	}
}

// No name in a file breaks a form.
func FuzzForms(f *testing.F) {
	f.Add("m", "ttft", "p99", "ms", "concurrency", "2", "1.5", 1.5)
	f.Add(hostile, hostile, hostile, hostile, hostile, hostile, hostile, 2.0)
	f.Add("", "", "", "", "", "", "", 0.0)
	f.Add("\xff", "\x00", "/../..", "%", "\\", "1e9", "1e5", 1e5)
	f.Add("point", "CON", ".", "..", "=", "-1", "01", 1.0)
	f.Fuzz(func(t *testing.T, model, metric, statistic, unit, mode, value, text string, v float64) {
		figures := []stated.Figure{stated.NewFigure(metric, statistic, unit, text, v), stated.NewFigure(metric+"!", statistic, unit, text, v), stated.NewFigure(metric, statistic, unit, text, v)}
		run := Stated(result("f.json", model, "2026-01-01", stated.Level{Mode: mode, Value: value, Figures: figures}, stated.Level{Mode: mode, Value: value, Figures: figures[:1]}))
		want := 0
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			want = 3
		}
		runs := []*Run{run}
		if all := readOpenMetrics(t, written(t, "openmetrics", runs)); len(all) != want {
			t.Errorf("OpenMetrics: %d figures, want %d", len(all), want)
		}
		if all := readInflux(t, written(t, "influx", runs)); len(all) < want {
			t.Errorf("influx: %d figures, want %d", len(all), want)
		}
		if all := readMLflow(t, mlflow("mlruns", runs)); len(all) != want {
			t.Errorf("mlflow: %d figures, want %d", len(all), want)
		}
		for _, form := range []string{"otlp-json", "pytorch-hud"} {
			if out := written(t, form, runs); !json.Valid([]byte(out)) {
				t.Errorf("%s: %s", form, out)
			}
		}
	})
}

// A measuring writer knows how much was written, and how much at once.
type measuring struct{ all, most int }

func (w *measuring) Write(b []byte) (int, error) {
	w.all, w.most = w.all+len(b), max(w.most, len(b))
	return len(b), nil
}

// Forms of one file write as they go.
func TestWritesAsItGoes(t *testing.T) {
	r := &Run{File: "a.json", Name: "a", Definitions: "pa"}
	for i := range 2000 {
		r.Levels = append(r.Levels, Level{
			Name: fmt.Sprint("level ", i), Start: time.Unix(1, 0), End: time.Unix(2, 0),
			Figures:    []Figure{{Name: "x", Text: "1"}, {Name: "y", Text: "2"}},
			Histograms: []Histogram{{Name: "h", Bounds: []string{"1", "2"}, AtMost: []int{1, 2}, N: 3, Mean: 1}},
		})
	}
	for _, f := range Forms {
		if f.Write == nil {
			continue
		}
		var w measuring
		if err := f.Write([]*Run{r})(&w); err != nil {
			t.Fatal(err)
		}
		if w.all < 100_000 || w.most > 10_000 {
			t.Errorf("%s: %d bytes, up to %d at once", f.Name, w.all, w.most)
		}
	}
}
