package figure

import (
	"fmt"
	"hash/maphash"
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// The memory for sent prompts stays below the bound. A level that repeats the prompts of an earlier
// level is found even beyond the bound.
func TestCachedMemory(t *testing.T) {
	const n = 20000 // prompts of 64 blocks or so
	p := &Prompts{}
	h := &PromptHasher{Seed: maphash.MakeSeed()}
	add := func(level, k int, cached int64) {
		q := &export.Request{Inputs: export.Fields{{Name: "text_input", Value: export.Text(strings.Repeat(fmt.Sprintf("%-15d.", k), 120))}}}
		h.Reset()
		m := &answer.Measured{}
		m.Counted, m.PlaceNS = true, uint64(1+level)
		m.InputTokens.V, m.InputTokens.OK, m.CachedTokens.V, m.CachedTokens.OK = 500, true, cached, true
		p.Add(level, m, h.Hash(q))
	}
	for k := range n {
		add(0, k, 0)
	}
	for k := range 100 {
		add(1, k*n/100, 490)
	}
	all := p.Cached([]string{"one", "two"})
	if len(p.seen) > mostBlocks || p.full {
		t.Errorf("%d blocks are remembered, full %v; want at most %d", len(p.seen), p.full, mostBlocks)
	}
	if c := all[1]; math.Abs(c.Earlier-0.98) > 0.01 || c.EarlierLevel != "one" || all[0].Own > 0.01 {
		t.Errorf("%+v, before %+v", c, all[0])
	}
}

// The first request of a fork repeats the history of its parent with the answer, which the server has in its cache.
func TestCachedFork(t *testing.T) {
	p, h := &Prompts{}, &PromptHasher{Seed: maphash.MakeSeed()}
	add := func(agent string, messages string, input, cached int64) {
		m := &answer.Measured{}
		m.Counted, m.PlaceNS = true, 1
		m.InputTokens.V, m.InputTokens.OK, m.CachedTokens.V, m.CachedTokens.OK = input, true, cached, true
		p.Add(0, m, h.Hash(&export.Request{Agent: agent, Inputs: export.Fields{{Name: "payload", Value: export.Value{Data: []byte(`{"messages":[` + messages + `]}`)}}}}))
	}
	first := `{"role":"user","content":"Plan it."}`
	add("", first, 4, 0)
	add("fork", first+`,{"role":"assistant","content":"`+strings.Repeat("The plan. ", 200)+`"},{"role":"user","content":"Do it."}`, 1000, 992)
	if c := p.Cached([]string{"one"})[0]; c.Elsewhere > 0.01 || c.Own < 0.9 {
		t.Errorf("%+v, want all of it explained by the level", c)
	}
	add("spawned", `{"role":"system","content":"`+strings.Repeat("Search. ", 300)+`"},{"role":"user","content":"Find it."}`, 1000, 992)
	if c := p.Cached([]string{"one"})[0]; c.Elsewhere < 0.4 {
		t.Errorf("%+v, want the prompt of a spawned agent unexplained", c)
	}
}

// Payloads of any form are divided without a panic, and equal ones alike.
func FuzzPromptBlocks(f *testing.F) {
	for _, text := range []string{`{"prompt":"a"}`, `{"messages":[{"role":"user","content":"x"}]}`, `{"prompt":`, `{"a":1,}`, `{`, `[]`, `"x"`, ``, `{"prompt":"a","prompt":[1]}`, `{"input":[1,2,3], "model":"m" }`} {
		f.Add(text, 1)
	}
	h := &PromptHasher{Seed: maphash.MakeSeed()}
	f.Fuzz(func(t *testing.T, text string, turn int) {
		q := &export.Request{Turn: turn, Inputs: export.Fields{{Name: "payload", Value: export.Value{Data: []byte(text)}}}}
		h.Reset()
		first := h.Hash(q)
		a, b, history := first.blocks, h.Hash(q).blocks, first.history
		if len(a) != len(b) || len(a) > 0 && (a[len(a)-1] != b[len(b)-1] || a[len(a)-1].part != 1 || a[len(a)-1].number != 0) || history < 0 || history > 1 {
			t.Errorf("%q: %v, again %v, history %v", text, a, b, history)
		}
	})
}
