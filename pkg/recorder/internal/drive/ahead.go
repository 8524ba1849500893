package drive

import (
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// An aheadRequest is a request of a play that is prepared while the requests before it wait or are in flight. Texts of many tokens take
// milliseconds, by which the request would be late.
type aheadRequest struct {
	done  chan struct{} // closed when the fields below are set
	entry workload.Entry
	// talk and payload are nil for a request that needs an answer first.
	talk    backend.Conversation
	payload backend.Payload
	bytes   int64
	left    bool // not prepared, because the memory was full meanwhile
	err     error
}

// prepareAhead begins to prepare the requests that wait for node i. The memory for them is bounded: beyond it, a request is
// prepared when it waits for nothing but its delay. So are the entries of a source without sessions, which take no time.
func (p *play) prepareAhead(i int) {
	if _, given := p.Set.Entries.(workload.Sessions); !given {
		return
	}
	p.edges.each(i, func(e outEdge) bool {
		if p.aheadBytes.Load() >= p.Set.KeepBytes/4 {
			return false
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.nodes[e.to].ahead == nil {
			a := &aheadRequest{done: make(chan struct{})}
			p.nodes[e.to].ahead = a
			p.running.Go(func() { p.fill(a, e.to) })
		}
		return true
	})
}

// fill prepares node i.
func (p *play) fill(a *aheadRequest, i int) {
	defer close(a.done)
	if a.err = p.sending.Err(); a.err != nil {
		return
	}
	if a.left = p.aheadBytes.Load() >= p.Set.KeepBytes/4; a.left {
		return
	}
	if a.entry, a.err = p.read(i); a.err != nil {
		return
	}
	if p.Nodes[i].Continues < 0 && len(p.Nodes[i].Quotes) == 0 {
		a.talk = p.Set.Backend.(backend.Conversational).NewConversation()
		if a.payload, a.err = a.talk.Turn(&a.entry); a.err != nil {
			return
		}
		a.entry = a.entry.Bare()
		for _, f := range a.payload.Inputs() {
			a.bytes += 2 * int64(len(f.Value.Data)) // as it is exported, and as it is sent
		}
	} else if e := a.entry.Prompt; e != nil {
		a.bytes = int64(len(e.Messages) + len(e.Text) + len(e.Body))
	}
	p.aheadBytes.Add(a.bytes)
}

// takeAhead returns what was prepared of node i; nil if nothing was.
func (p *play) takeAhead(i int) *aheadRequest {
	p.mu.Lock()
	a := p.nodes[i].ahead
	p.nodes[i].ahead = nil
	p.mu.Unlock()
	if a == nil {
		return nil
	}
	<-a.done
	p.aheadBytes.Add(-a.bytes)
	return a
}

// dropAhead gives up what was prepared of a session that sends nothing more.
func (p *play) dropAhead() {
	for i := range p.nodes {
		p.takeAhead(i)
	}
}
