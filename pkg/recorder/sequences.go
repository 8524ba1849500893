package recorder

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Sequences says how the requests to a model that keeps state make up sequences.
// A slot of the load has one live sequence at a time, whose requests it sends one
// after the other, each when the one before has been answered.
type Sequences struct {
	// Live is how many sequences there are at a time when requests are sent by a
	// schedule; 0 means DefaultLiveSequences. In a closed loop each slot has one.
	Live int
	// Length is the number of requests in a sequence, and Variation the fraction
	// by which it varies to both sides, evenly: from Length·(1−Variation) to
	// Length·(1+Variation), never below 1. A sequence that is longer than its
	// stream begins the stream again. Length 0 sends each stream once, to its
	// end.
	Length    int
	Variation float64
	// First and Last bound the ids: sequences get them in turn, around and
	// around, but for those that are in use. 0 means 1, and 2^32−1.
	First, Last uint64
	// Seed is that of the lengths.
	Seed uint64
	// ThroughputSuffices is Measure.ThroughputSuffices of a model that keeps state:
	// perf_analyzer sends such a one's requests asynchronously unless told otherwise.
	ThroughputSuffices bool
}

// DefaultLiveSequences is what Sequences.Live 0 means, as in perf_analyzer.
const DefaultLiveSequences = 4

func (s *Sequences) validate() error {
	switch {
	case s.Live < 0:
		return fmt.Errorf("%d sequences: must be at least 1", s.Live)
	case s.Length < 0:
		return fmt.Errorf("sequence length %d: must be at least 1", s.Length)
	case !(s.Variation >= 0):
		return fmt.Errorf("sequence length variation %v: must not be negative", s.Variation)
	case max(s.First, s.Last) > math.MaxInt64:
		return fmt.Errorf("sequence ids %d to %d: must be below 2^63", s.First, s.Last)
	case s.Last != 0 && s.First > s.Last:
		return fmt.Errorf("sequence ids %d to %d: the first must not be above the last", s.First, s.Last)
	}
	return nil
}

func (s Sequences) withDefaults() Sequences {
	if s.Live == 0 {
		s.Live = DefaultLiveSequences
	}
	if s.First == 0 {
		s.First = 1
	}
	if s.Last == 0 {
		s.Last = max(math.MaxUint32, s.First)
	}
	return s
}

// length draws the length of the n-th sequence, whose stream has so many steps.
func (s *Sequences) length(n uint64, steps int) int {
	if s.Length == 0 {
		return steps
	}
	r := rand.New(rand.NewPCG(s.Seed, n))
	spread := (2*r.Float64() - 1) * s.Variation * float64(s.Length)
	return max(s.Length+int(spread), 1)
}

// A sequencer begins the sequences of a run.
type sequencer struct {
	cfg     Sequences
	stock   *stock
	streams [][]int // numbers of requests in the stock

	mu     sync.Mutex // guards what follows, and the making of requests
	begun  uint64
	next   uint64 // id
	live   map[uint64]bool
	broken int // sequences that ended with a request that failed
	err    error
}

// newSequencer groups the entries by their streams. The error is that of the
// entries, or of ctx.
func newSequencer(ctx context.Context, cfg *Config, s *stock) (*sequencer, error) {
	q := &sequencer{cfg: cfg.Sequences.withDefaults(), stock: s, live: map[uint64]bool{}}
	q.next = q.cfg.First
	number := map[int]int{} // of a stream in streams
	for k := range s.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, err := s.entry(k)
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

// fits says why a level cannot be one of sequences, if there are any.
func (q *sequencer) fits(level load.Level) error {
	if q == nil {
		return nil
	}
	n := uint64(level.Slots())
	switch level.(type) {
	case load.Concurrency:
	case load.Timetable:
		return fmt.Errorf("%v: the model keeps state, and the entries of a schedule are in no sequences", level)
	case load.Open:
		n = uint64(q.cfg.Live)
	default:
		return fmt.Errorf("%v: the model keeps state, and needs a concurrency or a rate", level)
	}
	if q.cfg.Last-q.cfg.First < n-1 {
		return fmt.Errorf("%v: the range of sequence ids, %d to %d, is less than the %d sequences at a time", level, q.cfg.First, q.cfg.Last, n)
	}
	return nil
}

// A sequence is what a slot sends, request by request.
type sequence struct {
	id     uint64
	stream []int
	length int
	sent   int
}

// begin begins a sequence.
func (q *sequencer) begin() *sequence {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.live[q.next] {
		q.advance()
	}
	s := &sequence{id: q.next, stream: q.streams[q.stock.order.Index(int(q.begun), len(q.streams))]}
	s.length = q.cfg.length(q.begun, len(s.stream))
	q.begun++
	q.live[s.id] = true
	q.advance()
	return s
}

func (q *sequencer) advance() {
	if q.next == q.cfg.Last {
		q.next = q.cfg.First
		return
	}
	q.next++
}

// end ends a sequence, whose id is then free.
func (q *sequencer) end(s *sequence, broken bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.live, s.id)
	if broken {
		q.broken++
	}
}

// parcel returns the next request of a sequence. ok is false when it cannot be
// made any more: see failure.
func (q *sequencer) parcel(s *sequence) (p parcel, ok bool) {
	k := s.stream[s.sent%len(s.stream)]
	if q.stock.kept != nil {
		return q.stock.kept[k], true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	p, err := q.stock.make(k)
	if err != nil && q.err == nil {
		q.err = fmt.Errorf("input data that could be read before: %w", err)
	}
	return p, err == nil
}

func (q *sequencer) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// takeBroken returns how many sequences broke off since it was asked last.
func (q *sequencer) takeBroken() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.broken
	q.broken = 0
	return n
}

// A line is what one slot sends: of the supply what is next, or the requests of
// its sequences. It belongs to the slot's goroutine.
type line struct {
	*crew
	seq *sequence // that is live; nil: none
}

// prepare returns the next request, which is the stage's of that number, if it is
// one of the supply.
func (l *line) prepare(number int) (parcel, bool) {
	if l.sequences == nil {
		return l.supply.take(number)
	}
	if l.seq == nil {
		l.seq = l.sequences.begin()
	}
	return l.sequences.parcel(l.seq)
}

// step says where in its sequence the request is that was prepared last. closing
// makes it the last one.
func (l *line) step(closing bool) backend.SequenceStep {
	if l.seq == nil {
		return backend.SequenceStep{}
	}
	return backend.SequenceStep{ID: l.seq.id, Start: l.seq.sent == 0, End: closing || l.seq.sent == l.seq.length-1}
}

// sent takes note of how the request ended. What came after one that failed would
// lack it: its sequence is over.
func (l *line) sent(x *backend.Exchange) {
	if l.seq == nil {
		return
	}
	l.seq.sent++
	ok := x.Request.Status == export.StatusOK
	if x.Sequence.End || !ok {
		l.sequences.end(l.seq, !ok && !x.Sequence.End)
		l.seq = nil
	}
}

// close ends a sequence that is under way when the load is over, as perf_analyzer
// does: by one more request. One that has not begun needs none.
func (l *line) close(ctx context.Context, worker int, sender backend.Sender) {
	if l.seq == nil {
		return
	}
	if l.seq.sent == 0 || ctx.Err() != nil {
		l.sequences.end(l.seq, false)
		l.seq = nil
		return
	}
	if p, ok := l.prepare(0); ok {
		x := l.exchange(ctx, worker, sender, errand{pass: l.gate.extra(), parcel: p, step: l.step(true)})
		l.sent(x)
		l.out.put(x)
	}
}

// sequential prepares for a model that keeps state, if it does: the entries are
// those of all streams, and what makes no sequences is refused.
func (r *session) sequential(ctx context.Context) error {
	b, ok := r.cfg.Backend.(backend.Stateful)
	if !ok || !b.Stateful() {
		return nil
	}
	if r.cfg.BatchSize > 1 {
		return fmt.Errorf("batch size %d: model %s keeps state, and takes a sequence's requests one by one; use -b 1", r.cfg.BatchSize, b.Model())
	}
	if r.cfg.Sequences.ThroughputSuffices {
		r.cfg.Measure.ThroughputSuffices = true
	}
	var err error
	r.sequences, err = newSequencer(ctx, &r.cfg, r.stock)
	return err
}

// brokenWarning says what became of sequences of a level; "" when all is well.
func (q *sequencer) brokenWarning() string {
	if q == nil {
		return ""
	}
	n := q.takeBroken()
	if n == 0 {
		return ""
	}
	return plural.GroupedOf(n, "sequence") + " broke off with a request that failed"
}

// statefulSource is what to send to a model that keeps state: with all streams, if
// those are given.
func (c *Config) statefulSource() workload.Source {
	if b, ok := c.Backend.(backend.Stateful); ok && c.Streams != nil && b.Stateful() {
		return c.Streams
	}
	return c.Entries
}
