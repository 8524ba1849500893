package columnar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pa-tools/pa/pkg/export"
)

// newJournalReader checks each frame of the journal and returns a Reader of its whole
// batches. After these, Err of the Reader returns the error that ended the frames.
func newJournalReader(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (*Reader, error) {
	s := &journalSource{
		name: name, schema: fullSchema(),
		frames: frameReader{src: src, size: size, maxBody: batchLimit(lim)},
	}
	h, off, err := s.readSchema(lim)
	if err != nil {
		return nil, err
	}
	if h.run == nil {
		h.run = &export.Run{}
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, _, _, err := s.frames.read(off)
		if err == nil {
			err = s.addFrame(&h, f, lim)
		}
		if err != nil {
			h.tail = s.tailError(off, err)
			break
		}
		off += f.size()
	}
	if s.complete && h.tail == nil && s.trailing > 0 {
		h.warnings = append(h.warnings, export.Warning{
			Name: name, Offset: size - s.trailing, Count: 1, Msg: fmt.Sprintf("the journal ends here, but %d more bytes follow", s.trailing),
		})
	}
	s.addNotes(&h)
	h.sortExperiments()
	if len(s.telemetryOffsets) > 0 {
		h.lines, h.maxLine = s.lines, lim.ValueBytes()
	}
	return newReader(ctx, h, s)
}

// A journalSource reads the batches of a journal.
type journalSource struct {
	name             string
	frames           frameReader
	schema           *arrow.Schema
	messages         messageReader
	r                *ipc.Reader
	rowFrames        []frame // frames with rows, without their text
	telemetryOffsets []int64 // offsets of the frames that hold telemetry
	notes            []string
	lastOrdinal      uint64 // ordinal of the frame read last
	complete         bool   // the frame that ends the run was read
	trailing         int64  // bytes after the end of the stream
}

// A messageReader passes one message at a time to an ipc.Reader.
type messageReader struct{ next *ipc.Message }

func (f *messageReader) Message() (*ipc.Message, error) {
	if f.next == nil {
		return nil, io.EOF
	}
	m := f.next
	f.next = nil
	return m, nil
}

func (f *messageReader) Retain()  {}
func (f *messageReader) Release() {}

func (f *messageReader) setNext(metadata, body []byte) {
	if body == nil {
		body = []byte{}
	}
	f.next = ipc.NewMessage(memory.NewBufferBytes(metadata), memory.NewBufferBytes(body))
}

// readSchema reads the first frame and returns the header and the offset of the second
// frame.
func (s *journalSource) readSchema(lim export.Limits) (header, int64, error) {
	f, metadata, body, err := s.frames.read(0)
	switch {
	case errors.Is(err, errTorn) && s.frameFollows(8):
		err = errors.New("expected the schema, found a frame that reaches beyond the end of the file")
	case errors.Is(err, errTorn):
		return header{}, 0, &export.CutError{Name: s.name, Offset: s.frames.size, Where: "the schema of the journal", Nothing: true}
	case err == nil && f.kind != frameSchema:
		err = fmt.Errorf("expected the schema, found a frame of kind %d", f.kind)
	case errors.Is(err, errEnd):
		err = errors.New("expected the schema, found the end of the stream")
	}
	if err != nil {
		return header{}, 0, &CorruptionError{s.name, 0, fmt.Errorf("%w; is it a journal of pa-record?", err)}
	}
	if err := checkSchemaMessage(metadata); err != nil {
		return header{}, 0, &CorruptionError{s.name, 0, err}
	}
	err = catchPanic(func() (err error) {
		s.messages.setNext(metadata, body)
		s.r, err = ipc.NewReaderFromMessageReader(&s.messages, ipc.WithAllocator(boundAllocator{memory.DefaultAllocator, s.frames.maxBody}))
		return err
	})
	if err != nil {
		return header{}, 0, &CorruptionError{s.name, 0, err}
	}
	meta := s.r.Schema().Metadata()
	h, err := readHeader(s.name, fieldNames(s.r.Schema()), func(key string) string {
		v, _ := meta.GetValue(key)
		return v
	}, lim)
	return h, f.size(), err
}

// addFrame adds a frame after the schema to the source or to h.
func (s *journalSource) addFrame(h *header, f *frame, lim export.Limits) error {
	if s.complete {
		return fmt.Errorf("a frame of kind %d after the end of the run", f.kind)
	}
	if s.lastOrdinal++; f.ordinal != s.lastOrdinal {
		return fmt.Errorf("frame %d follows frame %d", f.ordinal, s.lastOrdinal-1)
	}
	switch f.kind {
	case frameRows:
		s.rowFrames = append(s.rowFrames, frame{kind: f.kind, offset: f.offset, bodyStart: f.bodyStart, body: f.body})
		return nil
	case frameText:
		s.telemetryOffsets = append(s.telemetryOffsets, f.offset)
		return nil
	case frameNote:
		s.notes = append(s.notes, string(f.text))
		return nil
	case frameBegin, frameUpdate, frameEnd, frameRun:
	case frameSchema:
		return errors.New("a second schema")
	default:
		h.warnings = append(h.warnings, export.Warning{Name: s.name, Offset: f.offset, Count: 1, Msg: fmt.Sprintf("a frame has the unknown kind %d and is skipped", f.kind)})
		return nil
	}
	run, warnings, err := parseRun(fmt.Sprintf("%s: frame at byte %d", s.name, f.offset), f.text, lim)
	if err != nil {
		return err
	}
	h.warnings = append(h.warnings, warnings...)
	switch {
	case f.kind == frameRun:
		run.Experiments = h.run.Experiments
		h.run = run
		s.complete = true
	case len(run.Experiments) != 1:
		return fmt.Errorf("expected one experiment, found %d", len(run.Experiments))
	case f.kind == frameBegin:
		h.run.Experiments = append(h.run.Experiments, run.Experiments[0])
	case len(h.run.Experiments) == 0:
		return errors.New("the end of an experiment without its begin")
	default:
		h.run.Experiments[len(h.run.Experiments)-1] = run.Experiments[0]
	}
	return nil
}

// addNotes adds the notes to the warnings of the run.
func (s *journalSource) addNotes(h *header) {
	if len(s.notes) == 0 {
		return
	}
	if h.run.Meta == nil {
		h.run.Meta = &export.RunMeta{}
	}
	h.run.Meta.Warnings = append(slices.Clip(h.run.Meta.Warnings), s.notes...)
}

// tailError returns the error of the Reader for err, the result of reading a frame at off;
// nil for the regular end of a journal.
func (s *journalSource) tailError(off int64, err error) error {
	where := "the run, whose end was not recorded"
	rest := s.frames.size - off
	switch {
	case errors.Is(err, errEnd):
		s.trailing = rest - int64(len(endOfStream))
		if !s.complete {
			err = errors.New("the stream ends here, but not the run")
			break
		}
		return nil
	case s.complete && rest < int64(len(endOfStream)):
		return nil // only the marker of the end is missing
	case errors.Is(err, errTorn) && rest == 0:
		return &export.CutError{Name: s.name, Offset: s.frames.size, Where: where}
	case errors.Is(err, errTorn):
		if !s.frameFollows(off + 8) {
			return &export.CutError{Name: s.name, Offset: s.frames.size, Where: "a batch of " + where}
		}
		err = errors.New("a frame that reaches beyond the end of the file, though other frames follow")
	case s.onlyZeros(off):
		// The file system extended the file before a crash, but did not write the content.
		return &export.CutError{Name: s.name, Offset: off, Where: "a batch of " + where}
	}
	return &CorruptionError{s.name, off, err}
}

// maxCandidates bounds the number of frames that frameFollows checks.
const maxCandidates = 64

// frameFollows reports whether there is a whole frame anywhere from off on. No frame
// follows a frame that a kill cut short.
func (s *journalSource) frameFollows(off int64) bool {
	const chunk = 1 << 20
	buf := make([]byte, min(chunk, max(0, s.frames.size-off)))
	candidates := 0
	for ; off < s.frames.size; off += chunk {
		n, err := s.frames.src.ReadAt(buf[:min(int64(len(buf)), s.frames.size-off)], off)
		if n == 0 && err != nil {
			return false
		}
		// Frames start at multiples of 8.
		for i := 0; i+8 <= n; i += 8 {
			if !bytes.Equal(buf[i:i+4], endOfStream[:4]) || !s.frames.looksLikeFrame(off+int64(i), buf[i:i+8]) {
				continue
			}
			if _, _, _, err := s.frames.read(off + int64(i)); err == nil {
				return true
			}
			if candidates++; candidates == maxCandidates {
				return false
			}
		}
	}
	return false
}

// onlyZeros reports whether the file holds only zeros from off on.
func (s *journalSource) onlyZeros(off int64) bool {
	buf := make([]byte, 64<<10)
	for off < s.frames.size {
		n, err := s.frames.src.ReadAt(buf[:min(int64(len(buf)), s.frames.size-off)], off)
		if n == 0 && err != nil || len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return false
		}
		off += int64(n)
	}
	return true
}

// lines calls do with each line of the telemetry.
func (s *journalSource) lines(ctx context.Context, do func(line []byte) error) error {
	// A separate frameReader, because rows may be in the memory of s.frames.
	frames := frameReader{src: s.frames.src, size: s.frames.size, maxBody: s.frames.maxBody}
	for _, off := range s.telemetryOffsets {
		f, _, _, err := frames.read(off)
		if err != nil {
			return &CorruptionError{s.name, off, err}
		}
		if err := eachLine(ctx, bytes.NewReader(f.text), maxFrameMetadata, do); err != nil {
			return err
		}
	}
	return nil
}

func (s *journalSource) batches() int { return len(s.rowFrames) }

func (s *journalSource) ahead() int { return 0 }

func (s *journalSource) brief(int) bool { return false }

// has implements source. A journal has no derived columns to check.
func (s *journalSource) has(int) bool { return false }

func (s *journalSource) fingerprint() uint64 { return 0 }

func (s *journalSource) sample(uint64, int, int) rowSample { return rowSample{} }

func (s *journalSource) open(i int, v view) (batchRows, error) {
	return &wholeBatch{func() (*rows, error) { return s.readRows(i, v.wanted) }}, nil
}

// readRows reads batch i.
func (s *journalSource) readRows(i int, wanted func(col int) bool) (*rows, error) {
	off := s.rowFrames[i].offset
	_, metadata, body, err := s.frames.read(off)
	if err != nil {
		return nil, &CorruptionError{s.name, off, err}
	}
	s.messages.setNext(metadata, body)
	rec, err := s.r.Read()
	if err != nil {
		return nil, &CorruptionError{s.name, off, err}
	}
	t, err := recordRows(rec, s.schema, wanted)
	if err != nil {
		return nil, &CorruptionError{s.name, off, err}
	}
	return t, nil
}

func (s *journalSource) place(i int) (int64, string) {
	return s.rowFrames[i].offset, fmt.Sprintf("record batch %d", i)
}

func (s *journalSource) shareWith(int) {}

func (s *journalSource) free() { s.frames.buf = nil }

func (s *journalSource) close() error {
	s.r.Release()
	s.frames.buf = nil
	return nil
}
