package llmperf

import (
	"io/fs"
	"math"
	"path"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// spaced counts the words of a text.
type spaced struct{}

func (spaced) Count(text string) int                  { return len(strings.Fields(text)) }
func (spaced) AddSpecial(ids []uint32) []uint32       { return ids }
func (s spaced) CountTokens(text []byte) (int, error) { return s.Count(string(text)), nil }

// Of every level of every run there is, under both versions, each value that is
// not the strict one has a reason.
func TestDifferencesHaveReasons(t *testing.T) {
	fsys := golden.FS(t, "serving")
	files, err := fs.Glob(fsys, "llm_perf*/*/profile_export.json")
	if err != nil {
		t.Fatal(err)
	}
	compared, reasons := 0, 0
	for _, f := range files {
		data, err := fs.ReadFile(fsys, f)
		if err != nil {
			t.Fatal(err)
		}
		own, err := analyze.Run(t.Context(), runtest.Open(t, data), analyze.Config{Counter: spaced{}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range own.Experiments {
			e := &own.Experiments[i]
			sides := []explain.Side{{Dialect: "strict", Definitions: explain.Strict(own, e)}}
			for _, v := range releases {
				cfg := dialect.Config{Tokenizer: spaced{}, Explain: true, Level: dialect.Level{Mode: e.Mode, Value: e.Value}}
				rep, err := reportOf(v.Name, runtest.Open(t, data), cfg)
				if err != nil {
					t.Fatalf("%s: %v", f, err)
				}
				sides = append(sides, explain.Side{Dialect: v.Name, Definitions: rep.Definitions()})
			}
			compared++
			for _, m := range explain.Compare(sides).Measures {
				for _, row := range m.Rows {
					reasons += len(row.Differs)
					if strings.Contains(strings.Join(row.Differs, "\n"), "not named here") {
						t.Errorf("%s: %v: %s: %+v, strict %+v", path.Dir(f), row.Dialects, m.Measure, row.Values, m.Rows[0].Values)
					}
				}
			}
		}
	}
	if compared < 12 || reasons < 50 {
		t.Errorf("only %d levels compared, %d reasons", compared, reasons)
	}
}

// What the definitions say is what the report has.
func TestDefinitions(t *testing.T) {
	data, err := fs.ReadFile(golden.FS(t, "serving"), "llm_perf-v2/two/profile_export.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range releases {
		rep, err := reportOf(v.Name, runtest.Open(t, data), dialect.Config{Tokenizer: spaced{}, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		l := &rep.Levels[len(rep.Levels)-1]
		for _, d := range rep.Definitions() {
			var want float64
			switch d.Measure {
			case explain.FirstToken:
				want = l.averages()[2].value * 1e9
			case explain.Latency:
				want = l.averages()[3].value * 1e9
			case explain.RequestRate:
				want = l.rate(l.Requests)
			default:
				continue
			}
			if d.NA != "" || math.Abs(d.Values.Mean-want) > 1e-9*want {
				t.Errorf("%s: %s is %v (%s), want %v", v.Name, d.Measure, d.Values.Mean, d.NA, want)
			}
		}
	}
}
