package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func testRequest() Request {
	return Request{
		Choices: 1, Length: ConstantLength(8), Room: 1000, TokensPerEvent: 1, Vocabulary: Plain, Final: FinalEmpty,
		TTFT: ConstantDelay(10 * time.Millisecond), ITL: ConstantDelay(time.Millisecond), FaultAfter: DefaultFaultAfter,
	}
}

func TestLengths(t *testing.T) {
	rows := []struct {
		name   string
		change func(*Request)
		want   int
		finish string
	}{
		{"by itself", func(*Request) {}, 8, "stop"},
		{"cut by max_tokens", func(a *Request) { a.MaxTokens = 5 }, 5, "length"},
		{"max_tokens not reached", func(a *Request) { a.MaxTokens = 9 }, 8, "stop"},
		{"max_tokens reached exactly", func(a *Request) { a.MaxTokens = 8 }, 8, "length"},
		{"min_tokens", func(a *Request) { a.MinTokens = 20 }, 20, "stop"},
		{"min_tokens and max_tokens", func(a *Request) { a.MinTokens, a.MaxTokens = 20, 20 }, 20, "length"},
		{"ignore_eos", func(a *Request) { a.IgnoreEOS, a.MaxTokens = true, 30 }, 30, "length"},
		{"ignore_eos without max_tokens", func(a *Request) { a.IgnoreEOS = true }, 8, "stop"},
		{"cut by the context", func(a *Request) { a.Room = 3 }, 3, "length"},
		{"one token", func(a *Request) { a.MaxTokens = 1 }, 1, "length"},
	}
	for _, row := range rows {
		a := testRequest()
		row.change(&a)
		p := New(1, a)
		if got, finish := p.lengths[0], p.FinishReason(0); got != row.want || finish != row.finish {
			t.Errorf("%s: %d tokens, %s, want %d, %s", row.name, got, finish, row.want, row.finish)
		}
	}
}

func TestSteps(t *testing.T) {
	a := testRequest()
	a.Choices, a.TokensPerEvent, a.InputTokens, a.Prefill = 2, 3, 5, 2*time.Millisecond
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
	p := New(1, a)
	var got []row
	texts := make([]string, 2)
	for s := range p.Steps() {
		got = append(got, row{int(s.At / time.Millisecond), s.Choice, s.Tokens, s.Finish})
		texts[s.Choice] += s.Text
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(row{})); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
	whole, end := p.Whole()
	if !slices.Equal(whole, texts) || end != 27*time.Millisecond {
		t.Errorf("Whole() = %q, %v, want %q, 27ms", whole, end, texts)
	}
	if texts[0] == texts[1] {
		t.Errorf("both choices are %q", texts[0])
	}
	for _, s := range texts {
		if len(strings.Fields(s)) != 8 {
			t.Errorf("%q has %d words, want as many as tokens, 8", s, len(strings.Fields(s)))
		}
	}
}

func TestPlanIsDeterministic(t *testing.T) {
	collect := func(seed, index uint64, f func(*Request)) []Step {
		a := testRequest()
		a.Index, a.Key = index, index
		a.Length, a.ITL, a.TTFT = Length{Normal, 20, 5}, Delay{Normal, time.Millisecond, time.Millisecond / 4}, Delay{Lognormal, time.Millisecond, time.Millisecond}
		f(&a)
		return slices.Collect(New(seed, a).Steps())
	}
	same := func(*Request) {}
	text := func(steps []Step) string {
		var b strings.Builder
		for _, s := range steps {
			b.WriteString(s.Text)
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
	seeded := func(a *Request) { a.Key = 99 }
	a, b := collect(1, 7, seeded), collect(1, 8, seeded)
	if text(a) != text(b) || a[0].At == b[0].At {
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
