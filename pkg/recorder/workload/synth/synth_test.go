package synth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

func builtinTokenizer(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func newTexts(t testing.TB, tok Tokenizer, seed uint64, salt string) *Texts {
	t.Helper()
	v, err := NewVocabulary(tok, builtin.Corpus())
	if err != nil {
		t.Fatal(err)
	}
	return v.Texts(seed, salt)
}

// pairs is a tokenizer whose tokens span blanks: two short words in succession are one
// token, so a text has fewer tokens than its words together.
type pairs struct{ *tokenizer.Tokenizer }

func (p pairs) Count(text string) int {
	n, joined := p.Tokenizer.Count(text), false
	words := strings.Fields(text)
	for i := 1; i < len(words); i++ {
		if joined = !joined && len(words[i-1]) <= 3 && len(words[i]) <= 3; joined {
			n--
		}
	}
	return n
}

// TestTextLengths checks that texts of all lengths are exact, for a tokenizer that splits at
// blanks and for one that does not.
func TestTextLengths(t *testing.T) {
	for name, tok := range map[string]Tokenizer{"built-in": builtinTokenizer(t), "spans blanks": pairs{builtinTokenizer(t)}} {
		texts := newTexts(t, tok, 7, "")
		lengths := append([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 100, 511, 512, 513, 4096}, randomLengths(200/testenv.Stride(8))...)
		if name == "built-in" || testenv.IsLong() {
			lengths = append(lengths, 20000)
		}
		for i, n := range lengths {
			text, ids, err := texts.Text(uint64(i), n)
			if err != nil || tok.Count(text) != n || ids != nil {
				t.Errorf("%s: text %d of %d tokens has %d (%v)", name, i, n, tok.Count(text), err)
			}
			if strings.TrimSpace(text) != text || text == "" {
				t.Errorf("%s: text %d is %.40q", name, i, text)
			}
		}
	}
	texts := newTexts(t, builtinTokenizer(t), 7, "")
	texts.IDs = true
	if text, ids, err := texts.Text(1, 50); err != nil || len(ids) != 50 || !slices.Equal(ids, builtinTokenizer(t).Encode(text)) {
		t.Errorf("%d ids of %q, error %v", len(ids), text, err)
	}
	for _, n := range []int{0, -1, maxLength + 1} {
		if _, _, err := texts.Text(1, n); err == nil {
			t.Errorf("a text of %d tokens", n)
		}
	}
}

func randomLengths(n int) (all []int) {
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		all = append(all, Normal{300, 100}.Draw(r))
	}
	return all
}

// TestTextsAreFunctions checks that a text depends only on the seed, the salt and its number,
// not on earlier calls, and that texts begin differently.
func TestTextsAreFunctions(t *testing.T) {
	tok := builtinTokenizer(t)
	a, b := newTexts(t, tok, 1, ""), newTexts(t, tok, 1, "")
	salted, other := newTexts(t, tok, 1, "run 1"), newTexts(t, tok, 2, "")
	begins := map[string]int{}
	for i := range uint64(300) {
		text, _, err := a.Text(i, 40)
		if err != nil {
			t.Fatal(err)
		}
		_, _, _ = b.Text(1000+i, 77) // must have no effect
		if again, _, _ := b.Text(i, 40); again != text {
			t.Fatalf("text %d: %q, then %q", i, text, again)
		}
		begin := strings.Join(strings.Fields(text)[:openingWords], " ")
		begins[begin]++
		for name, o := range map[string]*Texts{"another seed": other, "a salt": salted} {
			if s, _, _ := o.Text(i, 40); strings.HasPrefix(s, begin) {
				t.Errorf("text %d begins as with %s: %q", i, name, begin)
			}
		}
	}
	if len(begins) != 300 {
		t.Errorf("300 texts have %d beginnings", len(begins))
	}
	text, _, _ := a.Text(5, 400)
	if shorter, _, _ := a.Text(5, 200); !strings.HasPrefix(text, shorter[:len(shorter)/2]) {
		t.Error("a shorter text of the same number begins differently")
	}
}

// TestBlocks checks that texts have the requested length, and that texts with the same first
// ids begin with the same tokens.
func TestBlocks(t *testing.T) {
	tok := builtinTokenizer(t)
	texts := newTexts(t, tok, 3, "")
	one, _, err := texts.Blocks([]int64{5, 6, 7}, 64, 150)
	if err != nil || tok.Count(one) != 150 {
		t.Fatalf("%d tokens, error %v", tok.Count(one), err)
	}
	two, _, err := texts.Blocks([]int64{5, 6, 9, 10}, 64, 256)
	if err != nil || tok.Count(two) != 256 {
		t.Fatalf("%d tokens, error %v", tok.Count(two), err)
	}
	x, y := tok.Encode(one), tok.Encode(two)
	if !slices.Equal(x[:128], y[:128]) {
		t.Error("equal blocks have different tokens")
	}
	if slices.Equal(x[128:150], y[128:150]) {
		t.Error("different blocks have the same tokens")
	}
	if _, _, err := texts.Blocks([]int64{1, 2}, 64, 64); err == nil {
		t.Error("no error for 64 tokens in two blocks of 64")
	}
}

// TestParts checks that texts have the requested length, and that texts with the same first parts begin with the same tokens.
func TestParts(t *testing.T) {
	tok := builtinTokenizer(t)
	texts := newTexts(t, tok, 3, "")
	one, _, err := texts.Parts([]uint64{1 << 63, 6, 7}, []int{70, 1, 50})
	if err != nil || tok.Count(one) != 121 {
		t.Fatalf("%d tokens, error %v", tok.Count(one), err)
	}
	two, _, err := texts.Parts([]uint64{1 << 63, 6, 8}, []int{70, 1, 200})
	if err != nil || tok.Count(two) != 271 {
		t.Fatalf("%d tokens, error %v", tok.Count(two), err)
	}
	x, y := tok.Encode(one), tok.Encode(two)
	if !slices.Equal(x[:71], y[:71]) {
		t.Error("equal parts have different tokens")
	}
	if slices.Equal(x[71:121], y[71:121]) {
		t.Error("different parts have the same tokens")
	}
	for _, tokens := range [][]int{{}, {0}, {5, -1}} {
		if _, _, err := texts.Parts(make([]uint64, len(tokens)), tokens); err == nil {
			t.Errorf("no error for parts of %d tokens", tokens)
		}
	}
}

// TestSource checks the lengths and the prefixes of prompts.
func TestSource(t *testing.T) {
	tok := builtinTokenizer(t)
	c := Config{
		Texts: newTexts(t, tok, 9, ""), Seed: 9, Prompts: 500, Input: Normal{60, 10}, Output: Uniform{5, 9}, Exact: true,
		Prefixes: 3, PrefixTokens: 30,
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 500 {
		t.Errorf("%d prompts", s.Len())
	}
	prefixes := map[string]int{}
	sum := 0
	for k := range s.Len() {
		e, err := s.At(k)
		if err != nil {
			t.Fatal(err)
		}
		want := c.Input.Draw(source(9, forInput, uint64(k)))
		if n := tok.Count(e.Prompt.Text); n != want+30 {
			t.Errorf("prompt %d has %d tokens, want %d and 30", k, n, want)
		}
		sum += want
		if m := e.Prompt.MaxTokens; m < 5 || m > 9 || !e.Prompt.Exact || e.Session != "" {
			t.Errorf("prompt %d: %+v", k, e)
		}
		ids := tok.Encode(e.Prompt.Text)
		prefixes[fmt.Sprint(ids[:30])]++
	}
	if mean := float64(sum) / 500; math.Abs(mean-60) > 4*10/math.Sqrt(500) {
		t.Errorf("mean %v", mean)
	}
	if len(prefixes) != 3 {
		t.Errorf("%d prefixes", len(prefixes))
	}
	for p, n := range prefixes {
		if n < 100 {
			t.Errorf("prefix %.30s has %d prompts of 500", p, n)
		}
	}
}

// TestMore checks that further texts follow the same distribution of lengths, are all
// different, and do not change the first text.
func TestMore(t *testing.T) {
	tok := builtinTokenizer(t)
	c := Config{Texts: newTexts(t, tok, 9, ""), Seed: 9, Prompts: 40, Input: Uniform{5, 14}, Prefixes: 2, PrefixTokens: 7}
	alone, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	c.More = 4
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	seen, lengths, prefixes := map[string]bool{}, map[int]bool{}, map[string]bool{}
	for k := range s.Len() {
		e, err := s.At(k)
		if err != nil || len(e.Prompt.More) != 4 || e.Prompt.IDs != nil {
			t.Fatalf("prompt %d: %+v, %v", k, e.Prompt, err)
		}
		if one, _ := alone.At(k); one.Prompt.Text != e.Prompt.Text {
			t.Errorf("prompt %d begins with %q, alone it is %q", k, e.Prompt.Text, one.Prompt.Text)
		}
		for _, text := range append(e.Prompt.More, e.Prompt.Text) {
			n := tok.Count(text) - 7
			if lengths[n] = true; n < 5 || n > 14 {
				t.Errorf("prompt %d: %q has %d tokens", k, text, n)
			}
			seen[text] = true
			prefixes[strings.Join(strings.Fields(text)[:4], " ")] = true
		}
	}
	if len(seen) != 200 || len(lengths) != 10 || len(prefixes) != 2 {
		t.Errorf("%d different texts of 200, lengths %v, prefixes %v", len(seen), lengths, prefixes)
	}
}

// TestPrefix checks that Prefix returns the prefixes that After uses.
func TestPrefix(t *testing.T) {
	tok := builtinTokenizer(t)
	texts := newTexts(t, tok, 9, "")
	seen := map[string]bool{}
	for k := range uint64(60) {
		prefix, err := texts.Prefix(k, 3, 12)
		if err != nil || tok.Count(prefix) != 12 {
			t.Fatalf("%q, %v", prefix, err)
		}
		seen[prefix] = true
	}
	for p := range uint64(3) {
		text, _, err := texts.After(p, 12, 5, 8)
		begins := false
		for prefix := range seen {
			begins = begins || strings.HasPrefix(text, prefix+" ")
		}
		if err != nil || !begins || len(seen) != 3 {
			t.Errorf("prefix %d: %q begins with none of %d, %v", p, text, len(seen), err)
		}
	}
	for _, bad := range [][2]int{{0, 5}, {5, 0}} {
		if _, err := texts.Prefix(1, bad[0], bad[1]); err == nil {
			t.Errorf("one of %d prefixes of %d tokens", bad[0], bad[1])
		}
	}
}

func TestSessions(t *testing.T) {
	c := Config{
		Texts: newTexts(t, builtinTokenizer(t), 9, ""), Seed: 9, Sessions: 200, Turns: Normal{3, 1}, Input: Fixed{12},
		Delay: &Delay{500 * time.Millisecond, 100 * time.Millisecond}, Prefixes: 1, PrefixTokens: 20,
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	turns := map[string]int{}
	var before workload.Entry
	var delays, waits float64
	for k := range s.Len() {
		e, err := s.At(k)
		if err != nil {
			t.Fatal(err)
		}
		if e.Turn != turns[e.Session] || e.Turn > 0 && e.Session != before.Session {
			t.Fatalf("entry %d is turn %d of %s after turn %d of %s", k, e.Turn, e.Session, before.Turn, before.Session)
		}
		turns[e.Session]++
		if last := e.Session != before.Session; k > 0 && last != (before.Delay == 0) {
			t.Errorf("entry %d: delay %v, last of its session: %v", k-1, before.Delay, last)
		}
		want := 12
		if e.Turn == 0 {
			want += 20
		}
		if n := builtinTokenizer(t).Count(e.Prompt.Text); n != want {
			t.Errorf("turn %d has %d tokens, want %d", e.Turn, n, want)
		}
		if e.Delay > 0 {
			delays, waits = delays+1, waits+e.Delay.Seconds()
		}
		before = e
	}
	if len(turns) != 200 || before.Delay != 0 {
		t.Errorf("%d sessions, the last delay is %v", len(turns), before.Delay)
	}
	if mean := float64(s.Len()) / 200; math.Abs(mean-3) > 0.4 {
		t.Errorf("%v turns a session", mean)
	}
	if mean := waits / delays; math.Abs(mean-0.5) > 0.03 {
		t.Errorf("delays of %v s", mean)
	}
}

// characters is a tokenizer in which every byte is a token.
type characters struct{}

func (characters) Count(s string) int       { return len(s) }
func (characters) Encode(s string) []uint32 { return make([]uint32, len(s)) }

func TestErrors(t *testing.T) {
	if _, err := NewVocabulary(characters{}, builtin.Corpus()); err == nil || !strings.Contains(err.Error(), "knows too few words to make texts of: 0 of one token") {
		t.Errorf("a tokenizer of characters: %v", err)
	}
	if _, err := NewVocabulary(builtinTokenizer(t), ""); err == nil {
		t.Error("an empty corpus")
	}
	err := (&Config{Prompts: -1, Sessions: -1, More: -1, Exact: true, Prefixes: 1, Turns: Fixed{0}, Delay: &Delay{-1, -1}}).Validate()
	for _, want := range []string{"no texts", "no lengths of prompts", "need a length", "-1 prompts: must", "-1 sessions", "-1 texts more: must be from 0", "one of them must be 0", "a prefix's length 0", "turns: length 0: must be from 1", "delay: mean -1ns"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// Texts with a shared vocabulary generate the same texts as Texts with a vocabulary of their own.
func TestSharedVocabulary(t *testing.T) {
	tok := builtinTokenizer(t)
	v, err := NewVocabulary(tok, builtin.Corpus())
	if err != nil {
		t.Fatal(err)
	}
	for _, salt := range []string{"", "salt"} {
		own := newTexts(t, tok, 7, salt)
		shared := v.Texts(7, salt)
		for number := range uint64(3) {
			want, _, err := own.Text(number, 40)
			if err != nil {
				t.Fatal(err)
			}
			if got, _, err := shared.Text(number, 40); err != nil || got != want {
				t.Errorf("salt %q, text %d: %q, %v; want %q", salt, number, got, err, want)
			}
		}
	}
}
