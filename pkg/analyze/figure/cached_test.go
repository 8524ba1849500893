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

// What levels sent takes no more memory than the bound, and a level that sends the prompts
// of an earlier one is found also beyond it.
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
