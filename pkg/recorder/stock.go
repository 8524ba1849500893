package recorder

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"sync"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

const (
	// defaultKeepBytes is what Config.KeepBytes 0 means.
	defaultKeepBytes = 256 << 20
	// maxAhead bounds how many requests are made ready before they are needed:
	// a tenth of a second's worth of the highest rates.
	maxAhead = 4096
)

// A parcel is a request of the workload, ready to be sent.
type parcel struct {
	payload backend.Payload
	// entry is what the request was made of, without values: of a batch the first.
	entry *workload.Entry
	bytes int64 // about what it takes in memory
}

// A stock is what can be sent: n different requests. Each is made once before
// the load, which finds mistakes in the data and gives its hash. If all of them
// fit in Config.KeepBytes they stay; else they are made again when they are
// about to be needed.
type stock struct {
	backend backend.Backend
	entries workload.Source
	order   workload.Order
	batch   int
	keep    int64

	n         int
	kept      []parcel // all n, or nil
	hash      string
	dialogues []dialogue // of the entries, if a level has sessions
	streamed  asked      // streamed answers, by the requests that say it
}

// A batcher is a backend whose requests can hold several entries.
type batcher interface {
	PrepareBatch(es []*workload.Entry) (backend.Payload, error)
}

// A streamer is a payload that knows whether it asks for a streamed answer.
type streamer interface{ Streamed() bool }

// asked counts requests by whether they ask for something.
type asked struct{ yes, no int }

// record returns the value for a run's metadata: true if all requests ask, false if
// none does, nil if they differ, and given if no request says it.
func (a asked) record(given *bool) *bool {
	if a.yes > 0 && a.no > 0 {
		return nil
	}
	if a.yes+a.no > 0 {
		all := a.yes > 0
		return &all
	}
	return given
}

// newStock makes every request of cfg once. With batches, request k holds the
// entries k·B to k·B+B−1, around and around; after n/gcd(n, B) requests that
// repeats. The error is that of the data, or of ctx.
func newStock(ctx context.Context, cfg *Config) (*stock, error) {
	s := &stock{backend: cfg.Backend, entries: cfg.statefulSource(), order: cfg.Order, batch: max(cfg.BatchSize, 1), keep: cfg.KeepBytes}
	s.n = s.entries.Len() / gcd(s.entries.Len(), s.batch)
	h := newDatasetHash()
	var bytes int64
	for k := range s.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := s.make(k)
		if err != nil {
			return nil, err
		}
		h.add(p.payload.Inputs())
		if st, ok := p.payload.(streamer); ok {
			if st.Streamed() {
				s.streamed.yes++
			} else {
				s.streamed.no++
			}
		}
		if bytes += p.bytes; bytes <= s.keep {
			s.kept = append(s.kept, p)
		} else {
			s.kept = nil
		}
	}
	if s.order.Kind != workload.Sequential {
		h.order(s.order)
	}
	s.hash = h.sum()
	return s, nil
}

// entry returns the first entry of request k.
func (s *stock) entry(k int) (*workload.Entry, error) {
	if s.kept != nil {
		return s.kept[k].entry, nil
	}
	e, err := s.entries.At(k * s.batch % s.entries.Len())
	return &e, err
}

// make makes request k.
func (s *stock) make(k int) (parcel, error) {
	es := make([]*workload.Entry, s.batch)
	for j := range es {
		e, err := s.entries.At((k*s.batch + j) % s.entries.Len())
		if err != nil {
			return parcel{}, err
		}
		es[j] = &e
	}
	p := parcel{entry: es[0]}
	var err error
	if b, ok := s.backend.(batcher); ok && s.batch > 1 {
		p.payload, err = b.PrepareBatch(es)
	} else {
		p.payload, err = s.backend.Prepare(es[0])
	}
	if err != nil {
		return parcel{}, err
	}
	*p.entry = p.entry.Bare()
	p.bytes = 512
	for _, f := range p.payload.Inputs() {
		p.bytes += 2 * int64(len(f.Value.Data)) // as it is exported, and as it is sent
	}
	return p, nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// A supply hands out the requests of one stage, each once, by its number in the
// stage.
type supply struct {
	stock *stock

	mu   sync.Mutex
	wake *sync.Cond // something below has changed
	// ahead are requests that were made and not taken, if the stock keeps none.
	ahead map[int]parcel
	made  int   // requests
	bytes int64 // of ahead
	ended bool
	err   error // why no more are made
	// missing is called once, when the first request cannot be had because of err.
	missing func()

	making sync.WaitGroup
}

// supply starts a supply; end ends it. Requests that have to be made again are
// made from here on, some before it returns.
func (s *stock) supply() *supply {
	u := &supply{stock: s, ahead: map[int]parcel{}}
	u.wake = sync.NewCond(&u.mu)
	if s.kept != nil {
		return u
	}
	for u.wanted() && u.more() {
	}
	u.making.Go(func() { // until end
		for u.await() && u.more() {
		}
	})
	return u
}

// wanted reports whether a request should be made ahead.
func (u *supply) wanted() bool {
	return len(u.ahead) == 0 || len(u.ahead) < maxAhead && u.bytes < u.stock.keep/4
}

// await waits until a request should be made; false says that no more should.
func (u *supply) await() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for !u.ended && u.err == nil && !u.wanted() {
		u.wake.Wait()
	}
	return !u.ended && u.err == nil
}

// more makes the next request; false says that it cannot be made.
func (u *supply) more() bool {
	p, err := u.stock.make(u.stock.order.Index(u.made, u.stock.n))
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		u.err = fmt.Errorf("input data that could be read before: %w", err)
	} else {
		u.ahead[u.made] = p
		u.made++
		u.bytes += p.bytes
	}
	u.wake.Broadcast()
	return err == nil
}

// take returns request i of the stage, each once, and waits for it if need be.
// ok is false when it cannot be had: see failure, or the supply was ended.
func (u *supply) take(i int) (p parcel, ok bool) {
	s := u.stock
	if s.kept != nil {
		return s.kept[s.order.Index(i, s.n)], true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for {
		if p, ok := u.ahead[i]; ok {
			delete(u.ahead, i)
			u.bytes -= p.bytes
			u.wake.Broadcast()
			return p, true
		}
		if u.err != nil && u.missing != nil {
			u.missing()
			u.missing = nil
		}
		if u.ended || u.err != nil {
			return parcel{}, false
		}
		u.wake.Wait()
	}
}

// failure returns why requests are missing, or nil.
func (u *supply) failure() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// end stops the making of requests and wakes who waits for one. It may be called
// more than once.
func (u *supply) end() {
	u.mu.Lock()
	u.ended = true
	u.wake.Broadcast()
	u.mu.Unlock()
	u.making.Wait()
}

// A datasetHash is the SHA-256 over the inputs of all requests, each name and
// value behind its length, so that equal hashes mean equal requests in equal
// order.
type datasetHash struct{ h hash.Hash }

func newDatasetHash() datasetHash { return datasetHash{sha256.New()} }

func (d datasetHash) number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	d.h.Write(b[:])
}

func (d datasetHash) part(b []byte) {
	d.number(uint64(len(b)))
	d.h.Write(b)
}

// add adds a request.
func (d datasetHash) add(in export.Fields) {
	d.number(uint64(len(in)))
	for _, f := range in {
		d.part([]byte(f.Name))
		d.part(f.Value.Data)
	}
}

// order adds in which order the requests are sent, unless it is theirs.
func (d datasetHash) order(o workload.Order) {
	d.part([]byte(o.Kind.String()))
	d.number(o.Seed)
}

// sum returns the hash in hex.
func (d datasetHash) sum() string { return hex.EncodeToString(d.h.Sum(nil)) }
