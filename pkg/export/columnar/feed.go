package columnar

import (
	"errors"
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

// A decodedRows holds rows of a part, or the error that ends it.
type decodedRows struct {
	rows  *rows
	batch batchRows // of the rows
	err   error
}

// newRowQueue returns a queue of the rows of plan. The caller releases each batch after its last rows.
func newRowQueue(s *selection, plan []part) *partQueue[decodedRows] {
	decode := func(p part, send func(decodedRows) bool) {
		err := s.eachRows(p.batch, s.viewOf(p.batch), func(b batchRows, t *rows) error {
			if !send(decodedRows{rows: t, batch: b}) {
				return errStopped
			}
			return nil
		})
		if err != nil {
			send(decodedRows{err: err})
		}
	}
	return &partQueue[decodedRows]{plan: plan, most: s.mostParts(), room: s.src.ahead(), decode: decode}
}

// errStopped ends the reading of rows that nobody takes.
var errStopped = errors.New("stopped")

// eachRows calls do with all rows of a batch. An error of do ends it.
func (s *selection) eachRows(batch int, v view, do func(b batchRows, t *rows) error) error {
	return catchPanic(func() error {
		b, err := s.src.open(batch, v)
		if err != nil {
			return err
		}
		for {
			t, err := b.rows()
			if err == nil && t != nil {
				err = do(b, t)
			} else if err == nil && v.atOnce {
				b.release()
			}
			if err != nil || t == nil {
				return err
			}
		}
	})
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

// newBatchFeed returns a feed of plan.
func newBatchFeed(s *selection, plan []part) *batchFeed {
	f := &batchFeed{selection: s}
	f.partQueue = partQueue[*filledBatch]{plan: plan, most: s.mostParts(), room: queuedBatches, decode: f.decodePart}
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
	v := f.viewOf(p.batch)
	v.atOnce = true
	err := f.eachRows(p.batch, v, d.decode)
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
	next   int // number of decoded rows
	row    export.Row
	batch  *filledBatch // nil before the first row, and after each batch that was sent
}

// decode sends the requests of t in batches.
func (d *batchDecoder) decode(_ batchRows, t *rows) error {
	d.reader.checks = t.checks
	for i := range t.n {
		d.add(d.feed.rowExperiment(t, i), t, i)
	}
	if b := d.batch; b != nil {
		if d.batch = nil; !d.send(b) {
			return errStopped
		}
	}
	return nil
}

// add decodes row i of t into the batch of an experiment.
func (d *batchDecoder) add(experiment int, t *rows, i int) {
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
			b.where, b.msg = fmt.Sprintf("%s, row %d", d.feed.src.place(d.part.batch), d.next), r.decoder.defect
		}
		b.defects++
	}
	d.next++
	d.row = r.row(i)
	b.Add(&d.row)
}
