package columnar

import (
	"runtime"
	"sync"
)

// A feed gives the rows of the parts of a plan, part by part. If the source allows it,
// it decodes the rows ahead of the caller, several batches at a time.
type feed struct {
	src    source
	plan   []part // from the part that is being given on
	wanted func(col int) bool
	open   batchRows // of a source that is not concurrent; nil between batches

	// Of a concurrent source: the parts that are being decoded, in the order of the
	// plan.
	decoding []chan decoded
	started  int // number of parts of plan that are being decoded
	stop     chan struct{}
	running  sync.WaitGroup
}

// A decoded is what the source returned.
type decoded struct {
	rows *rows
	err  error
}

func newFeed(src source, plan []part, wanted func(col int) bool) *feed {
	return &feed{src: src, plan: plan, wanted: wanted, stop: make(chan struct{})}
}

// rows returns the next rows of the part, valid until the next call; nil after the last,
// and then the rows of the next part.
func (f *feed) rows() (t *rows, err error) {
	if f.src.concurrent() {
		return f.next()
	}
	if f.open == nil {
		err = guard(func() (err error) { f.open, err = f.src.open(f.plan[0].batch, f.wanted); return err })
		if err != nil {
			return nil, err
		}
	}
	if err = guard(func() (err error) { t, err = f.open.rows(); return err }); t == nil {
		f.open, f.plan = nil, f.plan[1:]
	}
	return t, err
}

// next returns the next rows that were decoded ahead.
func (f *feed) next() (*rows, error) {
	for f.started < len(f.plan) && len(f.decoding) < runtime.GOMAXPROCS(0) {
		out := make(chan decoded, decodedBatches-2)
		f.decoding = append(f.decoding, out)
		part := f.plan[f.started]
		f.started++
		f.running.Go(func() { f.decode(part, out) })
	}
	d := <-f.decoding[0]
	if d.rows == nil {
		f.decoding, f.plan = f.decoding[1:], f.plan[1:]
		f.started--
	}
	return d.rows, d.err
}

// decode sends the rows of a part to out, and nil after the last.
func (f *feed) decode(p part, out chan<- decoded) {
	var all batchRows
	d := decoded{err: guard(func() (err error) { all, err = f.src.open(p.batch, f.wanted); return err })}
	for {
		if d.err == nil {
			d.err = guard(func() (err error) { d.rows, err = all.rows(); return err })
		}
		if d.err != nil {
			d.rows = nil
		}
		select {
		case out <- d:
		case <-f.stop:
			return
		}
		if d.rows == nil {
			return
		}
	}
}

// close ends the decoding.
func (f *feed) close() {
	close(f.stop)
	f.running.Wait()
}
