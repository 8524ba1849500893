package dialect

import (
	"context"
	"sync"

	"github.com/pa-tools/pa/pkg/export"
)

// Tee reads r once and hands each request to all consumers. The consumers run in
// goroutines of their own and in lockstep, so that one request is in memory at a time. A
// consumer must not change the requests; it may return early. Tee returns the errors of
// the consumers, in their order, when all have returned.
func Tee(r export.Reader, consumers []func(export.Reader) error) []error {
	f := &tee{source: r, present: len(consumers)}
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

// tee is the common state of the branches of one reader. All branches read request
// number turn. A branch that wants the next one waits for the other present branches;
// the last of them fetches it.
type tee struct {
	source export.Reader

	mu      sync.Mutex
	ready   *sync.Cond
	present int  // branches that still read
	waiting int  // branches that wait for the next request
	turn    int  // number of the current request
	more    bool // result of the source's Next
}

// advance fetches the next request if all present branches wait for it. The caller
// holds mu.
func (f *tee) advance() {
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
	f   *tee
	end bool
}

// Next implements export.Reader. It waits until all branches ask for the next request, or have left.
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
func (b *branch) Close() error             { return nil } // the caller of Tee closes the source

func (b *branch) Warnings() []export.Warning {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	return b.f.source.Warnings()
}

// Scrapes reads the telemetry while the other branches wait.
func (b *branch) Scrapes(ctx context.Context, do func(*export.Scrape) error) error {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	return b.f.source.Scrapes(ctx, do)
}

func (b *branch) Skipped(experiment int) (counted, excluded int) {
	return b.f.source.Skipped(experiment)
}
