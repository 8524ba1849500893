package profilejson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/export"
)

// A Writer writes profile_export.json as perf_analyzer does, byte for byte,
// with pa-record's additions under "pa" where there are any. See
// [export.Writer] for the order of calls.
//
// Requests for which [export.Request.Excluded] names a reason wait until EndExperiment, and
// telemetry until Close, beyond 1 MiB in a temporary file. After Flush, a Reader can read
// the output up to the last whole request. The first error sticks and every later call
// returns it.
type Writer struct {
	// TempDir is where excluded requests and telemetry wait; "" is the system's
	// folder for temporary files. Set it before the first request.
	TempDir string

	w           *bufio.Writer
	excluded    spool.Buffer
	telemetry   spool.Buffer // the elements of "samples", a comma before each
	samples     export.ScrapeEncoder
	buf         []byte
	calls       export.WriteOrder
	experiments int
	requests    int // of the current experiment that are in "requests"
	rows        int // of the current experiment, with excluded ones
}

var _ export.Writer = (*Writer)(nil)

// NewWriter returns a Writer to w, which it buffers.
func NewWriter(w io.Writer) *Writer {
	size := 256 << 10
	if _, ok := w.(*bytes.Buffer); ok {
		size = 4 << 10 // writes to memory cost little, and many such documents are short
	}
	return &Writer{w: bufio.NewWriterSize(w, size), calls: export.WriteOrder{Format: "profile_export.json"}}
}

// BeginExperiment starts a load level. value is the text of a JSON number.
// When both are empty the level has no "experiment" member.
func (w *Writer) BeginExperiment(mode, value string) error {
	if err := w.calls.Enter(export.BetweenExperiments, "BeginExperiment"); err != nil {
		return err
	}
	b := w.buf[:0]
	b = append(b, ',')
	if w.experiments == 0 {
		b = append(b[:0], `{"experiments":[`...)
	}
	b = append(b, '{')
	if mode != "" || value != "" {
		b = append(b, `"experiment":{"mode":`...)
		b = appendText(b, []byte(mode))
		if value != "" {
			if !jsonscan.IsNumber([]byte(value)) {
				return w.calls.Fail(fmt.Errorf("experiment %d: the value %q is not a JSON number", w.experiments, value))
			}
			b = append(append(b, `,"value":`...), value...)
		}
		b = append(b, `},`...)
	}
	b = append(b, `"requests":[`...)
	w.calls.State = export.InExperiment
	w.experiments++
	w.requests, w.rows = 0, 0
	return w.write(b)
}

// WriteRequest writes r. A nil Inputs is left out, a nil Outputs of a response
// is written as null; NoOutputs leaves out all outputs. The Data of a value
// that is not text must be JSON.
func (w *Writer) WriteRequest(r *export.Request) error {
	if err := w.calls.Enter(export.InExperiment, "WriteRequest"); err != nil {
		return err
	}
	reason := r.Excluded()
	b := w.buf[:0]
	first := w.requests == 0
	if reason != "" {
		first = w.excluded.Len() == 0
	}
	if !first {
		b = append(b, ',')
	}
	start := len(b)
	b, err := appendRequest(b, r, reason)
	if r.HasMeta || reason != "" { // it has a "pa", so it is not perf_analyzer's
		b = escapeInvalid(b, start)
	}
	w.buf = b
	if err != nil {
		return w.calls.Fail(fmt.Errorf("experiment %d, request %d: %w", w.experiments-1, w.rows, err))
	}
	w.rows++
	if reason == "" {
		w.requests++
		return w.write(b)
	}
	w.excluded.Dir, w.excluded.What = w.TempDir, "excluded requests"
	_, err = w.excluded.Write(b)
	return w.calls.Fail(err)
}

func appendRequest(b []byte, r *export.Request, reason export.Exclusion) ([]byte, error) {
	b = append(b, `{"timestamp":`...)
	b = strconv.AppendUint(b, r.StartNS, 10)
	if r.SequenceID != 0 {
		b = append(b, `,"sequence_id":`...)
		b = strconv.AppendUint(b, r.SequenceID, 10)
	}
	var err error
	if r.Inputs != nil {
		b = append(b, `,"request_inputs":`...)
		if b, err = appendFields(b, r.Inputs); err != nil {
			return b, err
		}
	}
	b = append(b, `,"response_timestamps":[`...)
	for i := range r.Responses {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, r.Responses[i].RecvNS, 10)
	}
	b = append(b, ']')
	if !r.NoOutputs {
		b = append(b, `,"response_outputs":[`...)
		for i := range r.Responses {
			if i > 0 {
				b = append(b, ',')
			}
			if r.Responses[i].Outputs == nil {
				b = append(b, "null"...)
			} else if b, err = appendFields(b, r.Responses[i].Outputs); err != nil {
				return b, err
			}
		}
		b = append(b, ']')
	}
	if b, err = appendExtra(b, r.Extra); err != nil {
		return b, err
	}
	if r.HasMeta || reason != "" {
		b = appendMeta(b, r, reason)
	}
	return append(b, '}'), nil
}

// appendFields appends an object.
func appendFields(b []byte, fields export.Fields) ([]byte, error) {
	b = append(b, '{')
	for i := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendField(b, &fields[i]); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// appendExtra appends members, each with a comma first.
func appendExtra(b []byte, fields export.Fields) ([]byte, error) {
	for i := range fields {
		var err error
		if b, err = appendField(append(b, ','), &fields[i]); err != nil {
			return b, err
		}
	}
	return b, nil
}

func appendField(b []byte, f *export.Field) ([]byte, error) {
	b = append(appendText(b, []byte(f.Name)), ':')
	v := f.Value
	switch {
	case v.Text:
		return appendText(b, v.Data), nil
	case len(v.Data) == 0:
		return append(b, "null"...), nil
	}
	// One bad value would make the whole file unreadable.
	start := len(b)
	b = append(append(b, v.Data...), ' ')
	end, spaced, err := jsonscan.Value(b, start)
	if err != nil || end != len(b)-1 {
		return b, fmt.Errorf("the value of %q is not JSON: %s", f.Name, jsonscan.Excerpt(v.Data))
	}
	b = b[:end]
	if spaced {
		b = jsonscan.AppendCompact(b[:start], v.Data)
	}
	return b, nil
}

// EndExperiment writes the windows of e, its Extra and its Meta, and the
// excluded requests. A nil WindowBoundaries is left out.
func (w *Writer) EndExperiment(e *export.Experiment) error {
	if err := w.calls.Enter(export.InExperiment, "EndExperiment"); err != nil {
		return err
	}
	w.calls.State = export.BetweenExperiments
	b := w.buf[:0]
	b = append(b, ']')
	if e.WindowBoundaries != nil {
		b = append(b, `,"window_boundaries":[`...)
		for i, ns := range e.WindowBoundaries {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendUint(b, ns, 10)
		}
		b = append(b, ']')
	}
	b, err := appendExtra(b, e.Extra)
	if err != nil {
		return w.calls.Fail(fmt.Errorf("experiment %d: %w", w.experiments-1, err))
	}
	excluded := w.excluded.Len() > 0
	if e.Meta == nil && !excluded {
		return w.write(append(b, '}'))
	}
	b = append(b, `,"pa":`...)
	if e.Meta != nil {
		meta, err := marshal(e.Meta)
		if err != nil {
			return w.calls.Fail(fmt.Errorf("experiment %d: %w", w.experiments-1, err))
		}
		b = append(b, meta...)
	} else {
		b = append(b, "{}"...)
	}
	if !excluded {
		return w.write(append(b, '}'))
	}
	b = b[:len(b)-1]
	if e.Meta != nil {
		b = append(b, ',')
	}
	b = append(b, `"excluded_requests":[`...)
	if err := w.write(b); err != nil {
		return err
	}
	if err := w.excluded.MoveTo(w.w); err != nil {
		return w.calls.Fail(err)
	}
	return w.write([]byte("]}}"))
}

// WriteScrape keeps s until Close.
func (w *Writer) WriteScrape(s *export.Scrape) error {
	if err := w.calls.EnterOpen("WriteScrape"); err != nil {
		return err
	}
	w.buf = w.samples.Append(w.buf[:0], s, ',')
	w.telemetry.Dir, w.telemetry.What = w.TempDir, "telemetry"
	_, err := w.telemetry.Write(w.buf)
	return w.calls.Fail(err)
}

// Close ends the document with the header fields of run (nil: none) and
// flushes it. It does not close the underlying writer. Call it after an error too: it
// releases the temporary file.
func (w *Writer) Close(run *export.Run) error {
	if w.calls.State == export.Closed {
		return w.calls.Err
	}
	err := w.close(run)
	w.calls.State = export.Closed
	if e := errors.Join(w.excluded.Close(), w.telemetry.Close()); e != nil && err == nil {
		err = w.calls.Fail(e)
	}
	return err
}

func (w *Writer) close(run *export.Run) error {
	if err := w.calls.Enter(export.BetweenExperiments, "Close"); err != nil {
		return err
	}
	b := w.buf[:0]
	if w.experiments == 0 {
		b = append(b, `{"experiments":[`...)
	}
	b = append(b, ']')
	if run != nil {
		b = appendOptional(b, "version", run.Version)
		b = appendOptional(b, "service_kind", run.ServiceKind)
		b = appendOptional(b, "endpoint", run.Endpoint)
		var err error
		if b, err = appendExtra(b, run.Extra); err != nil {
			return w.calls.Fail(err)
		}
		if run.Meta != nil {
			meta, err := marshal(run.Meta)
			if err != nil {
				return w.calls.Fail(fmt.Errorf("metadata of the run: %w", err))
			}
			b = append(append(b, `,"pa":`...), meta...)
		}
	}
	if w.telemetry.Len() > 0 {
		if err := w.writeTelemetry(b, run != nil && run.Meta != nil); err != nil {
			return err
		}
		b = append(b[:0], "]}"...)
	}
	if err := w.write(append(b, '}')); err != nil {
		return err
	}
	return w.Flush()
}

// writeTelemetry writes b and then the telemetry. With meta, the telemetry is the last
// member of the object at the end of b, else of a new object.
func (w *Writer) writeTelemetry(b []byte, meta bool) error {
	if meta {
		b = append(b[:len(b)-1], ',')
	} else {
		b = append(b, `,"pa":{`...)
	}
	if err := w.write(append(b, `"samples":[`...)); err != nil {
		return err
	}
	// Without the first comma.
	return w.calls.Fail(w.telemetry.MoveTo(&skipWriter{w.w, 1}))
}

// A skipWriter leaves out the first n bytes.
type skipWriter struct {
	w io.Writer
	n int
}

func (s *skipWriter) Write(b []byte) (int, error) {
	skipped := min(s.n, len(b))
	s.n -= skipped
	n, err := s.w.Write(b[skipped:])
	return skipped + n, err
}

func appendOptional(b []byte, name string, s *string) []byte {
	if s == nil {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return appendText(b, []byte(*s))
}

// Flush writes the buffer. Excluded requests keep waiting.
func (w *Writer) Flush() error {
	if w.calls.Err != nil {
		return w.calls.Err
	}
	return w.calls.Fail(w.w.Flush())
}

func (w *Writer) write(b []byte) error {
	w.buf = b[:0]
	_, err := w.w.Write(b)
	return w.calls.Fail(err)
}
