package export

import "math"

// An Int is a whole number that may be missing.
type Int struct {
	V  int64
	OK bool
}

// IntOf returns the Int v.
func IntOf(v int64) Int { return Int{v, true} }

// Missing stands for a missing Int in a list of whole numbers.
const Missing = math.MinInt64

// OrMissing returns the number, or Missing.
func (n Int) OrMissing() int64 {
	if !n.OK {
		return Missing
	}
	return n.V
}

// Float returns the number as a float64; ok is false if it is missing.
func (n Int) Float() (f float64, ok bool) { return float64(n.V), n.OK }

// A Derived holds the values that are computed from one request: its token events, its
// token counts and its latencies. Columnar files store it, so that other programs need not
// parse the response texts. Latencies are in nanoseconds from Request.StartNS.
type Derived struct {
	// Events are the token events in order of arrival.
	Events []TokenEvent
	// Streamed reports whether the answer was streamed. It is nil if only the other
	// requests of the level can tell; TTFT, TPOT and ITL are then missing.
	Streamed *bool
	// Failure is the error that the server sent in the stream; "" for none.
	Failure string
	// Assumed reports that the request has no outputs, so every response counts as a
	// token event.
	Assumed bool
	// Unreadable counts the events and bodies that break the protocol.
	Unreadable int

	// TokenSource is the source of OutputTokens: "usage", "stated", "ids", "tokenizer" or
	// "responses"; "" if OutputTokens is missing.
	TokenSource                                              string
	InputTokens, OutputTokens, ReasoningTokens, CachedTokens Int
	// InputCounted reports that the tokenizer counted InputTokens in the texts of the
	// prompt, because neither the server nor the file of another tool says them.
	InputCounted bool `json:",omitempty"`

	Excluded Exclusion
	// Class is the kind of failure of a failed request, else "".
	Class      string
	TTFT, E2EL Int
	TTFAT      Int     `json:",omitzero"`
	TPOT       float64 // valid if HasTPOT is set
	HasTPOT    bool
	// ITL holds the times between consecutive token events: one list for each choice
	// with at least one such time.
	ITL [][]int64
	// Responses sums up the responses. It is nil if their times do not fit it: see ITLEvents.
	Responses *ResponseSummary `json:",omitempty"`
	// ITLEvents is the number of token events, if Responses, TTFT, TTFAT and ITL tell all that
	// Events and the responses tell a report. It is missing for several choices, for known EventTokens, for
	// answers that are not known to be streamed, for figures of another tool's file, for times
	// outside EarliestSummary and LatestSummary, and for a last response that is not the latest.
	ITLEvents Int `json:",omitzero"`
	// Server is what the server states about the request in its answer.
	Server ServerDetails
	// EventTokens says that the Tokens of all Events are known.
	EventTokens bool `json:",omitempty"`
	// TimedTokens is the number of output tokens after the first token event, by which TPOT divides;
	// missing if it is not known. HiddenTokens is the number of output tokens that the server counts
	// before the first token event and did not send; missing if no token is known to be hidden.
	TimedTokens, HiddenTokens Int `json:",omitzero"`
}

// A TokenEvent is a response, or a part of a response, that added output to a choice.
type TokenEvent struct {
	Response  int32 // index of the response that completed the event
	Choice    int64
	Reasoning bool // the event added reasoning text and no answer text
	// Tokens is the number of tokens of the event, as the server counted them; 0 unless
	// Derived.EventTokens is set.
	Tokens int32
}

// MostEventTokens returns the greatest number of tokens that the events of a request may have together, besides
// the first one, for Derived.EventTokens: some figures have a value for each of these tokens, and a number in
// a damaged file must not make up millions of values. The numbers of longer answers in so few events count
// as unknown.
func MostEventTokens(events int) int64 { return 1<<14 + 1<<8*int64(events) }

// A Derivation describes how the derived values of a file were computed.
type Derivation struct {
	// Definitions is the version of the definitions.
	Definitions int `json:"definitions"`
	// TokenSource is the configured source of the output token counts; "auto" is the
	// best source of each request.
	TokenSource string `json:"token_source"`
	// Tokenizer is the SHA-256 of the tokenizer's file in hex; "" without a tokenizer.
	Tokenizer string `json:"tokenizer,omitempty"`
	// NotCounted is the number of requests with a text that the tokenizer could not count.
	NotCounted int64 `json:"not_counted,omitempty"`
	// Model is the model that the payload of the first request names; "" if the payload
	// names none.
	Model string `json:"model,omitempty"`
}

// A Deriver computes the derived values of the requests of one run, in the order of the
// file.
type Deriver interface {
	// Derive returns the derived values of r, valid until the next call.
	Derive(r *Request) *Derived
	// Derivation describes the values computed so far. Its Model is of the first request that
	// was derived.
	Derivation() Derivation
	// Fork returns a Deriver of the same run for requests that another goroutine decodes. Any
	// goroutine may call Fork.
	Fork() Deriver
}
