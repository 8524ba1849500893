package validate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// findDerived sets v.stored and v.deriver if the derived columns of r can be computed again
// and compared, and else v.NotCompared to the reason.
func (v *validator) findDerived(r export.Reader, cfg Config) {
	stored, ok := r.(export.DerivedReader)
	if !ok {
		return
	}
	derivation, ok := stored.Derivation()
	if !ok {
		return
	}
	tokens, err := cfg.counting(derivation)
	if err != nil {
		v.NotCompared = err.Error()
		return
	}
	v.stored, v.deriver = stored, answer.NewTokenDeriver(r.Run(), tokens)
}

// counting returns how a Deriver counts tokens if it computes the values that d describes.
// The error says why no Deriver of this program and cfg can.
func (cfg *Config) counting(d export.Derivation) (t answer.TokenCounting, err error) {
	switch {
	case d.Definitions != answer.Definitions:
		return t, fmt.Errorf("they follow definitions %d, and this program has definitions %d; pa-analyze convert computes them again", d.Definitions, answer.Definitions)
	case d.NotCounted > 0:
		return t, errors.New("their tokenizer could not count all texts; check the tokenizer file")
	case d.Tokenizer != "" && cfg.Counter == nil:
		return t, fmt.Errorf("a tokenizer with the SHA-256 %s counted tokens; give it with --tokenizer", d.Tokenizer)
	case d.Tokenizer != "" && cfg.Tokenizer != d.Tokenizer:
		return t, fmt.Errorf("a tokenizer with the SHA-256 %s counted tokens, but --tokenizer has %s", d.Tokenizer, cfg.Tokenizer)
	}
	if t.TokenSource, err = answer.ParseConfiguredSource(d.TokenSource); err != nil {
		return t, fmt.Errorf("their token source is unknown: %w", err)
	}
	if d.Tokenizer != "" {
		t.Counter, t.Tokenizer = cfg.Counter, cfg.Tokenizer
	}
	return t, nil
}

// derived compares the derived columns of a request with its responses.
func (v *validator) derived(q *export.Request) {
	if v.stored == nil {
		return
	}
	have := v.stored.Derived()
	if have == nil {
		v.say("the derived columns are missing")
		return
	}
	if column := differingColumn(v.deriver.Derive(q), have); column != "" {
		v.say("column %s does not match the responses; pa-analyze convert computes it again", column)
	}
}

// equal reports whether both point to equal values, or neither to one.
func equal[T comparable](a, b *T) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// sameEvent reports whether two events are equal but for their numbers of tokens.
func sameEvent(a, b export.TokenEvent) bool {
	a.Tokens = b.Tokens
	return a == b
}

// differingColumn returns the first derived column in which have differs from want; ""
// for none.
func differingColumn(want, have *export.Derived) string {
	switch {
	case !slices.EqualFunc(want.Events, have.Events, sameEvent):
		return "token_events"
	case !slices.Equal(want.Events, have.Events):
		return "event_tokens"
	case !equal(want.Streamed, have.Streamed):
		return "streamed"
	case want.Failure != have.Failure:
		return "stream_error"
	case want.Assumed != have.Assumed:
		return "events_assumed"
	case want.Unreadable != have.Unreadable:
		return "unreadable_events"
	case want.TokenSource != have.TokenSource:
		return "token_source"
	case want.InputTokens != have.InputTokens:
		return "input_tokens"
	case want.InputCounted != have.InputCounted:
		return "input_counted"
	case want.OutputTokens != have.OutputTokens:
		return "output_tokens"
	case want.ReasoningTokens != have.ReasoningTokens:
		return "reasoning_tokens"
	case want.CachedTokens != have.CachedTokens:
		return "cached_tokens"
	case want.Class != have.Class:
		return "error_class"
	case want.TTFT != have.TTFT:
		return "ttft_ns"
	case want.E2EL != have.E2EL:
		return "e2el_ns"
	case want.ServerPrefill != have.ServerPrefill:
		return "server_prefill_ns"
	case want.ServerDecode != have.ServerDecode:
		return "server_decode_ns"
	case want.EventTokens != have.EventTokens:
		return "event_tokens"
	case !slices.EqualFunc(want.ITL, have.ITL, slices.Equal):
		return "itl_ns"
	case have.Responses == nil && !have.ITLEvents.OK && !have.TTFAT.OK: // older releases wrote none of them
	case want.TTFAT != have.TTFAT:
		return "ttfat_ns"
	case !equal(want.Responses, have.Responses):
		return "responses"
	case want.ITLEvents != have.ITLEvents:
		return "itl_events"
	}
	return ""
}
