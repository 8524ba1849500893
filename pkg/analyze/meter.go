package analyze

import (
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// A Meter measures requests one by one.
//
// A Meter is for one goroutine.
type Meter struct {
	cfg Config
	d   Decoder
	out Measured
	// pauses are the pauses of the run.
	pauses pauses
	// record is the statement of the run's metadata on streaming; nil: none.
	record *bool
	// The file of another tool does not hold these.
	noGaps, noEnds bool
}

// A Measured is a request's standing and its measures.
type Measured struct {
	// Counted says that the request is successful and measured: it is in the
	// metrics.
	Counted bool
	// Excluded is the reason why the request is not counted: "warmup", "cancelled",
	// "late", "failed" or, if Selection.WithoutPauses leaves it out, "paused".
	Excluded string
	// Paused says that a pause of the recorder touched the request.
	Paused bool
	// leftOut says that it counts for nothing because of that.
	leftOut bool
	// Class is the kind of failure, for "failed": "http_error", …, or
	// NoResponse.
	Class string
	// Message is the server's or the client's message about a failure.
	Message string
	// Measures are filled whether the request counts or not. The measures of tokens are
	// missing unless the answer was streamed.
	Measures
	// Streamed says whether the answer was streamed. Where it is StreamedUnknown, the
	// other requests of the level decide: see ShowsStream and AsStreamed.
	Streamed Streamed
	// NotCounted says why the tokenizer could not count the output, whose number of
	// tokens is then missing; nil for all other requests.
	NotCounted error
	Answer     *Answer
	// FromNS is the time at which latencies begin; 0 if it was not recorded.
	FromNS uint64

	withheld withheld
	shows    bool
}

// excludedPaused is why a request is left out that a pause touched.
const excludedPaused = "paused"

// NoResponse is the class of requests that are said to have succeeded, or of
// which nothing is said, but that have no response: nothing was measured.
const NoResponse = "no_response"

// NewMeter returns a Meter for the requests of run.
func NewMeter(run *export.Run, cfg Config) *Meter {
	m := &Meter{cfg: cfg, pauses: pausesOf(run)}
	if run.ServiceKind != nil {
		m.d.ServiceKind = *run.ServiceKind
	}
	if run.Endpoint != nil {
		_, m.d.Numbers = openai.Numbers(*run.Endpoint)
	}
	m.d.KeepText = cfg.Counter != nil
	if run.Meta != nil {
		m.record = run.Meta.Streaming
	}
	_, m.noGaps = run.Lacks(export.PartGaps)
	_, m.noEnds = run.Lacks(export.PartEnds)
	return m
}

// Measure looks at one request. The result is valid until the next call.
func (m *Meter) Measure(r *export.Request) *Measured {
	a := m.d.Decode(r)
	m.out = Measured{Measures: m.out.Measures, Answer: a, FromNS: m.cfg.From.of(r)}
	m.out.standing(r, m.cfg.IncludeWarmup)
	m.out.Paused = m.pauses.touch(r)
	m.out.leftOut = m.out.Paused && m.cfg.Selection.WithoutPauses
	if m.out.leftOut && (m.out.Counted || m.out.Excluded == "failed") {
		m.out.Counted, m.out.Excluded, m.out.Class, m.out.Message = false, excludedPaused, "", ""
	}
	m.out.measure(r, a, m.out.FromNS)
	m.withhold(r.Stated)
	if !m.d.Numbers {
		m.out.OutputTokens, m.out.TokenSource, m.out.NotCounted = a.count(m.cfg.TokenSource, m.cfg.Counter, r.Stated)
	}
	m.out.Streamed = m.streamed(r, a)
	if m.out.shows = m.out.Streamed == StreamedYes && len(r.Responses) > 1; m.out.Streamed != StreamedYes && len(r.Responses) > 0 {
		m.out.withholdTokens()
	}
	u := a.Usage.or(r.Stated)
	m.out.InputTokens, m.out.ReasoningTokens, m.out.CachedTokens = u.Input, u.Reasoning, u.Cached
	return &m.out
}

// refusing reports whether the tokenizer could not count the last request's output.
// Such a text can take many seconds.
func (m *Meter) refusing() bool { return m.out.NotCounted != nil }

// withhold takes back what the responses of the file only seem to show.
func (m *Meter) withhold(st *export.Stated) {
	if m.noEnds {
		m.out.E2EL = Value{}
	}
	if !m.noGaps {
		return
	}
	events := int64(m.out.Events)
	if st != nil && st.TokenEvents != nil {
		m.out.Events = int(*st.TokenEvents)
	}
	if int64(m.out.Events) != events || st == nil || st.TokenEvents == nil {
		m.out.Gaps, m.out.TTST = m.out.Gaps[:0], Value{}
		m.out.SharedStamps, m.out.Backward = 0, 0
	}
}

// or returns u, with the file's stated numbers in place of the ones that the server did
// not give.
func (u Usage) or(st *export.Stated) Usage {
	if st == nil {
		return u
	}
	for _, x := range []struct {
		to   *Value
		from *int64
	}{{&u.Input, st.InputTokens}, {&u.Reasoning, st.ReasoningTokens}, {&u.Cached, st.CachedTokens}} {
		if !x.to.OK && x.from != nil {
			*x.to = some(*x.from)
		}
	}
	return u
}

// standing decides whether a request counts. A file that says nothing about
// it (perf_analyzer's) can still hold an error in the stream: perf_analyzer
// looks at the HTTP status only, and an error after 200 is a success to it.
func (m *Measured) standing(r *export.Request, includeWarmup bool) {
	reason := r.Excluded()
	if reason == "warmup" && includeWarmup {
		q := *r
		q.Phase = export.PhaseMeasured
		reason = q.Excluded()
	}
	m.Message = r.Message
	if reason == "failed" {
		m.Class = r.Status.String()
	}
	if reason == "" && !r.HasMeta && m.Answer.Failure != "" {
		reason, m.Class, m.Message = "failed", export.StatusRPCError.String(), m.Answer.Failure
	}
	if reason == "" && len(r.Responses) == 0 {
		reason, m.Class = "failed", NoResponse
	}
	m.Excluded, m.Counted = reason, reason == ""
}
