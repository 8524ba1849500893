package trace

import (
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A request holds what the trace shows of a request. Times are nanoseconds as in the export; 0 is
// none.
type request struct {
	slot int // of the closed loop that sent it
	lane int // thread that shows it

	// beginNS and endNS are the ends of the outer slice, startNS is when the request left.
	beginNS, startNS, endNS uint64
	connectNS               int64
	// ttft and e2el are the measures of pa-analyze's own report; spread is the time from the first token event to
	// the last.
	ttft, e2el, spread export.Int
	// queue, prefill and firstDecode are parts of the TTFT, as the server states them.
	queue, prefill, firstDecode export.Int
	stalls                      []stall

	args requestArgs
}

// A stall is a gap between token events that is far longer than the others.
type stall struct {
	atNS uint64 // start of the gap
	ns   int64
}

// requestArgs are the arguments of a request's slice.
type requestArgs struct {
	ID       uint64 `json:"id"`
	StartNS  int64  `json:"start_ns"` // from the origin
	TTFT     *int64 `json:"ttft_ns,omitempty"`
	E2EL     *int64 `json:"e2el_ns,omitempty"`
	Input    *int64 `json:"input_tokens,omitempty"`
	Cached   *int64 `json:"cached_input_tokens,omitempty"`
	Output   *int64 `json:"output_tokens,omitempty"`
	Events   int    `json:"token_events"`
	Status   string `json:"status"`
	Excluded string `json:"excluded,omitempty"`
	Message  string `json:"message,omitempty"`
	Model    string `json:"model,omitempty"`
	Session  string `json:"session,omitempty"`
	Turn     int    `json:"turn,omitempty"`
	Agent    string `json:"agent,omitempty"`
	// ParentAgent and Depth are in the slices of sessions.
	ParentAgent string `json:"-"`
	Depth       int    `json:"-"`
	Slot        int    `json:"slot"`
	Conn        int    `json:"connection"`
}

// newRequest returns what the trace shows of r, whose measures are m; it is valid as long as they
// are. index numbers the request in the file, for files that do not. ok is false for a request
// without any time, or with a time that cannot be true.
func newRequest(r *export.Request, m *answer.Measured, index uint64, finder *quality.Stalls) (q request, ok bool) {
	q = request{
		slot: r.Worker, startNS: r.StartNS, ttft: m.TTFT, e2el: m.E2EL, spread: m.Spread,
		connectNS: max(0, int64(r.DNS+r.Connect+r.TLS)),
		args: requestArgs{
			ID: index, Input: pointer(m.InputTokens), Cached: pointer(m.CachedTokens), Output: pointer(m.OutputTokens), Events: m.Events,
			Status: r.Status.String(), Excluded: string(m.Excluded), Message: m.Message, Model: r.Model,
			Session: r.SessionID, Turn: r.Turn, Agent: r.Agent, ParentAgent: r.ParentAgent, Depth: r.Depth, Slot: r.Worker, Conn: r.Conn,
		},
	}
	if r.HasMeta {
		q.args.ID = r.ID
	}
	if m.Class != "" {
		q.args.Status = m.Class
	}
	for _, t := range [...]uint64{r.ScheduledNS, r.IssuedNS, r.StartNS, r.FailedNS} {
		if t != 0 && (q.beginNS == 0 || t < q.beginNS) {
			q.beginNS = t
		}
	}
	if w, ok := m.Waterfall(); ok {
		q.queue, q.prefill, q.firstDecode = w.Parts[answer.QueuePart], w.Parts[answer.PrefillPart], w.Parts[answer.FirstDecodePart]
	}
	last, _ := r.LatestResponseNS()
	if q.beginNS == 0 {
		q.beginNS = last
	}
	q.endNS = max(q.beginNS, last, r.FailedNS)
	q.stalls = stallsOf(m, finder)
	return q, q.beginNS != 0 && !m.StartWrong && !m.EndWrong
}

// Places of the texts of a request: see [spool.Unpacker.Text].
const (
	statusText = iota
	excludedText
	messageText
	modelText
	sessionText
	agentText
	parentText
)

// pack appends q to p, without its lane and the arguments that write sets.
func (q *request) pack(p *spool.Packer) {
	a := &q.args
	p.Begin()
	p.Int(int64(q.beginNS))
	p.Int(int64(q.startNS - q.beginNS))
	p.Int(int64(q.endNS - q.beginNS))
	for _, v := range [...]int64{int64(q.slot), q.connectNS, int64(a.ID), int64(a.Events), int64(a.Turn), int64(a.Depth), int64(a.Slot), int64(a.Conn)} {
		p.Int(v)
	}
	for _, v := range [...]export.Int{q.ttft, q.e2el, q.spread, q.queue, q.prefill, q.firstDecode, valueAt(a.Input), valueAt(a.Cached), valueAt(a.Output)} {
		p.Flag(v.OK)
		p.Int(v.V)
	}
	for _, v := range [...]string{a.Status, a.Excluded, a.Message, a.Model, a.Session, a.Agent, a.ParentAgent} {
		p.Text(v)
	}
	p.Each(len(q.stalls), int64(q.beginNS), func(i int) int64 { return int64(q.stalls[i].atNS) })
	p.Each(len(q.stalls), 0, func(i int) int64 { return q.stalls[i].ns })
	p.End()
}

// unpack sets q to what pack appended, and uses the memory of its stalls again.
func (q *request) unpack(u *spool.Unpacker) {
	stalls := q.stalls[:0]
	u.Begin()
	*q = request{beginNS: uint64(u.Int())}
	q.startNS, q.endNS = q.beginNS+uint64(u.Int()), q.beginNS+uint64(u.Int())
	a := &q.args
	q.slot, q.connectNS, a.ID = int(u.Int()), u.Int(), uint64(u.Int())
	for _, v := range [...]*int{&a.Events, &a.Turn, &a.Depth, &a.Slot, &a.Conn} {
		*v = int(u.Int())
	}
	var input, cached, output export.Int
	for _, v := range [...]*export.Int{&q.ttft, &q.e2el, &q.spread, &q.queue, &q.prefill, &q.firstDecode, &input, &cached, &output} {
		v.OK, v.V = u.Flag(), u.Int()
	}
	a.Input, a.Cached, a.Output = pointer(input), pointer(cached), pointer(output)
	a.Status, a.Excluded, a.Message = u.Text(statusText), u.Text(excludedText), u.Text(messageText)
	a.Model, a.Session = u.Text(modelText), u.Text(sessionText)
	a.Agent, a.ParentAgent = u.Text(agentText), u.Text(parentText)
	u.Each(int64(q.beginNS), func(n int) {
		for range n {
			stalls = append(stalls, stall{})
		}
	}, func(i int, v int64) { stalls[i].atNS = uint64(v) })
	u.Each(0, func(int) {}, func(i int, v int64) { stalls[i].ns = v })
	q.stalls = stalls
}

// valueAt is the inverse of pointer.
func valueAt(v *int64) export.Int {
	if v == nil {
		return export.Int{}
	}
	return export.IntOf(*v)
}

// stallsOf returns the stalls of a request with one choice, in the order of time.
func stallsOf(m *answer.Measured, finder *quality.Stalls) []stall {
	events := m.Answer.Events
	if m.Events != len(m.Gaps)+1 || len(events) != m.Events || m.Impossible > 0 {
		return nil
	}
	var all []stall
	for _, i := range finder.Find(m.Gaps) {
		all = append(all, stall{events[i].RecvNS, m.Gaps[i]})
	}
	return all
}

// pointer returns nil for a missing value.
func pointer(v export.Int) *int64 {
	if !v.OK {
		return nil
	}
	return &v.V
}

// failed returns the name of the instant of a failure; "" for a request that did not fail.
func (q *request) failed() string {
	if q.args.Excluded != "failed" {
		return ""
	}
	return "failed: " + q.args.Status
}

// write writes the slices and instants of the request. origin is the time 0 of the file.
func (q *request) write(w *writer, pid int, origin uint64) {
	tid := q.lane + 1
	at := func(ns uint64) int64 { return int64(ns - origin) }
	args := q.args
	args.TTFT, args.E2EL, args.StartNS = pointer(q.ttft), pointer(q.e2el), at(q.startNS)
	if q.startNS == 0 {
		args.StartNS = at(q.beginNS)
	}
	dur := micros(q.endNS - q.beginNS)
	w.add(&event{Name: "request " + decimal(args.ID), Cat: "request", Phase: phaseSlice, Time: micros(at(q.beginNS)), Dur: &dur, PID: pid, TID: tid, Args: &args})
	if q.startNS > q.beginNS && q.startNS <= q.endNS {
		wait := int64(q.startNS - q.beginNS)
		connect := min(q.connectNS, wait)
		if wait > connect {
			w.slice("queue", pid, tid, at(q.beginNS), wait-connect)
		}
		if connect > 0 {
			w.slice("connect", pid, tid, at(q.startNS)-connect, connect)
		}
	}
	q.writeAnswer(w, pid, tid, origin)
	for _, s := range q.stalls {
		w.add(&event{Name: "stall", Cat: "stall", Phase: phaseInstant, Time: micros(at(s.atNS)), PID: pid, TID: tid, Scope: "t", Args: times{at(s.atNS), s.ns}})
	}
	if name := q.failed(); name != "" {
		w.add(&event{Name: name, Cat: "failure", Phase: phaseInstant, Time: micros(at(q.endNS)), PID: pid, TID: tid, Scope: "t", Args: map[string]string{"message": args.Message}})
	}
}

// writeServer writes the parts of the TTFT that the server states, as slices within it. Nothing shows at which time of the
// client the server was at work, so they end at the first token.
func (q *request) writeServer(w *writer, pid, tid int, first int64) {
	all := q.queue.V + q.prefill.V + q.firstDecode.V
	if all > q.ttft.V || q.queue.V < 0 || q.prefill.V < 0 || q.firstDecode.V < 0 {
		return
	}
	from := first - all
	for i, v := range [...]export.Int{q.queue, q.prefill, q.firstDecode} {
		if v.V > 0 {
			w.slice([...]string{"queue, by the server", "prefill, by the server", "first decode, by the server"}[i], pid, tid, from, v.V)
		}
		from += v.V
	}
}

// writeAnswer writes the slices from the start of the request to its end.
func (q *request) writeAnswer(w *writer, pid, tid int, origin uint64) {
	if q.startNS == 0 || q.startNS > q.endNS {
		return
	}
	from, end := int64(q.startNS-origin), int64(q.endNS-origin)
	if !q.ttft.OK || q.ttft.V < 0 || from+q.ttft.V > end {
		if end > from {
			w.slice("answer", pid, tid, from, end-from)
		}
		return
	}
	w.slice("TTFT", pid, tid, from, q.ttft.V)
	from += q.ttft.V
	q.writeServer(w, pid, tid, from)
	if q.spread.OK && q.spread.V > 0 && from+q.spread.V <= end {
		w.slice("decode", pid, tid, from, q.spread.V)
		from += q.spread.V
	}
	if end > from {
		w.slice("end", pid, tid, from, end-from)
	}
}
