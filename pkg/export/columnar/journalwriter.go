package columnar

import (
	"bytes"
	"errors"
	"io"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/pa-tools/pa/pkg/export"
)

// A JournalWriter writes a run while it is being recorded. Flushed requests survive
// the end of the process, and after Sync also a crash of the machine.
//
// Requests wait in memory until Flush, or until there are 10,000 requests or 32 MiB. The
// JournalWriter only appends. It writes the begin and the end of an experiment immediately.
// It starts no goroutine or timer: the caller calls Flush about every second, from the
// goroutine that makes all other calls.
type JournalWriter struct {
	w    Writer
	sink *journalSink

	samples   export.ScrapeEncoder
	telemetry []byte // lines that are not written yet
}

var _ export.Writer = (*JournalWriter)(nil)

// NewJournalWriter returns a JournalWriter to w and writes the header of run. run may be
// nil; its Experiments are ignored. The JournalWriter does not buffer w: each frame is one
// call of Write. The last call also writes the end of the stream.
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
	s := newJournalSink(w, runTextMetadata(text))
	j := &JournalWriter{sink: s, w: Writer{calls: export.WriteOrder{Format: "journal"}, sink: s, batch: newBatch(s.schema, nil)}}
	// The first batch, even without rows, writes the schema first.
	if err := s.writeText(frameRows, nil); err != nil {
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

// WriteRequest copies r, and writes it at the next Flush or earlier. The caller may reuse r and its
// memory.
func (j *JournalWriter) WriteRequest(r *export.Request) error { return j.w.WriteRequest(r) }

// Update writes the header of the current experiment as known so far, such as the closed
// windows. It ignores Mode and Value of e.
func (j *JournalWriter) Update(e *export.Experiment) error {
	if err := j.w.calls.Enter(export.InExperiment, "Update"); err != nil {
		return err
	}
	j.w.update(e)
	return j.experiment(frameUpdate)
}

// EndExperiment ends the load level and writes its header.
func (j *JournalWriter) EndExperiment(e *export.Experiment) error {
	if err := j.w.EndExperiment(e); err != nil {
		return err
	}
	return j.experiment(frameEnd)
}

// maxTelemetryWait bounds the bytes of telemetry that wait for Flush.
const maxTelemetryWait = 4 << 20

// WriteScrape copies s, and writes it at the next Flush or earlier. The caller may reuse s, but must
// not change its Series.
func (j *JournalWriter) WriteScrape(s *export.Scrape) error {
	if err := j.w.calls.EnterOpen("WriteScrape"); err != nil {
		return err
	}
	if j.telemetry = j.samples.Append(j.telemetry, s, '\n'); len(j.telemetry) > maxTelemetryWait {
		return j.flush()
	}
	return nil
}

// flush writes the waiting rows and telemetry.
func (j *JournalWriter) flush() error {
	if err := j.w.flush(); err != nil {
		return err
	}
	if len(j.telemetry) == 0 {
		return nil
	}
	err := catchPanic(func() error { return j.sink.writeText(frameText, j.telemetry) })
	j.telemetry = j.telemetry[:0]
	return j.w.calls.Fail(err)
}

// experiment writes the waiting rows, then the header of the last experiment.
func (j *JournalWriter) experiment(kind frameKind) error {
	if err := j.flush(); err != nil {
		return err
	}
	last := j.w.run.Experiments[len(j.w.run.Experiments)-1:]
	text, err := runText(&export.Run{Experiments: last})
	if err == nil {
		err = j.sink.writeText(kind, text)
	}
	return j.w.calls.Fail(err)
}

// Flush writes the waiting requests and telemetry. After Close it does nothing.
func (j *JournalWriter) Flush() error {
	if j.w.calls.Err != nil {
		return j.w.calls.Err
	}
	if j.w.calls.State == export.Closed {
		return nil
	}
	return j.flush()
}

// Sync calls Flush, and then the method Sync of the underlying writer if it has one, as
// *os.File has.
func (j *JournalWriter) Sync() error {
	if err := j.Flush(); err != nil {
		return err
	}
	s, ok := j.sink.dst.(interface{ Sync() error })
	if !ok {
		return nil
	}
	return j.w.calls.Fail(s.Sync())
}

// BufferedBytes returns the memory of the waiting requests and telemetry, in bytes.
func (j *JournalWriter) BufferedBytes() int64 {
	switch {
	case j.w.batch == nil:
		return 0
	case j.w.batch.rows == 0: // size is not 0 for an empty batch
		return int64(len(j.telemetry))
	}
	return int64(j.w.batch.size() + len(j.telemetry))
}

// Close writes the waiting requests, the header fields of run, and the end of the stream.
// The header fields replace the fields of NewJournalWriter. run may be nil; its Experiments
// are ignored. Only the journal of a killed run has no end. Close does not close the
// underlying writer.
func (j *JournalWriter) Close(run *export.Run) error {
	if j.w.calls.Err == nil && j.w.calls.State == export.BetweenExperiments {
		if err := j.flush(); err != nil {
			return j.w.Close(run)
		}
	}
	return j.w.Close(run)
}

// EndJournal ends a journal whose writer failed, for instance because the disk is full.
// w appends to the journal. frames, at least 1, is the number of whole frames in the
// journal; each is one call of Write by the [JournalWriter]. run is as for
// [JournalWriter.Close]; it should state the failure, because the journal lacks rows but
// does not look like the journal of a killed run.
func EndJournal(w io.Writer, frames uint64, run *export.Run) error {
	if frames == 0 {
		return errors.New("the journal cannot be ended: it has no frame yet")
	}
	if run == nil {
		run = &export.Run{}
	}
	s := newJournalSink(w, fileMetadata{})
	s.ordinal, s.schemaExists = frames, true
	return catchPanic(func() error { return s.close(run, nil) })
}

// AppendNote appends a warning about the recording to a journal. Readers add it to the
// warnings of the run. w and frames are as for [EndJournal].
func AppendNote(w io.Writer, frames uint64, text string) error {
	if frames == 0 {
		return errors.New("a note cannot be added to the journal: it has no frame yet")
	}
	s := newJournalSink(w, fileMetadata{})
	s.ordinal, s.schemaExists = frames, true
	return catchPanic(func() error { return s.writeText(frameNote, []byte(text)) })
}

// A journalSink writes frames. It is the PayloadWriter of its own ipc.Writer,
// which encodes the messages.
type journalSink struct {
	dst          io.Writer
	schema       *arrow.Schema
	w            *ipc.Writer
	schemaDone   bool      // the schema was written
	schemaExists bool      // the schema is there already
	ordinal      uint64    // ordinal of the next frame
	kind         frameKind // of the next message that is not the schema
	text         []byte
	buf          []byte
	// noRows is the message of a batch without rows, which is always the same. Its metadata is
	// nil before the first call of writeText.
	noRows     struct{ metadata, body []byte }
	keepNoRows bool // WritePayload copies the next message that is not the schema to noRows
}

func newJournalSink(dst io.Writer, meta fileMetadata) *journalSink {
	s := &journalSink{dst: dst, schema: newSchema(meta, false), kind: frameRows}
	s.w = ipc.NewWriterWithPayloadWriter(s, ipc.WithSchema(s.schema))
	return s
}

func (s *journalSink) write(b *batch) (*batch, error) {
	rec := b.record()
	defer rec.Release()
	defer b.reset()
	s.kind, s.text = frameRows, nil
	return b, s.w.Write(rec)
}

func (s *journalSink) wait() error { return nil }

// writeText writes a frame with text and without rows.
func (s *journalSink) writeText(kind frameKind, text []byte) error {
	if s.noRows.metadata != nil {
		return s.writeFrame(kind, s.noRows.metadata, text, func(dst []byte) ([]byte, error) {
			return append(dst, s.noRows.body...), nil
		})
	}
	rec := newBatch(s.schema, nil).record()
	defer rec.Release()
	s.kind, s.text, s.keepNoRows = kind, text, true
	defer func() { s.keepNoRows = false }()
	return s.w.Write(rec)
}

// Start implements ipc.PayloadWriter. It does nothing.
func (s *journalSink) Start() error { return nil }

// WritePayload writes an encoded message as a frame.
func (s *journalSink) WritePayload(p ipc.Payload) error {
	kind, text := s.kind, s.text
	if !s.schemaDone {
		kind, text = frameSchema, nil
		s.schemaDone = true
		if s.schemaExists {
			return nil
		}
	}
	meta := p.Meta()
	defer meta.Release()
	return s.writeFrame(kind, meta.Bytes(), text, func(dst []byte) ([]byte, error) {
		b := appender{dst}
		err := p.SerializeBody(&b)
		if err == nil && s.keepNoRows && kind != frameSchema {
			s.noRows.metadata, s.noRows.body = bytes.Clone(meta.Bytes()), bytes.Clone(b.b[len(dst):])
		}
		return b.b, err
	})
}

// writeFrame writes the next frame. metadata and body belong to its message; see appendFrame.
func (s *journalSink) writeFrame(kind frameKind, metadata, text []byte, body func(dst []byte) ([]byte, error)) error {
	var err error
	s.buf, err = appendFrame(s.buf[:0], kind, s.ordinal, metadata, text, body)
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

// Close implements ipc.PayloadWriter. It does nothing.
func (s *journalSink) Close() error { return nil }

func (s *journalSink) close(run *export.Run, _ *telemetryBuffer) error {
	header := *run
	header.Experiments = nil
	text, err := runText(&header)
	if err != nil {
		return err
	}
	return s.writeText(frameRun, text)
}

// An appender is an io.Writer that appends to a slice.
type appender struct{ b []byte }

func (a *appender) Write(b []byte) (int, error) {
	a.b = append(a.b, b...)
	return len(b), nil
}
