package analyze

import (
	"context"
	"hash/maphash"
	"sync/atomic"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A batch measures requests. A reader may fill several batches at once, in goroutines of its
// own; see [export.Batch].
type batch struct {
	ctx      context.Context
	cfg      *Config
	meter    *answer.Meter
	requests []Point
	model    string // that the payload of the first request names; "" if derived values are used
	// cut says that ctx ended before all requests were measured.
	cut    bool
	counts export.RequestCounts // of the requests
	// contradicted sums up the requests whose derived values were computed again.
	contradicted contradiction
	stored       *storedUse
	checker      *answer.Checker // nil: requests are not checked
	answer       *answer.Answer  // of the last request; nil if it was not decoded
	damaged      bool            // the last request has damaged derived values

	gaps     []int64  // of all requests, until the next Reset
	times    []uint64 // the same, and sendings, for an Observer
	sendings []Sending
	tokens   []int32     // of the ends of these gaps, as far as they are counted
	sizes    *batchSizes // of earlier batches of the run
	keeper   pointKeeper // of points that stay longer
	prompts  figure.PromptHasher
}

// batchSizes holds the sizes of the largest batch so far. New batches begin with room for as
// much: memory that grows by doubling is touched twice.
type batchSizes struct{ requests, gaps atomic.Int64 }

// newBatch returns an empty batch for the requests of run, whose batches share sizes.
func newBatch(ctx context.Context, run *export.Run, cfg *Config, stored *storedUse, sizes *batchSizes, seed maphash.Seed) *batch {
	return &batch{
		stored: stored, checker: stored.checker(run, cfg),
		ctx: ctx, cfg: cfg, meter: answer.NewMeter(run, cfg.PerRequest()), sizes: sizes,
		prompts:  figure.PromptHasher{Seed: seed},
		requests: make([]Point, 0, sizes.requests.Load()), gaps: make([]int64, 0, sizes.gaps.Load()),
	}
}

// Reset implements export.Batch.
func (b *batch) Reset() {
	clear(b.requests)
	b.requests, b.gaps, b.tokens, b.model, b.cut = b.requests[:0], b.gaps[:0], b.tokens[:0], "", false
	b.times, b.sendings = b.times[:0], b.sendings[:0]
	b.prompts.Reset()
	b.contradicted, b.counts = contradiction{}, export.RequestCounts{}
}

// Add implements export.Batch.
func (b *batch) Add(row *export.Row) {
	if b.skip() {
		return
	}
	b.counts.Add(row.Request)
	b.answer, b.damaged = nil, false
	if b.stored.replaces() {
		b.addDerived(row.Request, row.Derived)
	} else {
		b.addAnswer(row.Request)
	}
	if row.Check.Request != nil && b.checker != nil && !b.damaged && !b.skip() {
		b.check(&row.Check)
	}
}

// addAnswer measures r by its answer.
func (b *batch) addAnswer(r *export.Request) {
	if len(b.requests) == 0 {
		b.model = answer.ModelOf(r)
	}
	if b.cfg.Decode != nil {
		b.add(r, b.meter.MeasureAnswer(r, b.cfg.Decode(r)))
		return
	}
	q := b.meter.Measure(r)
	b.answer = q.Answer
	b.add(r, q)
}

// addDerived measures r by its derived values d; nil if r has none, or damaged ones.
func (b *batch) addDerived(r *export.Request, d *export.Derived) {
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

// check computes the derived values of a request again and compares them.
func (b *batch) check(c *export.CheckedRequest) {
	b.contradicted.checked++
	var difference *answer.Difference
	switch {
	case b.stored.timesOnly || !c.Outputs:
		difference = b.checker.CheckTimes(c.Request, c.Derived)
	case b.answer != nil:
		difference = b.checker.CheckAnswer(c.Request, b.answer, c.Derived)
	default:
		difference = b.checker.Check(c.Request, c.Derived)
	}
	if difference != nil {
		b.differs(c.Request, *difference)
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
		p.prompt = b.prompts.Hash(r)
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
	*export.Rows
	stored storedUse
}

// newRequestSource begins to read r. contradicted says that derived values of r were found to contradict
// what was recorded.
func newRequestSource(ctx context.Context, r export.Reader, cfg *Config, contradicted bool) *requestSource {
	if cfg.Decode != nil {
		r = singleRequests{r}
	}
	s := &requestSource{stored: useOf(r, cfg, contradicted)}
	run := *export.Preview(r) // a copy: a reader may find more experiments meanwhile
	sizes, seed := &batchSizes{}, maphash.MakeSeed()
	s.Rows = export.Read(r, export.Need{
		Derived: s.stored.derived, Check: s.stored.check, AnyOrder: true, // see pointStore.sort
		Batch: func() export.Batch { return newBatch(ctx, &run, cfg, &s.stored, sizes, seed) },
	})
	return s
}

// singleRequests hides that a reader can fill batches in goroutines of its own.
type singleRequests struct{ export.Reader }

// mustRestart reports whether the derived values of b contradict what was recorded, and were used in
// its place: the figures must be computed again without them.
func (s *requestSource) mustRestart(b *batch) bool {
	return b.contradicted.found > 0 && s.stored.replaces() && s.stored.check != export.CheckNone &&
		(s.stored.derived == export.DerivedBrief || !s.stored.timesOnly)
}

// next returns the next batch; nil if there is none.
func (s *requestSource) next() *batch {
	if !s.Next() {
		return nil
	}
	return s.Batch().(*batch)
}
