package shards

import (
	"container/heap"
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// A Reader reads the shards of a run as one run. See [export.Reader] for the contract of its
// methods. It changes the requests of the shards' readers in place.
type Reader struct {
	shards  []*rankShard // by rank
	run     *export.Run
	sources sourceNames
	missing []string
	again   func([]Shard) (*Reader, error) // merges the reopened files of clients; nil for shards

	need    export.Need
	stored  *export.Stored // nil unless all shards have derived values that were computed in one way
	begun   bool
	cursors []*cursor // with a current request; a heap unless need.AnyOrder
	current *cursor   // of the current request; nil before the first request and after the last
	errs    []error   // by shard
	seen    *Requests // of all shards

	feeds  []*shardFeed // of the shards that are read at the same time, in batches
	opened int          // number of shards that have or had a feed
	turn   int          // index in feeds of the next batch
	spare  batchPool    // batches of shards that were read
	batch  export.Batch // the current one; nil before the first and after the last
	level  int          // of batch
}

var (
	_ export.SelectiveReader = (*Reader)(nil)
	_ export.Reopener        = (*Reader)(nil)
)

// Merge returns a Reader of the shards of one run, in any order. It fails with a
// *ConflictError if two shards are of different runs or of the same rank, and with another
// error if a file is no shard. Closing the Reader closes the shards; if Merge fails they stay
// open. [Reader.Missing] says whether ranks are missing.
func Merge(all []Shard) (*Reader, error) {
	if len(all) == 0 {
		return nil, errors.New("no shards to merge")
	}
	r := &Reader{}
	for _, s := range all {
		meta, err := Of(s)
		if err != nil {
			return nil, err
		}
		if meta == nil {
			return nil, errors.New(s.Name + ": has no member pa.shard, so it is a whole run and no shard of one")
		}
		r.shards = append(r.shards, &rankShard{Shard: s, run: s.Reader.Run(), meta: meta, clock: clockOf(meta)})
	}
	slices.SortStableFunc(r.shards, byRank)
	if err := agree(r.shards); err != nil {
		return nil, err
	}
	whole, err := place(r.shards)
	if err != nil {
		return nil, err
	}
	r.join(whole)
	return r, nil
}

// join makes the header of the run. whole is the shard with the levels of the run.
func (r *Reader) join(whole *rankShard) {
	r.run, r.missing = joinRun(r.shards, whole, &r.sources)
	r.stored = r.sameDerivation()
	r.Begin(export.Need{})
}

// sameDerivation describes the derived values of the shards; nil unless all of them have some that
// were computed in one way. The first shard names the model.
func (r *Reader) sameDerivation() *export.Stored {
	var all *export.Stored
	for _, s := range r.shards {
		own := export.StoredIn(s.Reader)
		switch {
		case own == nil:
			return nil
		case all == nil:
			first := *own
			all = &first
			continue
		}
		other := own.Derivation
		if other.Model = all.Model; other != all.Derivation {
			return nil
		}
		all.Outputs = all.Outputs && own.Outputs
	}
	return all
}

// Run returns the header of the whole run.
func (r *Reader) Run() *export.Run { return r.run }

// Preview returns the header of the whole run.
func (r *Reader) Preview() *export.Run { return r.run }

// Stored describes the derived values of all shards.
func (r *Reader) Stored() *export.Stored { return r.stored }

// Begin implements [export.SelectiveReader]. It grants batches only in any order: they have
// no common order of ids. The batches of a few shards take turns, and further shards follow.
func (r *Reader) Begin(need export.Need) (batches bool) {
	r.need = need
	r.begun, r.cursors, r.current, r.errs = false, nil, nil, make([]error, len(r.shards))
	r.feeds, r.opened, r.turn, r.batch, r.level = nil, 0, 0, nil, 0
	r.spare.all = nil
	r.seen = &Requests{}
	for _, s := range r.shards {
		s.seen, s.index = r.seen, r.seen.File(s.Name, s.meta.Rank)
	}
	return r.inBatches()
}

// inBatches reports whether Next advances by batches.
func (r *Reader) inBatches() bool { return r.need.Batch != nil && r.need.AnyOrder }

// read begins to read s, one of n shards that are read at the same time, in batches that batch
// makes; nil for single requests.
func (r *Reader) read(s *rankShard, n int, batch func() export.Batch) *export.Rows {
	need := r.need
	need.Batch, need.Share = batch, n
	switch {
	case r.stored == nil:
		need.Derived, need.Check = export.DerivedUnused, export.CheckNone
	case need.Derived == export.DerivedBrief && (s.clock.shiftNS <= -export.EarliestSummary || s.clock.shiftNS >= export.EarliestSummary):
		need.Derived = export.DerivedInstead
	}
	return export.Read(s.Reader, need)
}

// A cursor is the current request of a shard.
type cursor struct {
	shard   *rankShard
	rows    *export.Rows
	request *export.Request
	level   int // of the run
	counted bool
	err     error // besides the reader's
}

// advance goes to the next request of the shard. It reports whether there is one.
func (c *cursor) advance() bool {
	if !c.rows.Next() {
		return false
	}
	if c.level, c.err = c.shard.level(c.rows.Experiment()); c.err != nil {
		return false
	}
	c.request = c.rows.Request()
	c.counted = c.request.Excluded() == export.NotExcluded
	c.shard.adopt(c.request)
	return true
}

// before reports whether the request of c comes before the request of d.
func (c *cursor) before(d *cursor) bool {
	switch {
	case c.level != d.level:
		return c.level < d.level
	case c.counted != d.counted:
		return c.counted
	case c.request.ID != d.request.ID:
		return c.request.ID < d.request.ID
	}
	return c.shard.meta.Rank < d.shard.meta.Rank
}

// cursorHeap orders cursors by their requests.
type cursorHeap []*cursor

func (h cursorHeap) Len() int           { return len(h) }
func (h cursorHeap) Less(i, j int) bool { return h[i].before(h[j]) }
func (h cursorHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *cursorHeap) Push(x any)        { *h = append(*h, x.(*cursor)) }
func (h *cursorHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// begin opens the cursors.
func (r *Reader) begin() {
	r.begun = true
	for _, s := range r.shards {
		c := &cursor{shard: s}
		if r.need.AnyOrder {
			c.rows = r.read(s, r.need.Share, nil)
			r.cursors = append(r.cursors, c)
			continue
		}
		c.rows = r.read(s, len(r.shards), nil)
		if c.advance() {
			r.cursors = append(r.cursors, c)
		} else {
			r.ended(c)
		}
	}
	if !r.need.AnyOrder {
		heap.Init((*cursorHeap)(&r.cursors))
	}
}

// Next implements [export.Reader].
func (r *Reader) Next() bool {
	if r.inBatches() {
		return r.nextBatch()
	}
	if !r.nextRequest() {
		_ = r.seen.End()
		return false
	}
	if r.seen.Err() != nil {
		r.current = nil
		return false
	}
	return true
}

// nextRequest is Next by single requests.
func (r *Reader) nextRequest() bool {
	first := !r.begun
	if first {
		r.begin()
	}
	if r.need.AnyOrder {
		return r.nextOfFile()
	}
	h := (*cursorHeap)(&r.cursors)
	if !first && r.current != nil {
		if r.current.advance() {
			heap.Fix(h, 0)
		} else {
			r.ended(r.current)
			heap.Pop(h)
		}
	}
	r.current = nil
	if len(r.cursors) == 0 {
		return false
	}
	r.current = r.cursors[0]
	return true
}

// nextOfFile goes to the next request of the current shard, or to the first one of the next.
func (r *Reader) nextOfFile() bool {
	for len(r.cursors) > 0 {
		r.current = r.cursors[0]
		if r.current.advance() {
			return true
		}
		r.ended(r.current)
		r.cursors = r.cursors[1:]
	}
	r.current = nil
	return false
}

// ended keeps the error that ended the reading of a shard.
func (r *Reader) ended(c *cursor) {
	r.errs[slices.Index(r.shards, c.shard)] = errors.Join(c.err, c.shard.Reader.Err())
}

// Request implements [export.Reader].
func (r *Reader) Request() *export.Request {
	if r.current == nil {
		return nil
	}
	return r.current.request
}

// Row returns the current request. Its Check has the times of the shard.
func (r *Reader) Row() export.Row {
	if r.current == nil {
		return export.Row{}
	}
	return *r.current.rows.Row()
}

// Experiment implements [export.Reader].
func (r *Reader) Experiment() int {
	switch {
	case r.batch != nil:
		return r.level
	case r.current == nil:
		return 0
	}
	return r.current.level
}

// Err implements [export.Reader]. The other shards are read to their ends if one breaks off. The
// reading ends with a *RequestError if a request does not belong to its shard.
func (r *Reader) Err() error { return errors.Join(errors.Join(r.errs...), r.seen.Err()) }

// Warnings implements [export.Reader].
func (r *Reader) Warnings() []export.Warning {
	var all []export.Warning
	for _, s := range r.shards {
		all = append(all, s.Reader.Warnings()...)
	}
	return all
}

// Skipped implements [export.Reader].
func (r *Reader) Skipped(experiment int) (counted, excluded int) {
	for _, s := range r.shards {
		if at := slices.Index(s.levels, experiment); at >= 0 {
			a, b := s.Reader.Skipped(at)
			counted, excluded = counted+a, excluded+b
		}
	}
	return counted, excluded
}

// Reopen implements [export.Reopener].
func (r *Reader) Reopen(ctx context.Context) (again export.Reader, ok bool, err error) {
	var all []Shard
	fail := func(ok bool, err error) (export.Reader, bool, error) {
		for _, s := range all {
			err = errors.Join(err, s.Reader.Close())
		}
		return nil, ok, err
	}
	for _, s := range r.shards {
		x, ok, err := export.Reopen(ctx, s.Reader)
		if !ok || err != nil {
			return fail(ok, err)
		}
		all = append(all, Shard{s.Name, x})
	}
	merge := Merge
	if r.again != nil {
		merge = r.again
	}
	m, err := merge(all)
	if err != nil {
		return fail(true, err)
	}
	return m, true, nil
}

// Close closes the readers of all shards.
func (r *Reader) Close() error {
	var errs []error
	for _, s := range r.shards {
		errs = append(errs, s.Reader.Close())
	}
	r.current, r.cursors, r.batch, r.feeds = nil, nil, nil, nil
	return errors.Join(errs...)
}

// Missing returns an error that names the missing ranks, the missing levels of other ranks, and
// their share of the load; nil if nothing is missing.
func (r *Reader) Missing() error {
	if len(r.missing) == 0 {
		return nil
	}
	var all []error
	for _, text := range r.missing {
		all = append(all, errors.New(text))
	}
	return errors.Join(all...)
}

// Scrapes implements [export.Reader]: rank by rank, with the times on rank 0's clock.
func (r *Reader) Scrapes(ctx context.Context, do func(*export.Scrape) error) error {
	for i, s := range r.shards {
		names := r.sources.names[i]
		if len(names) == 0 {
			continue
		}
		renamed := map[*export.Series]*export.Series{}
		err := s.Reader.Scrapes(ctx, func(x *export.Scrape) error {
			name, ok := names[x.Source]
			if !ok {
				return nil
			}
			y := *x
			y.StartNS, y.EndNS = s.clock.at(x.StartNS), s.clock.at(x.EndNS)
			if name != x.Source {
				y.Source = name
				y.Samples = nil
				for _, v := range x.Samples {
					series := renamed[v.Series]
					if series == nil {
						c := *v.Series
						c.Source = name
						series = &c
						renamed[v.Series] = series
					}
					y.Samples = append(y.Samples, export.Sample{Series: series, Value: v.Value})
				}
			}
			return do(&y)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Batch returns the current batch.
func (r *Reader) Batch() export.Batch { return r.batch }

// nextBatch is Next in batches.
func (r *Reader) nextBatch() bool {
	r.batch = nil
	for r.seen.Err() == nil {
		most := min(mostAtOnce, runtime.GOMAXPROCS(0), len(r.shards))
		for len(r.feeds) < most && r.opened < len(r.shards) {
			r.feeds = append(r.feeds, r.newFeed(r.shards[r.opened], most))
			r.opened++
		}
		if len(r.feeds) == 0 {
			_ = r.seen.End()
			return false
		}
		r.turn %= len(r.feeds)
		f := r.feeds[r.turn]
		if f.next() {
			r.batch, r.level = f.batch, f.level
			r.turn++
			return true
		}
		r.errs[slices.Index(r.shards, f.shard)] = errors.Join(f.err, f.shard.Reader.Err())
		if f.err == nil { // the reader has stopped its goroutines
			r.spare.put(f.made.all...)
		}
		if r.opened < len(r.shards) {
			r.feeds[r.turn] = r.newFeed(r.shards[r.opened], most)
			r.opened++
		} else {
			r.feeds = slices.Delete(r.feeds, r.turn, r.turn+1)
		}
	}
	return false
}

// newFeed returns a feed of a shard that is read at the same time as others, n in all.
func (r *Reader) newFeed(s *rankShard, n int) *shardFeed {
	f := &shardFeed{shard: s}
	f.rows = r.read(s, n, func() export.Batch {
		b := r.spare.take()
		if b == nil {
			b = r.need.Batch()
		}
		f.made.put(b)
		return &shardBatch{b, s}
	})
	return f
}
