package export

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// A Request is one exchange with the server: the inputs, their times, and all responses.
// Zero times mean "not recorded".
type Request struct {
	ID uint64 // order of issue in the run

	ScheduledNS uint64 // when the load schedule wanted it sent; 0 in a closed loop
	IssuedNS    uint64 // handed to the client, before any connect
	StartNS     uint64 // first byte of the request left; "timestamp" of the export
	SentNS      uint64 // last byte of the request left
	FirstByteNS uint64 // first byte of the answer, headers included; over gRPC, of its first message
	// FailedNS is the end of a failed request: the time of the error, or of giving it
	// up. 0 for a successful request.
	FailedNS uint64

	StartSource StampSource

	DNS     time.Duration
	Connect time.Duration
	TLS     time.Duration
	Reused  bool // sent on a connection that had carried a request before
	// Resent reports that the request was sent twice, because a kept connection was
	// closed before the server took the request. All but IssuedNS is of the second
	// attempt.
	Resent bool

	// SequenceID is perf_analyzer's sequence_id; 0 means none.
	SequenceID uint64
	// SessionID is the conversation or tree of agents that the request belongs to; each play of it has
	// an id of its own. Turn is the place of the request in it.
	SessionID string
	Turn      int
	// Agent is the id of the sub-agent that sent the request, unique in its session; "" for the root.
	// ParentAgent is the agent that began it, and Depth how many agents stand above it: 0 for the root.
	Agent       string
	ParentAgent string
	Depth       int
	// Model is the model of the request if that is not RunMeta.Model; "" if it is. In
	// a run with several models every request has one.
	Model  string
	Worker int // slot of the closed loop that sent it
	Conn   int
	Rank   int

	// Inputs holds the inputs in order: tensors by name for Triton, "payload" (a string
	// of JSON) for OpenAI. nil means that the file has no such member (perf_analyzer
	// before 24.04), which differs from empty.
	Inputs Fields

	Responses []Response
	// Summary stands for Responses that were left out for [DerivedBrief]; else nil.
	Summary *ResponseSummary

	// NoOutputs is set when the file has no response_outputs member at all
	// (perf_analyzer before 24.03).
	NoOutputs bool

	// OutputsDropped reports that the recorder dropped the outputs of the responses,
	// because the disk did not keep up. Each response has its time, and Outputs nil.
	OutputsDropped bool
	// UnrecordedEvents counts the received events that are not in Responses:
	// comments and empty events beyond the first 1,000, and the events of an
	// answer that exceeded its memory.
	UnrecordedEvents int

	Status  Status
	Code    int    // HTTP status or gRPC code; 0 when there was none
	Message string // the server's or client's error text, bounded
	// RequestID is the request id that was sent in a header, if any.
	RequestID string
	// ServerID is the request id that the server reported, if any.
	ServerID string

	Phase Phase

	// Stated holds figures that the file of another tool states; nil in our own files.
	Stated *Stated

	// HasMeta reports that pa-record's additions are present and will be written.
	HasMeta bool

	// Extra holds members that no known release writes, in order.
	Extra Fields
}

// A Response is one server-sent event, one gRPC message or one whole body.
// In files of perf_analyzer it can also be a piece of an event or several
// events, as they came out of one read.
type Response struct {
	RecvNS uint64
	Source StampSource
	// Read is the ordinal of the socket read that completed this response,
	// counted per request from 0; responses with equal ordinals share one
	// stamp. It has no meaning unless the request has HasMeta.
	Read uint32
	// Outputs by name, in order: "response" for OpenAI, tensors for Triton.
	Outputs Fields
	// Final is set on the response that the protocol marks as the last one.
	Final bool
	// Error is set when the response carries the server's error.
	Error bool
}

// EarliestSummary and LatestSummary bound the times of a request with responses, in ns, that
// may have a ResponseSummary. Clocks of shards that differ by less than EarliestSummary can
// move such times without overflow.
const (
	EarliestSummary = 1 << 50
	LatestSummary   = 1 << 62
)

// A ResponseSummary holds what a report needs of the responses of a request, in place of
// the responses. Their last one in the order of the file has the latest time.
type ResponseSummary struct {
	N            int   // number of responses
	Kernel, User int   // responses with stamps of these sources; the others are unknown
	First, Last  int64 // ns from Request.StartNS to the first and the last response; 0 without responses
}

// NumResponses returns the number of responses.
func (r *Request) NumResponses() int {
	if s := r.Summary; s != nil {
		return s.N
	}
	return len(r.Responses)
}

// FirstResponseNS returns the time of the first response in the order of the file; ok is false if
// there is no response.
func (r *Request) FirstResponseNS() (ns uint64, ok bool) {
	if s := r.Summary; s != nil {
		return r.StartNS + uint64(s.First), s.N > 0
	}
	if len(r.Responses) == 0 {
		return 0, false
	}
	return r.Responses[0].RecvNS, true
}

// FinalResponseNS returns the time of the last response in the order of the file, which tools take
// for the end of the request; ok is false if there is no response.
func (r *Request) FinalResponseNS() (ns uint64, ok bool) {
	if s := r.Summary; s != nil {
		return r.StartNS + uint64(s.Last), s.N > 0
	}
	if len(r.Responses) == 0 {
		return 0, false
	}
	return r.Responses[len(r.Responses)-1].RecvNS, true
}

// LatestResponseNS returns the latest time of a response; ok is false if there is no response. It
// equals FinalResponseNS unless the clock was set back, or the responses are not in the order of
// their times.
func (r *Request) LatestResponseNS() (ns uint64, ok bool) {
	if r.Summary != nil {
		return r.FinalResponseNS()
	}
	for i := range r.Responses {
		ns = max(ns, r.Responses[i].RecvNS)
	}
	return ns, len(r.Responses) > 0
}

// An Exclusion is the reason why a request does not count; "" if it counts. The texts are written
// to files.
type Exclusion string

// The reasons of perf_analyzer.
const (
	NotExcluded       Exclusion = ""
	ExcludedWarmup    Exclusion = "warmup"
	ExcludedCancelled Exclusion = "cancelled"
	ExcludedFailed    Exclusion = "failed"
	ExcludedLate      Exclusion = "late"
)

// Excluded returns why perf_analyzer would not have exported the request; NotExcluded for a
// measured, successful one. A status or phase that is unknown counts as ok and measured, as in
// files that do not record them.
func (r *Request) Excluded() Exclusion {
	switch {
	case r.Phase == PhaseWarmup:
		return ExcludedWarmup
	case r.Status == StatusCancelled:
		return ExcludedCancelled
	case r.Status != StatusUnknown && r.Status != StatusOK:
		return ExcludedFailed
	case r.Phase == PhaseCooldown:
		return ExcludedLate
	}
	return NotExcluded
}

// Refused reports whether the request failed with an HTTP status: the answer has a body instead of a stream.
func (r *Request) Refused() bool {
	return r.Status == StatusHTTPError || r.Status == StatusContextOverflow && r.Code >= 300 && len(r.Responses) <= 1
}

// A StampSource is the source of a timestamp.
type StampSource uint8

// The numbers are written to files.
const (
	SourceUnknown StampSource = 0
	SourceKernel  StampSource = 1
	SourceUser    StampSource = 2
)

var sourceNames = [...]string{"unknown", "kernel", "user"}

// String returns "unknown", "kernel" or "user".
func (s StampSource) String() string { return enumName(sourceNames[:], int(s)) }

// A Status is the outcome of a request.
type Status uint8

// The names are written to files; the numbers are not.
const (
	StatusUnknown       Status = 0 // not recorded: files of other tools
	StatusOK            Status = 1
	StatusHTTPError     Status = 2 // an HTTP status other than 2xx
	StatusRPCError      Status = 3 // a gRPC status, or an error message in the stream
	StatusConnectError  Status = 4 // no connection
	StatusTimeout       Status = 5
	StatusCancelled     Status = 6 // the recorder gave it up at the end of the run
	StatusTruncated     Status = 7 // the answer broke off
	StatusProtocolError Status = 8 // the answer breaks the protocol
	StatusFailed        Status = 9 // failed in a way that the file of another tool does not tell
	// StatusContextOverflow: the server refused the request because it is longer than the context of the model.
	StatusContextOverflow Status = 10
)

var statusNames = [...]string{
	"unknown", "ok", "http_error", "rpc_error", "connect_error", "timeout", "cancelled", "truncated", "protocol_error",
	"failed", "context_overflow",
}

// String returns the name that files use: "ok", "http_error", ….
func (s Status) String() string { return enumName(statusNames[:], int(s)) }

// ParseStatus is the inverse of String.
func ParseStatus(name string) (Status, error) {
	i, err := enumParse(statusNames[:], "status", name)
	return Status(i), err
}

// A Phase is the part of the run in which a request lies.
type Phase uint8

// The names are written to files; the numbers are not.
const (
	PhaseUnknown  Phase = 0 // not recorded: files of other tools
	PhaseWarmup   Phase = 1
	PhaseMeasured Phase = 2
	PhaseCooldown Phase = 3 // ended after the last window
)

var phaseNames = [...]string{"unknown", "warmup", "measured", "cooldown"}

// String returns the name that files use: "warmup", "measured", "cooldown".
func (p Phase) String() string { return enumName(phaseNames[:], int(p)) }

// ParsePhase is the inverse of String.
func ParsePhase(name string) (Phase, error) {
	i, err := enumParse(phaseNames[:], "phase", name)
	return Phase(i), err
}

func enumName(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("invalid(%d)", i)
}

func enumParse(names []string, what, name string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q", what, name)
}

// Clone returns a copy of r that shares no memory with it, so that it stays valid after
// the reader's next call of Next. nil stays nil, and empty stays empty.
func (r *Request) Clone() *Request {
	c := *r
	c.Inputs = r.Inputs.Clone()
	c.Extra = r.Extra.Clone()
	c.Stated = r.Stated.Clone()
	if r.Summary != nil {
		summary := *r.Summary
		c.Summary = &summary
	}
	if r.Responses != nil {
		c.Responses = make([]Response, len(r.Responses))
		for i := range r.Responses {
			c.Responses[i] = r.Responses[i]
			c.Responses[i].Outputs = r.Responses[i].Outputs.Clone()
		}
	}
	return &c
}

// RequestCounts counts the requests of an experiment.
type RequestCounts struct {
	// Measured, Failed, Warmup, Late and Cancelled count requests by [Request.Excluded].
	Measured  int `json:"measured"`
	Failed    int `json:"failed,omitempty"`
	Warmup    int `json:"warmup,omitempty"`
	Late      int `json:"late,omitempty"`
	Cancelled int `json:"cancelled,omitempty"`
	// Resent counts the requests that were sent again: see [Request.Resent].
	Resent int `json:"resent,omitempty"`
	// OutputsDropped counts the requests whose outputs were not stored because the
	// disk was too slow: see [Request.OutputsDropped].
	OutputsDropped int `json:"outputs_dropped,omitempty"`
}

// Add counts a request.
func (c *RequestCounts) Add(r *Request) {
	switch r.Excluded() {
	case NotExcluded:
		c.Measured++
	case ExcludedFailed:
		c.Failed++
	case ExcludedWarmup:
		c.Warmup++
	case ExcludedLate:
		c.Late++
	case ExcludedCancelled:
		c.Cancelled++
	}
	if r.Resent {
		c.Resent++
	}
	if r.OutputsDropped {
		c.OutputsDropped++
	}
}

// Plus adds the counts of o.
func (c *RequestCounts) Plus(o *RequestCounts) {
	c.Measured += o.Measured
	c.Failed += o.Failed
	c.Warmup += o.Warmup
	c.Late += o.Late
	c.Cancelled += o.Cancelled
	c.Resent += o.Resent
	c.OutputsDropped += o.OutputsDropped
}

// A CountDifference is a number of requests that a file states, and that its requests contradict.
type CountDifference struct {
	What   string // "measured requests", "requests with dropped outputs"
	Stated int
	Held   int // the number of these requests in the file
}

// Differences compares the counts with stated ones, in the order of their fields.
func (c *RequestCounts) Differences(stated *RequestCounts) []CountDifference {
	var all []CountDifference
	for _, d := range [...]CountDifference{
		{"measured requests", stated.Measured, c.Measured},
		{"failed requests", stated.Failed, c.Failed},
		{"warmup requests", stated.Warmup, c.Warmup},
		{"late requests", stated.Late, c.Late},
		{"cancelled requests", stated.Cancelled, c.Cancelled},
		{"requests with dropped outputs", stated.OutputsDropped, c.OutputsDropped},
		{"requests that were sent again", stated.Resent, c.Resent},
	} {
		if d.Stated != d.Held {
			all = append(all, d)
		}
	}
	return all
}

// Stated holds figures of a request that the file of another tool states and that the
// responses do not show: such files hold numbers of tokens instead of the texts that
// were counted. It is stored as JSON under "stated" in the "pa" of the request. A
// number that the file does not state is nil.
type Stated struct {
	InputTokens     *int64 `json:"input_tokens,omitempty"`
	OutputTokens    *int64 `json:"output_tokens,omitempty"`
	ReasoningTokens *int64 `json:"reasoning_tokens,omitempty"`
	CachedTokens    *int64 `json:"cached_tokens,omitempty"`
	// TokenEvents is the number of token events. Responses may hold fewer: the first
	// and the last.
	TokenEvents *int64 `json:"token_events,omitempty"`
	// Silent are the indices of responses that added no output.
	Silent []int `json:"silent,omitempty"`
	// Streamed says whether the answer was streamed; nil if RunMeta.Streaming of the
	// run holds.
	Streamed *bool `json:"streamed,omitempty"`
	// Text is the whole answer.
	Text *string `json:"text,omitempty"`
	// CountedInput and CountedOutput are the tool's own counts, if the server's counts,
	// InputTokens and OutputTokens, differ. If the server gave no counts, InputTokens
	// and OutputTokens hold the tool's counts, too.
	CountedInput  *int64 `json:"counted_input,omitempty"`
	CountedOutput *int64 `json:"counted_output,omitempty"`
	// EndNS is the time at which the tool was done with a successful request, after
	// its last response.
	EndNS *uint64 `json:"end_ns,omitempty"`
	// ErrorType is the tool's name for the kind of a failure.
	ErrorType string `json:"error_type,omitempty"`
	// ErrorCause and ErrorChain are the causes that the tool gives for the failure.
	ErrorCause string   `json:"error_cause,omitempty"`
	ErrorChain []string `json:"error_chain,omitempty"`
	// Figures are further figures of the request, by the tool's names and in its
	// units, which no other member holds.
	Figures map[string]float64 `json:"figures,omitempty"`
}

// IsSilent returns a function that reports whether Silent holds i. It looks through a long list once,
// because an answer can have as many silent responses as it has responses. s may be nil.
func (s *Stated) IsSilent() func(i int) bool {
	const short = 8
	switch {
	case s == nil || len(s.Silent) == 0:
		return func(int) bool { return false }
	case len(s.Silent) <= short:
		return func(i int) bool { return slices.Contains(s.Silent, i) }
	}
	all := make(map[int]struct{}, len(s.Silent))
	for _, i := range s.Silent {
		all[i] = struct{}{}
	}
	return func(i int) bool {
		_, silent := all[i]
		return silent
	}
}

// Clone returns a copy of s that shares no memory with it.
func (s *Stated) Clone() *Stated {
	if s == nil {
		return nil
	}
	c := *s
	for _, p := range []**int64{&c.InputTokens, &c.OutputTokens, &c.ReasoningTokens, &c.CachedTokens, &c.TokenEvents, &c.CountedInput, &c.CountedOutput} {
		if *p != nil {
			n := **p
			*p = &n
		}
	}
	if s.EndNS != nil {
		n := *s.EndNS
		c.EndNS = &n
	}
	if s.Streamed != nil {
		b := *s.Streamed
		c.Streamed = &b
	}
	if s.Silent != nil {
		c.Silent = append([]int{}, s.Silent...)
	}
	c.ErrorChain, c.Figures = slices.Clone(s.ErrorChain), maps.Clone(s.Figures)
	return &c
}
