package genaiperf

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Vectors of GenAI-Perf's own unit tests, in which times are single nanoseconds
// and a text has as many tokens as this table says (counted by the tokenizer of
// Llama 2).
var vectorTokens = tokenTable{
	"This is test": 3, "This is test too": 4,
	"I like dogs": 3, "I don't cook food": 6, "Idon'tcook food": 6, "cat is cool too": 4, "it's very simple work": 6,
	" I like dogs": 4, " I like cats": 5,
	"I like dog": 3, "I like dog too": 4, "I like cat too": 4, "I like dog I like dog too I like cat": 10,
	// one by one, as GPT-2 has them
	"dogs": 1, "are": 1, "cool": 1, "I": 1, "don't": 2, "cook food": 2, "cat": 1, "is": 1, "too": 1, "it's": 2, "very": 1, "simple work": 2,
	// with the mark that early releases put before each chunk, which is a token
	"!I": 2, "! like": 2, "! dogs": 2, "! don't": 4, "!don't": 4, "! cook food": 3, "!cook food": 3,
	"!cat": 2, "! is": 2, "! cool": 2, "! too": 2, "!it's": 4, "! very": 2, "! simple work": 3,
	// the whole is not the sum of its parts
	"!Ad": 2, "!idas": 2, "! Orig": 2, "!inals": 2, "! are": 2, "! now": 2, "! available": 2, "! in": 2, "! more": 2, "! than": 2,
	"Adidas Originals are now available in more than": 9,
}

type tokenTable map[string]int

func (t tokenTable) Count(text string) int {
	n, ok := t[text]
	if !ok && text != "" {
		panic(fmt.Sprintf("no count of %q", text))
	}
	return n
}

func (tokenTable) AddSpecial(ids []uint32) []uint32 { return ids }

// A request as the vectors give it.
type request struct {
	at      int
	input   string // the prompt, or the JSON of request_inputs when it begins with {
	times   []int
	outputs []string
}

// vector builds an export of one level.
func vector(kind, endpoint, level, output string, requests ...request) string {
	var all []string
	for _, q := range requests {
		in := q.input
		if !strings.HasPrefix(in, "{") {
			in = `{"text_input":` + quote(in) + `}`
		}
		times, _ := json.Marshal(q.times)
		var outs []string
		for _, o := range q.outputs {
			if output != "output_ids" {
				o = quote(o)
			}
			outs = append(outs, `{"`+output+`":`+o+`}`)
		}
		all = append(all, fmt.Sprintf(`{"timestamp":%d,"request_inputs":%s,"response_timestamps":%s,"response_outputs":[%s]}`, q.at, in, times, strings.Join(outs, ",")))
	}
	return fmt.Sprintf(`{"experiments":[{"experiment":%s,"requests":[%s],"window_boundaries":[]}],"version":"1","service_kind":%q,"endpoint":%q}`,
		level, strings.Join(all, ","), kind, endpoint)
}

const (
	concurrency10 = `{"mode":"concurrency","value":10}`
	rate2         = `{"mode":"request_rate","value":2.0}`
)

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func payload(p string) string { return `{"payload":` + quote(p) + `}` }

func chatPayload(content string) string {
	return payload(`{"messages":[{"role":"user","content":` + content + `}],"model":"m","stream":true}`)
}

func delta(d string) string {
	return `data: {"choices":[{"delta":` + d + `,"index":0}],"object":"chat.completion.chunk"}` + "\n\n"
}

func content(s string) string { return delta(`{"content":` + quote(s) + `}`) }

// near is for what is divided by 1e9 in one order here and in another there.
var near = cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*math.Abs(y) })

// lists are the values of a level. Throughputs are numbers per nanosecond,
// times 1e9.
type lists struct {
	latency, first, second, inter, output, input []int64
	rate                                         []float64
	requests, tokens                             float64
}

func listsOf(c *collector) lists {
	ints := func(l *stat.List) []int64 { return l.NewCursor().Append(nil, 0, l.Len()) }
	l := lists{latency: ints(c.latency), first: ints(c.first), second: ints(c.second), inter: ints(c.inter), output: ints(c.output), input: ints(c.input)}
	l.rate = floatsOf(c.rate)
	if len(c.requestRates) > 0 {
		l.requests = c.requestRates[0]
	}
	if len(c.tokenRates) > 0 {
		l.tokens = c.tokenRates[0]
	}
	return l
}

// floatsOf returns the numbers of a list.
func floatsOf(l *stat.List) []float64 {
	var all []float64
	for _, key := range l.NewCursor().Append(nil, 0, l.Len()) {
		all = append(all, stat.FromKey(key))
	}
	return all
}

// collected returns a collector with values.
func collected(add func(c *collector)) collector {
	c := newCollector(stat.NewStore(0, ""))
	add(&c)
	return c
}

// addFloats adds numbers to a list.
func addFloats(l *stat.List, all ...float64) {
	for _, v := range all {
		l.AddFloat(v)
	}
}

// unfinished is an analysis that stops before its report, which sorts the values.
type unfinished struct{ *analysis }

func (unfinished) Report() dialect.Report { return nil }

func read(t *testing.T, release, file string, cfg dialect.Config) *analysis {
	t.Helper()
	r := find(release)
	if cfg.Tokenizer == nil {
		cfg.Tokenizer = vectorTokens
	}
	var a *analysis
	tool := r.tool(release)
	start := tool.New
	tool.New = func(in dialect.Input) (dialect.Analysis, error) {
		started, err := start(in)
		a, _ = started.(*analysis)
		return unfinished{a}, err
	}
	if _, err := dialect.Analyze(t.Context(), tool, runtest.Open(t, []byte(file)), cfg); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestVectors(t *testing.T) {
	chat := func(content1, content2 string) string {
		return vector("openai", "v1/chat/completions", concurrency10, "response",
			request{1, chatPayload(content1), []int{3, 5, 8, 12, 13, 14}, []string{delta(`{"role":"assistant"}`), content("I"), content(" like"), content(" dogs"), delta(`{}`), "data: [DONE]\n\n"}},
			request{2, chatPayload(content2), []int{4, 7, 11, 15, 18, 19}, []string{delta(`{"role":"assistant"}`), content("I"), content("don't"), content("cook food"), delta(`{}`), "data: [DONE]\n\n"}})
	}
	triton := vector("triton", "", concurrency10, "text_output",
		request{1, "This is test", []int{3, 5, 8}, []string{"I", " like", " dogs"}},
		request{2, "This is test too", []int{4, 7, 11}, []string{"I", " don't", " cook food"}})
	tritonRate := vector("triton", "", rate2, "text_output",
		request{5, "This is test", []int{7, 8, 13, 18}, []string{"cat", " is", " cool", " too"}},
		request{3, "This is test too", []int{6, 8, 11}, []string{"it's", " very", " simple work"}})
	const perNS = 1e9
	for _, tt := range []struct {
		name, release, file string
		want                lists
	}{
		{"P1 Triton", "main", triton, lists{
			latency: []int64{7, 9}, first: []int64{2, 2}, second: []int64{2, 3}, inter: []int64{2, 1}, // 2.5 and 1.4
			output: []int64{3, 6}, input: []int64{3, 4}, rate: []float64{perNS / 2, perNS},
			requests: 2.0 / 10 * perNS, tokens: 9.0 / 10 * perNS,
		}},
		{"P1 Triton, request rate", "main", tritonRate, lists{
			latency: []int64{13, 8}, first: []int64{2, 3}, second: []int64{1, 2}, inter: []int64{4, 1},
			output: []int64{4, 6}, input: []int64{3, 4}, rate: []float64{perNS / 4, perNS},
			requests: 2.0 / 15 * perNS, tokens: 10.0 / 15 * perNS,
		}},
		{"P2 chat", "main", chat(`"This is test"`, `"This is test too"`), lists{
			latency: []int64{11, 13}, first: []int64{4, 5}, second: []int64{3, 4}, inter: []int64{4, 2}, // 3.5 and 1.6
			output: []int64{3, 6}, input: []int64{3, 4}, rate: []float64{perNS / 4, perNS / 2},
			requests: 2.0 / 14 * perNS, tokens: 9.0 / 14 * perNS,
		}},
		{
			"P3 vision", "main",
			chat(`[{"type":"text","text":"This is test"},{"type":"image_url","image_url":{"url":"data:image/png;base64,abcdef"}}]`,
				`[{"type":"text","text":"This is test too"},{"type":"image_url","image_url":{"url":"data:image/png;base64,abcdef"}}]`),
			lists{
				latency: []int64{11, 13}, first: []int64{4, 5}, second: []int64{3, 4}, inter: []int64{4, 2},
				output: []int64{3, 6}, input: []int64{3, 4}, rate: []float64{perNS / 4, perNS / 2},
				requests: 2.0 / 14 * perNS, tokens: 9.0 / 14 * perNS,
			},
		},
		{"P4 engine", "main", vector("triton_c_api", "", concurrency10, "output_ids",
			request{1, `{"input_ids":[111,222,333]}`, []int{3, 5, 8}, []string{"11", "22", "33"}},
			request{2, `{"input_ids":[111,222,333,444]}`, []int{4, 7, 11}, []string{"11", "22", "33"}}), lists{
			latency: []int64{7, 9}, first: []int64{2, 2}, second: []int64{2, 3}, inter: []int64{2, 4}, // 2.5 and 3.5
			output: []int64{3, 3}, input: []int64{3, 4}, rate: []float64{perNS / 2, perNS / 4},
			requests: 2.0 / 10 * perNS, tokens: 6.0 / 10 * perNS,
		}},
		{"P4 engine, request rate", "main", vector("triton_c_api", "", rate2, "output_ids",
			request{5, `{"input_ids":[111,222,333]}`, []int{7, 8, 13, 18}, []string{"11", "22", "33", "44"}},
			request{3, `{"input_ids":[111,222,333,444]}`, []int{6, 8, 11}, []string{"11", "22", "33"}}), lists{
			latency: []int64{13, 8}, first: []int64{2, 3}, second: []int64{1, 2}, inter: []int64{4, 2}, // 3.67 and 2.5
			output: []int64{4, 3}, input: []int64{3, 4}, rate: []float64{perNS / 4, perNS / 2},
			requests: 2.0 / 15 * perNS, tokens: 7.0 / 15 * perNS,
		}},
		{"P14 Hugging Face", "main", vector("openai", "huggingface/generate", concurrency10, "response",
			request{1, payload(`{"inputs":"This is test"}`), []int{3, 5, 8}, []string{`[{"generated_text":" I"}]`, `[{"generated_text":" like"}]`, `[{"generated_text":" dogs"}]`}},
			request{2, payload(`{"inputs":"This is test too"}`), []int{4, 7, 11}, []string{`[{"generated_text":" I"}]`, `[{"generated_text":" like"}]`, `[{"generated_text":" cats"}]`}}), lists{
			latency: []int64{7, 9}, first: []int64{2, 2}, second: []int64{2, 3}, inter: []int64{2, 2}, // 5/3 and 7/4
			output: []int64{4, 5}, input: []int64{3, 4}, rate: []float64{perNS / 2, perNS / 2},
			requests: 2.0 / 10 * perNS, tokens: 9.0 / 10 * perNS,
		}},
		// Embeddings and rankings have a latency and nothing else.
		{"embeddings", "main", vector("openai", "v1/embeddings", concurrency10, "response",
			request{1, payload(`{"input":["a"]}`), []int{3}, []string{`{"data":[]}`}},
			request{2, payload(`{"input":["a"]}`), []int{5}, []string{`{"data":[]}`}}), lists{
			latency: []int64{2, 3}, requests: 2.0 / 4 * perNS,
		}},
		{"rankings", "24.07", vector("openai", "rerank", concurrency10, "response",
			request{1, payload(`{"query":"a"}`), []int{3}, []string{`[]`}},
			request{2, payload(`{"query":"a"}`), []int{5}, []string{`[]`}}), lists{
			latency: []int64{2, 3}, requests: 2.0 / 4 * perNS,
		}},
		// 24.03, too, of texts with what is in front of them; their tokens are counted
		// by themselves.
		{"24.03 Triton", "24.03", vector("triton", "", concurrency10, "text_output",
			request{1, "This is test", []int{3, 5, 8}, []string{"   dogs", "   are", "   cool"}},
			request{2, "This is test too", []int{4, 7, 11}, []string{"   I", "   don't", "   cook food"}}), lists{
			latency: []int64{7, 9}, first: []int64{2, 2}, inter: []int64{2, 3, 2, 2},
			output: []int64{3, 5}, rate: []float64{3.0 / 7 * perNS, 5.0 / 9 * perNS},
			requests: 2.0 / 10 * perNS, tokens: 8.0 / 10 * perNS,
		}},
		{"24.03 Triton, request rate", "24.03", vector("triton", "", rate2, "text_output",
			request{5, "This is test", []int{7, 8, 13, 18}, []string{"   cat", "   is", "   cool", "   too"}},
			request{3, "This is test too", []int{6, 8, 11}, []string{"   it's", "   very", "   simple work"}}), lists{
			latency: []int64{13, 8}, first: []int64{2, 3}, inter: []int64{1, 5, 5, 2, 2},
			output: []int64{4, 5}, rate: []float64{4.0 / 13 * perNS, 5.0 / 8 * perNS},
			requests: 2.0 / 15 * perNS, tokens: 9.0 / 15 * perNS,
		}},
		// 24.04 has a latency for each gap, divided by the tokens at its end.
		{"24.04 Triton", "24.04", triton, lists{
			latency: []int64{7, 9}, first: []int64{2, 2}, inter: []int64{2, 3, 1, 2},
			output: []int64{3, 6}, input: []int64{3, 4}, rate: []float64{3.0 / 7 * perNS, 6.0 / 9 * perNS},
			requests: 2.0 / 10 * perNS, tokens: 9.0 / 10 * perNS,
		}},
		{"24.04 Triton, request rate", "24.04", tritonRate, lists{
			latency: []int64{13, 8}, first: []int64{2, 3}, inter: []int64{1, 5, 5, 2, 2},
			output: []int64{4, 6}, input: []int64{3, 4}, rate: []float64{4.0 / 13 * perNS, 6.0 / 8 * perNS},
			requests: 2.0 / 15 * perNS, tokens: 10.0 / 15 * perNS,
		}},
		{"24.04 chat", "24.04", chat(`"This is test"`, `"This is test too"`), lists{
			latency: []int64{11, 13}, first: []int64{4, 5}, inter: []int64{3, 4, 1, 2},
			output: []int64{3, 6}, input: []int64{3, 4}, rate: []float64{3.0 / 11 * perNS, 6.0 / 13 * perNS},
			requests: 2.0 / 14 * perNS, tokens: 9.0 / 14 * perNS,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := read(t, tt.release, tt.file, dialect.Config{})
			if a.rep.crash != nil {
				t.Errorf("crash %s", a.rep.crash)
			}
			if d := cmp.Diff(tt.want, listsOf(&a.c), near, cmp.AllowUnexported(lists{})); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// P1: a level that the file does not hold.
func TestNoSuchLevel(t *testing.T) {
	release := find("main")
	file := vector("triton", "", concurrency10, "text_output", request{1, "This is test", []int{3}, []string{"I"}})
	_, err := reportOf(release, runtest.Open(t, []byte(file)), dialect.Config{Tokenizer: vectorTokens, Level: dialect.Level{Mode: "concurrency", Value: "30"}})
	if err == nil || !strings.Contains(err.Error(), "KeyError: 'Profile with concurrency=30 does not exist.'") {
		t.Errorf("%v", err)
	}
}

// P5: the tokens of the whole text differ from the tokens of its parts.
func TestTokenCounts(t *testing.T) {
	chunks := strings.Split("Ad|idas| Orig|inals| are| now| available| in| more| than", "|")
	var times []int
	for i := range chunks {
		times = append(times, 2+i)
	}
	var events []string
	for _, c := range chunks {
		events = append(events, content(c))
	}
	for _, file := range []string{
		vector("triton", "", concurrency10, "text_output", request{1, "This is test", times, chunks}),
		vector("openai", "v1/chat/completions", concurrency10, "response", request{1, chatPayload(`"This is test"`), times, events}),
	} {
		for release, want := range map[string]int64{"24.04": 10, "24.06": 10, "24.07": 9, "main": 9} {
			if got := listsOf(&read(t, release, file, dialect.Config{}).c).output; !slices.Equal(got, []int64{want}) {
				t.Errorf("%s: %d tokens, want %d", release, got, want)
			}
		}
	}
}

// P6: a request without any text.
func TestEmptyResponses(t *testing.T) {
	file := vector("openai", "v1/chat/completions", concurrency10, "response",
		request{1, chatPayload(`"This is test"`), []int{3, 5, 8}, []string{delta(`{"role":"assistant"}`), content(""), "data: [DONE]\n\n"}})
	a := read(t, "main", file, dialect.Config{})
	if a.rep.crash != nil || a.c.latency.Len() != 0 {
		t.Errorf("crash %v, %d latencies; want none", a.rep.crash, a.c.latency.Len())
	}
	// its release divides by infinity, the wrong way round, and prints 0.00
	if m := a.Report().(*report).Metric(requestRate); m == nil || m.Avg != 0 || math.Signbit(m.Avg) {
		t.Errorf("request throughput %+v, want 0", m)
	}
}

// P7 to P11: what the responses of a request come down to.
func TestCleaning(t *testing.T) {
	text := func(s string) string {
		return `{"object":"text_completion","model":"test_model","choices":[{"text":"` + s + `"}]}`
	}
	hello, world := content("Hello "), content("world!")
	splitChat := func(s string) (string, string) {
		whole := content(s)
		return whole[:30], whole[30:]
	}
	abc1, abc2 := splitChat("abc")
	num1, num2 := splitChat("123")
	for _, tt := range []struct {
		name    string
		release string // main if empty
		format  format
		in      []string
		want    []string // texts with the index of the response: "2 text"
		failed  int
		raised  string
	}{
		{"P7 merged, completions", "", formatCompletions, []string{
			"data: " + text("abc") + "\n\ndata: " + text("1234") + "\n\ndata: " + text("helloworld") + "\n\n",
		}, []string{"0 abc1234helloworld"}, 0, ""},
		{"P7 merged, chat", "", formatChat, []string{content("abc") + content("1234") + content("helloworld")}, []string{"0 abc1234helloworld"}, 0, ""},
		{"P8 splintered, completions", "", formatCompletions, []string{
			`data: {"object":"text_com`, `pletion","model":"test_model","choices":[{"text":"abc"}]}` + "\n\n",
			`data: {"object":"text_completion","model":"test`, `_model","choices":[{"text":"1234"}]}` + "\n\ndata: " + text("helloworld") + "\n\n",
			"data: [DONE]\n\n",
		}, []string{"0 abc", "2 1234", "3 helloworld"}, 0, ""},
		{"P8 splintered, chat", "", formatChat, []string{abc1, abc2, num1, num2 + content("hello"), "data: [DONE]\n\n"}, []string{"0 abc", "2 123", "3 hello"}, 0, ""},
		{"P8 cut behind the prefix", "", formatChat, []string{"data:", strings.TrimPrefix(content("abc"), "data: "), "data: [DONE]\n\n"}, []string{"0 abc"}, 0, ""},
		{"P8 cut behind the prefix, 25.05", "25.05", formatChat, []string{"data:", strings.TrimPrefix(content("abc"), "data: "), "data: [DONE]\n\n"}, []string{"1 abc"}, 1, "Detected a splintered SSE response but the previous"},
		{"P9 comments and fields", "", formatChat, []string{":\n\n", ":\n\n", hello, ":\n\n", ":\n\n", world, "event: some description\n\n", "data: [DONE]\n\n"}, []string{"2 Hello ", "5 world!"}, 0, ""},
		{"P10 an error event", "", formatChat, []string{hello, "event: error: some error occurred.\n\n", world, "data: [DONE]\n\n"}, []string{"0 Hello ", "2 world!"}, 1, ""},
		{"P10 an error event behind another", "", formatChat, []string{hello + "event: error: some error occurred.\n\n", world, "data: [DONE]\n\n"}, []string{"0 Hello ", "1 world!"}, 1, ""},
		{"P10 an error event, 25.08", "25.08", formatChat, []string{hello, "event: error: x\n\n"}, []string{"0 Hello "}, 1, "GenAIPerfException: Detected an error event in the SSE response: event: error: x"},
		{"P11 no events", "", formatChat, []string{`{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"}}]}`}, []string{"0 Hi"}, 0, ""},

		// what a server may send besides: V2
		{"V2 a body that is an error", "", formatChat, []string{`{"error":{"message":"out of memory"}}`}, nil, 0, ""},
		{"V2 usage without choices", "", formatChat, []string{hello, `data: {"object":"chat.completion.chunk","choices":[],"usage":{"completion_tokens":1}}` + "\n\n", "data: [DONE]\n\n"}, []string{"0 Hello "}, 1, ""},
		{"V2 usage without choices, 25.08", "25.08", formatChat, []string{hello, `data: {"object":"chat.completion.chunk","choices":[]}` + "\n\n"}, []string{"0 Hello "}, 1, "IndexError: list index out of range"},
		{"V2 no blank behind the colon", "", formatChat, []string{strings.Replace(hello, "data: ", "data:", 1), strings.Replace(world, "data: ", "data:", 1), "data:[DONE]\n\n"}, []string{"0 Hello world!"}, 0, ""},
		{"V2 reasoning", "", formatChat, []string{delta(`{"reasoning_content":"hm"}`), hello}, []string{"1 Hello "}, 0, ""},
		{"V2 null", "", formatChat, []string{delta(`{"content":null}`), hello}, []string{"1 Hello "}, 0, ""},
		{"V2 null among merged events, 25.06", "25.06", formatChat, []string{hello + delta(`{"content":null}`)}, nil, 1, "TypeError: sequence item 1: expected str instance, NoneType found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			release := find("main")
			if tt.release != "" {
				release = find(tt.release)
			}
			raised := ""
			c := cleaner{rules: &release.rules, format: tt.format, raise: func(e *exception) {
				if raised == "" {
					raised = e.Error()
				}
			}}
			var rs []response
			for i, s := range tt.in {
				rs = append(rs, response{recvNS: uint64(i), raw: s})
			}
			var got []string
			for _, r := range c.clean(rs) {
				got = append(got, fmt.Sprintf("%d %s", r.recvNS, c.textOf(&r).text))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("left %q, want %q", got, tt.want)
			}
			if c.failed != tt.failed {
				t.Errorf("%d failed, want %d", c.failed, tt.failed)
			}
			if !strings.Contains(raised, tt.raised) || tt.raised == "" && raised != "" {
				t.Errorf("raised %q, want %q", raised, tt.raised)
			}
		})
	}
}

// V2: the empty final response of a decoupled model counts as a response.
func TestEmptyFinalResponse(t *testing.T) {
	file := vector("triton", "", concurrency10, "text_output", request{0, "This is test", []int{10, 20, 30}, []string{"I", " like dogs", ""}})
	a := read(t, "main", file, dialect.Config{})
	want := lists{latency: []int64{30}, first: []int64{10}, second: []int64{10}, inter: []int64{10}, output: []int64{3}, input: []int64{3}}
	got := listsOf(&a.c)
	got.rate, got.requests, got.tokens = nil, 0, 0
	if d := cmp.Diff(want, got, cmp.AllowUnexported(lists{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// A clock that stepped back within a request: nobody asks whether a time is
// negative. GenAI-Perf 25.08 itself gives these values.
func TestNegativeTimes(t *testing.T) {
	in := `{"session_id":"s",` + strings.TrimPrefix(chatPayload(`"This is test"`), "{")
	file := vector("openai", "v1/chat/completions", concurrency10, "response",
		request{10, in, []int{40, 20}, []string{content("I"), content(" like dogs")}})
	want := lists{
		latency: []int64{10}, first: []int64{30}, second: []int64{-20}, inter: []int64{-10}, output: []int64{3}, input: []int64{3},
		rate: []float64{-1e8}, requests: 1e8, tokens: 3e8,
	}
	a := read(t, "25.08", file, dialect.Config{})
	if d := cmp.Diff(want, listsOf(&a.c), near, cmp.AllowUnexported(lists{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if d := cmp.Diff(want, listsOf(&a.order[0].collector), near, cmp.AllowUnexported(lists{})); d != "" {
		t.Errorf("session: -want +got\n%s", d)
	}
}

// P12: the turns of a session are summed up for themselves.
func TestSessions(t *testing.T) {
	answer := func(s string) string {
		return `{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"` + s + `"}}]}`
	}
	in := func(p string) string { return strings.Replace(payload(p), "{", `{"session_id":"session-id-123",`, 1) }
	file := vector("openai", "v1/chat/completions", `{"mode":"request_rate","value":0.0}`, "response",
		request{1, in(`{"messages":[{"role":"user","content":"I like dog"}]}`), []int{5}, []string{answer("I like dog too")}},
		request{14, in(`{"messages":[{"role":"user","content":"I like dog"},{"role":"assistant","content":"I like dog too"},{"role":"user","content":"I like cat"}]}`), []int{17}, []string{answer("I like cat too")}})
	a := read(t, "main", file, dialect.Config{})
	if len(a.order) != 1 || a.order[0].id != "session-id-123" {
		t.Fatalf("%d sessions", len(a.order))
	}
	want := lists{latency: []int64{4, 3}, first: []int64{4, 3}, output: []int64{4, 4}, input: []int64{3, 10}, requests: 2.0 / 16 * 1e9, tokens: 8.0 / 16 * 1e9}
	if d := cmp.Diff(want, listsOf(&a.order[0].collector), near, cmp.AllowUnexported(lists{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if a := read(t, "25.02", strings.Replace(file, "I like dog I like", "x", 1), dialect.Config{Tokenizer: anyTokens{}}); len(a.order) != 0 {
		t.Error("25.02 has no sessions")
	}
}

// anyTokens counts one token a text.
type anyTokens struct{}

func (anyTokens) Count(string) int                 { return 1 }
func (anyTokens) AddSpecial(ids []uint32) []uint32 { return ids }

// P13: where the text of a response is.
func TestTextIn(t *testing.T) {
	r := find("main")
	for _, tt := range []struct {
		format   format
		response string
		want     string // an exception when it ends in "Error"
	}{
		{formatHuggingFace, `[{"generated_text":"Hello"}]`, "Hello"},
		{formatHuggingFace, `[]`, ""},
		{formatHuggingFace, `["not a dict"]`, "ValueError"},
		{formatHuggingFace, `{"generated_text":"Hello"}`, "ValueError"},
		{formatChat, `{"object":"chat.completion","choices":[{"message":{"content":"Hi"}}]}`, "Hi"},
		{formatChat, `{"object":"chat.completion.chunk","choices":[{"delta":{"content":"Stream"}}]}`, "Stream"},
		{formatChat, `{"choices":[{"text":"Fallback"}]}`, "Fallback"},
		{formatCompletions, `{"object":"text_completion","choices":[{"text":"Complete"}]}`, "Complete"},
		{formatCompletions, `{"choices":[{"text":"Legacy"}]}`, "Legacy"},
		{formatGenerate, `{"text_output":"Triton"}`, "Triton"},
		{formatChat, "", ""},
		{formatChat, "data: [DONE]", ""},
		{formatChat, ": ping", ""},
		{formatUnknown, "any response", "ValueError"},
	} {
		got, e := r.rules.textIn(tt.response, tt.format)
		text := got.text
		if e != nil {
			text = e.kind
		}
		if text != tt.want {
			t.Errorf("textIn(%q, %v) = %q, want %q", tt.response, tt.format, text, tt.want)
		}
	}
}

// Goodput: times in milliseconds must not be above their limit, rates not below.
func TestGoodput(t *testing.T) {
	release := find("main")
	const tenSeconds = 10e9
	ttft, itl, perUser := dialect.Limit{Metric: firstToken, Value: 2.5e-6}, dialect.Limit{Metric: interToken, Value: 1.5e-6}, dialect.Limit{Metric: tokensPerUser, Value: 0.5e9}
	for _, tt := range []struct {
		name   string
		c      collector
		parser parser
		limits []dialect.Limit
		want   float64
		raised *exception
	}{
		{"one of two is fast enough", collected(func(c *collector) { c.latency.Add(3, 44) }), parseText, []dialect.Limit{{Metric: requestLatency, Value: 10e-6}}, 0.1, nil},
		{"three limits", collected(func(c *collector) { c.first.Add(2, 2); c.inter.Add(2, 1); addFloats(c.rate, 5e8, 1e9) }), parseText, []dialect.Limit{ttft, itl, perUser}, 0.1, nil},
		{"none keeps all", collected(func(c *collector) { c.first.Add(2, 3); c.inter.Add(4, 1); addFloats(c.rate, 2.5e8, 1e9) }), parseText, []dialect.Limit{ttft, itl, perUser}, 0, nil},
		{"an unknown metric", collected(func(c *collector) { c.first.Add(2, 3) }), parseText, []dialect.Limit{ttft, {Metric: "no_such"}}, -1, nil},
		{"lists are paired by index and end with the shortest", collected(func(c *collector) { c.first.Add(2, 2, 2); c.inter.Add(1) }), parseText, []dialect.Limit{ttft, itl}, 0.1, nil},
		{"more rates than times are an exception", collected(func(c *collector) { c.first.Add(2); addFloats(c.rate, 1e9, 1e9) }), parseText, []dialect.Limit{ttft, perUser}, 0.1, errIndex},
		{"embeddings know the latency only", collected(func(c *collector) { c.latency.Add(3, 44) }), parseLatency, []dialect.Limit{ttft}, -1, nil},
		{"images", collected(func(c *collector) {
			c.latency.Add(2, 4)
			addFloats(c.imageLatency, 1, 4.0/3)
			addFloats(c.imageRate, 1e9, 7.5e8)
		}), parseImages, []dialect.Limit{{Metric: imageLatency, Value: 1.25e-6}, {Metric: requestLatency, Value: 2.5e-6}, {Metric: imageRate, Value: 5e8}}, 0.1, nil},
	} {
		tt.c.extend(0, tenSeconds)
		warning, raised := tt.c.setGoodput(&release.rules, tt.parser, tt.limits)
		if got := tt.c.goodput[0]; got != tt.want || raised != tt.raised || (warning != "") != (tt.want == -1) {
			t.Errorf("%s: goodput %v, raised %v, %q; want %v, %v", tt.name, got, raised, warning, tt.want, tt.raised)
		}
	}
}

// Embeddings and rankings, in 2 and 3 ns, of which one keeps the limit.
func TestLatencyOnly(t *testing.T) {
	for _, endpoint := range []string{"v1/embeddings", "v1/ranking", "rerank"} {
		file := vector("openai", endpoint, concurrency10, "response",
			request{1, payload(`{"input":["a"]}`), []int{3}, []string{`{"object":"list"}`}},
			request{2, payload(`{"input":["a"]}`), []int{5}, []string{`{"object":"list"}`}})
		a := read(t, "main", file, dialect.Config{Goodput: []dialect.Limit{{Metric: requestLatency, Value: 2.5e-6}}})
		if d := cmp.Diff(lists{latency: []int64{2, 3}, requests: 5e8}, listsOf(&a.c), near, cmp.AllowUnexported(lists{})); d != "" || !cmp.Equal(a.c.goodput, []float64{2.5e8}, near) {
			t.Errorf("%s: goodput %v, want 2.5e8; -want +got\n%s", endpoint, a.c.goodput, d)
		}
		m := a.Report().(*report).Metric(requestLatency)
		if got, want := []float64{m.Avg, m.P(50), m.Min, m.Max, m.Std}, []float64{2.5e-6, 2.5e-6, 2e-6, 3e-6, 0.5e-6}; !cmp.Equal(got, want, near) {
			t.Errorf("%s: statistics %v, want %v", endpoint, got, want)
		}
	}
}

// Images: two in 2 ns, three in 4.
func TestImages(t *testing.T) {
	file := vector("openai", "v1/infer", concurrency10, "response",
		request{1, payload(`{"input":[{"type":"image_url"},{"type":"image_url"}]}`), []int{3}, []string{`{}`}},
		request{3, payload(`{"input":[{"type":"image_url"},{"type":"image_url"},{"type":"image_url"}]}`), []int{7}, []string{`{}`}})
	limits := []dialect.Limit{{Metric: imageLatency, Value: 1.25e-6}, {Metric: requestLatency, Value: 2.5e-6}}
	a := read(t, "24.12", file, dialect.Config{Goodput: limits})
	want := [][]float64{{1e9, 7.5e8}, {1, 4.0 / 3}}
	if d := cmp.Diff(want, [][]float64{floatsOf(a.c.imageRate), floatsOf(a.c.imageLatency)}, near); d != "" {
		t.Errorf("image throughputs and latencies: -want +got\n%s", d)
	}
	if got, want := a.c.goodput[0], 1.0/6*1e9; math.Abs(got-want) > 1 {
		t.Errorf("goodput %v, want %v", got, want)
	}
	if a.rep.crash != nil {
		t.Error(a.rep.crash)
	}
	// 24.10 looks for them in messages
	if a := read(t, "24.10", file, dialect.Config{}); a.rep.crash == nil || a.rep.crash.Exception != "KeyError: 'messages'" {
		t.Errorf("crash %v", a.rep.crash)
	}
}

// 24.03 cuts something off every text of Triton.
func TestWithoutJunk(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"abc":                      "abc", // too short to hold a length
		"\x05\x00\x00\x00Hello":    "Hello",
		"\x05\x00\x00\x00":         "\x00", // nothing printable: the last character
		"\x00\x00\x00 x":           " x",   // a blank is printable
		"Hello":                    "lo",   // no junk at all
		"\u0085\x00\x00\x00\x00日本": "日本",
	} {
		if got := withoutJunk(text); got != want {
			t.Errorf("withoutJunk(%q) = %q, want %q", text, got, want)
		}
	}
}
