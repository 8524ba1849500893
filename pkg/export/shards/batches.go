package shards

import (
	"fmt"
	"sync"

	"github.com/pa-tools/pa/pkg/export"
)

// mostAtOnce is the number of shards that batches are read from at the same time at most.
// The cores that a shard leaves idle at its end decode another one meanwhile.
const mostAtOnce = 4

// A shardFeed gives the requests of a shard in batches.
type shardFeed struct {
	shard *rankShard
	rows  *export.Rows
	made  batchPool // all batches of the shard

	batch export.Batch // the current one
	level int          // of the run
	err   error        // besides the reader's
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
	if s.clients > 0 {
		s.rename(r)
	}
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
