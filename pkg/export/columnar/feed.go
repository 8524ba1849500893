package columnar

import (
	"fmt"
	"sync"

	"github.com/pa-tools/pa/pkg/export"
)

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

// A filledBatch holds requests of one experiment that a goroutine decoded.
type filledBatch struct {
	export.Batch
	experiment int
	rows       int
	// defects counts the rows with a defect; where and msg are of the first one.
	defects    int
	where, msg string
	unchecked  error // why a row was not checked; nil for none
	err        error // that ends the part after the requests
	last       bool  // the part ends
}

// A batchFeed decodes the parts of a plan in several goroutines, each part in one, and returns
// the batches in the order of the plan.
type batchFeed struct {
	*selection
	plan []part // the current part and the parts after it
	most int    // of the parts that are decoded at the same time
	// ahead has a channel for each part that is being decoded, in the order of the plan.
	ahead   []chan *filledBatch
	stop    chan struct{}
	running sync.WaitGroup

	mu   sync.Mutex
	idle []*filledBatch
}

// queuedBatches is the number of batches of a part that wait at most.
const queuedBatches = 16

// next returns the next batch and its part; nil after the last.
func (f *batchFeed) next() (*filledBatch, part) {
	for len(f.ahead) < len(f.plan) && len(f.ahead) < f.most {
		out := make(chan *filledBatch, queuedBatches)
		p := f.plan[len(f.ahead)]
		f.ahead = append(f.ahead, out)
		f.running.Go(func() { f.decode(p, out) })
	}
	if len(f.plan) == 0 {
		return nil, part{}
	}
	p := f.plan[0]
	b := <-f.ahead[0]
	if b.last {
		f.ahead, f.plan = f.ahead[1:], f.plan[1:]
	}
	return b, p
}

// get returns an empty batch.
func (f *batchFeed) get() *filledBatch {
	b := &filledBatch{}
	f.mu.Lock()
	if n := len(f.idle); n > 0 {
		b.Batch = f.idle[n-1].Batch
		f.idle = f.idle[:n-1]
	}
	f.mu.Unlock()
	if b.Batch == nil {
		b.Batch = f.need.Batch()
	}
	b.Reset()
	return b
}

// put leaves the memory of b to other batches.
func (f *batchFeed) put(b *filledBatch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.idle = append(f.idle, b)
}

// decode sends the requests of part p to out.
func (f *batchFeed) decode(p part, out chan<- *filledBatch) {
	d := batchDecoder{feed: f, part: p, out: out}
	err := catchPanic(d.decode)
	b := d.batch
	if b == nil {
		b = f.get()
	}
	b.err, b.last = err, true
	d.send(b)
}

// A batchDecoder decodes one part.
type batchDecoder struct {
	feed    *batchFeed
	part    part
	out     chan<- *filledBatch
	decoder rowDecoder
	checker rowDecoder   // of the rows to be checked
	checks  []checkedRow // in the current rows, from the current row on
	row     export.Row
	batch   *filledBatch // nil before the first row, and after each batch that was sent
}

// decode fills batches with the rows of the part, and sends all but the last one.
func (d *batchDecoder) decode() error {
	r := d.feed.selection
	all, err := r.src.open(d.part.batch, r.viewOf(d.part.batch))
	if err != nil {
		return err
	}
	all.usedAtOnce()
	for row := 0; ; {
		t, err := all.rows()
		if err != nil {
			return err
		}
		if t == nil {
			all.release()
			return nil
		}
		d.checks = t.checks
		for i := range t.n {
			d.add(r.rowExperiment(t, i), t, i, row)
			row++
		}
		b := d.batch
		if d.batch = nil; b != nil && !d.send(b) {
			return nil
		}
	}
}

// add decodes row i of t, which is number row of the part, into the batch of an experiment.
func (d *batchDecoder) add(experiment int, t *rows, i, row int) {
	if d.batch != nil && d.batch.experiment != experiment {
		d.send(d.batch)
		d.batch = nil
	}
	if d.batch == nil {
		d.batch = d.feed.get()
		d.batch.experiment = experiment
	}
	b, r := d.batch, d.feed.selection
	d.decoder.decode(t, i)
	b.rows++
	if d.decoder.defect != "" {
		if b.defects == 0 {
			_, what := r.src.place(d.part.batch)
			b.where, b.msg = fmt.Sprintf("%s, row %d", what, row), d.decoder.defect
		}
		b.defects++
	}
	d.row = export.Row{Request: &d.decoder.req, Derived: r.derivedOf(&d.decoder)}
	if r.need.Check != export.CheckNone {
		if d.checks = checksAt(d.checks, i); len(d.checks) > 0 && d.checks[0].index == i && d.checks[0].err != nil {
			b.unchecked = d.checks[0].err
		}
		d.row.Check = r.checkedRequest(&d.decoder, &d.checker, d.checks, i)
	}
	b.Add(&d.row)
}

// send sends b; it returns false if the feed was closed.
func (d *batchDecoder) send(b *filledBatch) bool {
	select {
	case d.out <- b:
		return true
	case <-d.feed.stop:
		return false
	}
}

// close stops the goroutines that decode, and waits for them.
func (f *batchFeed) close() {
	close(f.stop)
	f.running.Wait()
}
