package serving

import (
	"context"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Of every report there is, each value that is not the strict one has a reason.
func TestDifferencesHaveReasons(t *testing.T) {
	compared := 0
	tokenizers := runtest.Tokenizers{}
	for _, g := range goldenCases(t) {
		data, ok := g.file(t, "profile_export.json")
		if !ok {
			continue
		}
		cfg := dialect.Config{Tokenizer: tokenizers.Named(t, g.tool, g.args["tokenizer"]), Args: g.args}
		cfg.Explain = true
		rep, err := reportOf(g.tool, runtest.Open(t, data), cfg)
		if err != nil {
			continue // TestGolden says which
		}
		acfg := analyze.Config{}
		if cfg.Tokenizer != nil {
			acfg.Counter = texts{cfg.Tokenizer}
		}
		own, err := analyze.Run(context.Background(), runtest.Open(t, data), acfg)
		if err != nil {
			t.Fatal(err)
		}
		last := &own.Experiments[len(own.Experiments)-1]
		if len(own.Experiments) > 1 {
			continue
		}
		c := explain.Compare([]explain.Side{
			{Dialect: "strict", Definitions: explain.Strict(own, last)},
			{Dialect: g.tool, Definitions: rep.Definitions()},
		})
		compared++
		for _, m := range c.Measures {
			for _, row := range m.Rows {
				if strings.Contains(strings.Join(row.Differs, "\n"), "not named here") {
					t.Errorf("%s/%s: %s: %+v, strict %+v", g.tool, g.name, m.Measure, row.Values, m.Rows[0].Values)
				}
			}
		}
	}
	if compared < 40 {
		t.Errorf("only %d cases compared", compared)
	}
}

type texts struct{ dialect.Tokenizer }

func (w texts) CountTokens(text []byte) (int, error) { return w.Count(string(text)), nil }
