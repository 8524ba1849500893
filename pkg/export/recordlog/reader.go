package recordlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// Format returns the format of a log, of any version, for [export.Opener]. Open checks all frames. It returns an error
// only if the header of the run cannot be read; later damage is in the Reader's Err.
func Format() export.Format {
	return export.MagicFormat("journal", magic, func(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (*Reader, error) {
		r := &Reader{name: name, lim: lim, frames: scanner{src: src, size: size}, warned: map[string]int{}}
		return r, r.open(ctx)
	})
}

// A Reader reads the requests of a log. See [export.Reader] for the contract of its methods.
type Reader struct {
	name     string
	lim      export.Limits
	frames   scanner
	run      *export.Run
	levels   []level
	scrapes  []int64 // offsets of the frames with telemetry
	warnings []export.Warning
	warned   map[string]int // index in warnings by the kind of problem
	tail     error          // ended the log; Err returns it after all requests

	pass    int // 2·level + half
	entered bool
	codec   codec
	decoded export.Request
	request *export.Request // &decoded, or nil if there is none
	err     error
	closed  bool
}

var _ export.SelectiveReader = (*Reader)(nil)

// A level holds where its requests that count are, and the others: see half.
type level [2]span

// A span is a part of the file between frames. It is empty if to is 0.
type span struct{ from, to int64 }

// open reads the head and checks all frames.
func (r *Reader) open(ctx context.Context) error {
	v, err := r.frames.start()
	if err == nil && (v == 0 || v > version) {
		return fmt.Errorf("%s: the journal has version %d, but this program reads versions 1 to %d; use a newer version of it", r.name, v, version)
	}
	var f frame
	if err == nil {
		f, err = r.frames.next()
	}
	switch {
	case errors.Is(err, errTorn) && !r.frames.frameFollows(headBytes), err != nil && r.frames.onlyZeros(headBytes):
		return &export.CutError{Name: r.name, Offset: r.frames.size, Where: "the header of the journal", Nothing: true}
	case err == nil && f.kind != KindRun:
		err = fmt.Errorf("expected the header of the run, found a frame of kind %02x", byte(f.kind))
	case err == nil:
		r.run, err = r.parse(&f)
	}
	if err != nil {
		return &CorruptionError{r.name, headBytes, fmt.Errorf("%w; is it a journal of pa-record?", err)}
	}
	r.run.Experiments = nil
	var notes []string
	ended := false
	for r.tail == nil && !ended {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := r.frames.off
		f, err := r.frames.next()
		if err == nil {
			ended, err = r.add(&f, &notes)
		}
		if err != nil {
			r.tail = r.tailError(at, err)
		}
	}
	if rest := r.frames.size - r.frames.off; ended && rest > 0 {
		r.warn("trailing", r.frames.off, fmt.Sprintf("the journal ends here, but %d more bytes follow", rest))
	}
	if len(notes) > 0 {
		if r.run.Meta == nil {
			r.run.Meta = &export.RunMeta{}
		}
		r.run.Meta.Warnings = append(slices.Clip(r.run.Meta.Warnings), notes...)
	}
	r.sortLevels()
	r.frames.free()
	return nil
}

// add adds a frame after the first one. ended reports that it is the last one.
func (r *Reader) add(f *frame, notes *[]string) (ended bool, err error) {
	switch f.kind {
	case KindRequest:
		if len(r.levels) == 0 || len(f.payload) < 2 {
			return false, errors.New("a request without a level or a status")
		}
		s := &r.levels[len(r.levels)-1][half(f.payload)]
		if s.to == 0 {
			s.from = f.off
		}
		s.to = r.frames.off
	case KindScrape:
		r.scrapes = append(r.scrapes, f.off)
	case KindNote:
		*notes = append(*notes, string(f.payload))
	case KindRun:
		return false, errors.New("a second header of the run")
	case KindLevel, KindLevelEnd:
		run, err := r.parse(f)
		switch {
		case err != nil:
			return false, err
		case len(run.Experiments) != 1:
			return false, fmt.Errorf("expected one experiment, found %d", len(run.Experiments))
		case f.kind == KindLevel:
			r.run.Experiments = append(r.run.Experiments, run.Experiments[0])
			r.levels = append(r.levels, level{})
		case len(r.levels) == 0:
			return false, errors.New("the end of an experiment without its begin")
		default:
			e := &r.run.Experiments[len(r.levels)-1]
			mode, value := e.Mode, e.Value
			*e = run.Experiments[0]
			e.Mode, e.Value = mode, value
		}
	case KindRunEnd:
		run, err := r.parse(f)
		if err != nil {
			return false, err
		}
		run.Experiments = r.run.Experiments
		r.run = run
		return true, nil
	default:
		r.warn(fmt.Sprint("kind", f.kind), f.off, fmt.Sprintf("a frame has the unknown kind %02x and is skipped", byte(f.kind)))
	}
	return false, nil
}

// half returns 0 if the request of a payload counts, else 1.
func half(payload []byte) int {
	q := export.Request{Status: export.Status(payload[0]), Phase: export.Phase(payload[1])}
	if q.Excluded() == export.NotExcluded {
		return 0
	}
	return 1
}

// parse reads a header.
func (r *Reader) parse(f *frame) (*export.Run, error) {
	run, warnings, err := profilejson.ParseRun(fmt.Sprintf("%s: frame at byte %d", r.name, f.off), bytes.Clone(f.payload), r.lim)
	r.warnings = append(r.warnings, warnings...)
	return run, err
}

// tailError returns the error of the Reader for err, the result of reading the frame at off.
func (r *Reader) tailError(off int64, err error) error {
	const where = "the run, whose end was not recorded"
	size := r.frames.size
	switch {
	case errors.Is(err, errTorn) && off == size:
		return &export.CutError{Name: r.name, Offset: size, Where: where}
	case errors.Is(err, errTorn):
		if !r.frames.frameFollows(off) {
			return &export.CutError{Name: r.name, Offset: size, Where: "a frame of " + where}
		}
		err = errors.New("a frame that reaches beyond the end of the file, though other frames follow")
	case r.frames.onlyZeros(off):
		// The file system extended the file before a crash, but did not write the content.
		return &export.CutError{Name: r.name, Offset: off, Where: "a frame of " + where}
	}
	return &CorruptionError{r.name, off, err}
}

// warn adds a warning, or increments the count of the warning of that kind.
func (r *Reader) warn(kind string, off int64, msg string) {
	if i, ok := r.warned[kind]; ok {
		r.warnings[i].Count++
		return
	}
	r.warned[kind] = len(r.warnings)
	r.warnings = append(r.warnings, export.Warning{Name: r.name, Offset: off, Msg: msg, Count: 1})
}

// Run returns the header.
func (r *Reader) Run() *export.Run { return r.run }

// Preview returns the header, which is complete.
func (r *Reader) Preview() *export.Run { return r.run }

// Stored returns nil: a log has no derived values.
func (r *Reader) Stored() *export.Stored { return nil }

// Begin makes Next begin again. It grants no batches.
func (r *Reader) Begin(export.Need) (batches bool) {
	r.pass, r.entered, r.request, r.err = 0, false, nil, nil
	return false
}

// Next advances to the next request.
func (r *Reader) Next() bool {
	r.request = nil
	for r.err == nil && !r.closed && r.pass < 2*len(r.levels) {
		s := r.levels[r.pass/2][r.pass%2]
		if !r.entered && s.to > 0 {
			if err := r.frames.seek(s.from); err != nil {
				r.err = fmt.Errorf("%s: %w", r.name, err)
				return false
			}
			r.entered = true
		}
		if s.to == 0 || r.frames.off >= s.to {
			r.pass, r.entered = r.pass+1, false
			continue
		}
		off := r.frames.off
		f, err := r.frames.next()
		switch {
		case err == nil && (f.kind != KindRequest || half(f.payload) != r.pass%2):
			continue
		case err == nil:
			err = r.codec.read(f.payload, &r.decoded)
		}
		if err != nil {
			r.err = &CorruptionError{r.name, off, err}
			return false
		}
		r.request = &r.decoded
		return true
	}
	if r.err == nil && !r.closed {
		r.err = r.tail
	}
	r.free()
	return false
}

// Request returns the current request, valid until the next call of Next; nil if there is none.
func (r *Reader) Request() *export.Request { return r.request }

// Row returns the current request.
func (r *Reader) Row() export.Row { return export.Row{Request: r.request} }

// Batch returns nil.
func (r *Reader) Batch() export.Batch { return nil }

// Experiment returns the index of the current request's experiment.
func (r *Reader) Experiment() int { return min(r.pass/2, max(0, len(r.levels)-1)) }

// Scrapes reads the telemetry.
func (r *Reader) Scrapes(ctx context.Context, do func(*export.Scrape) error) error {
	if r.closed {
		return nil
	}
	// A scanner of its own, because the current request may be in the memory of r.frames.
	frames := scanner{src: r.frames.src, size: r.frames.size}
	d := export.ScrapeDecoder{MaxBytes: r.lim.ValueBytes()}
	for _, off := range r.scrapes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := frames.seek(off)
		var f frame
		if err == nil {
			f, err = frames.next()
		}
		if err != nil {
			r.warn("telemetry section", off, (&CorruptionError{r.name, off, err}).Error())
			return nil
		}
		for line := range bytes.Lines(f.payload) {
			if err := d.Line(line, do, func(err error) { r.warn("telemetry", off, "telemetry: "+err.Error()) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// Skipped returns 0: the Reader leaves out no request.
func (r *Reader) Skipped(int) (counted, excluded int) { return 0, 0 }

// Err returns the error that ended the reading early.
func (r *Reader) Err() error { return r.err }

// Warnings returns the problems in the data so far, each kind once with a count.
func (r *Reader) Warnings() []export.Warning { return r.warnings }

// Close releases the Reader's memory. It does not close the file.
func (r *Reader) Close() error {
	r.free()
	r.closed, r.request = true, nil
	return nil
}

// free drops the memory of requests. A program may keep many files open that it has read.
func (r *Reader) free() {
	r.frames.free()
	r.codec, r.decoded = codec{}, export.Request{}
}

// free drops the window.
func (s *scanner) free() { s.window, s.memory = nil, nil }
