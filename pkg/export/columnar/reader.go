package columnar

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// A Reader reads the requests of one file. See [export.Reader] for the contract
// of its methods.
//
// A file holds the requests in the order in which they were written; the Reader returns
// them in the order of the contract. It therefore reads a batch several times if the batch
// holds counted and excluded requests, or requests of several experiments. Opening finds
// the contents of the batches: it reads three columns of a Parquet file, and the whole of
// an Arrow file.
type Reader struct {
	selection
	plan []part
	// tail is the error that ended the file early. Err returns it after all requests.
	tail   error
	warned map[string]int // index in warnings by the kind of problem

	inBatches bool         // Next advances by batches
	batches   *batchFeed   // nil before the first batch
	batch     *filledBatch // the current one

	queue      *partQueue[decodedRows] // nil before the first rows
	open       batchRows               // of rows; nil between parts
	rows       *rows
	nextRow    int // index of the next one in rows
	batchRow   int // number of rows of the batch before nextRow
	reader     rowReader
	valid      bool
	ended      bool // Next has returned false
	experiment int  // experiment of the current request

	opening int // number of warnings of opening
	err     error
}

var _ export.SelectiveReader = (*Reader)(nil)

// maxExperiments bounds the experiments of a file without a header.
const maxExperiments = 1 << 16

// newReader returns a Reader of src.
func newReader(ctx context.Context, h header, src source) (*Reader, error) {
	r := &Reader{selection: selection{header: h, src: src}, warned: map[string]int{}}
	r.reader.selection = &r.selection
	most, seen := maxExperiments, 0
	if r.run != nil {
		most = len(r.run.Experiments)
	}
	ordered := true
	last := part{batch: -1} // of the row before
	for i := range src.batches() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		before := len(r.plan)
		err := r.eachRows(i, view{wanted: isPlanColumn, atOnce: true}, func(_ batchRows, t *rows) error {
			for k := range t.n {
				p := r.rowPart(&r.reader.decoder, t, k, i)
				if p == last {
					continue
				}
				if p.experiment < 0 || p.experiment >= most {
					return fmt.Errorf("a row belongs to experiment %d, but the header has %d", p.experiment, most)
				}
				ordered = ordered && p.compare(last) >= 0
				if last = p; !slices.Contains(r.plan[before:], p) {
					r.plan = append(r.plan, p)
				}
			}
			return nil
		})
		if err != nil {
			// The Reader can still return the earlier batches.
			r.plan, r.tail = r.plan[:before], r.locate(i, err)
			break
		}
	}
	for i, p := range r.plan {
		seen = max(seen, p.experiment+1)
		if ordered {
			r.plan[i] = part{batch: p.batch, all: true}
		}
	}
	r.plan = slices.Compact(r.plan)
	slices.SortStableFunc(r.plan, part.compare)
	src.free() // many files may wait for their turn
	if r.run == nil {
		r.run = &export.Run{Experiments: make([]export.Experiment, seen)}
		r.warn("header", "", fmt.Sprintf("the file has no metadata %q, as after a rewrite by another tool; modes, values and windows of its experiments are unknown", runKey))
	}
	r.opening = len(r.warnings)
	return r, nil
}

// isPlanColumn reports whether the plan of a Reader needs the column.
func isPlanColumn(col int) bool {
	return col == colExperiment || col == colStatus || col == colPhase
}

// locate adds the file and the batch to err.
func (r *Reader) locate(batch int, err error) error {
	return fmt.Errorf("%s: %s: %w", r.name, r.src.place(batch), err)
}

// warn adds a warning, or increments the count of the warning of that kind.
func (r *Reader) warn(kind, where, msg string) {
	if i, ok := r.warned[kind]; ok {
		r.warnings[i].Count++
		return
	}
	r.warned[kind] = len(r.warnings)
	r.warnings = append(r.warnings, export.Warning{Name: r.name, Offset: -1, Where: where, Msg: msg, Count: 1})
}

// Run returns the header.
func (r *Reader) Run() *export.Run { return r.run }

// Next advances to the next request.
func (r *Reader) Next() bool {
	r.valid = false
	switch {
	case r.src == nil || r.ended:
		return false
	case r.inBatches:
		return r.nextBatch()
	}
	if r.queue == nil {
		r.queue = newRowQueue(&r.selection, r.plan)
	}
	for len(r.queue.plan) > 0 {
		p := r.queue.plan[0]
		if r.rows == nil {
			d, ok := r.queue.next()
			switch {
			case d.err != nil:
				return r.end(r.locate(p.batch, d.err))
			case !ok && r.open != nil:
				r.open.release()
			}
			if r.open, r.rows = d.batch, d.rows; !ok {
				r.batchRow = 0
				continue
			}
			r.nextRow, r.reader.checks = 0, d.rows.checks
		}
		for r.nextRow < r.rows.n {
			i := r.nextRow
			r.nextRow++
			r.batchRow++
			if found := r.rowPart(&r.reader.decoder, r.rows, i, p.batch); p.all || found == p {
				r.deliver(found, i)
				return true
			}
		}
		r.rows = nil
	}
	return r.end(r.tail)
}

// end ends the requests with err.
func (r *Reader) end(err error) (more bool) {
	r.err = err
	r.free()
	return false
}

// free stops the goroutines that decode, and drops the memory of requests. Run, Err, Warnings
// and Scrapes still work. A program may keep many files open that it has read.
func (r *Reader) free() {
	if r.queue != nil {
		r.queue.close()
	}
	if r.batches != nil {
		r.batches.close()
	}
	r.queue, r.open, r.batches, r.rows, r.batch, r.reader = nil, nil, nil, nil, nil, rowReader{selection: &r.selection}
	r.ended = true
	if r.src != nil {
		r.src.free()
	}
}

// Preview returns the header, which is complete.
func (r *Reader) Preview() *export.Run { return r.run }

// Stored describes the derived columns.
func (r *Reader) Stored() *export.Stored {
	if r.derivation == nil || r.src == nil {
		return nil
	}
	return &export.Stored{Derivation: *r.derivation, Outputs: r.src.has(colOutputs)}
}

// Begin implements [export.SelectiveReader]. It grants batches of a Parquet file with the
// requests in the order of the contract. Files other than Parquet always have the columns of
// responses.
func (r *Reader) Begin(need export.Need) (batches bool) {
	if r.src == nil {
		return false
	}
	r.free()
	r.warnings = slices.Clip(r.warnings[:r.opening])
	maps.DeleteFunc(r.warned, func(_ string, i int) bool { return i >= r.opening })
	r.batchRow, r.ended, r.valid, r.experiment, r.err = 0, false, false, 0, nil
	r.need = need
	if r.derivation == nil {
		r.need.Check = export.CheckNone
	}
	if r.need.Check == export.CheckSample {
		r.seed = r.src.fingerprint()
	}
	if need.Share > 0 {
		r.src.shareWith(need.Share)
	}
	r.inBatches = need.Batch != nil && r.src.ahead() > 0 && !slices.ContainsFunc(r.plan, func(p part) bool { return !p.all })
	return r.inBatches
}

// deliver makes row i the current request.
func (r *Reader) deliver(p part, i int) {
	unchecked := r.reader.read(r.rows, i)
	if defect := r.reader.decoder.defect; defect != "" {
		r.warn("row", fmt.Sprintf("%s, row %d", r.src.place(p.batch), r.batchRow-1), defect)
	}
	if unchecked != nil {
		r.warnUnchecked(p, unchecked)
	}
	r.experiment = p.experiment
	r.valid = true
}

// Request returns the current request, valid until the next call of Next; nil
// when there is none.
func (r *Reader) Request() *export.Request {
	if !r.valid || r.inBatches {
		return nil
	}
	return &r.reader.decoder.req
}

// Row returns the current request and its derived columns.
func (r *Reader) Row() export.Row {
	if r.Request() == nil {
		return export.Row{}
	}
	return r.reader.row(r.nextRow - 1)
}

// Experiment returns the index of the current request's experiment.
func (r *Reader) Experiment() int { return r.experiment }

// Err returns the error that ended the reading early.
func (r *Reader) Err() error { return r.err }

// Warnings returns the problems in the data so far, each kind once with a count.
func (r *Reader) Warnings() []export.Warning { return r.warnings }

// Skipped returns 0: the reader leaves out no request.
func (r *Reader) Skipped(int) (counted, excluded int) { return 0, 0 }

// Close releases the reader's memory. It does not close the file.
func (r *Reader) Close() error {
	if r.src == nil {
		return nil
	}
	r.free()
	err := r.src.close()
	r.src, r.valid = nil, false
	return err
}

// Batch returns the current batch; nil when there is none.
func (r *Reader) Batch() export.Batch {
	if !r.valid || r.batch == nil {
		return nil
	}
	return r.batch.Batch
}

// nextBatch is Next in batches.
func (r *Reader) nextBatch() bool {
	if r.batches == nil {
		r.batches = newBatchFeed(&r.selection, r.plan)
	}
	if r.batch != nil {
		r.batches.put(r.batch)
		r.batch = nil
	}
	for len(r.batches.plan) > 0 {
		p := r.batches.plan[0]
		b, ok := r.batches.next()
		if !ok {
			continue
		}
		if b.defects > 0 {
			r.warn("row", b.where, b.msg)
			r.warnings[r.warned["row"]].Count += b.defects - 1
		}
		if b.unchecked != nil {
			r.warnUnchecked(p, b.unchecked)
		}
		switch {
		case b.err != nil:
			return r.end(r.locate(p.batch, b.err))
		case b.rows == 0:
			r.batches.put(b)
			continue
		}
		r.batch, r.experiment, r.valid = b, b.experiment, true
		return true
	}
	return r.end(r.tail)
}

// warnUnchecked warns that the columns of a row of p cannot be read, so that it is not checked.
func (r *Reader) warnUnchecked(p part, err error) {
	r.warn("check", r.src.place(p.batch), "the derived columns were not checked, because the recorded ones cannot be read: "+err.Error())
}

// Scrapes reads the telemetry.
func (r *Reader) Scrapes(ctx context.Context, do func(*export.Scrape) error) error {
	if r.telemetry == nil || r.src == nil {
		return nil
	}
	d := export.ScrapeDecoder{MaxBytes: r.maxLine}
	var failed error // of do
	err := eachLine(ctx, r.telemetry, r.maxLine, func(line []byte) error {
		failed = d.Line(line, do, func(err error) { r.warn("telemetry", "telemetry", err.Error()) })
		return failed
	})
	switch {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		r.warn("telemetry section", "telemetry", err.Error()+"; what follows is left out")
	}
	return nil
}
