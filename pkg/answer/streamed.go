package answer

import (
	"bytes"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// Streamed says whether the answer to a request was streamed. A request that was not
// streamed has an end-to-end latency, but no token times: its only response never counts
// as a token.
type Streamed uint8

// StreamedUnknown is for a request that has one response, whose shape does not show
// whether it was streamed; only other requests of its level can tell.
const (
	StreamedUnknown Streamed = 0
	StreamedYes     Streamed = 1
	StreamedNo      Streamed = 2
)

func streamedIf(yes bool) Streamed {
	if yes {
		return StreamedYes
	}
	return StreamedNo
}

// streamed returns whether the answer to r was streamed, by the first of these
// that tells it:
//
//  1. Config.Streaming, then the columns of the file
//  2. the record of the request
//  3. the shape of the answer: a JSON body, or a stream of events or lines
//  4. the record of the run
//  5. "stream" in the request's body, or its tensor of that name
//  6. several responses
//
// The answer comes before the request, because a server need not do what it is asked for.
func (m *Meter) streamed(r *export.Request, a *Answer) Streamed {
	switch st := r.Stated; {
	case m.cfg.Streaming != nil:
		return streamedIf(*m.cfg.Streaming)
	case a.stored != nil:
		return *a.stored
	case st != nil && st.Streamed != nil:
		return streamedIf(*st.Streamed)
	case a.shape != StreamedUnknown:
		return a.shape
	}
	if asked := m.asked(r); asked != StreamedUnknown {
		return asked
	}
	if n, _ := m.statedEvents(r.Stated); r.NumResponses() > 1 || n > 1 {
		return StreamedYes
	}
	return StreamedUnknown
}

// asked returns whether r asked for a streamed answer, by the record of the run or by its inputs.
func (m *Meter) asked(r *export.Request) Streamed {
	if m.recorded != nil {
		return streamedIf(*m.recorded)
	}
	if yes, said := asksStream(r.Inputs); said {
		return streamedIf(yes)
	}
	return StreamedUnknown
}

// unlikeAsked sets Unlike of a request whose answer shows by itself whether it was streamed.
func (m *Meter) unlikeAsked(r *export.Request, a *Answer) {
	if m.cfg.Streaming == nil && r.Stated == nil && !a.Numbers && (a.shape != StreamedUnknown || a.stored != nil) {
		asked := m.asked(r)
		m.out.Unlike = asked != StreamedUnknown && m.out.Streamed != StreamedUnknown && asked != m.out.Streamed
	}
}

// asksStream reports whether the inputs of a request ask for a streamed answer; said
// is false if they say nothing about it.
func asksStream(inputs export.Fields) (yes, said bool) {
	body, ok := inputs.Get("payload")
	if !ok || !body.Text {
		return inputs.StreamFlag()
	}
	if !bytes.Contains(body.Data, []byte(`"stream"`)) { // a body is long, and most do not say it
		return false, false
	}
	info, err := openai.InspectRequest(body.Data)
	return info.Stream, info.HasStream && err == nil
}

// withheld holds the measures that a request has only if its answer was streamed.
type withheld struct {
	ttft, output Value
	source       TokenSource
}

// withholdTokens removes the token times of a request that is not known to be
// streamed, and stores the times that a single response can have in m.withheld.
func (m *Measured) withholdTokens() {
	m.withheld = withheld{ttft: m.TTFT}
	m.TTFT, m.TTFAT, m.TTST, m.Spread = Value{}, Value{}, Value{}, Value{}
	m.TimedTokens, m.HiddenTokens, m.Untimed = Value{}, Value{}, false
	m.Gaps, m.GapTokens, m.SharedStamps, m.Backward = m.Gaps[:0], m.GapTokens[:0], 0, 0
	if m.TokenSource == TokenResponses {
		m.withheld.output, m.withheld.source = m.OutputTokens, m.TokenSource
		m.OutputTokens, m.TokenSource = Value{}, TokenAuto
	}
}

// ShowsStream reports whether the request shows that its level was streamed. The
// StreamedUnknown requests of the level then count as streamed, too.
func (m *Measured) ShowsStream() bool { return m.shows }

// AsStreamed gives a StreamedUnknown request the measures of a streamed one. Other
// requests stay unchanged.
func (m *Measured) AsStreamed() {
	if m.Streamed != StreamedUnknown {
		return
	}
	m.Streamed = StreamedYes
	m.TTFT = m.withheld.ttft // it has one response: no gaps
	if m.withheld.source != TokenAuto {
		m.OutputTokens, m.TokenSource = m.withheld.output, m.withheld.source
	}
	m.withheld = withheld{}
}

// IfStreamed returns the measures that AsStreamed would add to a StreamedUnknown
// request: its time to first token, and its number of output tokens if only its
// responses can count them.
func (m *Measured) IfStreamed() (ttft, outputTokens Value) {
	return m.withheld.ttft, m.withheld.output
}

// TokensWithheld reports whether only responses that are not tokens could count the
// output tokens.
func (m *Measured) TokensWithheld() bool { return m.withheld.source != TokenAuto }
