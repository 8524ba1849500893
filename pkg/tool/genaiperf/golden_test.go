package genaiperf

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A goldenCase is a report that GenAI-Perf itself made; the README of the
// archive says how.
type goldenCase struct {
	release, name string
	args          map[string]string
	fsys          fs.FS
	tokenizers    counted
}

func (g *goldenCase) file(t *testing.T, name string) (data []byte, ok bool) {
	t.Helper()
	b, err := fs.ReadFile(g.fsys, path.Join(g.release, g.name, name))
	return b, err == nil
}

// goldenCases returns all cases with an export and a report of one level.
func goldenCases(t *testing.T) []goldenCase {
	t.Helper()
	cases.Do(func() { cases.all = readCases(t) })
	if len(cases.all) < 750 {
		t.Fatalf("only %d cases", len(cases.all))
	}
	return cases.all
}

// cases holds the result of readCases, which looks at thousands of files.
var cases struct {
	sync.Once
	all []goldenCase
}

// readCases reads the list of cases.
func readCases(t *testing.T) []goldenCase {
	t.Helper()
	fsys := golden.FS(t, "genai_perf")
	var all []goldenCase
	shared := counted{}
	files, err := fs.Glob(fsys, "*/*/profile_export.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		parts := strings.Split(f, "/")
		g := goldenCase{release: parts[0], name: parts[1], fsys: fsys, args: map[string]string{}, tokenizers: shared}
		b, _ := g.file(t, "args.txt")
		for line := range strings.Lines(string(b)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			g.args[name] = strings.TrimSpace(value)
		}
		if g.args["service_kind"] != "" { // the others are of sub-commands that make several reports
			all = append(all, g)
		}
	}
	return all
}

// config returns the command line of the case.
func (g *goldenCase) config(t *testing.T) dialect.Config {
	t.Helper()
	streaming := g.args["streaming"] == "true"
	cfg := dialect.Config{
		ServiceKind: g.args["service_kind"], EndpointType: g.args["endpoint_type"], Backend: g.args["backend"],
		Streaming: &streaming,
	}
	mode, value, _ := strings.Cut(g.args["load"], " ")
	if mode == "session" {
		mode, value = "request_rate", "0.0"
	}
	cfg.Level = dialect.Level{Mode: mode, Value: value}
	for _, l := range strings.Fields(g.args["goodput"]) {
		name, limit, _ := strings.Cut(l, ":")
		f, err := strconv.ParseFloat(limit, 64)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Goodput = append(cfg.Goodput, dialect.Limit{Metric: name, Value: f})
	}
	name, _, _ := strings.Cut(g.args["tokenizer"], " ")
	cfg.Tokenizer = g.tokenizers.tokenizer(t, name)
	return cfg
}

// counted are the tokenizers by their names, which count each text once: the
// releases share their inputs.
type counted map[string]dialect.Tokenizer

func (c counted) tokenizer(t *testing.T, name string) dialect.Tokenizer {
	t.Helper()
	if c[name] == nil {
		c[name] = cached{runtest.Tokenizers{}.Named(t, "genai-perf", name), map[string]int{}}
	}
	return c[name]
}

// cached counts each text once: the releases share their inputs.
type cached struct {
	dialect.Tokenizer
	counts map[string]int
}

func (c cached) Count(text string) int {
	n, ok := c.counts[text]
	if !ok {
		n = c.Tokenizer.Count(text)
		c.counts[text] = n
	}
	return n
}

// reportOf returns the release's report of a run.
func reportOf(release *release, r export.Reader, cfg dialect.Config) (*report, error) {
	return runtest.Analyze[*report](context.Background(), release.tool(release.Name), r, cfg)
}

// Every report of every release, to the character.
func TestGolden(t *testing.T) {
	for _, g := range goldenCases(t) {
		t.Run(g.release+"/"+g.name, func(t *testing.T) {
			release := find(g.release)
			data, _ := g.file(t, "profile_export.json")
			rep, err := reportOf(release, runtest.Open(t, data), g.config(t))
			exception, crashed := g.exception(t)
			if err != nil {
				if !crashed || !strings.Contains(err.Error(), exception) {
					t.Fatalf("%v; the release: %q", err, exception)
				}
				return
			}
			g.compare(t, rep)
			switch {
			case crashed && rep.crash == nil:
				t.Errorf("the release stops with %s, which the report does not say", exception)
			case !crashed && rep.crash != nil:
				t.Errorf("the release does not stop, the report says so: %s", rep.crash)
			case crashed && !strings.Contains(rep.crash.Exception, exception):
				t.Errorf("crash %q, want %q", rep.crash.Exception, exception)
			}
		})
	}
}

// exception returns what the release stopped with.
func (g *goldenCase) exception(t *testing.T) (message string, ok bool) {
	t.Helper()
	b, ok := g.file(t, "error.txt")
	if !ok {
		return "", false
	}
	_, message, _ = strings.Cut(string(b), "message: ")
	message, _, _ = strings.Cut(message, "\nfirst exception:")
	return strings.TrimSpace(message), true
}

func (g *goldenCase) compare(t *testing.T, rep *report) {
	t.Helper()
	for _, c := range []struct {
		file  string
		write func(*bytes.Buffer) error
	}{
		{"console.txt", func(b *bytes.Buffer) error { return rep.Console(b, 100) }},
		{"console_wide.txt", func(b *bytes.Buffer) error { return rep.Console(b, 200) }},
		{"report.csv", func(b *bytes.Buffer) error { return rep.CSV(b) }},
		{"report.json", func(b *bytes.Buffer) error { return rep.JSON(b) }},
	} {
		want, ok := g.file(t, c.file)
		if !ok {
			continue
		}
		if c.file == "report.json" {
			want = withoutInputConfig(t, want)
		}
		if strings.HasPrefix(c.file, "console") { // 24.04 says which plots it makes
			lines := slices.DeleteFunc(strings.SplitAfter(string(want), "\n"), func(l string) bool { return strings.HasPrefix(l, "Generating '") })
			want = []byte(strings.Join(lines, ""))
		}
		var b bytes.Buffer
		if err := c.write(&b); err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if got := b.Bytes(); !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.file, got, want)
		}
	}
}

// withoutInputConfig takes the arguments out of a JSON report, whose layout
// stays as it is.
func withoutInputConfig(t *testing.T, data []byte) []byte {
	t.Helper()
	v, err := py.ParseJSON(string(data), py.JSON)
	if err != nil {
		t.Fatal(err)
	}
	args, ok := v.Member("input_config")
	if !ok {
		t.Fatal("a JSON report without input_config")
	}
	text := string(data)
	from := strings.Index(text, ",\n  \"input_config\": ")
	to := from + len(",\n  \"input_config\": ") + len(args.Raw())
	return []byte(text[:from] + text[to:])
}

// The settings of the command line are found in the file too.
func TestGoldenInferred(t *testing.T) {
	for i, g := range goldenCases(t) {
		if i%testenv.Stride(3) > 0 {
			continue // TestGolden reads all
		}
		t.Run(g.release+"/"+g.name, func(t *testing.T) {
			release := find(g.release)
			data, _ := g.file(t, "profile_export.json")
			cfg := g.config(t)
			cfg.ServiceKind, cfg.EndpointType, cfg.Backend, cfg.Streaming = "", "", "", nil
			rep, err := reportOf(release, runtest.Open(t, data), cfg)
			if err != nil {
				return // TestGolden says which
			}
			g.compare(t, rep)
		})
	}
}
