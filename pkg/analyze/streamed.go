package analyze

import (
	"bytes"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// Streamed says whether the answer to a request was streamed. A request that was not
// streamed has an end-to-end latency, but no token times: its only response does not
// count as a token, whatever it holds.
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
//  1. Config.Streaming
//  2. the record: of the request, else of the run
//  3. "stream" in the request's body, or its tensor of that name
//  4. the shape of the answer: a JSON body, or server-sent events
//  5. several responses
func (m *Meter) streamed(r *export.Request, a *Answer) Streamed {
	switch st := r.Stated; {
	case m.cfg.Streaming != nil:
		return streamedIf(*m.cfg.Streaming)
	case st != nil && st.Streamed != nil:
		return streamedIf(*st.Streamed)
	case m.record != nil:
		return streamedIf(*m.record)
	}
	if yes, said := asksStream(r.Inputs); said {
		return streamedIf(yes)
	}
	if a.shape != StreamedUnknown {
		return a.shape
	}
	if len(r.Responses) > 1 || r.Stated != nil && r.Stated.TokenEvents != nil && *r.Stated.TokenEvents > 1 {
		return StreamedYes
	}
	return StreamedUnknown
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
// streamed, and stores the ones that a single response can have in m.withheld.
func (m *Measured) withholdTokens() {
	m.withheld = withheld{ttft: m.TTFT}
	m.TTFT, m.TTFAT, m.TTST, m.Spread = Value{}, Value{}, Value{}, Value{}
	m.Gaps, m.SharedStamps, m.Backward = m.Gaps[:0], 0, 0
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

// tokensWithheld reports whether the output tokens could only be counted by responses
// that are not tokens.
func (m *Measured) tokensWithheld() bool { return m.withheld.source != TokenAuto }

// An undecided holds the values that a counted request adds if its level turns out
// to be streamed.
type undecided struct {
	ttft   int64 // or noLatency
	output int32 // token events; −1 if its tokens are counted in another way
	timed  int32 // its index in collector.timed
}

func (c *collector) undecide(p *Point) {
	u := undecided{ttft: orNone(p.withheld.ttft), output: -1, timed: int32(len(c.timed))}
	if p.tokensWithheld() {
		u.output = int32(p.withheld.output.V)
	}
	c.undecided = append(c.undecided, u)
}

// resolve decides about the StreamedUnknown requests after all requests of the level
// were read.
func (c *collector) resolve(streamed bool) {
	if !streamed {
		return
	}
	if c.sloStreamed != nil {
		c.slo = c.sloStreamed
	}
	for _, u := range c.undecided {
		if u.ttft != noLatency {
			c.timed[u.timed].ttft = u.ttft
			c.value("ttft_ns", u.ttft)
		}
		if u.output >= 0 {
			c.value("output_tokens", int64(u.output))
			c.output.add(int64(u.output))
			c.sources[TokenAuto]--
			c.sources[TokenResponses]++
			c.odd.noTokens--
			c.streams.uncounted--
		}
	}
	c.streams.unknown = 0
	c.undecided = nil
}

// value adds a value of the metric with that key.
func (c *collector) value(key string, v int64) {
	for i := range Strict {
		if Strict[i].Key == key {
			c.whole[i].add(v)
		}
	}
}

// streamCount counts the measured requests by whether they were streamed.
type streamCount struct {
	not, unknown int
	// uncounted is the number of these requests whose tokens only responses count.
	uncounted int
}

func (s *streamCount) add(p *Point) {
	switch {
	case p.numbers:
		return
	case p.Streamed == StreamedNo:
		s.not++
	case p.Streamed == StreamedUnknown:
		s.unknown++
	default:
		return
	}
	if p.tokensWithheld() {
		s.uncounted++
	}
}

// Reasons that reports give if answers were not streamed, or may not have been.
const (
	whyUnknown   = "one response per request; --streaming if it was streamed"
	whyNot       = "not streamed"
	whyUncounted = "not streamed, and the server states no usage; --tokenizer counts the text"
	howToStream  = "; record with --streaming for these"
)

// unavailable returns the metrics that no request of the level has because the
// answers were not streamed, or may not have been.
func (c *collector) unavailable(metrics []Metric, run *export.Run, cfg Config) []Unavailable {
	s := c.streams
	if s.not+s.unknown == 0 {
		return nil
	}
	why, uncounted := whyUnknown, whyUnknown
	if s.unknown == 0 {
		why, uncounted = whyNot, whyUncounted
		if cfg.Streaming == nil && run.ServiceKind != nil && *run.ServiceKind == "openai" && (run.Meta == nil || run.Meta.Import == nil) {
			why += howToStream
		}
	}
	var all []Unavailable
	for i := range Strict {
		d := &Strict[i]
		switch {
		case metricOf(metrics, d.Key) != nil:
		case d.needsStream:
			all = append(all, Unavailable{d.Key, d.Name, why})
		case d.Key == "output_tokens" && s.uncounted > 0:
			all = append(all, Unavailable{d.Key, d.Name, uncounted})
		}
	}
	if s.uncounted > 0 {
		all = append(all, Unavailable{"output_tokens_per_s", "token rates", uncounted})
	}
	return all
}
