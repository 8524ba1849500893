package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// fields is what a request may ask for in its body (OpenAI), or in its sampling
// parameters and request parameters (Triton). nil means not given.
type fields struct {
	MaxTokens           *number `json:"max_tokens"`
	MaxCompletionTokens *number `json:"max_completion_tokens"`
	MinTokens           *number `json:"min_tokens"`
	IgnoreEOS           bool    `json:"ignore_eos"`
	Seed                *number `json:"seed"`

	Fault         *string `json:"sim_fault"`
	FaultAfter    *number `json:"sim_fault_after"`
	FailAfter     *number `json:"fail_after"`
	TTFTMillis    *number `json:"ttft_ms"`
	ITLMillis     *number `json:"itl_ms"`
	PrefillMicros *number `json:"prefill_us"`
	Vocabulary    *string `json:"vocabulary"`
	Final         *string `json:"final"`
	Echo          bool    `json:"echo"`
}

// A number is a JSON number, or a string that holds one: real servers convert.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	text := string(b)
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	if text == "null" {
		return nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return fmt.Errorf("%q is not a number", clip(text))
	}
	*n = number(x)
	return nil
}

// whole returns the value of an optional whole number, def if it is absent.
func (n *number) whole(name string, lo, hi, def int) (int, error) {
	if n == nil {
		return def, nil
	}
	x := float64(*n)
	if x != math.Trunc(x) || x < float64(lo) || x > float64(hi) {
		return 0, fmt.Errorf("%s is %v; expected a whole number from %d to %d", name, x, lo, hi)
	}
	return int(x), nil
}

// delay returns an optional number of the given unit as a constant delay, def
// if it is absent.
func (n *number) delay(name string, unit time.Duration, def Delay) (Delay, error) {
	if n == nil {
		return def, nil
	}
	d := ConstantDelay(time.Duration(math.Round(min(max(float64(*n), -1), float64(2*maxDelay/unit)) * float64(unit))))
	if err := d.Validate(); err != nil {
		return d, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// ask resolves what a request wants. prompts has the input tokens of each
// prompt, texts their texts if they may be echoed; n is the number of answers
// to each. The error is one that the client made.
func (s *Server) ask(index uint64, f *fields, prompts []int, texts []string, n int) (ask, error) {
	c := &s.config
	a := ask{
		index: index, key: index, choices: n * len(prompts), ignoreEOS: f.IgnoreEOS,
		length: c.OutputTokens, vocabulary: c.Vocabulary, tokensPerEvent: c.TokensPerEvent, final: c.Final,
	}
	a.fault, a.faultAfter = c.faultFor(index)
	var errs []error
	check := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	var err error
	limit := f.MaxTokens
	if f.MaxCompletionTokens != nil {
		limit = f.MaxCompletionTokens
	}
	a.maxTokens, err = limit.whole("max_tokens", 1, maxContextTokens, 0)
	check(err)
	a.minTokens, err = f.MinTokens.whole("min_tokens", 0, maxContextTokens, 0)
	check(err)
	if err == nil && a.maxTokens > 0 && a.minTokens > a.maxTokens {
		check(fmt.Errorf("min_tokens %d is more than max_tokens %d", a.minTokens, a.maxTokens))
	}
	if f.Seed != nil {
		a.key = mix(math.Float64bits(float64(*f.Seed))) // apart from the small numbers of indices
	}
	a.ttft, err = f.TTFTMillis.delay("ttft_ms", time.Millisecond, c.TTFT)
	check(err)
	a.itl, err = f.ITLMillis.delay("itl_ms", time.Millisecond, c.ITL)
	check(err)
	prefill, err := f.PrefillMicros.delay("prefill_us", time.Microsecond, ConstantDelay(c.PrefillPerToken))
	check(err)
	a.prefill = prefill.Mean
	if f.Vocabulary != nil {
		a.vocabulary, err = ParseVocabulary(*f.Vocabulary)
		check(err)
	}
	if f.Final != nil {
		a.final, err = ParseFinal(*f.Final)
		check(err)
	}
	if f.FailAfter != nil && *f.FailAfter >= 0 { // −1 is "never"
		a.fault = FaultErrorEvent
		a.faultAfter, err = f.FailAfter.whole("fail_after", 0, maxContextTokens, 0)
		check(err)
	}
	if f.Fault != nil {
		a.fault, err = ParseFault(*f.Fault)
		check(err)
		a.faultAfter = DefaultFaultAfter
	}
	a.faultAfter, err = f.FaultAfter.whole("sim_fault_after", 0, maxContextTokens, a.faultAfter)
	check(err)

	longest := 0
	for _, p := range prompts {
		a.inputTokens += p
		longest = max(longest, p)
	}
	switch {
	case a.choices < 1:
		check(errors.New("no prompt"))
	case a.choices > maxChoices:
		check(fmt.Errorf("%d answers asked for; the most is %d", a.choices, maxChoices))
	case longest+max(a.maxTokens, a.minTokens) > c.ContextTokens:
		check(fmt.Errorf("%d input and %d output tokens are more than the context length of %d", longest, max(a.maxTokens, a.minTokens), c.ContextTokens))
	case longest >= c.ContextTokens:
		check(fmt.Errorf("%d input tokens leave no room in the context length of %d", longest, c.ContextTokens))
	}
	a.room = c.ContextTokens - longest
	if f.Echo {
		for _, t := range texts {
			for range n {
				a.echo = append(a.echo, t)
			}
		}
	}
	return a, errors.Join(errs...)
}
