package answer

import "github.com/pa-tools/pa/pkg/export"

// A WaterfallPart is a part of the TTFT of a request.
type WaterfallPart uint8

// The parts of a TTFT, in the order of time.
const (
	WaitPart        WaterfallPart = iota // until the connection of the request was begun, or its first byte left
	ConnectPart                          // until the first byte left
	SendPart                             // until the last byte left
	QueuePart                            // in the queue of the server
	PrefillPart                          // until the server had processed the prompt
	FirstDecodePart                      // until the server had the first token
	RestPart                             // the network, the front end of the server, and parts that are not known
	NumWaterfallParts
)

var partNames = [NumWaterfallParts]string{"wait", "connect", "send", "queue", "prefill", "first decode", "network and rest"}

// String returns the name of the part: "queue".
func (p WaterfallPart) String() string { return partNames[p] }

// AtServer reports whether the server states the part.
func (p WaterfallPart) AtServer() bool { return p >= QueuePart && p <= FirstDecodePart }

// A Waterfall divides the TTFT of a request into parts, whose sum it is.
type Waterfall struct {
	// Parts are times in ns. A part that is not known is missing; its time is in the rest. The rest is below 0 if the
	// server states more time than passed for the client.
	Parts [NumWaterfallParts]export.Int
	// BoundNS bounds the error of the rest that comes from the clocks of the client and the server.
	BoundNS int64
}

// The error of a time that the server states, beside a time of the client. Each of the two clocks runs at most 500 parts per
// million too fast or too slow. The last digit of the server's number is rounded.
const (
	clockRates    = 1000 // 1 / the difference of the rates
	statedRoundNS = 1000
)

// Waterfall returns the parts of the TTFT. ok is false for a request without a TTFT, and for one whose answer states
// no time before its first token.
func (m *Measures) Waterfall() (w Waterfall, ok bool) {
	queue, prefill, first := m.Server.Queue, m.Server.Prefill, m.Server.TTFT
	if !m.TTFT.OK || !queue.OK && !prefill.OK && !first.OK {
		return w, false
	}
	p := &w.Parts
	p[WaitPart], p[ConnectPart], p[SendPart] = m.Wait, m.Connect, m.Send
	p[QueuePart], p[PrefillPart] = queue, prefill
	switch after := first.V - queue.V; {
	case first.OK && prefill.OK && after == prefill.V: // as vLLM, whose prefill ends with the first token
	case first.OK && prefill.OK:
		p[FirstDecodePart] = export.IntOf(after - prefill.V)
	case first.OK: // the server does not tell the two apart
		p[PrefillPart] = export.IntOf(after)
	}
	rest := m.TTFT.V
	for i, v := range p {
		rest -= v.V
		if v.OK && WaterfallPart(i).AtServer() {
			w.BoundNS += max(v.V, -v.V)/clockRates + statedRoundNS
		}
	}
	p[RestPart] = export.IntOf(rest)
	return w, true
}

// clientParts sets the parts of the TTFT, which begins at from, before the request had left.
func (m *Measures) clientParts(r *export.Request, from uint64) {
	if from == 0 || r.StartNS == 0 || !m.TTFT.OK {
		return
	}
	first := from + uint64(m.TTFT.V)
	if wait := Elapsed(from, min(r.StartNS, first)); wait.OK && wait.V > 0 {
		opened := int64(max(0, r.DNS) + max(0, r.Connect) + max(0, r.TLS))
		m.Connect = export.IntOf(min(wait.V, max(0, opened)))
		m.Wait = export.IntOf(wait.V - m.Connect.V)
	}
	if left := min(r.SentNS, first); from <= r.StartNS && r.StartNS <= left {
		m.Send = export.IntOf(int64(left - r.StartNS))
	}
}

// partOf returns the function that returns a part of the TTFT.
func partOf(p WaterfallPart) func(*Measures) export.Int {
	return func(m *Measures) export.Int {
		w, ok := m.Waterfall()
		if !ok {
			return export.Int{}
		}
		return w.Parts[p]
	}
}

// DraftRatio returns the AcceptanceLength or the DraftAcceptance of a request that speculated, if its answer states it.
func (m *Measures) DraftRatio(x Metric) (ratio float64, ok bool) {
	below, more := m.Server.DraftTokens, 0.0
	if x == AcceptanceLength {
		below, more = m.Server.DraftSteps, 1
	}
	if accepted := m.Server.AcceptedTokens; accepted.OK && below.OK && below.V > 0 {
		return more + float64(accepted.V)/float64(below.V), true
	}
	return 0, false
}
