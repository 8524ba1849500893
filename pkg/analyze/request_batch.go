package analyze

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"github.com/pa-tools/pa/internal/sanitize"
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
	parts    *figure.PromptParts // nil: not asked for
}

// batchSizes holds the sizes of the largest batch so far. New batches begin with room for as
// much: memory that grows by doubling is touched twice.
type batchSizes struct{ requests, gaps atomic.Int64 }

// newBatch returns an empty batch for the requests of run, whose batches share sizes.
func newBatch(ctx context.Context, run *export.Run, cfg *Config, stored *storedUse, sizes *batchSizes, seed maphash.Seed, cache *figure.PromptCache) *batch {
	return &batch{
		stored: stored, checker: stored.checker(run, cfg),
		ctx: ctx, cfg: cfg, meter: answer.NewMeter(run, cfg.PerRequest()), sizes: sizes,
		prompts: figure.PromptHasher{Seed: seed}, parts: cache.Parts(),
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
	if b.cfg.Sessions != nil {
		p.inSession(r, q.Answer, b.parts, b.cfg.Sessions)
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
func newRequestSource(ctx context.Context, r export.Reader, cfg *Config, contradicted bool, cache *figure.PromptCache) *requestSource {
	if cfg.Decode != nil {
		r = singleRequests{r}
	}
	s := &requestSource{stored: useOf(r, cfg, contradicted)}
	run := *export.Preview(r) // a copy: a reader may find more experiments meanwhile
	sizes, seed := &batchSizes{}, maphash.MakeSeed()
	s.Rows = export.Read(r, export.Need{
		Derived: s.stored.derived, Check: s.stored.check, AnyOrder: true, // see pointStore.sort
		Batch: func() export.Batch { return newBatch(ctx, &run, cfg, &s.stored, sizes, seed, cache) },
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

// readAgain returns the result of once, which reads a file from the beginning. It calls once again if the file turns out
// to have an unusual layout, or derived values that contradict what was recorded: those are then passed to once.
func readAgain[T any](once func(found *contradiction) (T, error)) (T, error) {
	result, err := once(nil)
	var found *contradiction
	if errors.Is(err, export.ErrRunChanged) || errors.As(err, &found) {
		return once(found)
	}
	return result, err
}

// next returns the next batch; nil if there is none.
func (s *requestSource) next() *batch {
	if !s.Next() {
		return nil
	}
	return s.Batch().(*batch)
}

// A storedUse says how the derived values of a file are used.
type storedUse struct {
	derived export.DerivedUse
	check   export.Check
	// derivation describes the values.
	derivation export.Derivation
	// timesOnly says that the file lacks the outputs, so that only times can be checked.
	timesOnly bool
}

// replaces reports whether the values are used in place of the answers.
func (u *storedUse) replaces() bool { return u.derived >= export.DerivedInstead }

// useOf decides how the derived values of r are used. contradicted says that the values contradict
// the recording.
//
// Values that match cfg replace the answers, and a sample of the requests is computed again. With
// Config.Verify the figures come from the answers, and all requests are checked. A follower also needs
// the answers; a sample is checked.
func useOf(r export.Reader, cfg *Config, contradicted bool) (u storedUse) {
	stored := export.StoredIn(r)
	c := cfg.PerRequest()
	if stored == nil || cfg.Audio || !c.Matches(stored.Derivation) { // the columns hold no audio
		return u
	}
	u.derivation, u.timesOnly = stored.Derivation, !stored.Outputs
	switch {
	case contradicted && !u.timesOnly:
		u.derived = export.DerivedUnused
		return u
	case contradicted:
	case cfg.Verify:
		u.check = export.CheckAll
	default:
		u.check = export.CheckSample
	}
	switch {
	case cfg.follows() || (cfg.Verify || cfg.Images || cfg.Realtime || cfg.Sessions != nil && !cfg.Sessions.OnlyTrees) && !u.timesOnly: // a follower's points have a hash of the inputs
	case cfg.keeps() || cfg.Verify || contradicted:
		u.derived = export.DerivedInstead
	default:
		u.derived = export.DerivedBrief
	}
	return u
}

// checker returns a Checker of the derived values of run; nil if they cannot be computed again.
func (u *storedUse) checker(run *export.Run, cfg *Config) *answer.Checker {
	if u.check == export.CheckNone {
		return nil
	}
	c := cfg.PerRequest()
	checker, err := answer.NewChecker(run, u.derivation, c.Counter, c.Tokenizer)
	if err != nil {
		checker, err = answer.NewUncountedChecker(run, u.derivation)
	}
	if err != nil { // Matches allows no such derivation
		return nil
	}
	return checker
}

// storedModel returns the model that the first request of the file names, from the metadata of
// the file. ok is false if its derived values are not used.
func (u *storedUse) storedModel() (model string, ok bool) {
	if !u.replaces() {
		return "", false
	}
	return u.derivation.Model, true
}

// A contradiction is the error that derived values differ from the values that the recording gives.
type contradiction struct {
	answer.Difference
	request string // names the first request
	checked int    // requests that were checked
	found   int    // checked requests with a difference
}

// Error implements error.
func (c *contradiction) Error() string { return "the derived columns contradict the recorded answers" }

// add adds the requests of o, which come later.
func (c *contradiction) add(o *contradiction) {
	if c.found == 0 && o.found > 0 {
		c.Difference, c.request = o.Difference, o.request
	}
	c.checked += o.checked
	c.found += o.found
}

// nameOf names a request in messages.
func nameOf(r *export.Request) string {
	if r.HasMeta {
		return fmt.Sprintf("request %d (timestamp %d)", r.ID, r.StartNS)
	}
	return fmt.Sprintf("the request with the timestamp %d", r.StartNS)
}

// warning returns the warning about c. timesOnly says that the file has no outputs, and all says that
// all requests were checked.
func (c *contradiction) warning(timesOnly, all bool) error {
	from := "the recorded answers"
	if timesOnly {
		from = "the recorded times"
	}
	which := "the derived columns"
	if all {
		which += " of " + ofRequests([]int64{int64(c.found), int64(c.checked)})
	}
	example := c.request + " lacks them, or has damaged ones"
	if c.Column != "" {
		example = fmt.Sprintf("%s has %s %s, computed %s", c.request, c.Column, sanitize.Clip(c.Stored, maxQuotedBytes), sanitize.Clip(c.Computed, maxQuotedBytes))
	}
	return &Warning{Kind: KindContradiction, Sub: "derived", text: fmt.Sprintf(
		"%s contradict %s: %s; all figures are computed from %s; the file was changed after it was written: pa-analyze convert computes the columns again",
		which, from, example, from)}
}

// unverified is the warning about derived values that cannot be computed again.
func unverified() error {
	return &Warning{Kind: KindContradiction, Sub: "unverified", text: "the numbers of tokens are from derived columns and are not verified: the outputs from which they were computed are not in the file"}
}

// observe adds to p what an Observer sees of its request r besides the measures. It stays valid until the
// next Reset.
func (b *batch) observe(p *Point, r *export.Request, a *answer.Answer) {
	b.sendings = append(b.sendings, sendingOf(r))
	p.Sending = &b.sendings[len(b.sendings)-1]
	first, ok := a.FirstTokenNS(r)
	if !ok {
		return
	}
	chained := p.Events == len(p.Gaps)+1
	if !chained && len(a.Events) == 0 {
		return // some gaps of an answer without events were left out
	}
	p.FirstTokenNS = first
	if b.cfg.keeps() || chained {
		return // the point has its times, or they follow
	}
	from := len(b.times)
	for i := range a.Events {
		b.times = append(b.times, a.Events[i].RecvNS)
	}
	p.TokenNS = b.times[from:len(b.times):len(b.times)]
	if len(p.Gaps) > 0 { // else the file may only seem to show some
		from = len(b.times)
		b.times = appendGapEnds(b.times, a)
		p.GapNS = b.times[from:len(b.times):len(b.times)]
	}
}
