package drive

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A play sends the requests of one session. A request is sent when the requests that it waits for have come as far as
// its edges say and their delays are over. Requests that follow each other are sent by one goroutine; one that runs beside
// others has a goroutine and a worker of its own.
type play struct {
	*sessions
	*workload.Session
	entry   sync.Mutex  // held during a call of Entry
	id      string      // of this play
	agents  []playAgent // like Session.Agents, at least the root
	first   int         // place of the first request among the requests of the level
	backoff *slotBackoff

	running sync.WaitGroup  // the branches
	sending context.Context // done when the session sends nothing more
	stop    context.CancelFunc

	mu     sync.Mutex // guards the fields below
	nodes  []nodeState
	sent   int
	broken bool // a request failed
	ending bool // the load ends during the session
}

// A nodeState says how far a node has come.
type nodeState struct {
	waits   int                  // edges to it whose anchor has not come
	dueNS   uint64               // when the latest of the others is over
	thought bool                 // one of these has a delay
	sharers int                  // nodes that continue it and have not begun
	tokens  bool                 // its first token has come
	talk    backend.Conversation // with its answer, for the nodes that continue it
}

func newPlay(sending context.Context, d *sessions, s *workload.Session, id string, first int, backoff *slotBackoff) *play {
	p := &play{sessions: d, Session: s, id: id, agents: playAgents(s), first: first, backoff: backoff, nodes: make([]nodeState, len(s.Nodes))}
	p.sending, p.stop = context.WithCancel(sending)
	for i, node := range s.Nodes {
		p.nodes[i].waits = len(node.After)
		if node.Continues >= 0 {
			p.nodes[node.Continues].sharers++
		}
	}
	return p
}

// run plays the session and returns when nothing of it is in flight. The worker sends the first of its requests that is
// due.
func (p *play) run(ctx context.Context, worker int, sender backend.Sender) {
	defer p.stop()
	var roots []int
	for i := range p.nodes {
		if p.nodes[i].waits == 0 {
			roots = append(roots, i)
		}
	}
	p.follow(ctx, worker, sender, roots)
	p.running.Wait()
	if p.broken {
		p.sessions.mu.Lock()
		p.sessions.broken++
		p.sessions.skipped += len(p.Nodes) - p.sent
		p.sessions.mu.Unlock()
	}
}

// ended reports whether the load ended during the session. Call it after run.
func (p *play) ended() bool { return p.ending }

// follow sends the first of the nodes, which wait for nothing more, then the ones that become due with its end, and so on.
// The others get branches.
func (p *play) follow(ctx context.Context, worker int, sender backend.Sender, nodes []int) {
	for len(nodes) > 0 {
		p.Yielder.Yield()
		p.branch(ctx, nodes[1:])
		nodes = p.send(ctx, worker, sender, nodes[0])
	}
}

// branch begins a branch with each of the nodes.
func (p *play) branch(ctx context.Context, nodes []int) {
	for _, i := range nodes {
		p.running.Go(func() {
			worker, sender, ok := p.borrow(ctx)
			if !ok {
				p.end(true)
				return
			}
			defer p.giveBack(worker)
			p.follow(ctx, worker, sender, []int{i})
		})
	}
}

// send sends a node when it is due. It returns the nodes that wait for nothing more when the node has ended.
func (p *play) send(ctx context.Context, worker int, sender backend.Sender, i int) []int {
	talk, dueNS := p.begin(i)
	e, payload, err := p.prepare(talk, i)
	if err != nil {
		p.failed(err)
		p.end(true)
		return nil
	}
	if dueNS > 0 {
		until := time.Now().Add(time.Duration(dueNS) - time.Duration(p.Clock.NowNS()))
		if !p.Wait(until, p.sending.Done(), nil) && !p.isBroken() {
			p.end(true)
		}
	}
	if p.sending.Err() != nil && p.isBroken() {
		return nil
	}
	nowNS := p.Clock.NowNS()
	t, ok := p.Admission.admit(nowNS, nowNS)
	if !ok {
		p.end(true)
		return nil
	}
	p.branch(ctx, p.reached(i, workload.AfterStart, nowNS, 0))
	x := p.exchange(ctx, worker, sender, dispatch{
		ticket: t, preparedRequest: preparedRequest{payload: payload, entry: &e}, dueNS: dueNS, received: p.firstToken(ctx, i),
		place: p.first + i, turnPlaced: !p.Share.Whole(), session: p.id, agent: &p.agents[p.Nodes[i].Agent],
	})
	err = p.answered(i, talk, x)
	if worker < len(p.sessions.backoff) {
		p.backoff.ended(&x.Request, err == nil)
	}
	endNS := x.Request.FailedNS
	p.Completed.Put(x) // x is the collector's from here on
	if err != nil {
		p.end(false)
		return nil
	}
	return append(p.reached(i, workload.AfterFirstToken, endNS, 0), p.reached(i, workload.AfterEnd, endNS, e.Delay)...)
}

// begin returns the conversation that node i belongs to, and when the node is due; 0 for at once.
func (p *play) begin(i int) (talk backend.Conversation, dueNS uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := &p.nodes[i]; n.thought {
		dueNS = n.dueNS
	}
	before := p.Nodes[i].Continues
	if before < 0 {
		return p.Set.Backend.(backend.Conversational).NewConversation(), dueNS
	}
	n := &p.nodes[before]
	if n.sharers--; n.sharers > 0 {
		return n.talk.Fork(), dueNS
	}
	talk, n.talk = n.talk, nil
	return talk, dueNS
}

// prepare encodes node i as the next turn of talk.
func (p *play) prepare(talk backend.Conversation, i int) (workload.Entry, backend.Payload, error) {
	p.entry.Lock()
	e, err := p.Entry(i)
	p.entry.Unlock()
	if err != nil {
		return e, nil, err
	}
	payload, err := talk.Turn(&e)
	return e.Bare(), payload, err
}

// answered keeps the answer to node i for the nodes that continue it. The error says that the session cannot go on.
func (p *play) answered(i int, talk backend.Conversation, x *backend.Exchange) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent++
	contentless := false
	var err error
	if p.Recorded {
		if x.Request.Status != export.StatusOK {
			err = errFailed
		}
	} else {
		contentless, err = talk.AddReply(x)
	}
	n := &p.nodes[i]
	switch {
	case err != nil:
		p.broken = true
		return err
	case n.sharers == 0:
		return nil
	}
	if n.talk = talk; contentless {
		p.countContentless()
	}
	return nil
}

var errFailed = errors.New("the request failed")

// reached notes that node i has come to an anchor at a time. It returns the nodes that wait for nothing more.
// thinkTime is added to the delays of the edges.
func (p *play) reached(i int, anchor workload.Anchor, atNS uint64, thinkTime time.Duration) (ready []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if anchor == workload.AfterFirstToken {
		if p.nodes[i].tokens {
			return nil
		}
		p.nodes[i].tokens = true
	}
	for j := i + 1; j < len(p.nodes); j++ {
		n := &p.nodes[j]
		for _, e := range p.Nodes[j].After {
			if e.From != i || e.Anchor != anchor {
				continue
			}
			delay := e.Delay + thinkTime
			n.waits--
			n.dueNS = max(n.dueNS, atNS+uint64(delay))
			n.thought = n.thought || delay > 0
			if n.waits == 0 {
				ready = append(ready, j)
			}
		}
	}
	return ready
}

// firstToken returns what a sender calls for each response of node i; nil if no node waits for the first one.
func (p *play) firstToken(ctx context.Context, i int) func(responses int) {
	for _, later := range p.Nodes[i+1:] {
		for _, e := range later.After {
			if e.From == i && e.Anchor == workload.AfterFirstToken {
				return func(responses int) {
					if responses == 1 {
						p.branch(ctx, p.reached(i, workload.AfterFirstToken, p.Clock.NowNS(), 0))
					}
				}
			}
		}
	}
	return nil
}

// end ends the session: it sends nothing more. load says that the load ends.
func (p *play) end(load bool) {
	p.mu.Lock()
	p.ending = p.ending || load
	p.mu.Unlock()
	p.stop()
}

// isBroken reports whether a request of the session failed.
func (p *play) isBroken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}
