package answer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// usageOf is a last chunk with the numbers of output tokens and of reasoning tokens; no details if
// reasoning is below 0.
func usageOf(output, reasoning int) string {
	details := ""
	if reasoning >= 0 {
		details = fmt.Sprintf(`,"completion_tokens_details":{"reasoning_tokens":%d}`, reasoning)
	}
	return fmt.Sprintf("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":%d%s}}\n\n", output, details)
}

// withUsage is a chunk with a delta and the usage so far.
func withUsage(delta string, output int) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":%s}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":%d}}\n\n", delta, output)
}

// TPOT divides by the tokens that came in its time. Events are 10 ns apart.
func TestCarried(t *testing.T) {
	answers := func(n int, text string) (all []string) { return slices.Repeat([]string{delta(text)}, n) }
	thoughts := func(n int, text string) []string {
		return slices.Repeat([]string{`data: {"choices":[{"index":0,"delta":{"reasoning_content":"` + text + `"}}]}` + "\n\n"}, n)
	}
	call := func(name, arguments string) string {
		return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":%q,"arguments":%q}}]}}]}`+"\n\n", name, arguments)
	}
	const none = 0
	for _, tt := range []struct {
		name   string
		parts  []string
		tpot   float64 // or none
		hidden int64
	}{
		{"all visible", append(answers(10, "w "), usageOf(10, 0)), 10, 0},
		{"one token without text at the end", append(answers(10, "w "), usageOf(11, -1)), 9, 0},
		{"hidden reasoning", append(answers(10, "w "), usageOf(110, 100)), 10, 100},
		{"visible reasoning", slices.Concat(thoughts(100, "t "), answers(10, "w "), []string{usageOf(110, 100)}), 10, 0},
		{"visible reasoning, several tokens an event", slices.Concat(thoughts(20, "a few tokens at once "), answers(20, "a few tokens at once "), []string{usageOf(200, 100)}), 390. / 199, 0},
		{"a summary of the reasoning", slices.Concat(thoughts(20, "thought "), answers(20, "answer "), []string{usageOf(520, 500)}), none, 0},
		{"the beginning of the reasoning", slices.Concat(thoughts(20, "t "), answers(20, "w "), []string{usageOf(520, 500)}), none, 0},
		{"hidden reasoning and no details", append(answers(10, "w "), usageOf(110, -1)), none, 0},
		{"more reasoning than there can be", append(answers(10, "w "), usageOf(12, 9)), 10, 2},
		{"reasoning beyond the output", append(answers(10, "w "), usageOf(10, 100)), 10, 0},
		{"several tokens in each event", append(answers(10, "three or four tokens "), usageOf(40, -1)), 90. / 39, 0},
		{"several tokens in the first event", slices.Concat(answers(1, "some twenty tokens that were held back for a while until the parser let them go on "), answers(10, "word "), []string{usageOf(30, -1)}), none, 0},
		{"a long first event among others", slices.Concat(answers(1, "some eight tokens of the answer "), answers(1, "and four or five more "), answers(9, "word "), []string{usageOf(30, -1)}), 100. / 29, 0},
		{"a long first token", slices.Concat(answers(1, "Certainly"), answers(10, "a "), []string{usageOf(12, -1)}), 100. / 11, 0},
		{"a tool call that was held back", []string{call("get_time", ""), call("", `{"tz":"UTC","format":"long"}`), usageOf(50, -1)}, none, 0},
		{"a tool call after text", slices.Concat(answers(10, "word "), []string{call("get_time", `{"tz":"UTC","format":"long"}`), usageOf(20, -1)}), 100. / 19, 0},
		{"all at once", []string{strings.Join(answers(4, "word "), ""), usageOf(12, -1)}, none, 0},
		{"usage in each chunk", []string{withUsage(`{"content":"a b "}`, 2), withUsage(`{"content":"c d "}`, 4), withUsage(`{"content":"e f "}`, 6), usageOf(6, -1)}, 5, 0},
		{"usage in each chunk, several tokens first", []string{withUsage(`{"role":"assistant","content":""}`, 0), withUsage(`{"content":"a"}`, 21), withUsage(`{"content":"b"}`, 22), withUsage(`{"content":"c"}`, 23), usageOf(24, -1)}, 10, 0},
		{"usage in each chunk, hidden first", []string{withUsage(`{"content":""}`, 50), withUsage(`{"content":""}`, 100), withUsage(`{"content":"a"}`, 101), withUsage(`{"content":"b"}`, 102), usageOf(102, -1)}, 10, 100},
		{"usage in each chunk, more hidden than the chunk has bytes", []string{withUsage(`{"content":"a"}`, 5001), withUsage(`{"content":"b"}`, 5002), withUsage(`{"content":"c"}`, 5003), usageOf(5003, 5000)}, 10, 5000},
		{"usage in each chunk, held back or hidden", []string{withUsage(`{"content":"a"}`, 5001), withUsage(`{"content":"b"}`, 5002), usageOf(5002, -1)}, 10, 0},
		{"usage in each chunk, all tokens first", []string{withUsage(`{"content":"a b c"}`, 20), withUsage(`{"content":"d"}`, 20), usageOf(20, -1)}, none, 0},
		{"usage in each chunk, more than a file may claim", []string{withUsage(`{"content":"a"}`, 1), withUsage(`{"content":"`+strings.Repeat("word ", 20_000)+`"}`, 20_001), usageOf(20_001, -1)}, 10. / 20_000, 0},
		{"one event with a summary of the reasoning", append(thoughts(1, "thought "), usageOf(500, 500)), none, 0},
		{"usage in each chunk, hidden between", []string{withUsage(`{"content":"a"}`, 1), withUsage(`{"content":""}`, 2), withUsage(`{"content":""}`, 3), withUsage(`{"content":"b"}`, 4), usageOf(4, -1)}, 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openaiRequest(append(tt.parts, done)...)
			run := &export.Run{Meta: &export.RunMeta{Streaming: new(true)}}
			derived := NewDeriver(run).Derive(&r)
			n := int64(0)
			for _, e := range derived.Events[1:] {
				n += int64(e.Tokens)
			}
			if derived.EventTokens && n > export.MostEventTokens(len(derived.Events)) {
				t.Errorf("%d tokens of events, which a file cannot hold", n)
			}
			brief := r
			if derived.ITLEvents.OK {
				brief.Summary, brief.Responses = derived.Responses, nil
			}
			for from, m := range map[string]*Measured{
				"answer":        NewMeter(run, Config{}).Measure(&r),
				"columns":       NewMeter(run, Config{}).MeasureDerived(&r, derived),
				"brief columns": NewMeter(run, Config{}).MeasureDerived(&brief, derived),
			} {
				got, ok := m.TPOT()
				if ok != (tt.tpot != none) || got != tt.tpot || m.Untimed != (!ok && m.Events > 1) {
					t.Errorf("%s: TPOT %v, %v, untimed %v, want %v", from, got, ok, m.Untimed, tt.tpot)
				}
				if m.HiddenTokens != (export.Int{V: tt.hidden, OK: tt.hidden > 0}) {
					t.Errorf("%s: hidden %+v, want %d", from, m.HiddenTokens, tt.hidden)
				}
			}
		})
	}
}
