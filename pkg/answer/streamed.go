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
	if yes, stated := asksStream(r.Inputs); stated {
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

// asksStream reports whether the inputs of a request ask for a streamed answer; stated
// is false if they say nothing about it.
func asksStream(inputs export.Fields) (yes, stated bool) {
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

// A streamState holds what a StreamQueue needs to know of a request.
type streamState struct {
	// shows says that the request shows that its level was streamed.
	shows bool
	// undecided says that the request was streamed if its level was. ttft, output and source are then withheld.
	undecided    bool
	ttft, output export.Int
	source       TokenSource
}

// withholdTokens removes the token times of a request that is not known to be
// streamed. m.stream keeps the values that a single response of a stream would have.
func (m *Measured) withholdTokens() {
	m.stream = streamState{ttft: m.TTFT}
	m.TTFT, m.TTFAT, m.TTST, m.Spread = export.Int{}, export.Int{}, export.Int{}, export.Int{}
	m.TimedTokens, m.HiddenTokens, m.Untimed = export.Int{}, export.Int{}, false
	m.Gaps, m.GapTokens, m.SharedStamps, m.Backward = m.Gaps[:0], m.GapTokens[:0], 0, 0
	if m.Uncounted = m.TokenSource == TokenResponses; m.Uncounted {
		m.stream.output, m.stream.source = m.OutputTokens, m.TokenSource
		m.OutputTokens, m.TokenSource = export.Int{}, TokenAuto
	}
}

// asStreamed gives a StreamedUnknown request the measures of a streamed one.
func (m *Measured) asStreamed() {
	m.Streamed, m.stream.undecided = StreamedYes, false
	m.TTFT = m.stream.ttft // it has one response: no gaps
	if m.Events == 1 && m.TTFT.OK {
		m.Spread = export.IntOf(0)
	}
	if m.Uncounted {
		m.OutputTokens, m.TokenSource, m.Uncounted = m.stream.output, m.stream.source, false
	}
}
