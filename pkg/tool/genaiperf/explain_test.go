package genaiperf

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Of every report there is, each value that is not the strict one has a reason.
func TestDifferencesHaveReasons(t *testing.T) {
	for i, g := range goldenCases(t) { // about 40 of each release
		if i%testenv.Stride(4) > 0 {
			continue
		}
		release := find(g.release)
		data, _ := g.file(t, "profile_export.json")
		cfg := g.config(t)
		cfg.Explain = true
		rep, err := reportOf(release, runtest.Open(t, data), cfg)
		if err != nil {
			continue // TestGolden says which
		}
		own, err := analyze.Run(context.Background(), runtest.Open(t, data), analyze.Config{Counter: texts{cfg.Tokenizer}})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(own.Experiments, func(e analyze.Experiment) bool {
			return e.Mode == rep.Level.Mode && e.Value == rep.Level.Value
		})
		c := explain.Compare([]explain.Side{
			{Dialect: "strict", Definitions: explain.Strict(own, &own.Experiments[at])},
			{Dialect: g.release, Definitions: rep.Definitions()},
		})
		for _, m := range c.Measures {
			for _, row := range m.Rows {
				if strings.Contains(strings.Join(row.Differs, "\n"), "not named here") {
					t.Errorf("%s/%s: %s: %+v, strict %+v", g.release, g.name, m.Measure, row.Values, m.Rows[0].Values)
				}
			}
		}
	}
}

type texts struct{ dialect.Tokenizer }

func (t texts) CountTokens(text []byte) (int, error) { return t.Count(string(text)), nil }
