package serving

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// reportOf returns a tool's report of a run.
func reportOf(tool string, r export.Reader, cfg dialect.Config) (*report, error) {
	i := slices.IndexFunc(releases, func(t *release) bool { return t.Name == tool })
	return runtest.Analyze[*report](context.Background(), releases[i].tool(), r, cfg)
}

// A goldenCase is a folder of the archive: what a tool printed and wrote.
type goldenCase struct {
	tool, name string
	fsys       fs.FS
	args       map[string]string
}

func (g *goldenCase) file(t *testing.T, name string) (data []byte, ok bool) {
	t.Helper()
	data, err := fs.ReadFile(g.fsys, g.tool+"/"+g.name+"/"+name)
	return data, err == nil
}

func goldenCases(t *testing.T) []goldenCase {
	t.Helper()
	fsys := golden.FS(t, "serving")
	files, err := fs.Glob(fsys, "*/*/args.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []goldenCase
	for _, f := range files {
		parts := strings.Split(f, "/")
		if !slices.ContainsFunc(releases, func(r *release) bool { return r.Name == parts[0] }) {
			continue
		}
		g := goldenCase{tool: parts[0], name: parts[1], fsys: fsys, args: map[string]string{}}
		b, _ := g.file(t, "args.txt")
		for line := range strings.Lines(string(b)) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			g.args[key] = value
		}
		all = append(all, g)
	}
	if len(all) < 58 {
		t.Fatalf("only %d cases", len(all))
	}
	return all
}

// compare holds a report to what the tool printed and wrote.
func (g *goldenCase) compare(t *testing.T, rep *report) {
	t.Helper()
	check := func(file string, write func(*bytes.Buffer) error) {
		want, ok := g.file(t, file)
		if !ok {
			return
		}
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
	}
	check("console.txt", func(b *bytes.Buffer) error { return rep.Console(b, 80) })
	check("result.json", func(b *bytes.Buffer) error { return rep.JSON(b) })
	check("result.jsonl", func(b *bytes.Buffer) error { return rep.JSON(b) })
}

// Every report of every tool, to the byte.
func TestGolden(t *testing.T) {
	tokenizers := runtest.Tokenizers{}
	for _, g := range goldenCases(t) {
		t.Run(g.tool+"/"+g.name, func(t *testing.T) {
			data, _ := g.file(t, "profile_export.json")
			cfg := dialect.Config{Tokenizer: tokenizers.Named(t, g.tool, g.args["tokenizer"]), Args: g.args}
			rep, err := reportOf(g.tool, runtest.Open(t, data), cfg)
			if err != nil {
				t.Fatal(err)
			}
			g.compare(t, rep)
			exception, crashed := g.file(t, "error.txt")
			var said []string
			for _, w := range rep.Warnings() {
				said = append(said, w.Error())
			}
			text := strings.Join(said, "\n")
			if stops := strings.Contains(text, "itself stops"); stops != crashed || !strings.Contains(text, strings.TrimSpace(string(exception))) {
				t.Errorf("warnings %q; the tool: %q", text, exception)
			}
		})
	}
}
