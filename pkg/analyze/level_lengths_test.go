package analyze

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// The lengths that a run asked for are read from the recorder's configuration.
func TestAskedOf(t *testing.T) {
	for _, tt := range []struct {
		name, config string
		parameters   map[string]string
		counted      string // the tokenizer that counted
		want         askedLengths
	}{
		{name: "nothing", config: `{}`},
		{name: "no JSON", config: `x`},
		{name: "both", config: `{"synthetic_input_tokens":"normal:512,0","output_tokens":"fixed:128"}`, want: askedLengths{input: askedLength{512, 0}, output: askedLength{128, 0}}},
		{name: "laws", config: `{"synthetic_input_tokens":"uniform:100,200","output_tokens":"lognormal:128,16"}`, want: askedLengths{input: askedLength{150, 100 / math.Sqrt(12)}, output: askedLength{128, 16}}},
		{name: "a file", config: `{"synthetic_input_tokens":"histogram:h.csv","output_tokens":"histogram:h.csv"}`},
		{name: "none", config: `{"output_tokens":"none"}`, parameters: map[string]string{"temperature": "0"}},
		{name: "what all requests have", config: `{"output_tokens":"normal:128,0","input_data":["a.txt"]}`, parameters: map[string]string{"max_tokens": "64"}, want: askedLengths{output: askedLength{64, 0}}},
		{name: "data with lengths", config: `{"output_tokens":"normal:128,0","input_data":["a.txt"]}`, parameters: map[string]string{"max_tokens": "varies"}},
		{name: "a length of the data alone", config: `{"input_data":["a.txt"]}`, parameters: map[string]string{"max_tokens": "64"}},
		{name: "prefixes", config: `{"synthetic_input_tokens":"fixed:512","num_prefix_prompts":2,"prefix_prompt_length":100}`, want: askedLengths{input: askedLength{612, 0}}},
		{name: "conversations", config: `{"synthetic_input_tokens":"fixed:512","num_sessions":2}`},
		{name: "images", config: `{"synthetic_input_tokens":"fixed:512","image_width_mean":2}`},
		{name: "a tokenizer and exact answers", config: `{"output_tokens":"fixed:9","output_tokens_exact":true,"tokenizer":"x"}`, want: askedLengths{output: askedLength{9, 0}, exact: true, tokenizer: "x"}},
		{name: "a default tokenizer", config: `{"default_tokenizer":"x"}`, counted: "/x/tokenizer.json", want: askedLengths{tokenizer: "x"}},
		{name: "a default tokenizer that is not there", config: `{"default_tokenizer":"x"}`, counted: "built-in"},
		{name: "an endpoint without a length", config: `{"output_tokens":"fixed:9","output_limits":"none"}`, parameters: map[string]string{"max_tokens": "9"}},
		{name: "an endpoint without a least length", config: `{"output_tokens":"fixed:9","output_limits":"most"}`, want: askedLengths{output: askedLength{9, 0}, noLeast: true}},
		{name: "a template", config: `{"output_tokens":"fixed:9","request_template":{"max_tokens":"{{max_tokens}}"}}`, want: askedLengths{output: askedLength{9, 0}, template: true}},
		{name: "a template with a least length", config: `{"output_tokens":"fixed:9","request_template":{"max_tokens":9,"min_tokens":"{{max_tokens}}"}}`, want: askedLengths{output: askedLength{9, 0}, template: true, exact: true}},
		{name: "a template without an end", config: `{"output_tokens":"fixed:9","request_template":{"max_tokens":9,"ignore_eos":true}}`, want: askedLengths{output: askedLength{9, 0}, template: true, exact: true}},
		{name: "hostile numbers", config: `{"synthetic_input_tokens":"normal:1e308,1e308","output_tokens":"normal:NaN,1"}`},
	} {
		run := &export.Run{Meta: &export.RunMeta{Config: json.RawMessage(tt.config), Parameters: tt.parameters}}
		if tt.counted != "" {
			run.Meta.Dataset = &export.DatasetMeta{Tokenizer: &export.TokenizerMeta{Name: tt.counted}}
		}
		if got := askedOf(run); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
	imported := &export.Run{Meta: &export.RunMeta{Config: json.RawMessage(`{"output_tokens":"fixed:9"}`), Import: &export.Import{Format: "X"}}}
	if got := askedOf(imported); got != (askedLengths{}) {
		t.Errorf("of another tool: %+v, want none", got)
	}
}

// Prompts and answers whose mean is more than 5 % and chance off what was asked are a warning
// with the advice.
func TestLengthWarnings(t *testing.T) {
	const use, exact = "give --tokenizer, the model's own, so that prompts have the asked length", "--output-tokens-mean-deterministic asks for all of them"
	for _, tt := range []struct {
		name          string
		asked         askedLengths
		input, output []int64
		source        answer.TokenSource
		want          []string
	}{
		{name: "as asked", asked: askedLengths{input: askedLength{512, 0}, output: askedLength{4, 0}}, input: []int64{512, 530}, output: []int64{4, 4}},
		{name: "a chat template", asked: askedLengths{input: askedLength{16, 0}}, input: []int64{46, 47}},
		{name: "another tokenizer", asked: askedLengths{input: askedLength{512, 0}}, input: []int64{1421, 1423}, want: []string{"prompts of 512 input tokens were asked for, and 1,422 were counted on average in 2 requests: " + use}},
		{name: "a wrong tokenizer", asked: askedLengths{input: askedLength{512, 0}, tokenizer: "t.json"}, input: []int64{400}, want: []string{"prompts of 512 input tokens were asked for, and 400 were counted on average in 1 request: is t.json the model's tokenizer, and how long is the chat template?"}},
		{name: "short answers", asked: askedLengths{output: askedLength{128, 0}}, output: []int64{128, 20, 64}, want: []string{"2 of 3 answers are shorter than asked (mean 70.67 of 128 tokens): " + exact}},
		{name: "short all the same", asked: askedLengths{output: askedLength{128, 0}, exact: true}, output: []int64{64}, want: []string{"1 of 1 answer is shorter than asked (mean 64 of 128 tokens): the server does not follow min_tokens and ignore_eos"}},
		{name: "short by a template", asked: askedLengths{output: askedLength{128, 0}, template: true}, output: []int64{64}, want: []string{"1 of 1 answer is shorter than asked (mean 64 of 128 tokens): the request template asks for no least length by min_tokens or ignore_eos"}},
		{name: "short without a least length", asked: askedLengths{output: askedLength{128, 0}, exact: true, noLeast: true}, output: []int64{64}, want: []string{"1 of 1 answer is shorter than asked (mean 64 of 128 tokens): the endpoint cannot be asked for a least length"}},
		{name: "one token less", asked: askedLengths{output: askedLength{128, 0}}, output: []int64{127, 128}},
		{name: "drawn lengths", asked: askedLengths{output: askedLength{100, 30}}, output: []int64{60, 100, 70}},
		{name: "drawn lengths, too short", asked: askedLengths{output: askedLength{100, 30}}, output: []int64{10, 20, 30}, want: []string{"answers are shorter than asked (mean 20 of 100 tokens): " + exact}},
		{name: "counts of chunks", asked: askedLengths{output: askedLength{128, 0}}, output: []int64{20}, source: answer.TokenResponses},
		{name: "nothing asked", input: []int64{9}, output: []int64{9}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.source == answer.TokenAuto {
				tt.source = answer.TokenUsage
			}
			l := lengths{asked: tt.asked}
			for i := range max(len(tt.input), len(tt.output)) {
				var p Point
				p.TokenSource = tt.source
				if i < len(tt.input) {
					p.InputTokens = export.IntOf(tt.input[i])
				}
				if i < len(tt.output) {
					p.OutputTokens = export.IntOf(tt.output[i])
				}
				l.add(&p)
			}
			var got []string
			for _, w := range l.warnings() {
				got = append(got, w.Error())
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	// Levels are one warning with their sums.
	l := lengths{asked: askedLengths{output: askedLength{128, 0}}, outputs: 10, outputTokens: 640, short: 9}
	m := lengths{asked: l.asked, outputs: 30, outputTokens: 960, short: 30}
	text, ok := Together([]*Warning{AsWarning(l.warnings()[0]), AsWarning(m.warnings()[0])})
	if want := "39 of " + plural.GroupedOf(40, "answer") + " are shorter than asked (mean 40 of 128 tokens): " + exact; !ok || text != want {
		t.Errorf("together %q, want %q", text, want)
	}
}
