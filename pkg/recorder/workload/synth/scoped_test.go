package synth

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

// TestScoped checks that texts of blocks and more tokens have exactly the lengths asked for, and that a block depends on its scope
// and id alone.
func TestScoped(t *testing.T) {
	for name, tok := range map[string]Tokenizer{"built-in": builtinTokenizer(t), "spans blanks": pairs{builtinTokenizer(t)}} {
		texts := newTexts(t, tok, 3, "")
		for blocks := range 4 {
			for _, rest := range []int{0, 1, 2, 7, 63, 200} {
				if blocks+rest == 0 {
					continue
				}
				text, ids, err := texts.Scoped("a", []int64{5, 6, -1}[:min(blocks, 3)], 64, 9, rest)
				if want := min(blocks, 3)*64 + rest; err != nil || tok.Count(text) != want || ids != nil {
					t.Errorf("%s: %d blocks and %d tokens have %d (%v)", name, blocks, rest, tok.Count(text), err)
				}
			}
		}
	}
	texts := newTexts(t, builtinTokenizer(t), 3, "")
	text := func(scope string, blocks []int64, number uint64, rest int) string {
		text, _, err := texts.Scoped(scope, blocks, 64, number, rest)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	one := text("a", []int64{5}, 0, 0)
	for _, tt := range []struct {
		name, other string
		equal       bool
	}{
		{"the first of two", text("a", []int64{5, 6}, 0, 0)[:len(one)], true},
		{"the second of two", strings.TrimPrefix(text("a", []int64{6, 5}, 0, 0), text("a", []int64{6}, 0, 0)+" "), true},
		{"with more tokens", text("a", []int64{5}, 7, 30)[:len(one)], true},
		{"another id", text("a", []int64{6}, 0, 0), false},
		{"another scope", text("b", []int64{5}, 0, 0), false},
		{"no scope", text("", []int64{5}, 0, 0), false},
	} {
		if (tt.other == one) != tt.equal {
			t.Errorf("%s: %q, and alone %q", tt.name, tt.other, one)
		}
	}
	if text("a", []int64{5}, 1, 30) == text("a", []int64{5}, 2, 30) || text("a", nil, 1, 30) == text("b", nil, 1, 30) {
		t.Error("tokens after the blocks do not depend on their number and scope")
	}
	if global, _, _ := texts.Blocks([]int64{5, 6}, 64, 128); global != text("", []int64{5, 6}, 0, 0) {
		t.Error("the blocks of no scope are not the blocks of Blocks")
	}
	texts.IDs = true
	if text, ids, err := texts.Scoped("a", []int64{5}, 64, 0, 6); err != nil || !slices.Equal(ids, builtinTokenizer(t).Encode(text)) {
		t.Errorf("%d ids of %q, error %v", len(ids), text, err)
	}
	if _, _, err := texts.Scoped("a", nil, 64, 0, 0); err == nil {
		t.Error("a text without tokens")
	}
}

// TestTextsAtATime checks that texts may be made at a time.
func TestTextsAtATime(t *testing.T) {
	texts := newTexts(t, builtinTokenizer(t), 3, "")
	make := func(i int) string {
		text, _, err := texts.Scoped("a", []int64{int64(i), int64(i + 1)}, 64, uint64(i), i)
		if err != nil {
			t.Error(err)
		}
		return text
	}
	var want []string
	for i := range 50 {
		want = append(want, make(i))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range want {
				if got := make(i); got != want[i] {
					t.Errorf("text %d is %q, want %q", i, got, want[i])
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkScoped measures a prompt of 100,000 tokens in blocks of 64.
func BenchmarkScoped(b *testing.B) {
	tok, err := builtin.Load()
	if err != nil {
		b.Fatal(err)
	}
	t := newTexts(b, tok, 1, "")
	ids := make([]int64, 1562)
	for i := range ids {
		ids[i] = int64(i)
	}
	bytes := 0
	b.ReportAllocs()
	for b.Loop() {
		text, _, err := t.Scoped("trace", ids, 64, 1, 32)
		if err != nil {
			b.Fatal(err)
		}
		bytes = len(text)
	}
	b.SetBytes(int64(bytes))
}
