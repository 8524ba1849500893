package llmperf

import (
	"bytes"
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/golden"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tokenizer"
)

func openJSON(t *testing.T, data []byte) export.Reader {
	t.Helper()
	r, err := profilejson.Format{}.Open(context.Background(), "profile_export.json", bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every report of both versions, to the byte.
func TestGolden(t *testing.T) {
	fsys := golden.FS(t, "serving")
	files, err := fs.Glob(fsys, "llm_perf*/*/args.txt")
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
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
			tok, err := tokenizer.Load(filepath.Join("..", "..", "..", "..", "testdata", "tokenizers", args["tokenizer"], "tokenizer.json"))
			if err != nil {
				t.Fatal(err)
			}
			data, _ := read("profile_export.json")
			v := Find(args["tool"])
			// What the command line said is in the file too, but for who was asked.
			for _, given := range []map[string]string{args, {"uri": args["uri"]}} {
				rep, err := Analyze(context.Background(), v, openJSON(t, []byte(data)), dialect.Config{Tokenizer: tok, Args: given})
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
