package runtest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
)

// Configs returns configurations of the analysis, by name. With each of them the report of a merged
// run must equal the report of the whole run.
func Configs() map[string]analyze.Config {
	return map[string]analyze.Config{
		"whole":   {},
		"windows": {Windows: analyze.Windows{Every: 50e6}},
		"trimmed": {Selection: analyze.Selection{TrimStart: analyze.Trim{Share: 0.1}}},
	}
}

// Report returns the report of a run as JSON, without the facts that only a merged run has.
func Report(t testing.TB, r export.Reader, cfg analyze.Config) string {
	t.Helper()
	rep, err := analyze.Run(t.Context(), r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report.JSON(report.Input{Name: "run", Report: rep})(&out); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	delete(doc["run"].(map[string]any), "merged")
	delete(doc["run"].(map[string]any), "host") // of ranks on several machines there is none
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Read reads the run that a spec describes.
func Read(tb testing.TB, s memrun.Spec) *diff.Run {
	tb.Helper()
	run, err := diff.Read(tb.Context(), s.Name, s.Reader(), analyze.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return run
}
