package sim

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func testAsk() ask {
	return ask{
		choices: 1, length: ConstantLength(8), room: 1000, tokensPerEvent: 1, vocabulary: Plain, final: FinalEmpty,
		ttft: ConstantDelay(10 * time.Millisecond), itl: ConstantDelay(time.Millisecond), faultAfter: DefaultFaultAfter,
	}
}

func TestLengths(t *testing.T) {
	rows := []struct {
		name   string
		change func(*ask)
		want   int
		finish string
	}{
		{"by itself", func(*ask) {}, 8, "stop"},
		{"cut by max_tokens", func(a *ask) { a.maxTokens = 5 }, 5, "length"},
		{"max_tokens not reached", func(a *ask) { a.maxTokens = 9 }, 8, "stop"},
		{"max_tokens reached exactly", func(a *ask) { a.maxTokens = 8 }, 8, "length"},
		{"min_tokens", func(a *ask) { a.minTokens = 20 }, 20, "stop"},
		{"min_tokens and max_tokens", func(a *ask) { a.minTokens, a.maxTokens = 20, 20 }, 20, "length"},
		{"ignore_eos", func(a *ask) { a.ignoreEOS, a.maxTokens = true, 30 }, 30, "length"},
		{"ignore_eos without max_tokens", func(a *ask) { a.ignoreEOS = true }, 8, "stop"},
		{"cut by the context", func(a *ask) { a.room = 3 }, 3, "length"},
		{"one token", func(a *ask) { a.maxTokens = 1 }, 1, "length"},
	}
	for _, row := range rows {
		a := testAsk()
		row.change(&a)
		p := newPlan(1, a)
		if got, finish := p.lengths[0], p.finishReason(0); got != row.want || finish != row.finish {
			t.Errorf("%s: %d tokens, %s, want %d, %s", row.name, got, finish, row.want, row.finish)
		}
	}
}

func TestSteps(t *testing.T) {
	a := testAsk()
	a.choices, a.tokensPerEvent, a.inputTokens, a.prefill = 2, 3, 5, 2*time.Millisecond
	type row struct {
		ms     int
		choice int
		tokens int
		finish string
	}
	// 5 × 2 ms of prefill + 10 ms; the first token alone, then by three.
	want := []row{
		{20, 0, 1, ""},
		{20, 1, 1, ""},
		{23, 0, 3, ""},
		{23, 1, 3, ""},
		{26, 0, 3, ""},
		{26, 1, 3, ""},
		{27, 0, 1, "stop"},
		{27, 1, 1, "stop"},
	}
	p := newPlan(1, a)
	var got []row
	texts := make([]string, 2)
	for s := range p.steps() {
		got = append(got, row{int(s.at / time.Millisecond), s.choice, s.tokens, s.finish})
		texts[s.choice] += s.text
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(row{})); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
	whole, end := p.whole()
	if !slices.Equal(whole, texts) || end != 27*time.Millisecond {
		t.Errorf("whole() = %q, %v, want %q, 27ms", whole, end, texts)
	}
	if texts[0] == texts[1] {
		t.Errorf("both choices are %q", texts[0])
	}
	for _, s := range texts {
		if countWords(s) != 8 {
			t.Errorf("%q has %d words, want as many as tokens, 8", s, countWords(s))
		}
	}
}

func TestPlanIsDeterministic(t *testing.T) {
	collect := func(seed, index uint64, f func(*ask)) []step {
		a := testAsk()
		a.index, a.key = index, index
		a.length, a.itl, a.ttft = Length{Normal, 20, 5}, Delay{Normal, time.Millisecond, time.Millisecond / 4}, Delay{Lognormal, time.Millisecond, time.Millisecond}
		f(&a)
		return slices.Collect(newPlan(seed, a).steps())
	}
	same := func(*ask) {}
	text := func(steps []step) string {
		var b strings.Builder
		for _, s := range steps {
			b.WriteString(s.text)
		}
		return b.String()
	}
	base := collect(1, 7, same)
	if !slices.Equal(base, collect(1, 7, same)) {
		t.Error("the same seed and index give different plans")
	}
	if text(base) == text(collect(2, 7, same)) {
		t.Error("another seed gives the same text")
	}
	if text(base) == text(collect(1, 8, same)) {
		t.Error("another index gives the same text")
	}
	seeded := func(a *ask) { a.key = 99 }
	a, b := collect(1, 7, seeded), collect(1, 8, seeded)
	if text(a) != text(b) || a[0].at == b[0].at {
		t.Error("requests with a seed of their own: want the same text at different times")
	}
}

func TestTrickyText(t *testing.T) {
	var b strings.Builder
	empty := false
	for i := range 3 * len(trickyTokens) {
		s := tokenText(Tricky, 1, 1, 0, i)
		empty = empty || s == ""
		b.WriteString(s)
	}
	text := b.String()
	if !empty || !utf8.ValidString(text) {
		t.Errorf("want an empty token and UTF-8, got %q", text)
	}
	for _, want := range []string{`"quoted"`, `\back`, "日本語", "🚀", "👨\u200d👩\u200d👧", "\x01", "data: [DONE]", "\r\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}
