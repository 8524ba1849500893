package shards

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/pa-tools/pa/pkg/export"
)

// mostAtOnce is the number of shards that batches are read from at the same time at most.
// The cores that a shard leaves idle at its end decode another one meanwhile.
const mostAtOnce = 4

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

// A shardFeed gives the requests of a shard in batches.
type shardFeed struct {
	shard *rankShard
	rows  *export.Rows
	made  batchPool // all batches of the shard

	batch export.Batch // the current one
	level int          // of the run
	err   error        // besides the reader's
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
	f.batch = nil
	if !f.rows.Next() {
		return false
	}
	if f.level, f.err = f.shard.level(f.rows.Experiment()); f.err != nil {
		return false
	}
	f.batch = f.rows.Batch().(*shardBatch).Batch
	return true
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

// Add implements [export.Batch].
func (b *shardBatch) Add(row *export.Row) {
	b.shard.adopt(row.Request)
	b.Batch.Add(row)
}
