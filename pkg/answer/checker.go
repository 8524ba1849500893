package answer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// A Difference is a derived value of a request that its recorded times and answers contradict.
type Difference struct {
	// Column names the derived column; "" if the request has no derived values, or damaged ones.
	Column string
	// Stored is the value in the file, and Computed the value that the recording gives.
	Stored, Computed string
}

// A Checker computes the derived values of requests again, and compares them with the values
// that a file stores.
//
// A Checker is for one goroutine.
type Checker struct {
	deriver *Deriver
	// uncounted says that a tokenizer counted tokens that the Checker cannot count.
	uncounted bool
}

// NewChecker returns a Checker of the requests of run, whose derived values d describes. counter
// is the tokenizer whose file has the SHA-256 tokenizer in hex; nil means that there is none.
// The error says why this program cannot compute the same values.
func NewChecker(run *export.Run, d export.Derivation, counter TokenCounter, tokenizer string) (*Checker, error) {
	switch {
	case d.Definitions != Definitions:
		return nil, fmt.Errorf("they follow definitions %d, and this program has definitions %d; pa-analyze convert computes them again", d.Definitions, Definitions)
	case d.NotCounted > 0:
		return nil, errors.New("their tokenizer could not count all texts; check the tokenizer file")
	case d.Tokenizer != "" && counter == nil:
		return nil, fmt.Errorf("a tokenizer with the SHA-256 %s counted tokens; give it with --tokenizer", d.Tokenizer)
	case d.Tokenizer != "" && tokenizer != d.Tokenizer:
		return nil, fmt.Errorf("a tokenizer with the SHA-256 %s counted tokens, but --tokenizer has %s", d.Tokenizer, tokenizer)
	}
	source, err := parseConfiguredSource(d.TokenSource)
	if err != nil {
		return nil, fmt.Errorf("their token source is unknown: %w", err)
	}
	tokens := TokenCounting{TokenSource: source}
	if d.Tokenizer != "" {
		tokens.Counter, tokens.Tokenizer = counter, tokenizer
	}
	return &Checker{deriver: NewTokenDeriver(run, tokens)}, nil
}

// NewUncountedChecker is like NewChecker without a tokenizer, but the Checker does not check the token
// counts of a tokenizer.
func NewUncountedChecker(run *export.Run, d export.Derivation) (*Checker, error) {
	tokenizer := d.Tokenizer
	d.Tokenizer = ""
	c, err := NewChecker(run, d, nil, "")
	if err != nil {
		return nil, err
	}
	c.uncounted = tokenizer != ""
	return c, nil
}

// Check compares have, the stored values of r, with the values that r gives. It returns nil if
// they are equal. have is nil if r has no stored values.
func (c *Checker) Check(r *export.Request, have *export.Derived) *Difference {
	return c.CheckAnswer(r, c.deriver.meter.decoder.Decode(r), have)
}

// CheckAnswer is like Check for a request whose answer a Decoder for the same run decoded. The
// Decoder must have kept the texts if the Checker counts tokens.
func (c *Checker) CheckAnswer(r *export.Request, a *Answer, have *export.Derived) *Difference {
	if have == nil {
		return &Difference{}
	}
	return c.differs(c.deriver.deriveAnswer(r, a), have)
}

// CheckTimes is like Check for a request without its inputs and outputs: it takes the token events, and
// the counts of the server and of a tokenizer, from have. It checks the times, and the number of output tokens if
// the events count them.
func (c *Checker) CheckTimes(r *export.Request, have *export.Derived) *Difference {
	if have == nil {
		return &Difference{}
	}
	d := &c.deriver.meter.decoder
	d.restore(r, have)
	want := c.deriver.deriveAnswer(r, &d.a)
	want.InputTokens, want.InputCounted = have.InputTokens, have.InputCounted
	if have.TokenSource != TokenResponses.String() {
		want.OutputTokens, want.TokenSource, want.TimedTokens = have.OutputTokens, have.TokenSource, have.TimedTokens
	}
	return c.differs(want, have)
}

// sameEvent reports whether two events are equal but for their numbers of tokens.
func sameEvent(a, b export.TokenEvent) bool {
	a.Tokens = b.Tokens
	return a == b
}

// same reports whether both point to equal values, or neither to one.
func same[T comparable](a, b *T) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// differs returns the first difference of have from want; nil for none.
func (c *Checker) differs(want, have *export.Derived) *Difference {
	differ := func(column string, stored, computed string) *Difference {
		return &Difference{Column: column, Stored: stored, Computed: computed}
	}
	if c.uncounted {
		if have.TokenSource == TokenTokenizer.String() && (want.TokenSource == "" || want.TokenSource == TokenResponses.String()) {
			want.TokenSource, want.OutputTokens, want.TimedTokens = have.TokenSource, have.OutputTokens, have.TimedTokens
		}
		if have.InputCounted && !want.InputTokens.OK {
			want.InputCounted, want.InputTokens = true, have.InputTokens
		}
	}
	switch {
	case !slices.EqualFunc(want.Events, have.Events, sameEvent):
		return differ("token_events", eventsText(have), eventsText(want))
	case want.EventTokens && have.EventTokens && !slices.Equal(want.Events, have.Events):
		return differ("event_tokens", tokensText(have), tokensText(want))
	case !same(want.Streamed, have.Streamed):
		return differ("streamed", flagText(have.Streamed), flagText(want.Streamed))
	case want.Failure != have.Failure:
		return differ("stream_error", strconv.Quote(have.Failure), strconv.Quote(want.Failure))
	case want.Assumed != have.Assumed:
		return differ("events_assumed", flagText(&have.Assumed), flagText(&want.Assumed))
	case want.Unreadable != have.Unreadable:
		return differ("unreadable_events", strconv.Itoa(have.Unreadable), strconv.Itoa(want.Unreadable))
	case want.TokenSource != have.TokenSource:
		return differ("token_source", strconv.Quote(have.TokenSource), strconv.Quote(want.TokenSource))
	case want.InputCounted != have.InputCounted:
		return differ("input_counted", flagText(&have.InputCounted), flagText(&want.InputCounted))
	case want.Class != have.Class:
		return differ("error_class", strconv.Quote(have.Class), strconv.Quote(want.Class))
	case want.EventTokens != have.EventTokens:
		return differ("event_tokens", tokensText(have), tokensText(want))
	}
	for _, x := range []struct {
		column     string
		have, want export.Int
	}{
		{"input_tokens", have.InputTokens, want.InputTokens},
		{"output_tokens", have.OutputTokens, want.OutputTokens},
		{"reasoning_tokens", have.ReasoningTokens, want.ReasoningTokens},
		{"cached_tokens", have.CachedTokens, want.CachedTokens},
		{"ttft_ns", have.TTFT, want.TTFT},
		{"e2el_ns", have.E2EL, want.E2EL},
		{"timed_tokens", have.TimedTokens, want.TimedTokens},
		{"hidden_tokens", have.HiddenTokens, want.HiddenTokens},
	} {
		if x.have != x.want {
			return differ(x.column, countText(x.have), countText(x.want))
		}
	}
	for i := range export.ServerNumbers {
		n := &export.ServerNumbers[i]
		if h, w := *n.Of(&have.Server), *n.Of(&want.Server); h != w {
			return differ(n.Column, countText(h), countText(w))
		}
	}
	switch {
	case want.Server.PrefillWorker != have.Server.PrefillWorker:
		return differ("prefill_worker", strconv.Quote(have.Server.PrefillWorker), strconv.Quote(want.Server.PrefillWorker))
	case want.Server.DecodeWorker != have.Server.DecodeWorker:
		return differ("decode_worker", strconv.Quote(have.Server.DecodeWorker), strconv.Quote(want.Server.DecodeWorker))
	case !slices.EqualFunc(want.ITL, have.ITL, slices.Equal):
		return differ("itl_ns", gapsText(have.ITL), gapsText(want.ITL))
	case want.TTFAT != have.TTFAT:
		return differ("ttfat_ns", countText(have.TTFAT), countText(want.TTFAT))
	case !same(want.Responses, have.Responses):
		return differ("responses", summaryText(have.Responses), summaryText(want.Responses))
	case want.ITLEvents != have.ITLEvents:
		return differ("itl_events", countText(have.ITLEvents), countText(want.ITLEvents))
	}
	return nil
}

// absent is the text of a value that is missing.
const absent = "n/a"

func countText(v export.Int) string {
	if !v.OK {
		return absent
	}
	return strconv.FormatInt(v.V, 10)
}

func flagText(v *bool) string {
	if v == nil {
		return absent
	}
	return strconv.FormatBool(*v)
}

func eventsText(d *export.Derived) string { return fmt.Sprintf("%d events", len(d.Events)) }

func tokensText(d *export.Derived) string {
	if !d.EventTokens {
		return absent
	}
	n := int64(0)
	for i := range d.Events {
		n += int64(d.Events[i].Tokens)
	}
	return plural.GroupedOf(n, "token") + " in " + plural.Of(len(d.Events), "event")
}

// gapsText sums up the gaps of a request.
func gapsText(all [][]int64) string {
	n, sum := 0, int64(0)
	for _, gaps := range all {
		n += len(gaps)
		for _, g := range gaps {
			sum += g
		}
	}
	return fmt.Sprintf("%d gaps of %d ns in all", n, sum)
}

func summaryText(s *export.ResponseSummary) string {
	if s == nil {
		return absent
	}
	return fmt.Sprintf("%d from %d ns to %d ns, %d times by the kernel and %d by the program", s.N, s.First, s.Last, s.Kernel, s.User)
}
