package aiperf

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// reportOf returns the report of a run.
func reportOf(r export.Reader, cfg dialect.Config) (*report, error) {
	return runtest.Analyze[*report](context.Background(), Tools()[0], r, cfg)
}

// Each entry of the table of releases is a dialect; the last one has no version in its
// name, and its version is in the JSON report.
func TestTools(t *testing.T) {
	known := releases
	defer func() { releases = known }()
	first := *known[0]
	first.version = "first"
	releases = append([]*release{&first}, known...)
	all := Tools()
	if len(all) != 2 || all[0].Name != "aiperf-first" || all[1].Name != "aiperf" {
		t.Fatalf("%+v", all)
	}
	file := golden.FS(t, "peers")
	data, err := fs.ReadFile(file, "aiperf/ok/profile_export.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"first", "0.13.0"} {
		var b bytes.Buffer
		rep, err := dialect.Analyze(t.Context(), all[i], runtest.Import(t, data, resultfile.Formats(ResultFile())...), dialect.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := rep.JSON(&b); err != nil || !strings.Contains(b.String(), `"aiperf_version": "`+want+`"`) {
			t.Errorf("version %s is not in the report: %v", want, err)
		}
	}
}

// A goldenCase is a run of AIPerf: its own reports, and what its command line said.
type goldenCase struct {
	name    string
	fsys    fs.FS
	summary py.Value
	cfg     dialect.Config
}

func (g *goldenCase) file(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(g.fsys, path.Join(g.name, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// goldenCases returns all runs.
func goldenCases(t *testing.T) []goldenCase {
	t.Helper()
	peers, err := fs.Sub(golden.FS(t, "peers"), "aiperf")
	if err != nil {
		t.Fatal(err)
	}
	more := golden.FS(t, "aiperf")
	all := []goldenCase{
		{name: "ok", fsys: peers},
		{name: "cut", fsys: peers},
		{name: "int", fsys: peers},
		{name: "goodput", fsys: more},
		{name: "server", fsys: more},
		{name: "whole", fsys: more},
	}
	for i := range all {
		g := &all[i]
		if g.summary, err = py.ParseJSON(g.file(t, "profile_export_aiperf.json"), py.JSON); err != nil {
			t.Fatal(err)
		}
		g.cfg.Args = map[string]string{"use_server_token_count": "true"}
		for _, key := range []string{"start_time", "end_time", "was_cancelled"} {
			v, _ := g.summary.Member(key)
			g.cfg.Args[key] = v.Text()
			if v.Kind() == py.Bool {
				g.cfg.Args[key] = v.Raw()
			}
		}
		if _, err := fs.Stat(g.fsys, path.Join(g.name, "args.txt")); err == nil {
			g.commandLine(t)
		}
	}
	return all
}

// commandLine reads what the command line said.
func (g *goldenCase) commandLine(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(g.file(t, "args.txt")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "goodput":
			for _, l := range strings.Fields(value) {
				tag, limit, _ := strings.Cut(l, ":")
				v, err := strconv.ParseFloat(limit, 64)
				if err != nil {
					t.Fatal(err)
				}
				g.cfg.Goodput = append(g.cfg.Goodput, dialect.Limit{Metric: tag, Value: v})
			}
		case "tokenizer":
			g.cfg.Tokenizer = runtest.Tokenizers{}.Named(t, "aiperf", value)
			delete(g.cfg.Args, "use_server_token_count")
		}
	}
}

// report makes our report of one of the files of requests.
func (g *goldenCase) report(t *testing.T, name string) *report {
	t.Helper()
	data := []byte(g.file(t, name))
	rep, err := reportOf(runtest.Import(t, data, resultfile.Formats(ResultFile())...), g.cfg)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// The console, to the character.
func TestGoldenConsole(t *testing.T) {
	for _, g := range goldenCases(t) {
		var b bytes.Buffer
		if err := g.report(t, "profile_export.jsonl").Console(&b, 140); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(inOrder(g.file(t, "profile_export_console.txt")), b.String()); d != "" {
			t.Errorf("%s: -want +got\n%s", g.name, d)
		}
	}
}

// inOrder puts the error-adjusted rows into our order: AIPerf's changes from run
// to run.
func inOrder(console string) string {
	lines := strings.SplitAfter(console, "\n")
	var rows []string
	from := -1
	for i := 0; i+1 < len(lines); i++ {
		if strings.Contains(lines[i], " (error-adjusted) ") { // each has a line for its unit
			if from < 0 {
				from = i
			}
			rows = append(rows, lines[i]+lines[i+1])
			i++
		}
	}
	if from < 0 {
		return console
	}
	names := []string{" Request Latency", " Time to First Token", " Decode Duration", " Inter Token Latency"}
	place := func(row string) int {
		return slices.IndexFunc(names, func(n string) bool { return strings.Contains(row, n) })
	}
	slices.SortFunc(rows, func(a, b string) int { return place(a) - place(b) })
	return strings.Join(slices.Concat(lines[:from], rows, lines[from+2*len(rows):]), "")
}

// The CSV report, to the character: of the records, and but for the parts of HTTP
// exchanges, which it does not have, of the raw file.
func TestGoldenCSV(t *testing.T) {
	for _, g := range goldenCases(t) {
		for _, name := range []string{"profile_export.jsonl", "profile_export_raw.jsonl"} {
			raw := strings.Contains(name, "raw")
			if g.name == "int" && raw { // the archive has the beginning of the file
				continue
			}
			var b bytes.Buffer
			if err := g.report(t, name).CSV(&b); err != nil {
				t.Fatal(err)
			}
			want := slices.DeleteFunc(strings.SplitAfter(g.file(t, "profile_export_aiperf.csv"), "\n"), func(l string) bool {
				return raw && strings.HasPrefix(l, "HTTP ")
			})
			if d := cmp.Diff(strings.Join(want, ""), b.String()); d != "" {
				t.Errorf("%s, %s: -want +got\n%s", g.name, name, d)
			}
		}
	}
}

// The statistics in the JSON report: statistics of requests agree to
// the last digit; statistics over the whole phase agree as far as its times are
// given, to microseconds.
func TestGoldenJSON(t *testing.T) {
	for _, g := range goldenCases(t) {
		rep, summary, name := g.report(t, "profile_export.jsonl"), g.summary, g.name
		var b bytes.Buffer
		if err := rep.JSON(&b); err != nil {
			t.Fatal(err)
		}
		got, err := py.ParseJSON(b.String(), py.JSON)
		if err != nil {
			t.Fatal(err)
		}
		for _, member := range []string{"was_cancelled", "is_complete", "incomplete_reason", "error_summary", "start_time", "end_time"} {
			mine, _ := got.Member(member)
			its, _ := summary.Member(member)
			if d := cmp.Diff(decoded(t, its), decoded(t, mine)); d != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, member, d)
			}
		}
		compared := 0
		for _, c := range releases[0].columns {
			mine, have := got.Member(c.tag)
			its, want := summary.Member(c.tag)
			if have != want {
				t.Errorf("%s: %s: there is one: %v, want %v", name, c.tag, have, want)
			}
			if !have || !want {
				continue
			}
			if u, _ := its.Member("unit"); u.Text() != c.unit {
				t.Errorf("%s: unit %q, want %q", c.tag, c.unit, u.Text())
			}
			overPhase := strings.HasPrefix(c.tag, "effective_") && c.tag != "effective_latency" || strings.HasPrefix(c.tag, "active_") ||
				c.tag == "tokens_in_flight" || strings.HasSuffix(c.unit, "/sec")
			for _, s := range []string{"avg", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "min", "max", "std", "count", "sum"} {
				m, have := mine.Member(s)
				i, want := its.Member(s)
				if have != want {
					t.Errorf("%s: %s %s: there is one: %v, want %v", name, c.tag, s, have, want)
					continue
				}
				compared++
				x, y := number(t, m), number(t, i)
				if x != y && !(overPhase && math.Abs(x-y) <= 1e-4*math.Abs(y)) {
					t.Errorf("%s: %s %s: %v, want %v", name, c.tag, s, x, y)
				}
			}
		}
		if compared < 500 {
			t.Errorf("%s: only %d figures", name, compared)
		}
	}
}

// decoded is a JSON value as Go has it; nil where there is none.
func decoded(t *testing.T, v py.Value) (x any) {
	t.Helper()
	if v.Kind() == py.None && v.Raw() == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(v.Raw()), &x); err != nil {
		t.Fatal(err)
	}
	return x
}

func number(t *testing.T, v py.Value) float64 {
	t.Helper()
	if v.Kind() == py.None {
		return 0
	}
	f, err := strconv.ParseFloat(v.Raw(), 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
