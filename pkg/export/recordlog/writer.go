package recordlog

import (
	"fmt"
	"io"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// A Sink takes the buffers that a Writer fills, in their order.
type Sink interface {
	// Take takes a buffer of whole frames, whose checksums [Prefix.Add] sets, and returns an empty
	// one for the next frames. The empty buffer may be the same memory.
	Take(full []byte) (empty []byte, err error)
}

// To returns a Sink that sets the checksums and writes the frames to w, a buffer with each call of Write.
func To(w io.Writer) Sink { return &sealedOutput{w: w} }

type sealedOutput struct {
	w       io.Writer
	written Prefix
}

func (o *sealedOutput) Take(b []byte) ([]byte, error) {
	o.written.Add(b, nil)
	_, err := o.w.Write(b)
	return b[:0], err
}

// bufferBytes is the size at which a Writer hands its buffer to the Sink.
const bufferBytes = 256 << 10

// A Writer appends a run to a log while the run is recorded. Each request is a frame in the
// buffer when WriteRequest returns; nothing else of it is kept. The Writer hands the buffer to
// its Sink when it is full, when a level begins or ends, and when Flush is called. It starts no
// goroutine or timer: the caller calls Flush about every second, from the goroutine that makes
// all other calls.
type Writer struct {
	calls    export.WriteOrder
	sink     Sink
	buf      []byte
	level    int // number of levels begun
	requests int // of the current level
	scrapes  export.ScrapeEncoder
}

var _ export.Writer = (*Writer)(nil)

// NewWriter returns a Writer to sink and hands over the header of run. run may be nil; its
// Experiments are ignored.
func NewWriter(sink Sink, run *export.Run) (*Writer, error) {
	w := &Writer{calls: export.WriteOrder{Format: "journal"}, sink: sink, buf: fileHead()}
	return w, w.header(KindRun, withoutLevels(run))
}

func withoutLevels(run *export.Run) *export.Run {
	if run == nil {
		return &export.Run{}
	}
	header := *run
	header.Experiments = nil
	return &header
}

// header appends a frame with the text of run and hands it over.
func (w *Writer) header(kind Kind, run *export.Run) error {
	text, err := profilejson.RunText(run)
	if err == nil {
		w.buf, err = appendFrame(w.buf, kind, text)
	}
	switch {
	case err == nil:
		return w.handOver()
	case len(run.Experiments) > 0:
		err = fmt.Errorf("experiment %d: %w", w.level, err)
	}
	return w.added(err)
}

// added hands over a full buffer. err is from appending to it; the Writer then hands over the whole
// frames before, because it accepts no further calls.
func (w *Writer) added(err error) error {
	if err != nil {
		err = w.calls.Fail(err)
		_ = w.handOver()
		return err
	}
	if len(w.buf) < bufferBytes {
		return nil
	}
	return w.handOver()
}

func (w *Writer) handOver() error {
	if len(w.buf) == 0 {
		return nil
	}
	var err error
	w.buf, err = w.sink.Take(w.buf)
	return w.calls.Fail(err)
}

// BeginExperiment starts a load level. value is the text of a JSON number.
func (w *Writer) BeginExperiment(mode, value string) error {
	if err := w.calls.Enter(export.BetweenExperiments, "BeginExperiment"); err != nil {
		return err
	}
	if err := w.header(KindLevel, &export.Run{Experiments: []export.Experiment{{Mode: mode, Value: value}}}); err != nil {
		return err
	}
	w.calls.State, w.requests = export.InExperiment, 0
	return nil
}

// WriteRequest appends r. The caller may reuse r and its memory.
func (w *Writer) WriteRequest(r *export.Request) error {
	if err := w.calls.Enter(export.InExperiment, "WriteRequest"); err != nil {
		return err
	}
	start := len(w.buf)
	b, err := appendRequest(beginFrame(w.buf, KindRequest), r)
	if err == nil {
		b, err = endFrame(b, start)
	}
	if err != nil {
		b, err = b[:start], fmt.Errorf("experiment %d, request %d: %w", w.level, w.requests, err)
	}
	w.buf = b
	w.requests++
	return w.added(err)
}

// EndExperiment ends the load level and writes its header.
func (w *Writer) EndExperiment(e *export.Experiment) error {
	if err := w.calls.Enter(export.InExperiment, "EndExperiment"); err != nil {
		return err
	}
	level := *e
	level.Mode, level.Value = "", "" // the reader has them from the level's begin
	if err := w.header(KindLevelEnd, &export.Run{Experiments: []export.Experiment{level}}); err != nil {
		return err
	}
	w.calls.State = export.BetweenExperiments
	w.level++
	return nil
}

// WriteScrape appends s. The caller may reuse s, but must not change its Series.
func (w *Writer) WriteScrape(s *export.Scrape) error {
	if err := w.calls.EnterOpen("WriteScrape"); err != nil {
		return err
	}
	start := len(w.buf)
	b, err := endFrame(w.scrapes.Append(beginFrame(w.buf, KindScrape), s, '\n'), start)
	w.buf = b
	return w.added(err)
}

// Flush hands the waiting frames to the Sink. After Close it does nothing.
func (w *Writer) Flush() error {
	if w.calls.Err != nil {
		return w.calls.Err
	}
	return w.handOver()
}

// Buffered returns the number of bytes that wait for Flush.
func (w *Writer) Buffered() int64 { return int64(len(w.buf)) }

// Close writes the header fields of run in place of the header fields of NewWriter, and hands
// over all frames. run may be nil; its Experiments are ignored. Only the log of a killed run has no such
// end. Close does nothing when called again.
func (w *Writer) Close(run *export.Run) error {
	if w.calls.State == export.Closed {
		return w.calls.Err
	}
	if err := w.calls.Enter(export.BetweenExperiments, "Close"); err != nil {
		return err
	}
	err := w.header(KindRunEnd, withoutLevels(run))
	w.calls.State, w.buf = export.Closed, nil
	return err
}

// End returns the last frame of a log whose Writer failed, for instance because the disk is full.
// run is as for [Writer.Close]; it should state the failure, because the log lacks requests but
// does not look like the log of a killed run.
func End(run *export.Run) ([]byte, error) {
	text, err := profilejson.RunText(withoutLevels(run))
	if err != nil {
		return nil, err
	}
	return appendFrame(nil, KindRunEnd, text)
}

// Note returns a frame with a warning about the recording. Readers add it to the warnings of the
// run.
func Note(text string) []byte {
	b, err := appendFrame(nil, KindNote, []byte(text))
	if err != nil {
		panic(err) // a text of a gigabyte
	}
	return b
}
