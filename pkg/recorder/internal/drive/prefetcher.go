package drive

import (
	"fmt"
	"sync"

	"github.com/pa-tools/pa/pkg/recorder/ranks"
)

// maxAhead bounds how many requests are encoded before they are needed: a tenth of a
// second's worth of the highest rates.
const maxAhead = 4096

// Prefetcher hands out the requests of a share of one stage, each once, by their number
// in the share. Unless the set keeps its requests in memory, it encodes them shortly before
// they are needed. It is safe for concurrent use.
type Prefetcher struct {
	set     *RequestSet
	first   int         // position in the order of the data of request 0 of the stage
	share   ranks.Share // request i of the share is request share.Number(i) of the stage
	missing func()

	mu      sync.Mutex
	changed *sync.Cond              // a field below has changed
	ahead   map[int]preparedRequest // encoded and not taken
	encoded int                     // requests
	bytes   int64                   // of ahead
	stopped bool
	err     error // why no more are encoded

	encoding sync.WaitGroup
}

// Prefetch starts a prefetcher, which Stop ends, and encodes the first requests before
// it returns. first is the position of the stage's first request in the order of the data.
// Prefetch calls missing once when the first request is needed that cannot be encoded.
func (s *RequestSet) Prefetch(first int, share ranks.Share, missing func()) *Prefetcher {
	p := &Prefetcher{set: s, first: first, share: share, missing: missing, ahead: map[int]preparedRequest{}}
	p.changed = sync.NewCond(&p.mu)
	if s.kept != nil {
		return p
	}
	for p.wanted() && p.encodeNext() {
	}
	p.encoding.Go(func() { // until Stop
		for p.await() && p.encodeNext() {
		}
	})
	return p
}

// index returns which of the set's distinct requests is request i of the stage.
func (p *Prefetcher) index(i int) int { return p.set.Order.Index(p.first+p.share.Number(i), p.set.n) }

// wanted reports whether a request should be encoded ahead.
func (p *Prefetcher) wanted() bool {
	return len(p.ahead) == 0 || len(p.ahead) < maxAhead && p.bytes < p.set.KeepBytes/4
}

// await waits until a request should be encoded; false when no more should be.
func (p *Prefetcher) await() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.stopped && p.err == nil && !p.wanted() {
		p.changed.Wait()
	}
	return !p.stopped && p.err == nil
}

// encodeNext encodes the next request; false when it cannot.
func (p *Prefetcher) encodeNext() bool {
	r, err := p.set.encode(p.index(p.encoded))
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.err = rereadError(err)
	} else {
		p.ahead[p.encoded] = r
		p.encoded++
		p.bytes += r.bytes
	}
	p.changed.Broadcast()
	return err == nil
}

// rereadError is the error of an entry that was read without one before the load.
func rereadError(err error) error {
	return fmt.Errorf("input data that could be read before: %w", err)
}

// take returns request i of the stage, once, and waits until it is encoded. ok is false
// when it cannot be encoded (see failure) or the prefetcher was stopped.
func (p *Prefetcher) take(i int) (r preparedRequest, ok bool) {
	s := p.set
	if s.kept != nil {
		return s.kept[p.index(i)], true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if r, ok := p.ahead[i]; ok {
			delete(p.ahead, i)
			p.bytes -= r.bytes
			p.changed.Broadcast()
			return r, true
		}
		if p.err != nil && p.missing != nil {
			p.missing()
			p.missing = nil
		}
		if p.stopped || p.err != nil {
			return preparedRequest{}, false
		}
		p.changed.Wait()
	}
}

// failure returns why requests are missing, or nil.
func (p *Prefetcher) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Stop ends the encoding and wakes slots that wait for a request. It may be called more
// than once.
func (p *Prefetcher) Stop() {
	p.mu.Lock()
	p.stopped = true
	p.changed.Broadcast()
	p.mu.Unlock()
	p.encoding.Wait()
}
