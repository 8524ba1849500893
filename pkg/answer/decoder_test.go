package answer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// An event is written as time after the start/choice, with r for reasoning:
// "20/0 30/0r".
func eventText(a *Answer) string {
	var s []string
	for _, e := range a.Events {
		r := ""
		if e.Reasoning {
			r = "r"
		}
		s = append(s, fmt.Sprintf("%d/%d%s", e.RecvNS-1000, e.Choice, r))
	}
	return strings.Join(s, " ")
}

// Responses arrive 10, 20, … ns after the start.
func TestDecodeHTTP(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pieces []string
		want   string
		text   string // of choice 0
	}{
		{"chat", []string{role, delta("a"), delta("b"), finish, done}, "20/0 30/0", "ab"},
		{"no role event", []string{delta("a"), delta("b"), done}, "10/0 20/0", "ab"},
		{"no [DONE], an empty last response", []string{role, delta("a"), finish, ""}, "20/0", "a"},
		{"[DONE] without the space", []string{delta("a"), "data:[DONE]\n\n"}, "10/0", "a"},
		{"CR LF", []string{strings.ReplaceAll(role, "\n", "\r\n"), strings.ReplaceAll(delta("a"), "\n", "\r\n")}, "20/0", "a"},
		{"comments between", []string{": ping\n\n", delta("a"), ":\n\n", delta("b")}, "20/0 40/0", "ab"},
		{"several events in one read share its time", []string{role + delta("a") + delta("b"), delta("c") + finish + done}, "10/0 10/0 20/0", "abc"},
		{"an event in two reads has the time of the second", []string{role, delta("a")[:30], delta("a")[30:], delta("b")}, "30/0 40/0", "ab"},
		{"cut inside a character", []string{delta("ä")[:66], delta("ä")[66:]}, "20/0", "ä"},
		{"cut between events and inside one", []string{role + delta("a") + delta("b")[:10], delta("b")[10:] + delta("c")}, "10/0 20/0 20/0", "abc"},
		{"cut before the blank line", []string{strings.TrimSuffix(delta("a"), "\n"), "\n"}, "20/0", "a"},
		{"cut into bytes", strings.Split(delta("a"), ""), "900/0", "a"},
		{"no blank line at the end", []string{delta("a"), strings.TrimSpace(delta("b"))}, "10/0 20/0", "ab"},
		{"the end of the stream is blank", []string{delta("a"), "\n\n", "\n"}, "10/0", "a"},
		{"reasoning first", []string{role, thought, thought, delta("a"), finish, done}, "20/0r 30/0r 40/0", "hmhma"},
		{"reasoning and answer in one event", []string{"data: {\"choices\":[{\"delta\":{\"reasoning\":\"x\",\"content\":\"y\"}}]}\n\n"}, "10/0", "xy"},
		{"tool call", []string{"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n", "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"{}\"}}]}}]}\n\n"}, "10/0 20/0", "f{}"},
		{"messages", []string{
			"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[]}}\n\n", "event: ping\ndata: {\"type\":\"ping\"}\n\n",
			"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n", "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
			"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"x\"}}\n\n", "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
			"data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"ls\",\"input\":{}}}\n\n", "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n",
			"data: {\"type\":\"new_event\",\"text\":\"no\"}\n\n", "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n", "data: {\"type\":\"message_stop\"}\n\n",
		}, "40/0r 70/0 80/0", "hmls{}"},
		{"a message, whole", []string{`{"type":"message","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"ls","input":{"d":1}}],"stop_reason":"tool_use"}`}, "10/0", `als{"d":1}`},
		{"refusal", []string{"data: {\"choices\":[{\"delta\":{\"refusal\":\"no\"}}]}\n\n"}, "10/0", "no"},
		{"token ids without text", []string{"data: {\"choices\":[{\"text\":\"\",\"token_ids\":[5]}]}\n\n"}, "10/0", ""},
		{"text completions", []string{"data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\n", "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\n"}, "10/0", "a"},
		{"text with the finish reason", []string{"data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":\"length\"}]}\n\n"}, "10/0", "a"},
		{"two choices by index", []string{
			"data: {\"choices\":[{\"index\":0,\"text\":\"a\"},{\"index\":1,\"text\":\"x\"}]}\n\n",
			"data: {\"choices\":[{\"index\":1,\"text\":\"y\"}]}\n\n", "data: {\"choices\":[{\"index\":0,\"text\":\"b\"}]}\n\n",
		}, "10/0 10/1 20/1 30/0", "ab"},
		{"one choice twice in one chunk is one event", []string{"data: {\"choices\":[{\"index\":0,\"text\":\"a\"},{\"index\":0,\"text\":\"b\"}]}\n\n"}, "10/0", "ab"},
		{"usage, null, no delta", []string{usage5, "data: null\n\n", "data: {\"choices\":[{\"index\":0,\"content_filter_results\":{}}]}\n\n", delta("a")}, "40/0", "a"},
		{"whole chat answer", []string{`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"all of it"}}],"usage":{"completion_tokens":3}}`}, "10/0", "all of it"},
		{"whole answer in two pieces", []string{`{"choices":[{"text":"a`, `b"}]}`}, "20/0", "ab"},
		{"whole answer without text", []string{`{"choices":[{"index":0,"message":{"role":"assistant","content":""}}]}`}, "", ""},
		{"embeddings have no tokens", []string{`{"object":"list","data":[{"object":"embedding","embedding":[0.1]}],"usage":{"prompt_tokens":3}}`}, "", ""},
		{"Hugging Face, whole", []string{`[{"generated_text":"a b"}]`}, "10/0", ""},
		{"llama.cpp's own stream", []string{"data: {\"content\":\"a\",\"stop\":false}\n\n", "data: {\"content\":\"\",\"stop\":true,\"prompt\":\"hi\"}\n\n"}, "10/0", "a"},
		{"TGI's own stream", []string{"data:{\"token\":{\"id\":5,\"text\":\"a\"},\"generated_text\":null}\n\n", "data:{\"token\":{\"id\":6,\"text\":\"b\"},\"generated_text\":\"ab\"}\n\n"}, "10/0 20/0", "ab"},
		{"Triton's generate_stream", []string{"data: {\"model_name\":\"m\",\"model_version\":\"1\",\"text_output\":\" a\"}\n\n", "data: {\"model_name\":\"m\",\"model_version\":\"1\",\"text_output\":\"\"}\n\n"}, "10/0", " a"},
		{"generate_stream of another model", []string{"data: {\"model_name\":\"m\",\"model_version\":\"1\",\"TEXT\":\" a\",\"FLAG\":1}\n\n", "data: {\"model_name\":\"m\",\"model_version\":\"1\",\"TEXT\":\"\",\"FLAG\":1}\n\n"}, "10/0", " a"},
		{"nothing at all", []string{"", ""}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openaiRequest(tt.pieces...)
			d := Decoder{ServiceKind: "openai", KeepText: true}
			for range 2 { // buffers are reused
				a := d.Decode(&r)
				if got := eventText(a); got != tt.want {
					t.Errorf("events %q, want %q", got, tt.want)
				}
				if got := choiceText(a, 0); got != tt.text {
					t.Errorf("text %q, want %q", got, tt.text)
				}
				if a.Unreadable > 0 || a.Failure != "" || a.Assumed {
					t.Errorf("unreadable %d, failure %q, assumed %v", a.Unreadable, a.Failure, a.Assumed)
				}
			}
		})
	}
}

func choiceText(a *Answer, index int) string {
	for _, c := range a.choices {
		if c.index == index {
			return string(c.text)
		}
	}
	return ""
}

// The pieces of a body may fall anywhere: only times may differ.
func TestDecodeHTTPAnySplit(t *testing.T) {
	stream := role + delta("a") + ": ping\n\n" + thought + delta("ä") + usage5 + done
	whole := openaiRequest(stream)
	var d Decoder
	want := len(d.Decode(&whole).Events)
	if want != 3 {
		t.Fatalf("%d events in the whole stream, want 3", want)
	}
	for cut := range len(stream) + 1 {
		r := openaiRequest(stream[:cut], stream[cut:])
		a := d.Decode(&r)
		if len(a.Events) != want || a.Usage.Output.V != 5 {
			t.Errorf("cut at %d: %d events, usage %v, want %d and 5", cut, len(a.Events), a.Usage.Output, want)
		}
		for i := range a.Events {
			if i > 0 && a.Events[i].RecvNS < a.Events[i-1].RecvNS {
				t.Errorf("cut at %d: events out of order: %s", cut, eventText(a))
			}
		}
	}
}

func TestDecodeUsage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pieces []string
		want   Usage
	}{
		{"none", []string{delta("a")}, Usage{}},
		{"all", []string{delta("a"), usage5, done}, Usage{Input: export.IntOf(9), Output: export.IntOf(5), Reasoning: export.IntOf(2), Cached: export.IntOf(8)}},
		{"the last of many", []string{
			"data: {\"choices\":[{\"text\":\"a\"}],\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":1}}\n\n",
			"data: {\"choices\":[{\"text\":\"b\"}],\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":2}}\n\n",
		}, Usage{Input: export.IntOf(2), Output: export.IntOf(2)}},
		{"0 reasoning tokens", []string{
			delta("a"), "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":1,\"completion_tokens_details\":{\"reasoning_tokens\":0}}}\n\n",
		}, Usage{Input: export.IntOf(2), Output: export.IntOf(1), Reasoning: export.IntOf(0)}},
		{"zeros before it is known, Ollama", []string{
			"data: {\"choices\":[{\"text\":\"a\"}],\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}}\n\n",
		}, Usage{}},
		{"zero beside output is not known", []string{delta("a"), "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":0}}\n\n"}, Usage{Input: export.IntOf(4)}},
		{"null", []string{"data: {\"choices\":[{\"text\":\"a\"}],\"usage\":null}\n\n"}, Usage{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openaiRequest(tt.pieces...)
			var d Decoder
			if diff := cmp.Diff(tt.want, d.Decode(&r).Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeFailure(t *testing.T) {
	for _, tt := range []struct {
		name       string
		pieces     []string
		failure    string
		events     string
		unreadable int
	}{
		{"error event", []string{role, delta("a"), "event: error\ndata: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n", ""}, "out of memory", "20/0", 0},
		{"error without a name", []string{delta("a"), "data: {\"error\":\"gone\"}\n\n", done}, "gone", "10/0", 0},
		{"error body", []string{`{"error":{"message":"no such model"}}`}, "no such model", "", 0},
		{"not JSON", []string{delta("a"), "data: {oops\n\n", delta("b")}, "", "10/0 30/0", 1},
		{"body cut short", []string{`{"choices":[{"te`}, "", "", 1},
		{"array cut short", []string{`[{"te`}, "", "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := openaiRequest(tt.pieces...)
			var d Decoder
			a := d.Decode(&r)
			if a.Failure != tt.failure || eventText(a) != tt.events || a.Unreadable != tt.unreadable {
				t.Errorf("failure %q, events %q, unreadable %d, want %q, %q, %d", a.Failure, eventText(a), a.Unreadable, tt.failure, tt.events, tt.unreadable)
			}
		})
	}
}

func TestDecodeAssumed(t *testing.T) {
	final := at(1000, 1010, 1020, 1030)
	final.HasMeta = true
	final.Responses[2].Final = true
	for _, tt := range []struct {
		name string
		r    export.Request
		want string
	}{
		{"every response, as nothing tells them apart", at(1000, 1010, 1020, 1030), "10/0 20/0 30/0"},
		{"but one that is known to be the end", final, "10/0 20/0"},
		{"none", at(1000), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d Decoder
			a := d.Decode(&tt.r)
			if got := eventText(a); got != tt.want || a.Assumed != (tt.want != "") {
				t.Errorf("events %q, assumed %v, want %q", got, a.Assumed, tt.want)
			}
		})
	}
}

// However a body is chopped into responses, the same events come out of it.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		role + delta("a") + thought + usage5 + done, ": ping\r\n\r\n" + delta("ä"), "\ufeff" + delta("a"),
		`{"choices":[{"text":"a"}]}`, `[{"generated_text":"a"}]`, "\ufeff \n{\"error\":\"x\"}", "\ufeff \ufeff \n\n{",
		`data: {"text":"a","output_ids":[1],"meta_info":{"completion_tokens":1,"finish_reason":null}}` + "\n\n" + `data: {"text":"a b","output_ids":[1,2],"meta_info":{"completion_tokens":2,"finish_reason":{"type":"stop"}}}` + "\n\n",
		`data: {"request_id":"r","choices":[{"index":0,"token_ids":[5,6],"finish_reason":"length"}]}` + "\n\n" + done,
		"event: error\ndata: x\n\n", "data: {\"text_output\":\"a\"}\n\ndata: {\"token\":{\"text\":\"b\"}}\n\n", "data: {\n", "\r\r\n",
	} {
		f.Add(s, uint16(3), uint16(9), uint8(0))
		f.Add(s, uint16(1), uint16(9), uint8(1))
	}
	f.Fuzz(func(t *testing.T, body string, a, b uint16, kind uint8) {
		d := Decoder{ServiceKind: []string{"openai", "", "triton"}[kind%3], KeepText: true}
		describe := func(r export.Request) string {
			x := d.Decode(&r)
			s := fmt.Sprint(len(x.Events), x.Usage, x.Failure, x.Unreadable)
			for _, c := range x.choices {
				s += fmt.Sprintf(" %d %q", c.index, c.text)
			}
			return s
		}
		testenv.BoundMemory(t, len(body), 1<<20, 1000, func() { describe(openaiRequest(body)) })
		i, j := int(a)%(len(body)+1), int(b)%(len(body)+1)
		i, j = min(i, j), max(i, j)
		whole := openaiRequest(body)
		if d.isHTTP(&whole) {
			if got, want := describe(openaiRequest(body[:i], body[i:j], body[j:])), describe(whole); got != want {
				t.Errorf("cut at %d and %d: %s, whole: %s", i, j, got, want)
			}
		}
	})
}

// The usage of each chunk counts the tokens of its event (vLLM and SGLang with continuous_usage_stats).
func TestEventTokens(t *testing.T) {
	chunk := func(choice int, text, usage string) string {
		return fmt.Sprintf("data: {\"choices\":[{\"index\":%d,\"delta\":{\"content\":%q}}]%s}\n\n", choice, text, usage)
	}
	usage := func(n int) string { return fmt.Sprintf(`,"usage":{"prompt_tokens":4,"completion_tokens":%d}`, n) }
	final := fmt.Sprintf("data: {\"choices\":[]%s}\n\n", usage(9))
	for _, tt := range []struct {
		name   string
		pieces []string
		want   []int32 // nil: not counted
	}{
		// The role has no token; a chunk without text holds a token that the next event shows.
		{"speculative decoding", []string{chunk(0, "", usage(0)), chunk(0, "a", usage(1)), chunk(0, "bcd", usage(4)), chunk(0, "", usage(5)), chunk(0, "ef", usage(7)), final, done}, []int32{1, 3, 3}},
		{"two choices", []string{chunk(0, "a", usage(1)), chunk(1, "b", usage(2)), chunk(0, "c", usage(3)), chunk(1, "d", usage(3)), final, done}, []int32{1, 2, 2, 1}},
		{"text of a token that was counted before", []string{chunk(0, "a", usage(2)), chunk(0, "b", usage(2)), done}, []int32{2, 0}},
		{"one chunk without usage", []string{chunk(0, "a", usage(1)), chunk(0, "b", ""), chunk(0, "c", usage(3)), done}, nil},
		{"usage at the end only", []string{chunk(0, "a", ""), chunk(0, "b", ""), final, done}, nil},
		{"usage that falls", []string{chunk(0, "a", usage(2)), chunk(0, "b", usage(1)), done}, nil},
		{"zero in each chunk", []string{chunk(0, "a", usage(0)), chunk(0, "b", usage(0)), done}, nil},
		{"more tokens than bytes", []string{chunk(0, "a", usage(1)), chunk(0, "b", usage(5000)), done}, nil},
		{"several choices in one chunk", []string{"data: {\"choices\":[{\"index\":0,\"text\":\"a\"},{\"index\":1,\"text\":\"b\"}]" + usage(2) + "}\n\n", done}, nil},
		{"no event", []string{chunk(0, "", usage(0)), final, done}, nil},
	} {
		r := openaiRequest(tt.pieces...)
		var d Decoder
		a := d.Decode(&r)
		var got []int32
		if a.EventTokens {
			for i := range a.Events {
				got = append(got, a.Events[i].Tokens)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
