package drive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// Sequencer begins the sequences of a run and supplies their requests. It is safe for
// concurrent use.
type Sequencer struct {
	cfg     load.Sequences
	set     *RequestSet
	first   int     // position of the first sequence in the order of the streams
	streams [][]int // request numbers by stream

	mu     sync.Mutex // guards the fields below, and encoding
	begun  uint64
	next   uint64 // id
	live   map[uint64]bool
	broken int // sequences that ended early with a failed request
	err    error
}

// NewSequencer groups the requests of set by their streams. The first sequence has the
// stream at position first of the order. The error is from reading an entry, or from ctx.
func NewSequencer(ctx context.Context, cfg load.Sequences, set *RequestSet, first int) (*Sequencer, error) {
	q := &Sequencer{cfg: cfg.WithDefaults(), set: set, first: first, live: map[uint64]bool{}}
	q.next = q.cfg.First
	number := map[int]int{} // index of a stream in streams
	for k := range set.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, err := set.entry(k)
		if err != nil {
			return nil, err
		}
		i, ok := number[e.Stream]
		if !ok {
			i = len(q.streams)
			number[e.Stream] = i
			q.streams = append(q.streams, nil)
		}
		q.streams[i] = append(q.streams[i], k)
	}
	return q, nil
}

// Check returns an error if a level cannot send sequences. A nil Sequencer accepts every
// level.
func (q *Sequencer) Check(level load.Level) error {
	if q == nil {
		return nil
	}
	if why := level.Traits().Stateless; why != "" {
		return fmt.Errorf("%v: the model keeps state, and %s", level, why)
	}
	n := uint64(level.Slots())
	if _, open := level.(load.Open); open {
		n = uint64(q.cfg.Live)
	}
	if q.cfg.Last-q.cfg.First < n-1 {
		return fmt.Errorf("%v: the range of sequence ids, %d to %d, is less than the %d sequences at a time", level, q.cfg.First, q.cfg.Last, n)
	}
	return nil
}

// A sequence holds the requests that a slot sends one by one under one sequence id.
type sequence struct {
	id     uint64
	stream []int
	length int // requests
	sent   int
}

// begin begins a sequence with the next free id.
func (q *Sequencer) begin() *sequence {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.live[q.next] {
		q.advance()
	}
	s := &sequence{id: q.next, stream: q.streams[q.set.Order.Index(q.first+int(q.begun), len(q.streams))]}
	s.length = sequenceLength(&q.cfg, q.begun, len(s.stream))
	q.begun++
	q.live[s.id] = true
	q.advance()
	return s
}

func (q *Sequencer) advance() {
	if q.next == q.cfg.Last {
		q.next = q.cfg.First
		return
	}
	q.next++
}

// sequenceLength draws the length of the n-th sequence, whose stream has that many
// steps.
func sequenceLength(s *load.Sequences, n uint64, steps int) int {
	if s.Length == 0 {
		return steps
	}
	r := rand.New(rand.NewPCG(s.Seed, n))
	off := (2*r.Float64() - 1) * s.Variation * float64(s.Length)
	return max(s.Length+int(off), 1)
}

// end ends a sequence and frees its id.
func (q *Sequencer) end(s *sequence, broken bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.live, s.id)
	if broken {
		q.broken++
	}
}

// request returns the next request of a sequence. ok is false when it cannot be
// encoded; see failure.
func (q *Sequencer) request(s *sequence) (p preparedRequest, ok bool) {
	k := s.stream[s.sent%len(s.stream)]
	if q.set.kept != nil {
		return q.set.kept[k], true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	p, err := q.set.encode(k)
	if err != nil && q.err == nil {
		q.err = rereadError(err)
	}
	return p, err == nil
}

// Renew makes the sequences take their requests from set, which has the same streams. No
// request may be under way. A nil Sequencer ignores the call.
func (q *Sequencer) Renew(set *RequestSet) {
	if q != nil {
		q.set = set
	}
}

// Next returns the position of the next sequence in the order of the streams, and the
// number of streams. A nil Sequencer has none.
func (q *Sequencer) Next() (position, streams int) {
	if q == nil {
		return 0, 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.first + int(q.begun), len(q.streams)
}

func (q *Sequencer) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// BrokenWarning says how many sequences broke off since the last call, "" when none
// did. A nil Sequencer has no warning.
func (q *Sequencer) BrokenWarning() string {
	if q == nil {
		return ""
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.broken
	q.broken = 0
	if n == 0 {
		return ""
	}
	return plural.GroupedOf(n, "sequence") + " broke off with a request that failed"
}
