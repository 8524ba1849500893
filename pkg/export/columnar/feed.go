package columnar

import "sync"

// A feed reads the rows of the parts of a plan, in the order of the plan. For a source
// that can read ahead it decodes the rows of several parts ahead of the caller.
type feed struct {
	src  source
	plan []part // the current part and the parts after it
	view func(batch int) view
	open batchRows // the current batch of a source that cannot read ahead; nil between batches

	// ahead has a channel for each part that is being decoded, in the order of the
	// plan; nil if the source cannot read ahead.
	ahead   []chan decodedRows
	started int // number of parts of plan that are being decoded
	most    int // of started
	stop    chan struct{}
	running sync.WaitGroup
}

// A decodedRows holds one result of batchRows.rows.
type decodedRows struct {
	rows  *rows
	batch batchRows // of the rows
	err   error
}

// newFeed returns a feed of plan, as view says of each batch. It decodes
// at most most parts at the same time.
func newFeed(src source, plan []part, view func(batch int) view, most int) *feed {
	return &feed{src: src, plan: plan, view: view, most: most, stop: make(chan struct{})}
}

// rows returns the next rows of the current part, valid until the next call. At the end of
// the part it returns nil once; the next call starts the next part.
func (f *feed) rows() (t *rows, err error) {
	if f.src.ahead() > 0 {
		return f.next()
	}
	if f.open == nil {
		err = catchPanic(func() (err error) { f.open, err = f.src.open(f.plan[0].batch, f.view(f.plan[0].batch)); return err })
		if err != nil {
			return nil, err
		}
	}
	if err = catchPanic(func() (err error) { t, err = f.open.rows(); return err }); t == nil {
		f.open, f.plan = nil, f.plan[1:]
	}
	return t, err
}

// next returns the next rows that were decoded ahead.
func (f *feed) next() (*rows, error) {
	for f.started < len(f.plan) && len(f.ahead) < f.most {
		out := make(chan decodedRows, f.src.ahead())
		f.ahead = append(f.ahead, out)
		part := f.plan[f.started]
		f.started++
		f.running.Go(func() { f.decode(part, out) })
	}
	d := <-f.ahead[0]
	if d.rows == nil {
		f.ahead, f.plan = f.ahead[1:], f.plan[1:]
		f.started--
		if d.err == nil {
			d.batch.release()
		}
	}
	return d.rows, d.err
}

// decode sends the rows of part p to out, and nil after the last rows.
func (f *feed) decode(p part, out chan<- decodedRows) {
	var d decodedRows
	d.err = catchPanic(func() (err error) { d.batch, err = f.src.open(p.batch, f.view(p.batch)); return err })
	for {
		if d.err == nil {
			d.err = catchPanic(func() (err error) { d.rows, err = d.batch.rows(); return err })
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

// close stops the goroutines that decode, and waits for them.
func (f *feed) close() {
	close(f.stop)
	f.running.Wait()
}
