package shards

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/pa-tools/pa/pkg/export"
)

const (
	// mostAtOnce is the number of shards that batches are read from at the same time at most.
	// The cores that a shard leaves idle at its end decode another one meanwhile.
	mostAtOnce = 4
	// ownBatchRequests is the number of requests of a batch that a shardFeed fills itself.
	ownBatchRequests = 64
)

// InBatches implements [export.BatchReader]. ok is false unless ByFile was called: batches have
// no common order of ids. The batches of a few shards take turns, and further shards follow.
func (r *Reader) InBatches(newBatch func() export.Batch) (ok bool) {
	if !r.byFile || r.begun {
		return false
	}
	r.newBatch = newBatch
	return true
}

// Batch implements [export.BatchReader].
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

// A shardFeed gives the requests of a shard in batches.
type shardFeed struct {
	shard   *rankShard
	batches export.BatchReader // nil: the shard's reader has single requests only
	stored  export.DerivedReader
	checked export.CheckingReader // nil: no request is checked
	made    batchPool             // all batches of the shard
	own     *shardBatch           // that is filled here
	ahead   bool                  // the reader's current request belongs to the next batch

	batch export.Batch // the current one
	level int          // of the run
	err   error        // besides the reader's
}

// newFeed returns a feed of a shard that is read at the same time as others, n in all.
func (r *Reader) newFeed(s *rankShard, n int) *shardFeed {
	if x, ok := s.Reader.(export.SharingReader); ok {
		x.ShareWith(n)
	}
	f := &shardFeed{shard: s}
	newBatch := func() *shardBatch {
		b := r.spare.take()
		if b == nil {
			b = r.newBatch()
		}
		f.made.put(b)
		return &shardBatch{b, s}
	}
	if f.batches, _ = export.InBatches(s.Reader, func() export.Batch { return newBatch() }); f.batches == nil {
		f.own = newBatch()
		if r.skipsAnswers {
			f.stored, _ = s.Reader.(export.DerivedReader)
		}
		if r.checks {
			f.checked, _ = s.Reader.(export.CheckingReader)
		}
	}
	return f
}

// A batchPool holds batches that later shards use again. Its methods may be called in any
// goroutine.
type batchPool struct {
	mu  sync.Mutex
	all []export.Batch
}

// take returns a batch; nil if there is none.
func (p *batchPool) take() export.Batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.all)
	if n == 0 {
		return nil
	}
	b := p.all[n-1]
	p.all = p.all[:n-1]
	return b
}

// put adds batches.
func (p *batchPool) put(all ...export.Batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, all...)
}

// next goes to the next batch of the shard. It reports whether there is one.
func (f *shardFeed) next() bool {
	if f.batches != nil {
		if !f.batches.Next() {
			return false
		}
		f.batch = f.batches.Batch().(*shardBatch).Batch
		return f.setLevel(f.batches.Experiment())
	}
	if !f.ahead && !f.shard.Reader.Next() {
		return false
	}
	experiment := f.shard.Reader.Experiment()
	if !f.setLevel(experiment) {
		return false
	}
	f.batch = f.own.Batch
	f.own.Reset()
	for n := 0; ; {
		if f.stored != nil {
			f.own.AddDerived(f.shard.Reader.Request(), f.stored.Derived())
		} else {
			f.own.Add(f.shard.Reader.Request())
		}
		if f.checked != nil {
			if q, d, outputs := f.checked.Checked(); q != nil {
				f.own.Check(q, d, outputs)
			}
		}
		if n++; n == ownBatchRequests {
			f.ahead = false
			return true
		}
		f.ahead = f.shard.Reader.Next()
		if !f.ahead || f.shard.Reader.Experiment() != experiment {
			return true
		}
	}
}

// setLevel sets the level of the run for an experiment of the shard. It returns false if the
// shard has no such experiment.
func (f *shardFeed) setLevel(experiment int) bool {
	if f.level, f.err = f.shard.level(experiment); f.err != nil {
		f.batch = nil
	}
	return f.err == nil
}

// level returns the level of the run for an experiment of the shard.
func (s *rankShard) level(experiment int) (int, error) {
	if experiment < 0 || experiment >= len(s.levels) {
		return 0, fmt.Errorf("%s: a request belongs to experiment %d, but the header has %d", s.Name, experiment, len(s.levels))
	}
	return s.levels[experiment], nil
}

// adopt makes a request of the shard a request of the run.
func (s *rankShard) adopt(r *export.Request) {
	_ = s.seen.Add(s.index, r) // Requests keeps the error
	s.clock.shift(r)
	r.Rank = s.meta.Rank
}

// A shardBatch makes the requests of a shard requests of the run before it adds them to the
// caller's batch.
type shardBatch struct {
	export.Batch
	shard *rankShard
}

var _ export.CheckedBatch = (*shardBatch)(nil)

// Add implements [export.Batch].
func (b *shardBatch) Add(r *export.Request) {
	b.shard.adopt(r)
	b.Batch.Add(r)
}

// AddDerived implements [export.DerivedBatch].
func (b *shardBatch) AddDerived(r *export.Request, d *export.Derived) {
	b.shard.adopt(r)
	if x, ok := b.Batch.(export.DerivedBatch); ok {
		x.AddDerived(r, d)
		return
	}
	b.Batch.Add(r)
}

// Check implements [export.CheckedBatch].
func (b *shardBatch) Check(r *export.Request, d *export.Derived, outputs bool) {
	if x, ok := b.Batch.(export.CheckedBatch); ok {
		x.Check(r, d, outputs)
	}
}
