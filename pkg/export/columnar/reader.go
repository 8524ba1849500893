package columnar

import (
	"context"
	"errors"
	"fmt"
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
	name string
	run  *export.Run
	plan []part
	// tail is the error that ended the file early. Err returns it after all requests.
	tail     error
	warnings []export.Warning
	warned   map[string]int // index in warnings by the kind of problem

	telemetry []byte // compressed; nil: there is none
	maxLine   int64

	inBatches bool         // Next advances by batches
	batches   *batchFeed   // nil before the first batch
	batch     *filledBatch // the current one

	nextPart   int   // part of the plan
	feed       *feed // of the parts from nextPart on; nil before the first
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
	r := &Reader{
		selection: selection{src: src, derivation: h.derivation},
		name:      h.name, run: h.run, warnings: h.warnings, warned: map[string]int{}, telemetry: h.telemetry, maxLine: h.maxLine,
	}
	r.reader.selection = &r.selection
	most := maxExperiments
	if r.run != nil {
		most = len(r.run.Experiments)
	}
	seen := 0
	ordered := true
	var last part
	for i := range src.batches() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		parts, inOrder, err := r.parts(i, most)
		if len(parts) > 0 {
			ordered = ordered && inOrder && !parts[0].before(last)
			last = parts[len(parts)-1]
		}
		if err != nil {
			// The Reader can still return the earlier batches.
			r.tail = r.locate(i, err)
			break
		}
		r.plan = append(r.plan, parts...)
		for _, p := range parts {
			seen = max(seen, p.experiment+1)
		}
	}
	if ordered {
		for i := range r.plan {
			r.plan[i] = part{batch: r.plan[i].batch, all: true}
		}
		r.plan = slices.Compact(r.plan)
	}
	slices.SortStableFunc(r.plan, func(a, b part) int {
		switch {
		case a.before(b):
			return -1
		case b.before(a):
			return 1
		}
		return a.batch - b.batch
	})
	src.free() // many files may wait for their turn
	if r.run == nil {
		r.run = &export.Run{Experiments: make([]export.Experiment, seen)}
		r.warn("header", "", fmt.Sprintf("the file has no metadata %q, as after a rewrite by another tool; modes, values and windows of its experiments are unknown", runKey))
	}
	r.opening = len(r.warnings)
	return r, nil
}

// isPlanColumn reports whether parts needs the column.
func isPlanColumn(col int) bool {
	return col == colExperiment || col == colStatus || col == colPhase
}

// parts returns the parts of a batch. most is the number of experiments. inOrder reports
// whether the requests of the batch are in the order of the contract.
func (r *Reader) parts(batch, most int) (out []part, inOrder bool, _ error) {
	var all batchRows
	if err := catchPanic(func() (err error) { all, err = r.src.open(batch, view{wanted: isPlanColumn}); return err }); err != nil {
		return nil, false, err
	}
	all.usedAtOnce()
	inOrder = true
	var last part
	for {
		var t *rows
		err := catchPanic(func() (err error) { t, err = all.rows(); return err })
		if err != nil {
			return nil, false, err
		}
		if t == nil {
			all.release()
			return out, inOrder, nil
		}
		for i := range t.n {
			p := r.rowPart(&r.reader.decoder, t, i, batch)
			if p == last && len(out) > 0 {
				continue
			}
			inOrder = inOrder && (len(out) == 0 || last.before(p))
			if slices.Contains(out, p) {
				last = p
				continue
			}
			if p.experiment < 0 || p.experiment >= most {
				return nil, false, fmt.Errorf("a row belongs to experiment %d, but the header has %d", p.experiment, most)
			}
			last = p
			out = append(out, p)
		}
	}
}

// locate adds the file and the batch to err.
func (r *Reader) locate(batch int, err error) error {
	off, what := r.src.place(batch)
	var large *tooLargeError
	if errors.As(err, &large) || off < 0 {
		return fmt.Errorf("%s: %s: %w", r.name, what, err)
	}
	return &export.SyntaxError{Name: r.name, Offset: off, Where: what, Msg: err.Error()}
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
	if r.inBatches {
		return r.nextBatch()
	}
	for r.err == nil && r.src != nil && !r.ended && r.nextPart < len(r.plan) {
		p := r.plan[r.nextPart]
		if r.feed == nil {
			r.feed = newFeed(r.src, r.plan[r.nextPart:], r.viewOf, r.mostParts())
		}
		if r.rows == nil {
			var err error
			if r.rows, err = r.feed.rows(); err != nil {
				r.err = r.locate(p.batch, err)
				r.free()
				return false
			}
			if r.rows == nil {
				r.nextPart++
				r.batchRow = 0
				continue
			}
			r.nextRow, r.reader.checks = 0, r.rows.checks
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
	if r.err == nil && r.src != nil {
		r.err = r.tail
	}
	r.free()
	return false
}

// free stops the goroutines that decode, and drops the memory of requests. Run, Err, Warnings
// and Scrapes still work. A program may keep many files open that it has read.
func (r *Reader) free() {
	if r.feed != nil {
		r.feed.close()
	}
	if r.batches != nil {
		r.batches.close()
	}
	r.feed, r.batches, r.rows, r.batch, r.reader = nil, nil, nil, nil, rowReader{selection: &r.selection}
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
	for kind, i := range r.warned {
		if i >= r.opening {
			delete(r.warned, kind)
		}
	}
	r.nextPart, r.batchRow, r.ended, r.valid, r.experiment, r.err = 0, 0, false, false, 0, nil
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
		_, what := r.src.place(p.batch)
		r.warn("row", fmt.Sprintf("%s, row %d", what, r.batchRow-1), defect)
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
	if r.err != nil || r.src == nil || r.ended {
		return false
	}
	if r.batches == nil {
		r.batches = newBatchFeed(&r.selection, r.plan, r.mostParts())
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
			r.err = r.locate(p.batch, b.err)
			r.free()
			return false
		case b.rows == 0:
			r.batches.put(b)
			continue
		}
		r.batch, r.experiment, r.valid = b, b.experiment, true
		return true
	}
	r.err = r.tail
	r.free()
	return false
}

// warnUnchecked warns that the columns of a row of p cannot be read, so that it is not checked.
func (r *Reader) warnUnchecked(p part, err error) {
	_, what := r.src.place(p.batch)
	r.warn("check", what, "the derived columns were not checked, because the recorded ones cannot be read: "+err.Error())
}

// Scrapes reads the telemetry.
func (r *Reader) Scrapes(ctx context.Context, do func(*export.Scrape) error) error {
	if r.telemetry == nil || r.src == nil {
		return nil
	}
	d := export.ScrapeDecoder{MaxBytes: r.maxLine}
	var failed error // of do
	err := eachLine(ctx, r.telemetry, r.maxLine, func(line []byte) error {
		s, err := d.Object(line)
		switch {
		case err != nil:
			r.warn("telemetry", "telemetry", err.Error())
		case s != nil:
			failed = do(s)
		}
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
