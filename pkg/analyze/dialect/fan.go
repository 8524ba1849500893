package dialect

import (
	"context"
	"sync"

	"github.com/pa-tools/pa/pkg/export"
)

// Fan gives each of several consumers all requests of r, which is read once:
// in lockstep, so that no more than one request is in memory. It returns the
// consumers' errors when all have returned. A consumer may return early, must
// change nothing of what it reads, and runs in a goroutine of its own that ends
// with it.
func Fan(r export.Reader, consumers []func(export.Reader) error) []error {
	f := &fan{source: r, present: len(consumers)}
	f.ready = sync.NewCond(&f.mu)
	errs := make([]error, len(consumers))
	var wg sync.WaitGroup
	for i, consume := range consumers {
		wg.Go(func() {
			b := &branch{f: f}
			defer b.leave()
			errs[i] = consume(b)
		})
	}
	wg.Wait()
	return errs
}

// A fan is the common state of the branches of one reader.
//
// The request number turn is there for all. A branch that wants the next one
// waits until all present branches do; the last of them fetches it.
type fan struct {
	source export.Reader

	mu      sync.Mutex
	ready   *sync.Cond
	present int  // branches that still read
	waiting int  // of them, those that want the next request
	turn    int  // grows with each request
	more    bool // what the source's Next said
}

// advance is called with mu held: it fetches the next request when all want
// it.
func (f *fan) advance() {
	if f.present == 0 || f.waiting < f.present {
		return
	}
	f.more = f.source.Next()
	f.waiting = 0
	f.turn++
	f.ready.Broadcast()
}

// A branch is one consumer's view of the reader.
type branch struct {
	f   *fan
	end bool
}

func (b *branch) Next() bool {
	f := b.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if b.end {
		return false
	}
	turn := f.turn
	f.waiting++
	f.advance()
	for f.turn == turn {
		f.ready.Wait()
	}
	b.end = !f.more
	return f.more
}

func (b *branch) leave() {
	f := b.f
	f.mu.Lock()
	defer f.mu.Unlock()
	f.present--
	f.advance()
}

func (b *branch) Run() *export.Run         { return b.f.source.Run() }
func (b *branch) Request() *export.Request { return b.f.source.Request() }
func (b *branch) Experiment() int          { return b.f.source.Experiment() }
func (b *branch) Err() error               { return b.f.source.Err() }
func (b *branch) Close() error             { return nil } // the source is its opener's

func (b *branch) Warnings() []export.Warning {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	return b.f.source.Warnings()
}

// Scrapes keeps the others from going on meanwhile.
func (b *branch) Scrapes(ctx context.Context, do func(*export.Scrape) error) error {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	return b.f.source.Scrapes(ctx, do)
}

func (b *branch) Skipped(experiment int) (counted, excluded int) {
	return export.Skipped(b.f.source, experiment)
}
