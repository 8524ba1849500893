package llmperf

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

// reportOf returns a version's report of a run.
func reportOf(version string, r export.Reader, cfg dialect.Config) (*report, error) {
	i := slices.IndexFunc(releases, func(v *release) bool { return v.Name == version })
	return runtest.Analyze[*report](context.Background(), releases[i].tool(), r, cfg)
}

// Every report of both versions, to the byte.
func TestGolden(t *testing.T) {
	fsys := golden.FS(t, "serving")
	files, err := fs.Glob(fsys, "llm_perf*/*/args.txt")
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
	tokenizers := runtest.Tokenizers{}
	for _, f := range files {
		dir := strings.TrimSuffix(f, "/args.txt")
		t.Run(dir, func(t *testing.T) {
			read := func(name string) (string, bool) {
				b, err := fs.ReadFile(fsys, dir+"/"+name)
				return string(b), err == nil
			}
			args := map[string]string{}
			text, _ := read("args.txt")
			for line := range strings.Lines(text) {
				key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
				args[key] = value
			}
			tok := tokenizers.Named(t, "llm_perf", args["tokenizer"])
			data, _ := read("profile_export.json")
			v := args["tool"]
			// What the command line said is in the file too, but for who was asked.
			for _, given := range []map[string]string{args, {"uri": args["uri"]}} {
				rep, err := reportOf(v, runtest.Open(t, []byte(data)), dialect.Config{Tokenizer: tok, Args: given})
				if err != nil {
					t.Fatal(err)
				}
				var console, result bytes.Buffer
				if err := rep.Console(&console, 80); err != nil {
					t.Fatal(err)
				}
				want, _ := read("console.txt")
				if d := cmp.Diff(want, console.String()); d != "" {
					t.Errorf("console.txt (-want +got):\n%s", d)
				}
				exception, crashed := read("error.txt")
				err = rep.JSON(&result)
				if crashed {
					if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(exception)) || rep.Crash == nil {
						t.Errorf("JSON: %v, want %s", err, exception)
					}
					continue
				}
				if err != nil || rep.Crash != nil {
					t.Fatal(err, rep.Crash)
				}
				want, _ = read("result.json")
				if d := cmp.Diff(want, result.String()); d != "" {
					t.Errorf("result.json (-want +got):\n%s", d)
				}
			}
		})
	}
}
