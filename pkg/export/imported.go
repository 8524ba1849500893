package export

import (
	"maps"
	"slices"
)

// An Import marks a run that was read from the result file of another tool, and names the
// parts that the file lacks. It is stored as JSON under "import" in
// the "pa" of the run.
type Import struct {
	// Format names the tool and its file: "GuideLLM benchmarks.json".
	Format string `json:"format"`
	// Lacks are the parts that the file lacks. Figures that need such a part have no
	// value.
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
	// Mode and Value name the level that lacks the part, if not all levels do.
	Mode  string `json:"mode,omitempty"`
	Value string `json:"value,omitempty"`
}

// A Part is a part of a run that result files of other tools may lack.
type Part string

// Parts of a run.
const (
	// PartEpoch: the instants are of a clock whose zero is unknown. Their
	// differences are right.
	PartEpoch Part = "epoch"
	// PartStarts: when requests were sent. All requests are at one instant, so that
	// only times within a request are known: no rates, no order, no windows.
	PartStarts Part = "starts"
	// PartGaps: token events between the first and the last.
	PartGaps Part = "gaps"
	// PartLast: when the last token came.
	PartLast Part = "last_token"
	// PartEnds: when the answers were over. The last response of a request is
	// its last token event at best.
	PartEnds Part = "ends"
	// PartTexts: the texts of single responses.
	PartTexts Part = "texts"
	// PartInputs: the inputs of requests.
	PartInputs Part = "inputs"
	// PartRequests: requests that the file counts and does not hold. Times within the others
	// are known; rates, shares and the order of all requests are not.
	PartRequests Part = "requests"
)

// Lacks returns why the file of the run lacks a part, of all levels or of some; ok is false if it has
// the part, or if the run does not tell. A file that lacks requests lacks their starts, too.
func (r *Run) Lacks(p Part) (why string, ok bool) {
	return r.lacks(p, func(*Lack) bool { return true })
}

// LevelLacks is Lacks for the levels with a mode and a value.
func (r *Run) LevelLacks(mode, value string, p Part) (why string, ok bool) {
	return r.lacks(p, func(l *Lack) bool { return l.ofAll() || l.Mode == mode && l.Value == value })
}

// AllLack is Lacks for parts that no level has.
func (r *Run) AllLack(p Part) (why string, ok bool) { return r.lacks(p, (*Lack).ofAll) }

func (l *Lack) ofAll() bool { return l.Mode == "" && l.Value == "" }

func (r *Run) lacks(p Part, counts func(*Lack) bool) (why string, ok bool) {
	if r.Meta == nil || r.Meta.Import == nil {
		return "", false
	}
	for i := range r.Meta.Import.Lacks {
		if l := &r.Meta.Import.Lacks[i]; l.Part == p && counts(l) {
			return l.Why, true
		}
	}
	if p == PartStarts {
		return r.lacks(PartRequests, counts)
	}
	return "", false
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
