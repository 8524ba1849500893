package perfanalyzer

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A goldenCase is a run of perf_analyzer itself: its export, and what it printed.
type goldenCase struct {
	name   string
	export []byte
	stdout string
	csv    string
	args   []string
}

// goldenCases returns all runs with an export that perf_analyzer wrote.
func goldenCases(t *testing.T) []goldenCase {
	t.Helper()
	all := slices.DeleteFunc(allCases(t), func(g goldenCase) bool { return len(g.export) == 0 })
	if len(all) < 90 {
		t.Fatalf("only %d cases", len(all))
	}
	return all
}

// allCases returns all runs that got as far as to print settings.
func allCases(t *testing.T) []goldenCase {
	t.Helper()
	fsys := golden.FS(t, "perf_analyzer")
	files, err := fs.Glob(fsys, "*/*/stdout.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []goldenCase
	for _, f := range files {
		read := func(name string) []byte {
			b, _ := fs.ReadFile(fsys, path.Join(path.Dir(f), name))
			return b
		}
		g := goldenCase{
			name: path.Dir(f), export: read("profile_export.json"), stdout: string(read("stdout.txt")), csv: string(read("report.csv")),
			args: strings.Fields(string(read("cmd.txt"))),
		}
		if strings.Contains(g.stdout, "Measurement Settings") {
			all = append(all, g)
		}
	}
	return all
}

// short are the long names of perf_analyzer's short flags.
var short = map[string]string{"-p": "measurement-interval", "-i": "protocol", "-b": "batch-size", "-l": "latency-threshold", "-a": "async"}

// config returns what the command line of the run says; without full only -b,
// --percentile, -v, --verbose-csv, and what the level cannot be told from: that it
// was one of intervals, and that it was warmed up.
func (g *goldenCase) config(t *testing.T, full bool) dialect.Config {
	t.Helper()
	cfg := dialect.Config{Args: map[string]string{}}
	streamed := false
	for i := 0; i < len(g.args); i++ {
		name, value, attached := strings.Cut(g.args[i], "=")
		next := func() string {
			if attached || i+1 == len(g.args) {
				return value
			}
			i++
			return g.args[i]
		}
		number := func() int {
			n, err := strconv.Atoi(next())
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if long, ok := short[name]; ok {
			name = "--" + long
		}
		switch name = strings.TrimPrefix(name, "--"); name {
		case "batch-size":
			cfg.BatchSize = number()
		case "percentile":
			cfg.Percentile = number()
		case "-v":
			cfg.Verbose = true
		case "verbose-csv":
			cfg.VerboseCSV = true
		case "streaming":
			streamed = true
		case "async":
			cfg.Args[name] = "true"
		case "binary-search":
			cfg.Args[name] = "true"
		case "protocol", "measurement-mode", "measurement-interval", "measurement-request-count", "request-count", "warmup-request-count",
			"latency-threshold", "concurrency-range", "request-rate-range", "request-distribution", "request-intervals":
			cfg.Args[name] = next()
		}
	}
	if !full {
		all := cfg.Args
		cfg.Args = nil
		for _, name := range []string{"request-intervals", "warmup-request-count"} {
			if value, ok := all[name]; ok {
				cfg.Args = map[string]string{name: value}
			}
		}
		return cfg
	}
	if cfg.Args["protocol"] == "" {
		cfg.Args["protocol"] = "http"
	}
	cfg.Streaming = &streamed
	if _, async := cfg.Args["async"]; !async {
		cfg.Args["sync"] = "true"
	}
	if cfg.Args["measurement-mode"] == "" && cfg.Args["request-count"] == "" && !slices.Contains(g.args, "--fixed-schedule") {
		cfg.Args["measurement-mode"] = "time_windows"
	}
	return cfg
}

func (g *goldenCase) report(t *testing.T, full bool) *Report {
	t.Helper()
	r, err := profilejson.NewReader(context.Background(), g.name, bytes.NewReader(g.export), int64(len(g.export)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rep, err := reportOf(nil, r, g.config(t, full))
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// matches reports whether line is what perf_analyzer printed, where n/a stands for
// any number.
func matches(line, want string) bool {
	if !strings.Contains(line, absent) {
		return line == want
	}
	if line == "    Avg HTTP or gRPC time: n/a" {
		return strings.HasPrefix(want, "    Avg HTTP time: ") || strings.HasPrefix(want, "    Avg gRPC time: ")
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(line), absent, `[0-9.]+`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(want)
}

// Lines of perf_analyzer that the report leaves out.
var notReported = regexp.MustCompile(`^( Successfully read data|Interrupt signal|Waiting for in-flight)`)

func lines(text string) []string {
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return slices.DeleteFunc(all, func(l string) bool { return notReported.MatchString(l) })
}

// With its command line, each run is printed as perf_analyzer printed it, to the
// character, but for the numbers that are not in an export.
func TestGoldenConsole(t *testing.T) {
	for _, g := range goldenCases(t) {
		t.Run(g.name, func(t *testing.T) {
			var out strings.Builder
			if err := g.report(t, true).Console(&out, 0); err != nil {
				t.Fatal(err)
			}
			compare(t, lines(out.String()), lines(g.stdout))
		})
	}
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("missing: %q", want[i])
		case i >= len(want):
			t.Errorf("too much: %q", got[i])
		case !matches(got[i], want[i]):
			t.Errorf("line %d: %q, want %q", i+1, got[i], want[i])
			return
		}
	}
}

// With next to nothing of the command line, the measurement is printed as
// perf_analyzer printed it: see config.
func TestGoldenMeasurement(t *testing.T) {
	for _, g := range goldenCases(t) {
		t.Run(g.name, func(t *testing.T) {
			rep := g.report(t, false)
			var out strings.Builder
			for i := range rep.Levels {
				if err := rep.Settings.WriteLevel(&out, &rep.Levels[i]); err != nil {
					t.Fatal(err)
				}
			}
			if err := rep.Settings.WriteSummary(&out, rep.Levels); err != nil {
				t.Fatal(err)
			}
			_, measured, _ := strings.Cut(g.stdout, "\n\n")
			compare(t, lines(out.String()), lines(measured))
		})
	}
}

// That levels were a range, and so had limits and, of rates, a distribution, shows
// in the file; what they were does not.
func TestGoldenLimits(t *testing.T) {
	about := regexp.MustCompile(`^  (Latency limit|Concurrency limit|Request Rate limit|Using .* distribution)`)
	told := regexp.MustCompile(`[0-9.]+|uniform|poisson`)
	filter := func(text string) []string {
		return slices.DeleteFunc(lines(text), func(l string) bool { return !about.MatchString(l) })
	}
	seen := 0
	for _, g := range goldenCases(t) {
		rep := g.report(t, false)
		if len(rep.Levels) < 2 {
			continue
		}
		seen++
		var out strings.Builder
		if err := rep.Settings.Write(&out); err != nil {
			t.Fatal(err)
		}
		want := filter(g.stdout)
		for i := range want {
			want[i] = told.ReplaceAllString(want[i], absent)
		}
		if got := filter(out.String()); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", g.name, got, want)
		}
	}
	if seen < 8 {
		t.Errorf("only %d runs with several levels", seen)
	}
}

// The range of pa-record's own files: perf_analyzer shows the limits of 2:2, and
// none of 2.
func TestRecordedRange(t *testing.T) {
	for _, tt := range []struct{ config, want string }{
		{`{"concurrency":[2],"range":"2:2"}`, "  Latency limit: 0 msec\n  Concurrency limit: 2 concurrent requests\n"},
		{`{"request_rate":[2.5],"request_distribution":"constant","range":"2.5:2.5:1"}`, "  Latency limit: 0 msec\n  Request Rate limit: 2.5 requests per seconds\n"},
		{`{"concurrency":[1],"range":"1:1"}`, ""},
		{`{"concurrency":[2]}`, ""},
	} {
		s, err := SettingsOf(&export.Run{Meta: &export.RunMeta{Config: []byte(tt.config)}})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := s.Write(&out); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.Contains(got, "limit") != (tt.want != "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s:\n%s, want %q", tt.config, got, tt.want)
		}
	}
}

func TestGoldenCSV(t *testing.T) {
	n := 0
	for _, g := range goldenCases(t) {
		if g.csv == "" {
			continue
		}
		n++
		t.Run(g.name, func(t *testing.T) {
			var out strings.Builder
			if err := g.report(t, true).CSV(&out); err != nil {
				t.Fatal(err)
			}
			compare(t, lines(out.String()), lines(g.csv))
		})
	}
	if n < 10 {
		t.Errorf("only %d files", n)
	}
}

// The settings follow from the command line alone, whatever became of the run.
func TestGoldenSettings(t *testing.T) {
	n := 0
	for _, g := range allCases(t) {
		version, _, _ := strings.Cut(g.name, "/")
		if slices.Contains(g.args, "--fixed-schedule") { // whose count is the count of the input data
			continue
		}
		n++
		t.Run(g.name, func(t *testing.T) {
			cfg := g.config(t, true)
			s := Settings{
				Release: releaseOf(&export.Run{Version: &version}), ServiceKind: "triton",
				Decoupled: strings.Contains(g.stdout, "Detected decoupled model"),
			}
			if slices.Contains(g.args, "openai") {
				s.ServiceKind = openAI
			}
			if err := s.apply(&cfg); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := s.Write(&out); err != nil {
				t.Fatal(err)
			}
			want, _, _ := strings.Cut(g.stdout, "\n\n")
			compare(t, lines(strings.TrimSuffix(out.String(), "\n")), lines(want))
		})
	}
	if n < 130 {
		t.Errorf("only %d cases", n)
	}
}
