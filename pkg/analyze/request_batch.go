package analyze

import (
	"context"
	"hash/maphash"
	"sync/atomic"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A batch measures requests. A reader may fill several batches at once, in goroutines of its
// own; see [export.BatchReader].
type batch struct {
	ctx      context.Context
	cfg      *Config
	meter    *answer.Meter
	requests []Point
	// model is the model that the payload of the first request names; "" if later is set: the
	// first request of the run was in another batch.
	model string
	later bool
	// cut says that ctx ended before all requests were measured.
	cut    bool
	counts export.RequestCounts // of the requests
	// contradicted sums up the requests whose derived values were computed again.
	contradicted contradiction
	checker      *answer.Checker // nil: requests are not checked
	timesOnly    bool            // see storedUse
	answer       *answer.Answer  // of the last request; nil if it was not decoded
	damaged      bool            // the last request has damaged derived values

	gaps     []int64  // of all requests, until the next Reset
	times    []uint64 // the same, and sendings, for an Observer
	sendings []Sending
	tokens   []int32     // of the ends of these gaps, as far as they are counted
	sizes    *batchSizes // of earlier batches of the run
	keeper   pointKeeper // of points that stay longer
	prompts  promptHasher
}

// batchSizes holds the sizes of the largest batch so far. New batches begin with room for as
// much: memory that grows by doubling is touched twice.
type batchSizes struct{ requests, gaps atomic.Int64 }

// newBatch returns an empty batch for the requests of run, whose batches share sizes.
func newBatch(ctx context.Context, run *export.Run, cfg *Config, stored *storedUse, sizes *batchSizes, seed maphash.Seed) *batch {
	return &batch{
		checker: stored.checker(run, cfg), timesOnly: stored.timesOnly,
		ctx: ctx, cfg: cfg, meter: answer.NewMeter(run, cfg.PerRequest()), sizes: sizes,
		prompts:  promptHasher{seed: seed},
		requests: make([]Point, 0, sizes.requests.Load()), gaps: make([]int64, 0, sizes.gaps.Load()),
	}
}

// Reset implements export.Batch.
func (b *batch) Reset() {
	clear(b.requests)
	b.requests, b.gaps, b.tokens, b.model, b.cut = b.requests[:0], b.gaps[:0], b.tokens[:0], "", false
	b.times, b.sendings = b.times[:0], b.sendings[:0]
	b.prompts.reset()
	b.contradicted, b.counts = contradiction{}, export.RequestCounts{}
}

// Add implements export.Batch.
func (b *batch) Add(r *export.Request) {
	if b.skip() {
		return
	}
	if len(b.requests) == 0 && !b.later {
		b.model = answer.ModelOf(r)
	}
	b.counts.Add(r)
	if b.cfg.Decode != nil {
		b.add(r, b.meter.MeasureAnswer(r, b.cfg.Decode(r)))
		b.answer = nil
	} else {
		q := b.meter.Measure(r)
		b.answer = q.Answer
		b.add(r, q)
	}
}

// AddDerived implements export.DerivedBatch.
func (b *batch) AddDerived(r *export.Request, d *export.Derived) {
	if b.skip() {
		return
	}
	b.counts.Add(r)
	b.answer, b.damaged = nil, false
	if d != nil {
		b.add(r, b.meter.MeasureDerived(r, d))
		return
	}
	b.contradicted.checked++
	b.differs(r, answer.Difference{})
	b.damaged = true
	r.OutputsDropped = true // the tokens are unknown
	b.add(r, b.meter.Measure(r))
	b.requests[len(b.requests)-1].damaged = true
}

var _ export.CheckedBatch = (*batch)(nil)

// Check implements export.CheckedBatch.
func (b *batch) Check(r *export.Request, d *export.Derived, outputs bool) {
	if b.checker == nil || b.damaged || b.skip() {
		return
	}
	b.contradicted.checked++
	var difference *answer.Difference
	switch {
	case b.timesOnly || !outputs:
		difference = b.checker.CheckTimes(r, d)
	case b.answer != nil:
		difference = b.checker.CheckAnswer(r, b.answer, d)
	default:
		difference = b.checker.Check(r, d)
	}
	if difference != nil {
		b.differs(r, *difference)
	}
}

// differs notes a difference of the derived values of r.
func (b *batch) differs(r *export.Request, d answer.Difference) {
	if b.contradicted.found == 0 {
		b.contradicted.Difference, b.contradicted.request = d, nameOf(r)
	}
	b.contradicted.found++
}

// skip reports whether ctx has ended, so that no more requests are measured: a tokenizer may
// take many seconds for each.
func (b *batch) skip() bool {
	b.cut = b.cut || b.ctx.Err() != nil
	return b.cut
}

// add adds r, whose measures are q.
func (b *batch) add(r *export.Request, q *answer.Measured) {
	p := point(r, q)
	if b.cfg.keeps() {
		b.keeper.keep(&p, r, q.Answer)
	} else {
		from, room := len(b.gaps), cap(b.gaps)
		b.gaps = append(b.gaps, p.Gaps...)
		if cap(b.gaps) > room {
			b.sizes.gaps.Store(max(b.sizes.gaps.Load(), int64(cap(b.gaps))))
		}
		p.Gaps = b.gaps[from:len(b.gaps):len(b.gaps)]
		from = len(b.tokens)
		b.tokens = append(b.tokens, p.GapTokens...)
		p.GapTokens = b.tokens[from:len(b.tokens):len(b.tokens)]
	}
	if q.UncachedInput().OK {
		p.prompt = b.prompts.hash(r)
	}
	if b.cfg.Observer != nil {
		b.observe(&p, r, q.Answer)
	}
	room := cap(b.requests)
	b.requests = append(b.requests, p)
	if cap(b.requests) > room {
		b.sizes.requests.Store(max(b.sizes.requests.Load(), int64(cap(b.requests))))
	}
}

// requestSource gives the requests of a reader in batches, measured by the reader's own
// goroutines if it can do so.
type requestSource struct {
	export.Reader
	batches export.BatchReader // nil: one request after the other
	stored  storedUse
	own     *batch
	begun   bool // own had a request
}

// newRequestSource returns the requestSource of r. contradicted says that derived values of r were
// found to contradict what was recorded.
func newRequestSource(ctx context.Context, r export.Reader, cfg *Config, contradicted bool) *requestSource {
	s := &requestSource{Reader: r, stored: useStored(r, cfg, contradicted)}
	run := *export.Preview(r) // a copy: a reader may find more experiments meanwhile
	sizes, seed := &batchSizes{}, maphash.MakeSeed()
	if cfg.Decode == nil {
		s.batches, _ = export.InBatches(r, func() export.Batch { return newBatch(ctx, &run, cfg, &s.stored, sizes, seed) })
	}
	if s.batches == nil {
		s.own = newBatch(ctx, &run, cfg, &s.stored, sizes, seed)
	}
	return s
}

// mustRestart reports whether the derived values of b contradict what was recorded, and were used in
// its place: the figures must be computed again without them.
func (s *requestSource) mustRestart(b *batch) bool {
	return b.contradicted.found > 0 && s.stored.reader != nil && s.stored.checks != nil && (s.stored.brief || !s.stored.timesOnly)
}

// next returns the next batch; nil if there is none.
func (s *requestSource) next() *batch {
	if !s.Next() {
		return nil
	}
	if s.batches != nil {
		return s.batches.Batch().(*batch)
	}
	s.own.Reset()
	s.own.later = s.begun
	s.begun = true
	if s.stored.reader == nil {
		s.own.Add(s.Request())
	} else {
		s.own.AddDerived(s.Request(), s.stored.reader.Derived())
	}
	if s.stored.checks != nil {
		if q, d, outputs := s.stored.checks.Checked(); q != nil {
			s.own.Check(q, d, outputs)
		}
	}
	return s.own
}
