package serving

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// answerOf is an answer in these reads, a nanosecond apart.
func answerOf(reads ...string) *answerText {
	var all []export.Response
	for i, text := range reads {
		all = append(all, export.Response{RecvNS: uint64(i + 1), Outputs: export.Fields{{Name: "response", Value: export.Text(text)}}})
	}
	return &answerText{outputs: new(dialect.Parts).Outputs(&export.Request{Responses: all}, responseOutput)}
}

// However an answer was cut into reads, it has the same events; each is whole
// no earlier than the read that brought its end.
func FuzzEvents(f *testing.F) {
	f.Add("data: {\"a\":1}\n\ndata: {\"b\":\"\\n\"}\n\ndata: [DONE]\n\n", 7, 20)
	f.Add("data: {\"a\":1}\r\n\r\n: ping\n\nevent: x\ndata: {}\n\n", 1, 2)
	f.Add("{\"choices\":[{\"text\":\"x\"}]}", 3, 5)
	f.Add("data: {\n\n\n\n data: [DONE]", 8, 9)
	f.Fuzz(func(t *testing.T, text string, i, k int) {
		i, k = max(min(i, len(text)), 0), max(min(k, len(text)), 0)
		i, k = min(i, k), max(i, k)
		var whole, cut []string
		for ev := range answerOf(text).lines {
			whole = append(whole, ev.text)
		}
		last := uint64(0)
		for ev := range answerOf(text[:i], text[i:k], text[k:]).lines {
			cut = append(cut, ev.text)
			if ev.ns < last {
				t.Errorf("%q: an event is earlier than the previous event", text)
			}
			last = ev.ns
		}
		// A line that is whole JSON before its end is taken for one: recorders
		// may have left the line feed away.
		if !slices.Equal(whole, cut) && !wholeBefore(text, i) && !wholeBefore(text, k) {
			t.Errorf("%q cut at %d and %d: %q, whole %q", text, i, k, cut, whole)
		}
		for ev := range answerOf(text[:i], text[i:]).frames {
			if strings.Contains(ev.text, "\n\n") || ev.ns < 1 || ev.ns > 2 {
				t.Errorf("%q: a frame %q at %d", text, ev.text, ev.ns)
			}
		}
	})
}

// wholeBefore reports whether the line that is cut at i is whole there.
func wholeBefore(text string, i int) bool {
	line := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
	return isWhole(strings.TrimPrefix(strip(line), "data: "))
}

func ExampleAnalyze() {
	const profile = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[
{"timestamp":1000000000,"request_inputs":{"payload":"{\"model\":\"m\",\"prompt\":\"a b\",\"max_tokens\":2,\"stream\":true}"},
 "response_timestamps":[1100000000,1300000000],
 "response_outputs":[{"response":"data: {\"choices\":[{\"text\":\"x\"}]}\n\n"},{"response":"data: {\"choices\":[{\"text\":\" y\"}]}\n\n"}]}],
"window_boundaries":[1000000000,2000000000]}],"version":"1","service_kind":"openai","endpoint":"v1/completions"}`
	rep, err := reportOf("trtllm-main", openText(profile), dialect.Config{Tokenizer: words{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	l := &rep.Levels[0]
	fmt.Printf("TTFT %.0f ms, TPOT %.0f ms, %.0f tokens/s\n", l.TTFT.Mean, l.TPOT.Mean, l.OutputRate)
	// Output:
	// TTFT 100 ms, TPOT 200 ms, 2 tokens/s
}

func BenchmarkAnalyze(b *testing.B) {
	var all []sentRequest
	for i := range 50 {
		q := sentRequest{startNS: i * 1e6, prompt: "a b c", maxTokens: 100}
		for k := range 100 {
			q.reads = append(q.reads, read{(k + 1) * 1e6, completion(" word")})
		}
		all = append(all, q)
	}
	data := completionsExport(1e9, "", all...)
	for _, tool := range releases {
		if tool.Name == "trtllm-1.0" {
			continue // as trtllm-main
		}
		b.Run(tool.Name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := reportOf(tool.Name, openText(data), dialect.Config{Tokenizer: words{}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
