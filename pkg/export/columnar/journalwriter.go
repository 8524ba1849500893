package columnar

import (
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/internal/samplejson"
	"github.com/pa-tools/pa/pkg/export/internal/writeorder"
)

// A JournalWriter writes a run while it is being recorded. Flushed requests survive
// the end of the process, and after Sync also a crash of the machine.
//
// Requests wait in memory until Flush, or until they are 10 000 or 32 MiB. The writer
// only appends. It writes the begin and the end of an experiment at once. It starts no
// goroutine or timer: the owner calls Flush about every second, from the goroutine
// that makes all calls.
type JournalWriter struct {
	w    Writer
	sink *journalSink

	samples   samplejson.Encoder
	telemetry []byte // lines that wait
}

var _ export.Writer = (*JournalWriter)(nil)

// NewJournalWriter starts a journal on w with the header of run, which may be nil;
// its Experiments are ignored. w is not buffered: each frame is one call of Write, the
// last one together with the end of the stream.
func NewJournalWriter(w io.Writer, run *export.Run) (*JournalWriter, error) {
	header := export.Run{}
	if run != nil {
		header = *run
		header.Experiments = nil
	}
	text, err := runText(&header)
	if err != nil {
		return nil, err
	}
	s := newJournalSink(w, runMetadata(text))
	j := &JournalWriter{sink: s, w: Writer{calls: writeorder.Checker{Format: "journal"}, sink: s, batch: newBatch(s.schema, nil)}}
	// Rows or none, the first batch brings the schema before it.
	if err := s.event(frameRows, nil); err != nil {
		return nil, j.w.calls.Fail(err)
	}
	return j, nil
}

// BeginExperiment starts a load level. value is the text of a JSON number.
func (j *JournalWriter) BeginExperiment(mode, value string) error {
	if err := j.w.BeginExperiment(mode, value); err != nil {
		return err
	}
	return j.experiment(frameBegin)
}

// WriteRequest keeps r until the next Flush, and nothing that r points to.
func (j *JournalWriter) WriteRequest(r *export.Request) error { return j.w.WriteRequest(r) }

// Update writes what e says about the current experiment so far, windows that
// are closed above all. Mode and Value of e are ignored.
func (j *JournalWriter) Update(e *export.Experiment) error {
	if err := j.w.calls.Enter(writeorder.InExperiment, "Update"); err != nil {
		return err
	}
	j.w.update(e)
	return j.experiment(frameUpdate)
}

// EndExperiment writes the header of the level at its end.
func (j *JournalWriter) EndExperiment(e *export.Experiment) error {
	if err := j.w.EndExperiment(e); err != nil {
		return err
	}
	return j.experiment(frameEnd)
}

// maxTelemetryWait bounds the text that waits for Flush.
const maxTelemetryWait = 4 << 20

// WriteScrape keeps s until the next Flush, and nothing that s points to but its
// Series.
func (j *JournalWriter) WriteScrape(s *export.Scrape) error {
	if err := j.w.calls.EnterOpen("WriteScrape"); err != nil {
		return err
	}
	if j.telemetry = j.samples.Append(j.telemetry, s, '\n'); len(j.telemetry) > maxTelemetryWait {
		return j.flush()
	}
	return nil
}

// flush writes the rows and the telemetry that wait.
func (j *JournalWriter) flush() error {
	if err := j.w.flush(); err != nil {
		return err
	}
	if len(j.telemetry) == 0 {
		return nil
	}
	err := guard(func() error { return j.sink.event(frameText, j.telemetry) })
	j.telemetry = j.telemetry[:0]
	if err != nil {
		return j.w.calls.Fail(err)
	}
	return nil
}

// experiment writes the rows that wait and then the last experiment.
func (j *JournalWriter) experiment(kind frameKind) error {
	if err := j.flush(); err != nil {
		return err
	}
	last := j.w.run.Experiments[len(j.w.run.Experiments)-1:]
	text, err := runText(&export.Run{Experiments: last})
	if err == nil {
		err = j.sink.event(kind, text)
	}
	if err != nil {
		return j.w.calls.Fail(err)
	}
	return nil
}

// Flush writes the requests that wait.
func (j *JournalWriter) Flush() error {
	if j.w.calls.Err != nil {
		return j.w.calls.Err
	}
	if j.w.calls.State == writeorder.Closed {
		return nil
	}
	return j.flush()
}

// Sync is Flush and then, where the underlying writer has a method Sync as
// *os.File has, that.
func (j *JournalWriter) Sync() error {
	if err := j.Flush(); err != nil {
		return err
	}
	s, ok := j.sink.dst.(interface{ Sync() error })
	if !ok {
		return nil
	}
	if err := s.Sync(); err != nil {
		return j.w.calls.Fail(err)
	}
	return nil
}

// BufferedBytes returns the memory of the requests that wait.
func (j *JournalWriter) BufferedBytes() int64 {
	switch {
	case j.w.batch == nil:
		return 0
	case j.w.batch.rows == 0: // its columns have a size all the same
		return int64(len(j.telemetry))
	}
	return int64(j.w.batch.size() + len(j.telemetry))
}

// Close writes the requests that wait, the header fields of run, and the end of the
// stream. The header fields replace those given at the start; run may be nil, and its
// Experiments are ignored. Only the journal of a killed run lacks this end. Close does
// not close the underlying writer.
func (j *JournalWriter) Close(run *export.Run) error {
	if j.w.calls.Err == nil && j.w.calls.State == writeorder.BetweenExperiments {
		if err := j.flush(); err != nil {
			return j.w.Close(run)
		}
	}
	return j.w.Close(run)
}

// EndJournal ends a journal whose writer failed, for instance because the disk is full.
// w appends to the journal. frames, at least 1, is the number of whole frames that the
// journal holds, each of them one call of Write of the [JournalWriter]. run is as for
// [JournalWriter.Close]. The journal lacks rows, but does not look like the journal of
// a killed run; run should say what happened.
func EndJournal(w io.Writer, frames uint64, run *export.Run) error {
	if frames == 0 {
		return errors.New("end of the journal: it has not begun")
	}
	if run == nil {
		run = &export.Run{}
	}
	s := newJournalSink(w, fileMetadata{})
	s.ordinal, s.resumed = frames, true
	return guard(func() error { return s.close(run, nil) })
}

// A journalSink writes frames. It is the PayloadWriter of its own ipc.Writer,
// which encodes the messages.
type journalSink struct {
	dst     io.Writer
	schema  *arrow.Schema
	w       *ipc.Writer
	started bool      // the schema was written
	resumed bool      // the schema is there already
	ordinal uint64    // of the next message
	kind    frameKind // of the next message that is not the schema
	text    []byte
	buf     []byte
}

func newJournalSink(dst io.Writer, meta fileMetadata) *journalSink {
	s := &journalSink{dst: dst, schema: newSchema(meta, false), kind: frameRows}
	s.w = ipc.NewWriterWithPayloadWriter(s, ipc.WithSchema(s.schema))
	return s
}

func (s *journalSink) write(rec arrow.Record) error {
	s.kind, s.text = frameRows, nil
	return s.w.Write(rec)
}

// event writes a frame without rows.
func (s *journalSink) event(kind frameKind, text []byte) error {
	rec := newBatch(s.schema, nil).record()
	defer rec.Release()
	s.kind, s.text = kind, text
	return s.w.Write(rec)
}

// Start is there for ipc.PayloadWriter.
func (s *journalSink) Start() error { return nil }

// WritePayload writes an encoded message as a frame.
func (s *journalSink) WritePayload(p ipc.Payload) error {
	kind, text := s.kind, s.text
	if !s.started {
		kind, text = frameSchema, nil
		s.started = true
		if s.resumed {
			return nil
		}
	}
	meta := p.Meta()
	defer meta.Release()
	var err error
	s.buf, err = appendFrame(s.buf[:0], kind, s.ordinal, meta.Bytes(), text, func(dst []byte) ([]byte, error) {
		b := appender{dst}
		err := p.SerializeBody(&b)
		return b.b, err
	})
	if err != nil {
		return err
	}
	s.ordinal++
	if kind == frameRun {
		s.buf = append(s.buf, endOfStream...)
	}
	_, err = s.dst.Write(s.buf)
	return err
}

// Close is there for ipc.PayloadWriter; nothing calls it.
func (s *journalSink) Close() error { return nil }

func (s *journalSink) close(run *export.Run, _ *telemetryBuffer) error {
	header := *run
	header.Experiments = nil
	text, err := runText(&header)
	if err != nil {
		return err
	}
	return s.event(frameRun, text)
}

// An appender is a writer to a slice.
type appender struct{ b []byte }

func (a *appender) Write(b []byte) (int, error) {
	a.b = append(a.b, b...)
	return len(b), nil
}
