package export

// A Count is a whole number that may be missing.
type Count struct {
	V  int64
	OK bool
}

// A Derived holds what the responses to one request contain and the measures of the
// request. The columnar files keep it, so that other programs need not read the texts.
// Times are nanoseconds and begin when the first byte of the request left.
type Derived struct {
	// Events are the token events in order of arrival.
	Events []TokenEvent
	// Streamed says whether the answer was streamed; nil if only the other requests of
	// the level can tell. The measures of tokens are then missing.
	Streamed *bool
	// Failure is the error that the server sent in the stream; "" for none.
	Failure string
	// Assumed says that there are no outputs, so that every response counts as a token
	// event.
	Assumed bool
	// Unreadable counts events and bodies that break the protocol.
	Unreadable int

	// TokenSource is the source of OutputTokens: "usage", "stated", "tokenizer" or
	// "responses"; "" without a number.
	TokenSource                                              string
	InputTokens, OutputTokens, ReasoningTokens, CachedTokens Count

	// Excluded is the reason why the request does not count; "" if it does. Class is
	// the kind of failure of a failed request.
	Excluded, Class string
	TTFT, E2EL      Count
	TPOT            float64 // if HasTPOT
	HasTPOT         bool
	// ITL holds the times between consecutive token events, a list for each choice that
	// has some.
	ITL [][]int64
}

// A TokenEvent is a response, or a part of one, that added output to a choice.
type TokenEvent struct {
	Response  int32 // index of the response that completed it
	Choice    int64
	Reasoning bool // it added reasoning text and no answer
}

// A Derivation says how the Derived of a file were computed.
type Derivation struct {
	// Definitions is the version of the definitions.
	Definitions int `json:"definitions"`
	// TokenSource is the source of the numbers of output tokens that was asked for;
	// "auto" is the best source of each request.
	TokenSource string `json:"token_source"`
	// Tokenizer is the SHA-256 of the tokenizer's file in hex; "" without a tokenizer.
	Tokenizer string `json:"tokenizer,omitempty"`
	// Model is the model that the payload of the first request names; "" if it names
	// none.
	Model string `json:"model,omitempty"`
}

// A Deriver computes the Derived of the requests of one run, in the order of the file.
type Deriver interface {
	// Derive returns the Derived of r, valid until the next call.
	Derive(r *Request) *Derived
	// Derivation describes the Derived that were computed so far.
	Derivation() Derivation
}

// A DerivedReader is a Reader of a file that holds Derived.
type DerivedReader interface {
	Reader
	// Derivation describes the Derived of the file; ok is false if it has none.
	Derivation() (_ Derivation, ok bool)
	// Derived returns the Derived of the current request, valid until the next call of
	// Next; nil if the request has none. Excluded, TPOT and HasTPOT are not set.
	Derived() *Derived
	// WithoutAnswers makes the Reader leave out the inputs and the outputs of requests,
	// and all else that only a copy of the file needs. Requests keep their times. Call it
	// before the first Next.
	WithoutAnswers()
}
