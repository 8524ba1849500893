package drive

import (
	"context"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A play sends the requests of one session. A request is sent when the requests that it waits for have come as far as
// its edges say and their delays are over. Requests that follow each other are sent by one goroutine; one that runs beside
// others has a goroutine of its own.
type play struct {
	*sessions
	*workload.Session
	edges  edges
	entry  sync.Mutex // held during a call of Entry
	id     string     // of this play
	agents []playAgent
	// number is the place of the session among the sessions of the level, and first the place of its first request among the requests.
	number, first int

	of     []int  // as in nextSession
	marker string // put into the requests; "" for none
	// warming says that the play is before the measurement, so that it is not counted, and goes on after failures. why is the
	// reason of one of these failures.
	warming bool
	why     string

	// These are of a session that a schedule begins.
	startNS  uint64 // when the session is due, or goes on; 0 for at once
	heldBack bool   // it was due earlier and waited because of the level's ceiling
	ready    func() // called when the first request is encoded
	near     func() // called shortly before it is sent

	running sync.WaitGroup  // the branches
	sending context.Context // done when the session sends nothing more
	stop    context.CancelFunc

	sends atomic.Bool // a request was sent

	mu         sync.Mutex // guards the fields below
	nodes      []nodeState
	sent       int // requests that have ended
	unanswered int // requests that began without the answer before them
	failures   int // in a row
	// quotes holds the texts of the answers that other nodes quote, by node; nil if none does.
	quotes map[int]string
	broken endOfSession // why the session has ended early
}

// An endOfSession says why a session sends nothing more, though it has more requests. Of two reasons the larger one counts.
type endOfSession uint8

const (
	notEnded endOfSession = iota
	endedByLoad
	endedByFailure
	endedByOverflow
)

// A nodeState says how far a node has come.
type nodeState struct {
	waits   int32                // edges to it whose anchor has not come
	sharers int32                // nodes that continue it and have not begun
	dueNS   uint64               // when the latest of the others is over
	thought bool                 // one of these has a delay
	tokens  bool                 // its first token has come
	failed  bool                 // it has no answer
	begun   bool                 // it was sent before the measurement
	talk    backend.Conversation // with its answer, for the nodes that continue it
	ahead   *aheadRequest        // nil unless the node was prepared before it waited for nothing more
}

// A line is requests that follow each other.
type line struct {
	worker      // none before a request of the line is due
	lent   bool // the worker goes back to the others
	turn   turn // nil unless the next request is due and waits for a worker
}

// readyNodes are nodes that wait for nothing more. Most requests make at most one ready.
type readyNodes struct {
	n     int
	first int
	more  []int
}

// add adds a node.
func (r *readyNodes) add(i int) {
	if r.n++; r.n == 1 {
		r.first = i
	} else {
		r.more = append(r.more, i)
	}
}

// join adds the nodes of other.
func (r *readyNodes) join(other readyNodes) {
	if other.n > 0 {
		r.add(other.first)
	}
	for _, i := range other.more {
		r.add(i)
	}
}

func newPlay(sending context.Context, d *sessions, s nextSession) *play {
	p := &play{sessions: d, Session: s.Session, edges: newEdges(s.Nodes), id: s.id, agents: playAgents(s.Session), number: s.number, first: s.first, of: s.of, marker: s.marker, nodes: make([]nodeState, len(s.Nodes))}
	p.sending, p.stop = context.WithCancel(sending)
	for i := range s.Nodes {
		p.nodes[i].waits = int32(len(s.Nodes[i].After)) //nolint:gosec // edges of one node
		if before := s.Nodes[i].Continues; before >= 0 {
			p.nodes[before].sharers++
		}
		for _, quoted := range s.Nodes[i].Quotes {
			if p.quotes == nil {
				p.quotes = map[int]string{}
			}
			p.quotes[quoted] = ""
		}
	}
	return p
}

// run plays the session and returns when nothing of it is in flight. The worker, if there is one, sends the first of its
// requests; a kept one, also those that follow it.
func (p *play) run(ctx context.Context, w worker) {
	var roots readyNodes
	nowNS := p.startNS
	for i := range p.nodes {
		n := &p.nodes[i]
		if wait := p.Nodes[i].NotBefore; wait > 0 {
			if nowNS == 0 {
				nowNS = p.Clock.NowNS()
			}
			n.dueNS, n.thought = nowNS+uint64(wait), true //nolint:gosec // not negative
		}
		if n.waits == 0 {
			n.dueNS, n.thought = max(n.dueNS, p.startNS), n.thought || p.startNS > 0
			roots.add(i)
		}
	}
	p.follow(ctx, &line{worker: w, lent: !p.kept}, roots)
	p.running.Wait()
	p.dropAhead()
	p.over()
}

// over counts the session, which sends nothing more.
func (p *play) over() {
	p.stop()
	switch {
	case p.warming:
		return
	case !p.sends.Load():
		p.notStarted(p.number, p.first)
		return
	}
	c := export.SessionCounts{Unanswered: p.unanswered}
	left := len(p.Nodes) - p.sent
	switch {
	case left == 0 && p.broken != endedByOverflow && p.broken != endedByFailure:
		c.Completed = 1
	case p.broken == endedByOverflow:
		c.Overflow, c.NotSent.Overflow = 1, left
	case p.broken == endedByFailure:
		c.Failed, c.NotSent.Failed = 1, left
	default:
		c.Cut, c.NotSent.End = 1, left
	}
	p.count(&c)
}

// follow sends the first of the nodes, which wait for nothing more, then the ones that become due with its end, and so on.
// The others get branches.
func (p *play) follow(ctx context.Context, l *line, nodes readyNodes) {
	for nodes.n > 0 {
		p.Yielder.Yield()
		p.branch(ctx, nodes.more)
		nodes = p.send(ctx, l, nodes.first)
	}
	p.release(l)
}

// begins notes that node i is sent.
func (p *play) begins(i int) {
	if p.warming {
		p.mu.Lock()
		p.nodes[i].begun = true
		p.mu.Unlock()
		return
	}
	if !p.sends.Load() && !p.sends.Swap(true) {
		p.started(p.number)
	}
}

// release gives back the worker of a line, if it has one that goes back.
func (p *play) release(l *line) {
	if l.lent && !l.none() {
		p.workers.give(l.worker)
		l.worker = worker{}
	}
}

// branch begins a branch with each of the nodes.
func (p *play) branch(ctx context.Context, nodes []int) {
	for _, i := range nodes {
		l := &line{lent: true}
		if p.queued && p.isDue(i) {
			l.turn = p.workers.queue()
		}
		p.running.Go(func() { p.follow(ctx, l, readyNodes{n: 1, first: i}) })
	}
}

// branchAll begins a branch with each of the nodes.
func (p *play) branchAll(ctx context.Context, nodes readyNodes) {
	if nodes.n > 0 {
		p.branch(ctx, append([]int{nodes.first}, nodes.more...))
	}
}

// send sends a node when it is due. It returns the nodes that wait for nothing more when the node has ended.
func (p *play) send(ctx context.Context, l *line, i int) (next readyNodes) {
	begun, dueNS, thought := p.begin(i)
	e, payload, talk, err := p.prepare(begun, i)
	if err == nil {
		p.prepareAhead(i)
	}
	if i == 0 && p.ready != nil && err == nil {
		p.ready()
	}
	switch {
	case err != nil:
		if p.sending.Err() == nil { // else the request was not prepared, since the session has ended
			p.failed(err)
		}
		p.end(endedByLoad)
		return next
	case !p.await(i, dueNS):
		p.end(endedByLoad)
		return next
	}
	heldBack := i == 0 && p.heldBack
	if l.none() { // the worker did not send the request before
		waited, ok := p.hire(l)
		if !ok {
			p.end(endedByLoad)
			return next
		}
		heldBack = heldBack || waited && p.queued
	} else if !thought {
		dueNS = 0
	}
	nowNS := p.Clock.NowNS()
	admittedNS := nowNS
	if i == 0 && p.startNS > 0 {
		admittedNS = min(p.startNS, nowNS)
	}
	t, ok := p.Admission.admit(admittedNS, nowNS)
	if !ok {
		p.end(endedByLoad)
		return next
	}
	p.begins(i)
	p.branchAll(ctx, p.reached(i, workload.AfterStart, nowNS, 0))
	x := p.exchange(ctx, l.number, l.sender, dispatch{
		ticket: t, preparedRequest: preparedRequest{payload: payload, entry: &e}, dueNS: dueNS, heldBack: heldBack, received: p.firstToken(ctx, i),
		place: p.first + p.request(i), turnPlaced: !p.Share.Whole(), session: p.id, agent: &p.agents[p.Nodes[i].Agent],
	})
	ok, end, pause := p.answered(i, talk, x)
	if l.number < len(p.backoff) {
		p.backoff[l.number].ended(&x.Request, ok)
	}
	endNS := x.Request.FailedNS
	p.Completed.Put(x) // x is the collector's from here on
	if end != notEnded {
		p.end(end)
	}
	if p.sending.Err() == nil {
		next = p.reached(i, workload.AfterFirstToken, endNS, 0)
		next.join(p.reached(i, workload.AfterEnd, endNS, e.Delay))
	} else if end == notEnded {
		p.end(endedByLoad)
	}
	if !p.kept {
		p.hand(ctx, l, next)
	}
	if pause > 0 {
		load.WaitTimer(time.Now().Add(pause), p.sending.Done())
	}
	return next
}

// request returns which request of the session node i is.
func (p *play) request(i int) int {
	if p.of == nil {
		return i
	}
	return p.of[i]
}

// hire gets a worker for a line whose next request is due. waited says that there was none at once.
func (p *play) hire(l *line) (waited, ok bool) {
	if l.turn == nil {
		l.worker, waited, ok = p.workers.take()
		return waited, ok
	}
	select {
	case l.worker = <-l.turn:
		ok = true
	default:
		waited = true
		l.worker, ok = p.workers.await(l.turn)
	}
	l.turn = nil
	return waited, ok
}

// hand gives back the worker of a request that has ended, unless the line has another one that is due and no request has waited
// longer.
func (p *play) hand(ctx context.Context, l *line, next readyNodes) {
	if l.number < len(p.backoff) {
		p.backoff[l.number].sleep(ctx)
	}
	if p.queued && next.n > 0 && p.isDue(next.first) {
		l.worker, l.turn = p.workers.swap(l.worker)
		return
	}
	p.release(l)
}

// isDue reports whether a node that waits for nothing more has no delay left.
func (p *play) isDue(i int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nodes[i].dueNS <= p.Clock.NowNS()
}

// await waits until node i is due, and reports whether the session still sends then.
func (p *play) await(i int, dueNS uint64) bool {
	near := p.near
	if i > 0 {
		near = nil
	}
	if nowNS := p.Clock.NowNS(); dueNS > nowNS {
		return p.instants.wait(time.Now().Add(time.Duration(min(dueNS-nowNS, uint64(longestDelay)))), p.sending.Done(), near, p.Wait) && p.sending.Err() == nil
	}
	if near != nil {
		near()
	}
	return p.sending.Err() == nil
}

// begin returns the conversation that node i belongs to, and when the node is due; 0 for at once. thought says that it
// waits for a delay, and not only for other requests.
func (p *play) begin(i int) (talk backend.Conversation, dueNS uint64, thought bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	dueNS, thought = p.nodes[i].dueNS, p.nodes[i].thought
	before := p.Nodes[i].Continues
	if before < 0 {
		return p.Set.Backend.(backend.Conversational).NewConversation(), dueNS, thought
	}
	n := &p.nodes[before]
	if n.failed {
		p.unanswered++
	}
	if n.sharers--; n.sharers > 0 {
		return n.talk.Fork(), dueNS, thought
	}
	talk, n.talk = n.talk, nil
	return talk, dueNS, thought
}

// prepare encodes node i as the next turn of a conversation. It returns the conversation with the turn.
func (p *play) prepare(talk backend.Conversation, i int) (e workload.Entry, _ backend.Payload, _ backend.Conversation, err error) {
	if a := p.takeAhead(i); a != nil && !a.left {
		if a.err != nil || a.payload != nil {
			return a.entry, a.payload, a.talk, a.err
		}
		e = a.entry
	} else if e, err = p.read(i); err != nil {
		return e, nil, talk, err
	}
	if len(p.Nodes[i].Quotes) > 0 {
		p.quote(&e, p.Nodes[i].Quotes)
	}
	payload, err := talk.Turn(&e)
	return e.Bare(), payload, talk, err
}

// read reads the entry of node i, and marks it if it holds the beginning of a conversation.
func (p *play) read(i int) (e workload.Entry, err error) {
	p.entry.Lock()
	e, err = p.Entry(i)
	p.entry.Unlock()
	if err == nil && p.marker != "" && (e.Whole || p.Nodes[i].Continues < 0) {
		err = p.Set.Marker.Mark(&e, p.marker)
	}
	return e, err
}

// quote puts the texts of the answers to nodes in their places in the messages of an entry. A node that failed has none.
func (p *play) quote(e *workload.Entry, nodes []int) {
	p.mu.Lock()
	var places []string
	for _, k := range nodes {
		text, _ := jsontext.AppendQuote(nil, p.quotes[k]) // the error is for text that is not UTF-8, which it mends
		places = append(places, workload.AnswerPlace(k), string(text[1:len(text)-1]))
		if p.nodes[k].failed {
			p.unanswered++
		}
	}
	p.mu.Unlock()
	prompt := *e.Prompt
	prompt.Messages = []byte(strings.NewReplacer(places...).Replace(string(prompt.Messages)))
	e.Prompt = &prompt
}

// answered keeps the answer to node i for the nodes that continue it. ok is false for a failure. end says that the session
// cannot go on, and why; if it can, pause is how long it waits after failures in a row.
func (p *play) answered(i int, talk backend.Conversation, x *backend.Exchange) (ok bool, end endOfSession, pause time.Duration) {
	status := x.Request.Status
	if previewer, can := talk.(backend.Previewer); can && status == export.StatusOK {
		status = previewer.Preview(x)
	}
	contentless := false
	if ok = status == export.StatusOK; ok && !p.Recorded {
		var err error
		contentless, err = talk.AddReply(x)
		ok = err == nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent++
	n := &p.nodes[i]
	if ok {
		p.failures = 0
	} else {
		n.failed = true
		if p.warming {
			p.why = whyFailed(&x.Request)
		}
		p.failures++
		pause = backoffTime(p.failures)
		switch {
		case status == export.StatusContextOverflow:
			end = endedByOverflow
		case status == export.StatusCancelled: // the load has ended
			end = endedByLoad
		case !p.ContinueFailed && !p.warming:
			end = endedByFailure
		}
	}
	if _, quoted := p.quotes[i]; ok && quoted {
		if q, can := talk.(backend.Quoter); can {
			p.quotes[i] = q.ReplyText()
		}
	}
	if n.sharers == 0 || end != notEnded {
		return ok, end, pause
	}
	if n.talk = talk; contentless {
		p.countContentless()
	}
	return ok, end, pause
}

// longestDelay bounds delays, so that two of them can be added; no run takes so long.
const longestDelay = time.Duration(math.MaxInt64 / 2)

// reached notes that node i has come to an anchor at a time. It returns the nodes that wait for nothing more.
// thinkTime is added to the delays of the edges.
func (p *play) reached(i int, anchor workload.Anchor, atNS uint64, thinkTime time.Duration) (ready readyNodes) {
	if p.edges.from == nil && anchor != workload.AfterEnd {
		return ready // a chain has no such edges
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if anchor == workload.AfterFirstToken {
		if p.nodes[i].tokens {
			return ready
		}
		p.nodes[i].tokens = true
	}
	p.edges.each(i, func(e outEdge) bool {
		if e.anchor != anchor {
			return true
		}
		n := &p.nodes[e.to]
		delay := min(e.delay, longestDelay) + min(thinkTime, longestDelay)
		n.waits--
		n.dueNS = max(n.dueNS, atNS+uint64(delay)) //nolint:gosec // not negative
		n.thought = n.thought || delay > 0
		if n.waits == 0 {
			ready.add(e.to)
		}
		return true
	})
	return ready
}

// firstToken returns what a sender calls for each response of node i; nil if no node waits for the first one.
func (p *play) firstToken(ctx context.Context, i int) func(responses int) {
	waits := false
	p.edges.each(i, func(e outEdge) bool {
		waits = e.anchor == workload.AfterFirstToken
		return !waits
	})
	if !waits {
		return nil
	}
	return func(responses int) {
		if responses == 1 {
			p.branchAll(ctx, p.reached(i, workload.AfterFirstToken, p.Clock.NowNS(), 0))
		}
	}
}

// end ends the session: it sends nothing more.
func (p *play) end(why endOfSession) {
	p.mu.Lock()
	p.broken = max(p.broken, why)
	p.mu.Unlock()
	p.stop()
}
