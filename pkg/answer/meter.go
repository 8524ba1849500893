package answer

import (
	"bytes"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// A Config says how to measure requests. The zero value is the strict default.
type Config struct {
	// From is the time at which TTFT, TTFAT and E2EL begin.
	From From
	// TokenSource is the source of the number of output tokens; TokenAuto takes the
	// best source of each request. With another source, a request that lacks it has no
	// number of output tokens.
	TokenSource TokenSource
	// Counter counts tokens of texts; nil means that there is no tokenizer.
	Counter TokenCounter
	// Tokenizer is the SHA-256 of the Counter's file in hex; "" if it is not known. Only
	// Matches uses it.
	Tokenizer string
	// Streaming says whether answers were streamed; nil leaves that to the file.
	Streaming *bool
	// IncludeWarmup counts successful warm-up requests like measured ones.
	IncludeWarmup bool
	// WithoutPauses leaves out requests that a pause of the recorder touched.
	WithoutPauses bool
	// Realtime asks for Measured.Realtime.
	Realtime bool
}

// A Meter measures requests one by one.
//
// A Meter is for one goroutine.
type Meter struct {
	cfg     Config
	decoder Decoder
	out     Measured
	pauses  Pauses
	// recorded is the streaming flag in the run's metadata; nil without one.
	recorded *bool
	// bounds are the values of requests that can be true.
	bounds Bounds
	// noGaps and noEnds say that the file of another tool lacks the times of token
	// events and of ends.
	noGaps, noEnds bool
}

// A Measured holds the measures of a request, and says whether the request counts.
type Measured struct {
	// Counted says that the request succeeded in the measurement: it is in the
	// metrics.
	Counted bool
	// Excluded is the reason why the request is not counted. With Config.WithoutPauses it may be
	// ExcludedPaused.
	Excluded export.Exclusion
	// Paused says that a pause of the recorder touched the request.
	Paused bool
	// LeftOut says that Config.WithoutPauses removed the request from all figures.
	LeftOut bool
	// Class is the kind of failure of a failed request: "http_error", …, or
	// NoResponse.
	Class string
	// Message is the server's or the client's message about a failure.
	Message string
	// Measures are filled whether the request counts or not. The measures of tokens are
	// missing unless the answer was streamed.
	Measures
	// Streamed says whether the answer was streamed. Where it is StreamedUnknown, the
	// other requests of the level decide: see StreamQueue.
	Streamed Streamed
	// Uncounted says that only responses could count the output tokens, and that they are no tokens,
	// because the answer is not known to be streamed.
	Uncounted bool
	// Unlike says that the request asked for the contrary of Streamed: the server sent a whole answer in
	// place of a stream, or a stream that nobody asked for.
	Unlike bool
	// NotCounted is the error of the tokenizer that could not count the output, whose
	// number of tokens is then missing; nil for all other requests.
	NotCounted error
	// Answer is the decoded answer; the next Measure reuses it.
	Answer *Answer
	// Content is of the Answer.
	Content
	// FromNS is the time at which latencies begin; 0 if it was not recorded.
	FromNS uint64
	// PlaceNS is the time that places the request in its run, as the function PlaceNS returns it; 0 if the
	// request started at a time that cannot be true.
	PlaceNS uint64

	// Realtime holds the times that depend on the audio of a request to v1/realtime; nil for other requests.
	Realtime *Realtime

	stream streamState
}

// ExcludedPaused is Measured.Excluded of a request that a pause touched.
const ExcludedPaused export.Exclusion = "paused"

// NoResponse is the Class of requests that succeeded, or whose outcome is unknown, but
// that have no response to measure.
const NoResponse = "no_response"

// NewMeter returns a Meter for the requests of run.
func NewMeter(run *export.Run, cfg Config) *Meter {
	m := &Meter{cfg: cfg, pauses: PausesOf(run), bounds: BoundsOf(run), decoder: NewDecoder(run, cfg.Counter != nil)}
	if run.Meta != nil {
		m.recorded = run.Meta.Streaming
	}
	_, m.noGaps = run.Lacks(export.PartGaps)
	_, m.noEnds = run.Lacks(export.PartEnds)
	return m
}

// Measure decodes and measures one request. The result is valid until the next call.
func (m *Meter) Measure(r *export.Request) *Measured {
	return m.MeasureAnswer(r, m.decoder.Decode(r))
}

// MeasureAnswer measures a request with the answer a, which a Decoder for the same run
// decoded; it must have kept the texts if the Meter counts tokens. It does not change a. The
// result is valid until the next call.
func (m *Meter) MeasureAnswer(r *export.Request, a *Answer) *Measured {
	m.out = Measured{Measures: m.out.Measures, Answer: a, Content: a.Content, FromNS: m.cfg.From.Of(r)}
	m.out.classify(r, m.cfg.IncludeWarmup)
	m.out.Paused = m.pauses.Touch(r)
	m.out.LeftOut = m.out.Paused && m.cfg.WithoutPauses
	if m.out.LeftOut && (m.out.Counted || m.out.Excluded == export.ExcludedFailed) {
		m.out.Counted, m.out.Excluded, m.out.Class, m.out.Message = false, ExcludedPaused, "", ""
	}
	m.out.measure(r, a, m.out.FromNS, &m.bounds)
	if !m.out.StartWrong {
		m.out.PlaceNS = PlaceNS(r)
	}
	m.dropUnsupported(r.Stated)
	if !m.decoder.Numbers {
		m.out.OutputTokens, m.out.TokenSource, m.out.NotCounted = a.count(m.cfg.TokenSource, m.cfg.Counter, r.Stated)
		if _, stated := m.statedEvents(r.Stated); m.noGaps && m.out.TokenSource == TokenResponses && !stated {
			m.out.OutputTokens, m.out.TokenSource = export.Int{}, TokenAuto // the responses are not all token events
		}
	}
	u := a.Usage.or(r.Stated)
	if !u.Input.OK {
		u.Input = promptIDs(r)
	}
	m.out.InputTokens, m.out.ReasoningTokens, m.out.CachedTokens = u.Input, u.Reasoning, u.Cached
	m.out.keepTokens(&m.bounds)
	if s := m.out.TokenSource; (s == TokenUsage || s == TokenIDs) && m.out.OutputTokens.OK {
		m.out.TimedTokens, m.out.Untimed, m.out.HiddenTokens = a.Timed, a.Untimed, a.Hidden
	}
	m.out.Streamed = m.streamed(r, a)
	m.unlikeAsked(r, a)
	switch n := r.NumResponses(); {
	case m.out.Streamed == StreamedYes:
		m.out.stream.shows = n > 1
	case n > 0:
		m.out.withholdTokens()
		m.out.stream.undecided = m.out.Streamed == StreamedUnknown && !a.Numbers
	}
	if m.decoder.Audio != openai.NoAudio {
		m.out.measureAudio(m.decoder.Audio, r, a, &m.bounds)
	}
	m.out.keepServer(&a.Server, &m.bounds)
	if m.decoder.images && !a.Dropped && a.stored == nil && r.NumResponses() > 0 {
		m.out.addImages(r, a, m.out.FromNS, &m.bounds)
	}
	if m.cfg.Realtime {
		m.out.Realtime = m.realtime(r, a)
	}
	return &m.out
}

// promptIDs returns the number of token ids that r sent as its prompt; missing if the prompt is a text.
func promptIDs(r *export.Request) export.Int {
	body, ok := r.Inputs.Get("payload")
	if !ok || !body.Text || !bytes.Contains(body.Data, []byte(`_ids"`)) && !bytes.Contains(body.Data, []byte(`"prompt"`)) {
		return export.Int{} // most requests: a body is long
	}
	n, ok := openai.PromptIDs(body.Data)
	return export.Int{V: n, OK: ok}
}

// dropUnsupported removes measures that the responses of another tool's file only seem
// to support: the file lacks the times from which they are computed. An answer of two tokens
// has its only gap, but the gaps of such answers are no sample of the gaps of all answers.
func (m *Meter) dropUnsupported(st *export.Stated) {
	if m.noEnds {
		m.out.E2EL = export.Int{}
	}
	if !m.noGaps {
		return
	}
	if n, stated := m.statedEvents(st); stated {
		m.out.Events = n
	} else if st != nil && st.TokenEvents != nil {
		m.out.addWrong(TokenEvents, *st.TokenEvents)
	}
	m.out.Gaps, m.out.GapTokens, m.out.TTST = m.out.Gaps[:0], m.out.GapTokens[:0], export.Int{}
	m.out.SharedStamps, m.out.Backward = 0, 0
}

// statedEvents returns the number of token events that the file of another tool states; ok is false if it
// states none, or a number that cannot be true.
func (m *Meter) statedEvents(st *export.Stated) (n int, ok bool) {
	if st == nil || st.TokenEvents == nil || uint64(*st.TokenEvents) > m.bounds.events {
		return 0, false
	}
	return int(*st.TokenEvents), true
}

// or returns u, with the file's stated numbers in place of the numbers that the server
// did not give.
func (u Usage) or(st *export.Stated) Usage {
	if st == nil {
		return u
	}
	for _, x := range []struct {
		to   *export.Int
		from *int64
	}{{&u.Input, st.InputTokens}, {&u.Reasoning, st.ReasoningTokens}, {&u.Cached, st.CachedTokens}} {
		if !x.to.OK && x.from != nil {
			*x.to = export.IntOf(*x.from)
		}
	}
	return u
}

// classify decides whether a request counts. perf_analyzer's files do not state the
// outcome of a request and may still hold an error in the stream: perf_analyzer looks
// only at the HTTP status, so an error after status 200 is a success to it.
func (m *Measured) classify(r *export.Request, includeWarmup bool) {
	reason := r.Excluded()
	if reason == export.ExcludedWarmup && includeWarmup {
		q := *r
		q.Phase = export.PhaseMeasured
		reason = q.Excluded()
	}
	m.Message = r.Message
	if reason == export.ExcludedFailed {
		m.Class = r.Status.String()
	}
	if reason == export.NotExcluded && !r.HasMeta && m.Answer.Failure != "" {
		reason, m.Class, m.Message = export.ExcludedFailed, export.StatusRPCError.String(), m.Answer.Failure
	}
	if reason == export.NotExcluded && r.NumResponses() == 0 {
		reason, m.Class = export.ExcludedFailed, NoResponse
	}
	m.Excluded, m.Counted = reason, reason == export.NotExcluded
}
