package export

import (
	"maps"
	"slices"
)

// An Import says of a run that it was read from the result file of another
// tool, and what that file does not hold. It is stored as JSON under "import" in
// the "pa" of the run.
type Import struct {
	// Format is what the file is called: "GuideLLM benchmarks.json".
	Format string `json:"format"`
	// Lacks are the parts that the file does not hold. What needs one of them
	// has no value.
	Lacks []Lack `json:"lacks,omitempty"`
	// Results holds, for each experiment in order, the facts that the file states
	// besides its requests, by the names and in the words of the tool: "duration",
	// "model_id". nil if none are kept.
	Results []map[string]string `json:"results,omitempty"`
}

// Result returns the [Import.Results] of an experiment; nil if there are none.
func (r *Run) Result(experiment int) map[string]string {
	if r.Meta == nil || r.Meta.Import == nil || experiment < 0 || experiment >= len(r.Meta.Import.Results) {
		return nil
	}
	return r.Meta.Import.Results[experiment]
}

// A Lack is a part of a run that a file does not hold, and why.
type Lack struct {
	Part Part   `json:"part"`
	Why  string `json:"why"` // "GuideLLM keeps the first and the last token of a request"
}

// A Part is one of the things that result files of other tools leave out.
type Part string

// Parts of a run.
const (
	// PartEpoch: the instants are of a clock of which it is not known when it
	// began. Their differences are good.
	PartEpoch Part = "epoch"
	// PartStarts: when requests were sent. All are put at one instant, so that
	// only what happened within a request can be told: no rates, no order, no
	// windows.
	PartStarts Part = "starts"
	// PartGaps: token events between the first and the last.
	PartGaps Part = "gaps"
	// PartLast: when the last token came.
	PartLast Part = "last_token"
	// PartEnds: when the answers were over. The last response of a request is
	// its last token event at best.
	PartEnds Part = "ends"
	// PartTexts: what the single responses held.
	PartTexts Part = "texts"
	// PartInputs: what was sent.
	PartInputs Part = "inputs"
)

// Lacks returns why the file of the run does not hold a part; ok is false when
// it does, or nothing is said about it.
func (r *Run) Lacks(p Part) (why string, ok bool) {
	if r.Meta == nil || r.Meta.Import == nil {
		return "", false
	}
	for _, l := range r.Meta.Import.Lacks {
		if l.Part == p {
			return l.Why, true
		}
	}
	return "", false
}

// Stated is what a file says of a request in so many words, where its responses
// do not show it: result files of other tools hold numbers of tokens instead of
// the texts that were counted. It is stored as JSON under "stated" in the "pa" of
// the request. A nil number is not stated.
type Stated struct {
	InputTokens     *int64 `json:"input_tokens,omitempty"`
	OutputTokens    *int64 `json:"output_tokens,omitempty"`
	ReasoningTokens *int64 `json:"reasoning_tokens,omitempty"`
	CachedTokens    *int64 `json:"cached_tokens,omitempty"`
	// TokenEvents is how many there were. Responses may hold fewer: the first
	// and the last.
	TokenEvents *int64 `json:"token_events,omitempty"`
	// Silent are the indices of responses that added no output.
	Silent []int `json:"silent,omitempty"`
	// Streamed says whether the answer was streamed; nil if RunMeta.Streaming of the
	// run holds.
	Streamed *bool `json:"streamed,omitempty"`
	// Text is the whole answer.
	Text *string `json:"text,omitempty"`
	// CountedInput and CountedOutput are the tool's own counts, where those of
	// the server, InputTokens and OutputTokens, are others. Where the server
	// said none, both are the tool's.
	CountedInput  *int64 `json:"counted_input,omitempty"`
	CountedOutput *int64 `json:"counted_output,omitempty"`
	// EndNS is when the tool was through with a request that succeeded, after
	// its last response.
	EndNS *uint64 `json:"end_ns,omitempty"`
	// ErrorType is what the tool calls the kind of a failure.
	ErrorType string `json:"error_type,omitempty"`
	// ErrorCause and ErrorChain are what it says led to that.
	ErrorCause string   `json:"error_cause,omitempty"`
	ErrorChain []string `json:"error_chain,omitempty"`
	// Figures are what the tool made of the request besides, by its own names and
	// in its units, where nothing else here holds it.
	Figures map[string]float64 `json:"figures,omitempty"`
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
