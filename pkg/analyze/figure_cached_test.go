package analyze

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

// chat returns a request of 200 input tokens, with this part of them cached, whose prompt is
// one of 60 lines of 40 characters for each number.
func chat(start uint64, cached float64, lines ...int) export.Request {
	q := prompt(start, 200, fmt.Sprintf(`{"cached_tokens":%d}`, int(200*cached)), 500)
	text := ""
	for _, n := range lines {
		text += strings.Repeat(fmt.Sprintf("%-39d.", n), 60)
	}
	q.Inputs = export.Fields{{Name: "payload", Value: export.JSON(fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}],"max_tokens":%d}`, text, start))}}
	return q
}

// concurrencies returns a run of concurrencies 1, 2, 4 …
func concurrencies(requests ...[]export.Request) *memrun.Reader {
	r := memrun.New("openai", requests...)
	for i := range r.Header.Experiments {
		r.Header.Experiments[i].Mode, r.Header.Experiments[i].Value = export.ModeConcurrency, fmt.Sprint(1<<i)
	}
	return r
}

func TestCached(t *testing.T) {
	for _, tt := range []struct {
		name    string
		run     *memrun.Reader
		level   int
		own     float64
		earlier float64
		other   float64
		warning string // "" for none
	}{
		{
			"new prompts", concurrencies([]export.Request{chat(100, 0, 1), chat(200, 0, 2)}, []export.Request{chat(1000, 0, 3), chat(1100, 0.04, 4)}),
			1, 0, 0, 0, "",
		},
		{
			"sent by an earlier level", concurrencies([]export.Request{chat(100, 0, 1), chat(200, 0, 2)}, []export.Request{chat(1000, 0.97, 1), chat(1100, 0.97, 2)}),
			1, 0, 0.97, 0, "97 % of the input tokens were in the server's cache: they were sent at concurrency 1",
		},
		{
			"sent by a level that comes later in the file", concurrencies([]export.Request{chat(1000, 0.97, 1), chat(1100, 0.97, 2)}, []export.Request{chat(100, 0, 1), chat(200, 0, 2)}),
			0, 0, 0.97 - 0.32, 0, "97 % of the input tokens were in the server's cache: 65 % were sent at concurrency 2, the rest may be the server's own text",
		},
		{
			"the first level of two that sent the same", concurrencies([]export.Request{chat(1000, 0, 1)}, []export.Request{chat(2000, 1, 1)}, []export.Request{chat(3000, 1, 1)}),
			2, 0, 1, 0, "they were sent at concurrency 1",
		},
		{
			"sent twice in the level", concurrencies([]export.Request{chat(100, 0, 1), chat(200, 1, 1), chat(300, 1, 1), chat(400, 1, 1)}),
			0, 0.75, 0, 0, "",
		},
		{
			"a shared system prompt", concurrencies([]export.Request{chat(100, 0, 1, 2), chat(200, 0.5, 1, 3), chat(300, 0.5, 1, 4)}),
			0, 1.0 / 3, 0, 0, "",
		},
		{
			"a shared system prompt, and the rest sent before", concurrencies([]export.Request{chat(100, 0, 1, 2), chat(200, 0.5, 1, 3)}, []export.Request{chat(1000, 1, 1, 2), chat(1100, 1, 1, 3)}),
			1, 0.25, 0.75, 0, "100 % of the input tokens were in the server's cache: 76 % were sent at concurrency 1, the rest is what prompts of this level share",
		},
		{
			"an earlier run", concurrencies([]export.Request{chat(100, 1, 1), chat(200, 1, 2)}),
			0, 0, 0, 1 - 0.32, "100 % of the input tokens were in the server's cache: 68 % were not sent by an earlier request of this file, but by an earlier run or by another client, the rest may be the server's own text, such as a chat template",
		},
		{
			"the server's own text", concurrencies([]export.Request{chat(100, 0.3, 1), chat(200, 0.3, 2)}),
			0, 0, 0, 0, "",
		},
		{
			"twice in the level, in another order than the server saw them",
			concurrencies([]export.Request{chat(100, 1, 1), chat(90, 0, 1), chat(200, 1, 2), chat(190, 0, 2)}),
			0, 0, 0, 0, "",
		},
		{
			"no prompts in the file", concurrencies([]export.Request{prompt(100, 200, `{"cached_tokens":190}`, 500)}),
			0, 0, 0, 0.95 - 0.32, "95 % of the input tokens were in the server's cache; the prompts, which would show why, are not",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, cfg := range map[string]Config{"as they come": {}, "kept": {Series: true}} {
				rep, err := Run(t.Context(), tt.run, cfg)
				if err != nil {
					t.Fatal(err)
				}
				x := &rep.Experiments[tt.level]
				if c := x.Cached; c == nil || math.Abs(c.Own-tt.own) > 0.02 || math.Abs(c.Earlier-tt.earlier) > 0.02 || math.Abs(c.Elsewhere-tt.other) > 0.02 {
					t.Errorf("%s: %+v, want own %.2f, earlier %.2f, elsewhere %.2f", name, c, tt.own, tt.earlier, tt.other)
				}
				got := ""
				for _, w := range x.Warnings {
					if k := AsWarning(w); k.Kind == KindCache {
						got += k.Error()
					}
				}
				if tt.warning == "" && got != "" || !strings.Contains(got, tt.warning) {
					t.Errorf("%s: warning %q, want %q", name, got, tt.warning)
				}
				*tt.run = *concurrencies(tt.run.Requests...)
			}
		})
	}
}

// The turns of a conversation repeat its history, also where an answer that only the server
// knows is a part of it.
func TestCachedHistory(t *testing.T) {
	turn := func(start uint64, n int, cached float64) export.Request {
		q := chat(start, cached, 1)
		q.SessionID, q.Turn = "s", n
		messages := ""
		for k := range n {
			messages += fmt.Sprintf(`{"role":"user","content":"question %d %s"},{"role":"assistant","content":"%s"},`, k, strings.Repeat("a", 300), strings.Repeat("b", 700))
		}
		q.Inputs[0].Value = export.JSON(fmt.Sprintf(`{"messages":[%s{"role":"user","content":"question %d %s"}]}`, messages, n, strings.Repeat("a", 300)))
		return q
	}
	rep, err := Run(t.Context(), concurrencies([]export.Request{turn(100, 0, 0), turn(200, 1, 0.7), turn(300, 2, 0.85)}), Config{})
	if err != nil {
		t.Fatal(err)
	}
	if c := rep.Experiments[0].Cached; c.Twice != 0 || c.Elsewhere != 0 || c.Own < 0.45 || len(rep.Experiments[0].Warnings) > 0 {
		t.Errorf("%+v, warnings %v", c, rep.Experiments[0].Warnings)
	}
}
