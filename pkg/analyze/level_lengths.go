package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// The Sub of warnings about lengths of prompts and of answers that the recorder asked for.
const (
	SubAskedInput  = "asked input tokens"
	SubAskedOutput = "asked output tokens"
)

// askedLengths are the numbers of tokens that pa-record's flags asked for in each request.
type askedLengths struct {
	input, output askedLength
	exact         bool   // --output-tokens-mean-deterministic was given
	noLeast       bool   // the endpoint cannot be asked for a least length of the answer
	template      bool   // --request-template has the requests' members
	tokenizer     string // of the prompts; "" for the built-in one
}

// An askedLength is a distribution of lengths; the zero value asks for none.
type askedLength struct{ mean, stddev float64 }

// builtInTokenizer is the name by which exports call the built-in tokenizer.
const builtInTokenizer = "built-in"

// askedOf returns the lengths that the recorder of a run asked for.
func askedOf(run *export.Run) (a askedLengths) {
	if run.Meta == nil || run.Meta.Import != nil {
		return a
	}
	var config struct {
		Input     string          `json:"synthetic_input_tokens"`
		Output    string          `json:"output_tokens"`
		Exact     bool            `json:"output_tokens_exact"`
		Limits    string          `json:"output_limits"`
		Template  json.RawMessage `json:"request_template"`
		Tokenizer string          `json:"tokenizer"`
		Default   string          `json:"default_tokenizer"`
		Prefixes  int             `json:"num_prefix_prompts"`
		Prefix    int             `json:"prefix_prompt_length"`
		Sessions  int             `json:"num_sessions"`
		Batch     int             `json:"batch_size"`
		Texts     int             `json:"batch_size_text"`
		Image     float64         `json:"image_width_mean"`
		Audio     float64         `json:"audio_length_mean_s"`
		Data      json.RawMessage `json:"input_data"`
	}
	if json.Unmarshal(run.Meta.Config, &config) != nil {
		return a
	}
	a.exact, a.noLeast, a.tokenizer = config.Exact, config.Limits == "most", config.Tokenizer
	if a.template = len(config.Template) > 0; a.template {
		a.exact = bytes.Contains(config.Template, []byte(`"ignore_eos":true`)) || bytes.Contains(config.Template, []byte(`"min_tokens":`))
	}
	if a.tokenizer == "" {
		a.tokenizer = config.Default
	}
	if d := run.Meta.Dataset; d != nil && d.Tokenizer != nil && d.Tokenizer.Name == builtInTokenizer {
		a.tokenizer = "" // also where it replaces the default tokenizer, which was not found
	}
	if config.Limits == "none" {
		config.Output = "" // no request asked for it
	}
	if n, err := strconv.Atoi(run.Meta.Parameters["max_tokens"]); err == nil && n > 0 && config.Output != "" {
		a.output = askedLength{mean: float64(n)}
	} else if config.Data == nil { // else the data may have lengths of its own
		a.output = lengthOf(config.Output)
	}
	// Prompts of several texts, turns or media have other lengths.
	if config.Sessions == 0 && config.Batch <= 1 && config.Texts <= 1 && config.Image == 0 && config.Audio == 0 {
		if a.input = lengthOf(config.Input); a.input.mean > 0 && config.Prefixes > 0 {
			a.input.mean += float64(config.Prefix)
		}
	}
	return a
}

// lengthOf returns the mean and the standard deviation of a law of --output-tokens:
// "normal:128,10"; 0 for a histogram, whose file is not at hand, and for no law.
func lengthOf(law string) askedLength {
	name, rest, _ := strings.Cut(law, ":")
	first, second, two := strings.Cut(rest, ",")
	x, err := strconv.ParseFloat(first, 64)
	y := 0.0
	if two && err == nil {
		y, err = strconv.ParseFloat(second, 64)
	}
	if err != nil || !(x > 0) || math.IsInf(x+y, 0) || math.IsNaN(y) {
		return askedLength{}
	}
	switch name {
	case "fixed", "normal", "lognormal":
		return askedLength{x, y}
	case "uniform":
		return askedLength{(x + y) / 2, (y - x) / math.Sqrt(12)}
	}
	return askedLength{}
}

// lengths compares the lengths of the requests of a level with the lengths asked for.
type lengths struct {
	asked                 askedLengths
	inputs, inputTokens   int64
	outputs, outputTokens int64
	short                 int64 // answers shorter than asked, if all were asked for the same length
}

// add counts a request that counts.
func (l *lengths) add(p *Point) {
	if l.asked.input.mean > 0 && p.InputTokens.OK && p.InputTokens.V > 0 {
		l.inputs++
		l.inputTokens = stat.SaturatingAdd(l.inputTokens, p.InputTokens.V)
	}
	if l.asked.output.mean > 0 && p.OutputTokens.OK && (p.TokenSource == answer.TokenUsage || p.TokenSource == answer.TokenIDs || p.TokenSource == answer.TokenTokenizer) {
		l.outputs++
		l.outputTokens = stat.SaturatingAdd(l.outputTokens, p.OutputTokens.V)
		if l.asked.output.stddev == 0 && float64(p.OutputTokens.V) < l.asked.output.mean {
			l.short++
		}
	}
}

// A mean of lengths may differ from the asked mean by this share of it, plus 3 standard errors of
// the draw. The mean of prompts may differ by the tokens of an ordinary chat template, too.
const (
	lengthOff    = 0.05
	templateRoom = 32
)

// off reports whether the mean of n lengths, which sum up to sum, is below or above what was
// asked, by more than chance and room tokens.
func (a askedLength) off(n, sum int64, room float64) (below, above bool) {
	if n == 0 || a.mean == 0 {
		return false, false
	}
	room += lengthOff*a.mean + 3*a.stddev/math.Sqrt(float64(n))
	d := float64(sum)/float64(n) - a.mean
	return d < -room, d > room
}

// warnings returns the warnings about lengths that were asked for and not reached.
func (l *lengths) warnings() (w []error) {
	a := &l.asked
	if below, above := a.input.off(l.inputs, l.inputTokens, templateRoom); below || above {
		advice := "give --tokenizer, the model's own, so that prompts have the asked length"
		if a.tokenizer != "" {
			advice = fmt.Sprintf("is %s the model's tokenizer, and how long is the chat template?", a.tokenizer)
		}
		w = append(w, counted(KindTokenCount, SubAskedInput, func(n []int64) string {
			return fmt.Sprintf("prompts of %s input tokens were asked for, and %s were counted on average in %s: %s", tokens(a.input.mean), tokens(float64(n[1])/float64(n[0])), plural.GroupedOf(n[0], "request"), advice)
		}, l.inputs, l.inputTokens))
	}
	if below, _ := a.output.off(l.outputs, l.outputTokens, 0); below {
		advice := "--output-tokens-mean-deterministic asks for all of them"
		switch {
		case a.noLeast:
			advice = "the endpoint cannot be asked for a least length"
		case a.exact:
			advice = "the server does not follow min_tokens and ignore_eos"
		case a.template:
			advice = "the request template asks for no least length by min_tokens or ignore_eos"
		}
		w = append(w, counted(KindTokenCount, SubAskedOutput, func(n []int64) string {
			mean := tokens(float64(n[1])/float64(n[0])) + " of " + tokens(a.output.mean) + " tokens"
			if n[2] == 0 {
				return "answers are shorter than asked (mean " + mean + "): " + advice
			}
			return fmt.Sprintf("%s of %s %s shorter than asked (mean %s): %s", plural.Grouped(n[2]), plural.GroupedOf(n[0], "answer"), plural.Form(n[2], "is", "are"), mean, advice)
		}, l.outputs, l.outputTokens, l.short))
	}
	return w
}

// tokens formats a mean number of tokens with four digits, or as a whole number.
func tokens(mean float64) string {
	if mean >= 1000 {
		return plural.Grouped(int64(math.Round(mean)))
	}
	return strconv.FormatFloat(mean, 'g', 4, 64)
}
