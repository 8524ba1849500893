package columnar

import (
	"fmt"
	"sync"

	"github.com/pa-tools/pa/pkg/export"
)

// A partQueue decodes the parts of a plan, each in a goroutine, and returns what the goroutines send, in the
// order of the plan.
type partQueue[T any] struct {
	plan []part // the current part and the parts after it
	most int    // of the parts that are decoded at the same time
	room int    // for results of a part that wait
	// decode decodes a part, and ends early if send returns false.
	decode func(p part, send func(T) bool)

	ahead   []chan T // of each part that is being decoded, in the order of the plan
	stop    chan struct{}
	running sync.WaitGroup
}

// next returns the next result of the current part. At the end of the part it returns false once; the next
// call starts the next part.
func (q *partQueue[T]) next() (result T, ok bool) {
	if q.stop == nil {
		q.stop = make(chan struct{})
	}
	for len(q.ahead) < len(q.plan) && len(q.ahead) < q.most {
		out := make(chan T, q.room)
		p := q.plan[len(q.ahead)]
		q.ahead = append(q.ahead, out)
		q.running.Go(func() {
			defer close(out)
			q.decode(p, func(x T) bool {
				select {
				case out <- x:
					return true
				case <-q.stop:
					return false
				}
			})
		})
	}
	if result, ok = <-q.ahead[0]; !ok {
		q.ahead, q.plan = q.ahead[1:], q.plan[1:]
	}
	return result, ok
}

// close stops the goroutines, and waits for them.
func (q *partQueue[T]) close() {
	if q.stop != nil {
		close(q.stop)
	}
	q.running.Wait()
}

// A feed reads the rows of the parts of a plan, in the order of the plan. For a source
// that can read ahead it decodes the rows of several parts ahead of the caller.
type feed struct {
	src   source
	view  func(batch int) view
	open  batchRows // the current batch; nil between batches
	queue partQueue[decodedRows]
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
	f := &feed{src: src, view: view}
	f.queue = partQueue[decodedRows]{plan: plan, most: most, room: src.ahead(), decode: f.decode}
	return f
}

// rows returns the next rows of the current part, valid until the next call. At the end of
// the part it returns nil once; the next call starts the next part.
func (f *feed) rows() (t *rows, err error) {
	if f.src.ahead() > 0 {
		d, ok := f.queue.next()
		if !ok && f.open != nil {
			f.open.release()
		}
		f.open = d.batch
		return d.rows, d.err
	}
	if f.open == nil {
		if f.open, err = f.openBatch(f.queue.plan[0].batch); err != nil {
			return nil, err
		}
	}
	if err = catchPanic(func() (err error) { t, err = f.open.rows(); return err }); t == nil {
		f.open, f.queue.plan = nil, f.queue.plan[1:]
	}
	return t, err
}

func (f *feed) openBatch(i int) (b batchRows, err error) {
	err = catchPanic(func() (err error) { b, err = f.src.open(i, f.view(i)); return err })
	return b, err
}

// decode sends the rows of part p.
func (f *feed) decode(p part, send func(decodedRows) bool) {
	batch, err := f.openBatch(p.batch)
	for {
		d := decodedRows{batch: batch, err: err}
		if err == nil {
			d.err = catchPanic(func() (err error) { d.rows, err = batch.rows(); return err })
		}
		if d.err != nil {
			d.rows = nil
		} else if d.rows == nil {
			return
		}
		if !send(d) || d.err != nil {
			return
		}
	}
}

// close stops the goroutines that decode, and waits for them.
func (f *feed) close() { f.queue.close() }

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
}

// A batchFeed decodes the parts of a plan into batches of requests.
type batchFeed struct {
	*selection
	partQueue[*filledBatch]

	mu   sync.Mutex
	idle []*filledBatch
}

// queuedBatches is the number of batches of a part that wait at most.
const queuedBatches = 16

// newBatchFeed returns a feed of plan. It decodes at most most parts at the same time.
func newBatchFeed(s *selection, plan []part, most int) *batchFeed {
	f := &batchFeed{selection: s}
	f.partQueue = partQueue[*filledBatch]{plan: plan, most: most, room: queuedBatches, decode: f.decodePart}
	return f
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

// decodePart sends the requests of part p.
func (f *batchFeed) decodePart(p part, send func(*filledBatch) bool) {
	d := batchDecoder{feed: f, part: p, send: send, reader: rowReader{selection: f.selection}}
	err := catchPanic(d.decode)
	if err != nil && d.batch == nil {
		d.batch = f.get()
	}
	if d.batch != nil {
		d.batch.err = err
		send(d.batch)
	}
}

// A batchDecoder decodes one part.
type batchDecoder struct {
	feed   *batchFeed
	part   part
	send   func(*filledBatch) bool
	reader rowReader
	row    export.Row
	batch  *filledBatch // nil before the first row, and after each batch that was sent
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
		d.reader.checks = t.checks
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
	b, r := d.batch, &d.reader
	if err := r.read(t, i); err != nil {
		b.unchecked = err
	}
	b.rows++
	if r.decoder.defect != "" {
		if b.defects == 0 {
			_, what := r.src.place(d.part.batch)
			b.where, b.msg = fmt.Sprintf("%s, row %d", what, row), r.decoder.defect
		}
		b.defects++
	}
	d.row = r.row(i)
	b.Add(&d.row)
}
