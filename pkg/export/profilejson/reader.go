package profilejson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// A Reader reads the requests of one file in order. See [export.Reader] for
// the contract of its methods.
//
// It leaves out a request whose timestamp or response_timestamps are missing or bad, with a
// warning. It reads any other member of the wrong type as absent, with a warning too. Broken
// JSON, or bytes after the document, end the reading with an *export.SyntaxError; a
// truncated file ends it with an *export.CutError. Both come after the requests before them.
type Reader struct {
	jsonscan.Cursor
	run      *export.Run
	sections []section
	samples  int64 // as in headerParser
	warnings warnings
	dec      decoder
	// memoryLimit is the limit of memory that bounds the items of a request; 0 if MaxValueBytes does.
	memoryLimit int64

	// provisional says that run assumes one experiment: the array of requests whose name is at
	// requestsName, or the last one that was found, seems to be the only one or the last.
	provisional  bool
	requestsName int64
	header       *headerParser // of a provisional run
	headerWarned bool          // there are warnings about the header
	checkHeader  func() error  // whether to go on with reading the header

	err error
	// headerErr is the error that ended the reading of the header. It comes after all
	// requests that were found.
	headerErr   error
	headerWhere string

	experiment int  // index of the section being read
	excluded   bool // in its excluded requests
	skipped    export.Skips
	inArray    bool
	index      int // of the next element of the array
	valid      bool
	request    *export.Request // the current one
	ahead      *aheadDecoder   // decodes the current array; nil if the Reader does
	spanBytes  int64           // of the spans of ahead
	span       *workSpan       // whose requests come now
	need       export.Need
	begun      bool         // Next was called since Begin
	batch      export.Batch // the current one
	ownBatch   export.Batch // of one request that no worker decoded
	row        export.Row   // of ownBatch
	atElement  bool         // Pos is at the start of an element
	closed     bool
}

var _ export.SelectiveReader = (*Reader)(nil)

// NewReader reads the header of the size bytes of src and returns a Reader of
// its requests. name is only for messages. ctx can cancel the reading of the header, also where
// Run or the first Next search the whole file for further load levels. The Reader decodes the requests of a large file
// in several goroutines, which end with the file or with Close.
//
// The error is an *export.SyntaxError if src is not a profile_export.json, or the error
// from reading src. Err reports later damage after the requests before it.
func NewReader(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (*Reader, error) {
	return newReader(ctx, name, src, size, lim, jsonscan.DefaultChunk)
}

func newReader(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits, chunk int) (*Reader, error) {
	r := &Reader{Cursor: jsonscan.NewCursor(name, src, size, lim.ValueBytes(), chunk), spanBytes: int64(chunk)}
	r.Check, r.checkHeader = ctx.Err, ctx.Err
	if err := r.readHeader(); err != nil {
		return nil, err
	}
	r.Check, r.headerWarned = nil, len(r.warnings.list) > 0
	r.dec.maxItems = int(itemsFactor * r.Limit / itemBytes)
	if most := lim.MaxMemoryBytes; most > 0 {
		if items := int(max(itemsFactor*export.DefaultMaxValueBytes/itemBytes, most/responseBytes)); items < r.dec.maxItems {
			r.dec.maxItems, r.memoryLimit = items, most
		}
	}
	return r, nil
}

// readHeader fills run, sections and headerErr.
func (r *Reader) readHeader() error {
	end, err := lastRequestsEnd(&r.Cursor)
	if err != nil {
		end = 0 // the parser meets the same error and keeps the part before it
	}
	h := r.tryHeader(end)
	r.provisional, r.requestsName = h.jumped, h.jumpedFrom
	if h.jumped && (h.suspect || r.headerErr != nil) {
		r.warnings = warnings{}
		h, r.provisional = r.tryHeader(0), false
	}
	r.run, r.header = h.run, h
	return r.settle(h)
}

// complete finds out whether a provisional header is the whole one, and else reads the header
// from the whole file.
func (r *Reader) complete() {
	if !r.provisional {
		return
	}
	if !r.hasOnlyRequests() {
		r.warnings = warnings{}
		r.readWholeHeader()
	}
	r.provisional = false
}

// hasOnlyRequests reports whether no further array of requests can follow the first one.
func (r *Reader) hasOnlyRequests() bool {
	r.Check = r.checkHeader
	name, err := onlyRequests(&r.Cursor)
	r.Check = nil
	return err == nil && name == r.requestsName
}

// readWholeHeader reads the header from the whole file, without a guess, and adds its warnings.
// It changes the caller's Run in place.
func (r *Reader) readWholeHeader() {
	r.Check = r.checkHeader
	h := r.tryHeader(0)
	*r.run = *h.run
	if err := r.settle(h); err != nil {
		r.err = err
	}
	r.Check = nil
}

// settle takes the positions of the requests and the error from h. It returns the error if
// it leaves nothing to read.
func (r *Reader) settle(h *headerParser) error {
	r.sections, r.samples, r.headerWhere = h.sections, h.samples, h.where
	r.Cursor = h.Cursor
	err := r.headerErr
	var syntax *export.SyntaxError
	var report *export.ReportError
	switch {
	case errors.As(err, &report):
		return err
	case err == nil || errors.Is(err, jsonscan.ErrCut):
		return nil
	case errors.Is(err, errNoExperiments):
		return &export.SyntaxError{Name: r.Name, Offset: r.Size, Msg: err.Error() + ", found one without"}
	case errors.As(err, &syntax):
		if r.run.Experiments == nil {
			return err
		}
		syntax.Where = h.where
		return nil
	case (r.Check == nil || r.Check() == nil) && r.run.Experiments != nil:
		return nil // the part before the I/O error can be read
	}
	return err
}

// tryHeader reads the header from the start of the file. assumed is as in headerParser.
func (r *Reader) tryHeader(assumed int64) *headerParser {
	h := &headerParser{Cursor: r.Cursor, run: &export.Run{}, warnings: &r.warnings, assumed: assumed, samples: -1}
	h.Pos = 0
	r.headerErr = h.document()
	r.Window = h.Window
	return h
}

// Run returns the header.
func (r *Reader) Run() *export.Run {
	if r.need.Batch == nil {
		r.complete()
	}
	return r.run
}

// Preview returns the header that is known without a search for further load levels.
func (r *Reader) Preview() *export.Run { return r.run }

// Stored returns nil: the format has no derived values.
func (r *Reader) Stored() *export.Stored { return nil }

// Begin implements [export.SelectiveReader]. It always grants batches.
func (r *Reader) Begin(need export.Need) (batches bool) {
	if r.begun && !errors.Is(r.err, export.ErrRunChanged) {
		r.restart()
	}
	if errors.Is(r.err, export.ErrRunChanged) {
		r.err = nil
	}
	r.begun, r.valid, r.need, r.ownBatch, r.dec.shared = false, false, need, nil, nil
	if need.Batch != nil {
		r.dec.shared = &outputEnvelope{}
	}
	return need.Batch != nil
}

// Next advances to the next request.
func (r *Reader) Next() bool {
	r.begun, r.valid = true, false
	if r.need.Batch == nil {
		r.complete()
	}
	if r.next() {
		return true
	}
	if r.provisional && r.err != nil { // further load levels may follow the damage
		if r.hasOnlyRequests() {
			r.provisional = false
		} else {
			r.restart()
		}
	}
	return false
}

// next is Next with the header that there is.
func (r *Reader) next() bool {
	for r.err == nil && !r.closed {
		if !r.inArray {
			if !r.nextArray() {
				return false
			}
			continue
		}
		if r.nextDecoded() {
			return true
		}
		more, err := true, error(nil)
		if !r.atElement {
			more, err = r.Elem(r.index == 0)
		}
		if r.atElement = false; more && err == nil && r.enterSpan() {
			continue
		}
		switch {
		case err != nil:
			r.fail(err)
		case !more:
			r.endArray()
		case r.element():
			r.valid = true
			r.batchOfOne()
			return true
		}
	}
	return false
}

// nextArray goes to the next array of requests.
func (r *Reader) nextArray() bool {
	for r.experiment < len(r.sections) {
		s := &r.sections[r.experiment]
		at := s.requests
		if r.excluded {
			at = s.excluded
		}
		if at >= 0 {
			r.Pos = at + 1
			r.inArray = true
			r.index = 0
			return true
		}
		r.arrayDone()
	}
	if r.headerErr != nil && r.err == nil {
		r.err = r.headerErr
		if errors.Is(r.err, jsonscan.ErrCut) {
			r.err = &export.CutError{Name: r.Name, Offset: r.Size, Where: orTop(r.headerWhere)}
		}
	}
	return false
}

func orTop(where string) string {
	if where == "" {
		return "the top-level object"
	}
	return where
}

// enterSpan goes on with the requests that were decoded in the background, if some begin at
// the current element.
func (r *Reader) enterSpan() bool {
	if r.excluded {
		return false
	}
	if to := r.sections[r.experiment].end - 1; r.ahead == nil && r.index == 0 && to-r.Pos >= leastSpans*r.spanBytes && runtime.GOMAXPROCS(0) > 1 {
		r.ahead = &aheadDecoder{src: r.Src, spanBytes: r.spanBytes, limit: r.Limit, maxItems: r.dec.maxItems, need: r.need}
		r.ahead.start(r.Pos, to)
	}
	if r.ahead == nil {
		return false
	}
	r.span = r.ahead.at(r.Pos)
	return r.span != nil
}

// nextDecoded takes the next request of the current span.
func (r *Reader) nextDecoded() bool {
	s := r.span
	if s == nil {
		return false
	}
	if s.next < s.n {
		n := 1
		if r.batch = s.batch; r.batch != nil {
			n = s.n
		} else {
			r.request = &s.kept.requests[s.next]
		}
		s.next += n
		r.index += n
		r.valid = true
		return true
	}
	r.span = nil
	if r.Pos = s.end; s.complete {
		r.Pos, r.atElement = s.to, s.to < r.sections[r.experiment].end-1
	}
	r.ahead.pass()
	return false
}

// Batch returns the current batch.
func (r *Reader) Batch() export.Batch {
	if !r.valid {
		return nil
	}
	return r.batch
}

// batchOfOne makes a batch of the current request.
func (r *Reader) batchOfOne() {
	if r.need.Batch == nil {
		return
	}
	if r.ownBatch == nil {
		r.ownBatch = r.need.Batch()
	}
	r.batch = r.ownBatch
	r.batch.Reset()
	r.row.Request = r.request
	r.batch.Add(&r.row)
}

// endAhead ends the decoding in the background.
func (r *Reader) endAhead() {
	if r.ahead != nil {
		r.ahead.close()
	}
	r.ahead, r.span = nil, nil
}

func (r *Reader) endArray() {
	s := &r.sections[r.experiment]
	wrong := !r.excluded && s.end >= 0 && s.end != r.Pos // the guess of the end
	if r.provisional && !r.excluded {
		switch {
		case !wrong: // this was the last array
			r.provisional = false
		case r.findNextRequests():
			wrong = false
		case r.hasOnlyRequests():
			r.provisional = false
		default:
			r.restart()
			return
		}
	}
	if !r.provisional {
		r.endAhead()
	}
	if wrong {
		// The name of the array of requests is in the file only once, but arrays that look like
		// requests follow it. No recorder writes such a file. The warnings about its requests stay.
		r.readWholeHeader()
	}
	r.arrayDone()
}

// findNextRequests completes a provisional header after the array of requests that ended at
// Pos: there are more. It changes the caller's Run in place. It returns false if more than the
// experiments is not as it seemed.
func (r *Reader) findNextRequests() bool {
	if r.headerWarned {
		return false
	}
	h := r.header
	h.Cursor = r.Cursor
	ok := h.resume()
	r.Window = h.Window
	return ok && r.settle(h) == nil
}

// restart reads the header from the whole file and begins again with the first request.
func (r *Reader) restart() {
	r.endAhead()
	r.provisional, r.err = false, nil
	r.experiment, r.excluded, r.inArray, r.index, r.skipped, r.atElement = 0, false, false, 0, nil, false
	r.warnings = warnings{}
	if r.readWholeHeader(); r.err == nil {
		r.err = export.ErrRunChanged
	}
}

func (r *Reader) arrayDone() {
	r.inArray = false
	if r.excluded {
		r.experiment++
	}
	r.excluded = !r.excluded
}

// element decodes the element at pos and reports whether it is a request.
func (r *Reader) element() bool {
	start := r.Pos
	for {
		b, whole := r.Ahead()
		end, err := 0, jsonscan.ErrMore
		object := len(b) > 0 && b[0] == '{'
		switch {
		case object:
			end, err = r.dec.decode(b)
		case len(b) > 0:
			end, _, err = jsonscan.Value(b, 0)
		}
		switch {
		case err == nil && int64(end) > r.Limit, errors.Is(err, jsonscan.ErrMore) && whole:
			r.fail(r.TooLarge(start, "the request", r.Limit))
			return false
		case errors.Is(err, errTooMany) && r.memoryLimit > 0:
			r.fail(r.Syntax(start, "the request has more than %s responses and outputs, which take more memory than the limit of %d bytes; if the file is sound, raise the limit with --memory-limit",
				plural.Grouped(r.dec.maxItems), r.memoryLimit))
			return false
		case errors.Is(err, errTooMany):
			r.fail(r.TooLarge(start, "the decoded request", itemsFactor*r.Limit))
			return false
		case err == nil:
			r.Pos += int64(end)
			r.index++
			if !object {
				r.dec.bad = &jsonscan.Error{At: 0, Msg: "expected an object, found " + jsonscan.Excerpt(b[:end])}
			}
			return r.accept(start)
		case !errors.Is(err, jsonscan.ErrMore):
			r.fail(r.Located(err))
			return false
		}
		if err := r.More(); err != nil {
			r.fail(err)
			return false
		}
	}
}

// accept warns about the defects of the request that started at off. It reports whether
// the request can still be delivered.
func (r *Reader) accept(off int64) bool {
	d := &r.dec
	r.request = &d.req
	if d.bad != nil {
		r.warn(warnRow, off+int64(d.bad.At), func() string { return d.bad.Msg })
		r.skipped.Add(r.experiment, r.excluded)
		return false
	}
	if d.side != nil {
		r.warn(warnSide, off+int64(d.side.At), func() string { return d.side.Msg + "; the request is read without it" })
	}
	if r.excluded {
		d.meta.exclude(&d.req)
	}
	if !d.req.NoOutputs && d.nTimes != d.nOutputs {
		r.warn(warnCount, off, func() string { return fmt.Sprintf("%d timestamps but %d outputs", d.nTimes, d.nOutputs) })
	}
	if d.twice != "" {
		r.warn(warnDuplicate, off, func() string { return fmt.Sprintf("member %q is there twice; the last one counts", d.twice) })
	}
	if d.plain {
		r.warn(warnOutput, off, func() string { return "an output is not an object; it is read as an output without a name" })
	}
	if d.meta.warning != "" {
		r.warn(warnMeta, off, func() string { return d.meta.warning })
	}
	return true
}

func (r *Reader) warn(kind warnKind, off int64, msg func() string) {
	if r.warnings.known(kind) {
		return
	}
	r.warnings.add(kind, export.Warning{Name: r.Name, Offset: off, Where: r.where(r.index - 1), Msg: msg(), LeftOut: kind == warnRow})
}

// where names element i of the current array.
func (r *Reader) where(i int) string {
	what := "request"
	if r.excluded {
		what = "excluded request"
	}
	return fmt.Sprintf("experiment %d, %s %d", r.experiment, what, i)
}

// fail ends the reading with err.
func (r *Reader) fail(err error) {
	var syntax *export.SyntaxError
	switch {
	case errors.Is(err, jsonscan.ErrCut):
		err = &export.CutError{Name: r.Name, Offset: r.Size, Where: r.where(r.index)}
	case errors.As(err, &syntax):
		syntax.Where = r.where(r.index)
	}
	r.err = err
}

// Request returns the current request, valid until the next call of Next; nil
// when there is none.
func (r *Reader) Request() *export.Request {
	if !r.valid || r.need.Batch != nil {
		return nil
	}
	return r.request
}

// Row returns the current request.
func (r *Reader) Row() export.Row { return export.Row{Request: r.Request()} }

// Experiment returns the index of the current request's experiment.
func (r *Reader) Experiment() int { return r.experiment }

// Err returns what ended the reading before the end of the file.
func (r *Reader) Err() error { return r.err }

// Warnings returns the problems met so far.
func (r *Reader) Warnings() []export.Warning { return r.warnings.list }

// Skipped returns how many requests of an experiment were left out so far.
func (r *Reader) Skipped(experiment int) (counted, excluded int) {
	return r.skipped.Of(experiment)
}

// Close releases the reader's memory. It does not close the file.
func (r *Reader) Close() error {
	r.closed = true
	r.endAhead()
	r.request, r.batch, r.ownBatch, r.row = nil, nil, nil, export.Row{}
	r.valid = false
	r.dec = decoder{}
	r.Release()
	return nil
}

// Scrapes reads the telemetry. If the document breaks off in it, Scrapes reads the part
// before.
func (r *Reader) Scrapes(ctx context.Context, do func(*export.Scrape) error) error {
	if r.samples < 0 || r.closed {
		return nil
	}
	// A position of its own: requests may be under way.
	c := jsonscan.NewCursor(r.Name, r.Src, r.Size, r.Limit, jsonscan.DefaultChunk)
	c.Check = ctx.Err
	c.Pos = r.samples + 1
	d := export.ScrapeDecoder{MaxBytes: r.Limit}
	for first := true; ; first = false {
		more, err := c.Elem(first)
		if err == nil && !more {
			return ctx.Err()
		}
		var v []byte
		at := c.Pos
		if err == nil {
			v, err = c.Value("a scrape")
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, jsonscan.ErrCut): // Err says so
			return nil
		case err != nil:
			r.warnSample(at, err.Error())
			return nil
		}
		s, err := d.Object(jsonscan.AppendCompact(nil, v))
		if err != nil {
			r.warnSample(at, err.Error())
			continue
		}
		if s == nil {
			continue
		}
		if err := do(s); err != nil {
			return err
		}
	}
}

func (r *Reader) warnSample(off int64, msg string) {
	r.warnings.add(warnSample, export.Warning{Name: r.Name, Offset: off, Where: "telemetry", Msg: msg})
}

// Format is profile_export.json as a format of [export.Opener].
type Format struct{}

var _ export.Format = Format{}

// Name returns "profile_export.json".
func (Format) Name() string { return "profile_export.json" }

// Open is NewReader.
func (Format) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim export.Limits) (export.Reader, error) {
	r, err := NewReader(ctx, name, src, size, lim)
	if err != nil {
		return nil, err // not a nil *Reader in a non-nil interface
	}
	return r, nil
}

// Sniff reports whether head starts a JSON object with a member "experiments", or could
// be the start of a profile_export.json as far as it goes.
func (Format) Sniff(head []byte) bool {
	b := bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	i := jsonscan.SkipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	var names jsonscan.Arena
	names.Reset(len(b))
	i++
	ours := 0
	for first := true; ; first = false {
		name, next, more, err := names.Key(b, i, first)
		if string(name) == "experiments" {
			return true
		}
		if err != nil {
			return errors.Is(err, jsonscan.ErrMore) && ours > 0
		}
		if !more {
			return false
		}
		switch string(name) {
		case "version", "service_kind", "endpoint", "pa":
			ours++
		default:
			ours = -1 << 30
		}
		if i, _, err = jsonscan.Value(b, next); err != nil {
			return errors.Is(err, jsonscan.ErrMore) && ours > 0
		}
	}
}
