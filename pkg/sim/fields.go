package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// maxChoices bounds the number of answers to one request: n times the prompts.
const maxChoices = 128

// requestFields holds the settings in the body of a request (OpenAI), or in its sampling
// parameters and request parameters (Triton). Nil means not given.
type requestFields struct {
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

// A number is a JSON number, or a string that holds one, which real servers accept too.
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

// whole returns an optional integer from lo to hi, or def if it is absent.
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

// delay returns an optional number of the given unit as a constant delay, or def if it is
// absent.
func (n *number) delay(name string, unit time.Duration, def plan.Delay) (plan.Delay, error) {
	if n == nil {
		return def, nil
	}
	d := plan.ConstantDelay(time.Duration(math.Round(min(max(float64(*n), -1), float64(2*plan.MaxDelay/unit)) * float64(unit))))
	if err := d.Validate(); err != nil {
		return d, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// planRequest resolves the settings of a request. prompts holds the input tokens of each
// prompt, texts their texts if they may be echoed, and n the number of answers to each. An
// error is a mistake of the client.
func (s *Server) planRequest(index uint64, f *requestFields, prompts []int, texts []string, n int) (plan.Request, error) {
	c := &s.config
	a := plan.Request{
		Index: index, Key: index, CachedTokens: -1, Choices: n * len(prompts), IgnoreEOS: f.IgnoreEOS,
		Length: c.OutputTokens, Vocabulary: c.Vocabulary, TokensPerEvent: c.TokensPerEvent, Final: c.Final,
	}
	a.Fault, a.FaultAfter = plan.FaultFor(c.Faults, index)
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
	a.MaxTokens, err = limit.whole("max_tokens", 1, plan.MaxContextTokens, 0)
	check(err)
	a.MinTokens, err = f.MinTokens.whole("min_tokens", 0, plan.MaxContextTokens, 0)
	check(err)
	if err == nil && a.MaxTokens > 0 && a.MinTokens > a.MaxTokens {
		check(fmt.Errorf("min_tokens %d is more than max_tokens %d", a.MinTokens, a.MaxTokens))
	}
	if f.Seed != nil {
		a.Key = plan.Mix(math.Float64bits(float64(*f.Seed))) // far from the small numbers of indices
	}
	a.TTFT, err = f.TTFTMillis.delay("ttft_ms", time.Millisecond, c.TTFT)
	check(err)
	a.ITL, err = f.ITLMillis.delay("itl_ms", time.Millisecond, c.ITL)
	check(err)
	prefill, err := f.PrefillMicros.delay("prefill_us", time.Microsecond, plan.ConstantDelay(c.PrefillPerToken))
	check(err)
	a.Prefill = prefill.Mean
	if f.Vocabulary != nil {
		a.Vocabulary, err = plan.ParseVocabulary(*f.Vocabulary)
		check(err)
	}
	if f.Final != nil {
		a.Final, err = plan.ParseFinal(*f.Final)
		check(err)
	}
	if f.FailAfter != nil && *f.FailAfter >= 0 { // negative means never
		a.Fault = plan.FaultErrorEvent
		a.FaultAfter, err = f.FailAfter.whole("fail_after", 0, plan.MaxContextTokens, 0)
		check(err)
	}
	if f.Fault != nil {
		a.Fault, err = plan.ParseFault(*f.Fault)
		check(err)
		a.FaultAfter = plan.DefaultFaultAfter
	}
	a.FaultAfter, err = f.FaultAfter.whole("sim_fault_after", 0, plan.MaxContextTokens, a.FaultAfter)
	check(err)

	longest := 0
	for _, p := range prompts {
		a.InputTokens += p
		longest = max(longest, p)
	}
	switch {
	case a.Choices < 1:
		check(errors.New("no prompt"))
	case a.Choices > maxChoices:
		check(fmt.Errorf("%d answers asked for; the most is %d", a.Choices, maxChoices))
	case longest+max(a.MaxTokens, a.MinTokens) > c.ContextTokens:
		check(fmt.Errorf("this model's maximum context length is %d tokens; %d input and %d output tokens are more", c.ContextTokens, longest, max(a.MaxTokens, a.MinTokens)))
	case longest >= c.ContextTokens:
		check(fmt.Errorf("this model's maximum context length is %d tokens; %d input tokens leave no room for an answer", c.ContextTokens, longest))
	}
	a.Room = c.ContextTokens - longest
	if f.Echo {
		for _, t := range texts {
			for range n {
				a.Echo = append(a.Echo, t)
			}
		}
	}
	return a, errors.Join(errs...)
}

// countWords returns the number of words of a text, its input tokens.
func countWords(s string) int {
	n := 0
	for range strings.FieldsSeq(s) {
		n++
	}
	return n
}

// clip bounds foreign text in messages.
func clip(s string) string { return sanitize.Clip(s, 80) }
