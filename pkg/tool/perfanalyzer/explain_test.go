package perfanalyzer

import (
	"bytes"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	strict "github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Of every level of every export there is, each value that is not the strict one
// has a reason.
func TestDifferencesHaveReasons(t *testing.T) {
	fsys := golden.FS(t, "perf_analyzer")
	files, err := fs.Glob(fsys, "*/*/profile_export.json")
	if err != nil {
		t.Fatal(err)
	}
	compared, reasons := 0, 0
	for _, f := range files {
		data, err := fs.ReadFile(fsys, f)
		if err != nil {
			t.Fatal(err)
		}
		open := func() export.Reader {
			r, err := profilejson.Format{}.Open(t.Context(), f, bytes.NewReader(data), int64(len(data)), export.Limits{})
			if err != nil {
				return nil
			}
			return r
		}
		if open() == nil {
			continue // perf_analyzer broke off
		}
		own, err := strict.Run(t.Context(), open(), strict.Config{})
		if err != nil {
			continue // cut
		}
		for i := range own.Experiments {
			e := &own.Experiments[i]
			rep, err := reportOf(nil, open(), dialect.Config{Explain: true, Level: dialect.Level{Mode: e.Mode, Value: e.Value}})
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			compared++
			for _, m := range explain.Compare([]explain.Side{
				{Dialect: "strict", Definitions: explain.Strict(own, e)},
				{Dialect: "perf_analyzer", Definitions: rep.Definitions()},
			}).Measures {
				for _, row := range m.Rows {
					reasons += len(row.Differs)
					if strings.Contains(strings.Join(row.Differs, "\n"), "not named here") {
						t.Errorf("%s: %s %s: %s: %+v, strict %+v", path.Dir(f), e.Mode, e.Value, m.Measure, row.Values, m.Rows[0].Values)
					}
				}
			}
		}
	}
	if compared < 80 || reasons < 200 {
		t.Errorf("only %d levels compared, %d reasons", compared, reasons)
	}
}
