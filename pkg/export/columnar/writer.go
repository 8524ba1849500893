package columnar

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// A Writer writes one run as Parquet or as an Arrow file. See [export.Writer]
// for the order of calls.
//
// Requests are rows in the order of the calls, excluded requests too. They wait in memory
// until there are 32 MiB and become a record batch of an Arrow file, which has at most 10,000
// requests, or a row group of a Parquet file. The header of the run is in the footer, so the
// file can be read only after Close. The first error sticks and every later call returns it.
type Writer struct {
	calls export.WriteOrder
	sink  sink
	batch *batch
	run   export.Run // Experiments holds the experiments begun so far
	rows  int        // of the current experiment

	telemetry telemetryBuffer
}

var _ export.Writer = (*Writer)(nil)

// A sink takes batches, and then the header and the telemetry.
type sink interface {
	// write takes the rows of b and returns an empty batch for the next rows. It may go on
	// writing in the background.
	write(b *batch) (empty *batch, err error)
	// wait waits until all rows are written.
	wait() error
	close(run *export.Run, t *telemetryBuffer) error
}

// flushSize is the size of a file's buffer.
const flushSize = 256 << 10

// A countingWriter counts the bytes written, which Arrow's writers ask for by Seek.
type countingWriter struct {
	w *bufio.Writer
	n int64
}

func newCountingWriter(w io.Writer) *countingWriter {
	return &countingWriter{w: bufio.NewWriterSize(w, flushSize)}
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func (c *countingWriter) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.New("the file can only be appended to")
	}
	return c.n, nil
}

// BeginExperiment starts a load level. value is the text of a JSON number.
func (w *Writer) BeginExperiment(mode, value string) error {
	if err := w.calls.Enter(export.BetweenExperiments, "BeginExperiment"); err != nil {
		return err
	}
	e := export.Experiment{Mode: mode, Value: value}
	if _, err := profilejson.RunText(&export.Run{Experiments: []export.Experiment{e}}); err != nil {
		return w.calls.Fail(fmt.Errorf("experiment %d: %w", len(w.run.Experiments), err))
	}
	w.run.Experiments = append(w.run.Experiments, e)
	w.calls.State = export.InExperiment
	w.rows = 0
	return nil
}

// WriteRequest writes r. The package comment says which parts are kept.
func (w *Writer) WriteRequest(r *export.Request) error {
	if err := w.calls.Enter(export.InExperiment, "WriteRequest"); err != nil {
		return err
	}
	if w.batch.full() {
		if err := w.flush(); err != nil {
			return err
		}
	}
	experiment := len(w.run.Experiments) - 1
	if err := w.batch.add(r); err != nil {
		return w.calls.Fail(fmt.Errorf("experiment %d, request %d: %w", experiment, w.rows, err))
	}
	w.batch.setLevel(experiment, &w.run.Experiments[experiment])
	w.rows++
	return nil
}

// EndExperiment keeps the windows of e, its Extra and its Meta.
func (w *Writer) EndExperiment(e *export.Experiment) error {
	if err := w.calls.Enter(export.InExperiment, "EndExperiment"); err != nil {
		return err
	}
	w.update(e)
	if _, err := profilejson.RunText(&export.Run{Experiments: w.run.Experiments[len(w.run.Experiments)-1:]}); err != nil {
		return w.calls.Fail(fmt.Errorf("experiment %d: %w", len(w.run.Experiments)-1, err))
	}
	w.calls.State = export.BetweenExperiments
	return nil
}

// update copies the windows, Extra and Meta of e to the current experiment.
func (w *Writer) update(e *export.Experiment) {
	cur := &w.run.Experiments[len(w.run.Experiments)-1]
	cur.WindowBoundaries, cur.Extra, cur.Meta = slices.Clone(e.WindowBoundaries), e.Extra.Clone(), nil
	if e.Meta != nil {
		m := *e.Meta
		cur.Meta = &m
	}
}

// WriteScrape keeps s, compressed, until Close.
func (w *Writer) WriteScrape(s *export.Scrape) error {
	if err := w.calls.EnterOpen("WriteScrape"); err != nil {
		return err
	}
	return w.calls.Fail(w.telemetry.write(s))
}

// Close writes the rows that wait and the header fields of run (nil: none). It
// does not close the underlying writer. It does nothing when called again.
func (w *Writer) Close(run *export.Run) error {
	if w.calls.State == export.Closed {
		return w.calls.Err
	}
	err := errors.Join(w.close(run), w.wait())
	w.calls.State = export.Closed
	w.batch, w.telemetry = nil, telemetryBuffer{}
	return err
}

// Stop waits for what is written in the background. A Writer that will not be closed needs
// it before its file is closed; [export.Copy] calls it.
func (w *Writer) Stop() { _ = w.wait() }

func (w *Writer) close(run *export.Run) error {
	if err := w.calls.Enter(export.BetweenExperiments, "Close"); err != nil {
		return err
	}
	if err := errors.Join(w.flush(), w.wait()); err != nil {
		return err
	}
	header := export.Run{}
	if run != nil {
		header = *run
	}
	header.Experiments = w.run.Experiments
	return w.calls.Fail(catchPanic(func() error { return w.sink.close(&header, &w.telemetry) }))
}

// flush hands the waiting rows to the sink.
func (w *Writer) flush() error {
	if w.batch.rows == 0 {
		return nil
	}
	return w.write(w.batch, func(empty *batch) { w.batch = empty })
}

// write hands b to the sink, and the empty batch of the sink to next.
func (w *Writer) write(b *batch, next func(empty *batch)) error {
	err := catchPanic(func() error {
		empty, err := w.sink.write(b)
		if empty != nil {
			next(empty)
		}
		return err
	})
	return w.calls.Fail(err)
}

// wait waits until all rows are written.
func (w *Writer) wait() error {
	return w.calls.Fail(w.sink.wait())
}
