package genaiperf

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/guidellm"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
	"github.com/pa-tools/pa/pkg/tool/serving"
)

// Of a file without the texts of responses no release can tell anything: it
// prints no number, stops nowhere, and says why.
func TestImportedWithoutTexts(t *testing.T) {
	fsys := golden.FS(t, "peers")
	for file, why := range map[string]string{
		"guidellm/ok/benchmarks.json": "GuideLLM keeps the text of an answer as a whole",
		"sglang/ok/result.jsonl":      "a result of SGLang bench_serving keeps the text of an answer as a whole",
	} {
		data, err := fs.ReadFile(fsys, file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range releases {
			release := &releases[i]
			rep, err := reportOf(release, runtest.Import(t, data, resultfile.Formats(guidellm.ResultFile(), serving.ResultFile())...), dialect.Config{Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := rep.Console(&out, 200); err != nil {
				t.Fatal(err)
			}
			if err := rep.CSV(&out); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(out.String(), "\n") {
				if strings.HasPrefix(line, "Metric,") || strings.HasPrefix(line, "Statistic,") { // names of percentiles
					continue
				}
				for _, end := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"} {
					if strings.HasSuffix(strings.TrimRight(line, " │\r"), end) {
						t.Errorf("%s, %s: a number in %q", file, release.Name, line)
					}
				}
			}
			if rep.crash != nil || len(rep.Metrics) > 0 {
				t.Errorf("%s, %s: stops at %v, metrics %v; want neither", file, release.Name, rep.crash, rep.Metrics)
			}
			if w := rep.Warnings(); len(w) != 1 || !strings.HasSuffix(w[0].Error(), why) {
				t.Errorf("%s, %s: warnings %v, want one: %s", file, release.Name, w, why)
			}
			for _, d := range rep.Definitions() {
				if d.Has() || d.Formula != "" && d.NA != why {
					t.Errorf("%s, %s: %s: %+v, want none: %s", file, release.Name, d.Measure, d, why)
				}
			}
		}
	}
}
