package profilejson

import (
	"bytes"
	"io"
	"runtime"
	"sync"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
)

// This file decodes the requests of a large array on several cores. The array is cut into
// spans where a request seems to begin. Workers decode them; the Reader takes the requests in
// the order of the file. A cut is a guess until the span before it ends exactly there. A span
// ends early before a request with a fault, and where the next cut is wrong. The Reader then
// decodes one request after the other until the next span begins. So the requests, warnings
// and errors are the same.

const (
	cutWindow   = 64 << 10 // bytes that are searched for a cut
	firstWindow = 16 << 10 // bytes of these that are searched first
	leastSpans  = 4        // of an array that is worth the workers
	mostSpans   = 4        // a longer part without a cut is left to the Reader: a span is in memory as a whole
	fruitless   = 16       // spans, or the limit of a request, without a cut end the search for more
	maxWorkers  = 16
	// keptSpan is about the most bytes of a span whose requests are kept: the spans that wait
	// for the Reader should fit in the processor's cache.
	keptSpan = 256 << 10
)

// requestStart begins a request in the files of every recorder.
var requestStart = []byte(`{"timestamp":`)

// findStart returns the offset of the first request in b that follows another one; -1 if
// there is none.
func findStart(b []byte) int {
	for from := 0; ; from++ {
		i := bytes.Index(b[from:], requestStart)
		if i < 0 {
			return -1
		}
		from += i
		if before := bytes.TrimRight(b[:from], " \t\r\n"); bytes.HasSuffix(before, []byte(",")) {
			return from
		}
	}
}

// A workSpan is a part of an array, from the start of a request to the start of another one or
// to the array's end.
type workSpan struct {
	from, to int64 // of the file
	n        int   // requests that were decoded
	end      int64 // offset after the last of them
	// complete: the requests fill the span.
	complete bool
	decoded  chan struct{} // closed when a worker is done

	batch export.Batch // holds the requests; nil: they are in kept
	kept  *keptRequests
	next  int // request that the Reader takes next
}

// keptRequests are the requests of a span, and their memory.
type keptRequests struct {
	requests []export.Request
	spanDecoder
	memory struct {
		responses     []export.Response
		fields, extra []export.Field
	}
	used struct{ responses, fields, extra int }
}

// A spanDecoder decodes the requests of spans.
type spanDecoder struct {
	dec  decoder
	row  export.Row
	text []byte // of the span
}

// An aheadDecoder decodes spans in the background.
type aheadDecoder struct {
	src       io.ReaderAt
	spanBytes int64 // of a span, roughly
	limit     int64 // of a request's bytes
	maxItems  int
	need      export.Need // without Batch, the spans keep their requests

	spans   chan *workSpan // in the order of the file
	free    chan *workSpan
	stop    chan struct{}
	working sync.WaitGroup
	current *workSpan // received, and not yet passed
}

// start starts to decode the requests from the request at from to the end of their array
// at to.
func (a *aheadDecoder) start(from, to int64) {
	workers := max(1, min(runtime.GOMAXPROCS(0), maxWorkers)/max(1, a.need.Share))
	depth := 2 * workers
	if a.need.Batch == nil {
		a.spanBytes = min(a.spanBytes, keptSpan)
	}
	a.spans, a.free, a.stop = make(chan *workSpan, depth), make(chan *workSpan, depth+2), make(chan struct{})
	jobs := make(chan *workSpan)
	a.working.Go(func() {
		defer close(a.spans)
		defer close(jobs)
		a.cut(from, to, jobs)
	})
	for range workers {
		a.working.Go(func() {
			var own spanDecoder
			if a.need.Batch != nil || a.need.Envelopes {
				own.dec.shared = &outputEnvelope{}
			}
			for s := range jobs {
				s.decode(a, &own)
				close(s.decoded)
			}
		})
	}
}

// cut sends the spans of the array to the workers and to the Reader. It gives up, and leaves
// the rest to the Reader, after a part without a cut that is longer than a request may be: a
// value without an end must not be read while the Reader refuses it.
func (a *aheadDecoder) cut(from, to int64, jobs chan<- *workSpan) {
	window := make([]byte, cutWindow)
	for from < to {
		s := a.span()
		s.from, s.to = from, to
		for at := from + a.spanBytes; at < to; at += a.spanBytes {
			if at-from > max(a.limit, fruitless*a.spanBytes) {
				return
			}
			if i := a.findStart(window, at, to); i >= 0 {
				s.to = at + int64(i)
				break
			}
		}
		if from = s.to; s.to-s.from > mostSpans*a.spanBytes {
			continue
		}
		for _, to := range []chan<- *workSpan{a.spans, jobs} {
			select {
			case to <- s:
			case <-a.stop:
				return
			}
		}
	}
}

// findStart returns where in the bytes from at on a request seems to begin, at most to the end
// of window; -1 if none does. Most begin in the first part of it.
func (a *aheadDecoder) findStart(window []byte, at, to int64) int {
	for _, part := range []int64{firstWindow, cutWindow} {
		n, _ := a.src.ReadAt(window[:min(part, to-at)], at) // whoever decodes there meets the error
		if i := findStart(window[:n]); i >= 0 {
			return i
		}
	}
	return -1
}

// span returns a span to fill, with the memory of one that was passed.
func (a *aheadDecoder) span() *workSpan {
	var s *workSpan
	select {
	case s = <-a.free:
	default:
		s = &workSpan{}
		if a.need.Batch != nil {
			s.batch = a.need.Batch()
		} else {
			s.kept = &keptRequests{}
		}
	}
	s.decoded, s.next, s.n, s.complete = make(chan struct{}), 0, 0, false
	return s
}

// at returns the span that begins at the offset pos and has a request; nil if there is none.
// It drops the spans before.
func (a *aheadDecoder) at(pos int64) *workSpan {
	for {
		if a.current == nil {
			if a.current = <-a.spans; a.current == nil {
				return nil
			}
		}
		s := a.current
		if s.from > pos {
			return nil
		}
		<-s.decoded
		if s.from == pos && s.n > 0 {
			return s
		}
		a.pass()
	}
}

// pass drops the current span.
func (a *aheadDecoder) pass() {
	select {
	case a.free <- a.current:
	default:
	}
	a.current = nil
}

// close ends the work in the background.
func (a *aheadDecoder) close() {
	close(a.stop)
	a.working.Wait()
}

// decode decodes the requests of the span up to the first request that is not sound. own
// decodes requests that are not kept.
func (s *workSpan) decode(a *aheadDecoder, own *spanDecoder) {
	if s.kept != nil {
		s.kept.dec.shared = own.dec.shared
		own = &s.kept.spanDecoder
	}
	b, ok := own.read(a.src, s.from, int(s.to-s.from))
	if !ok {
		return
	}
	d := &own.dec
	d.maxItems = a.maxItems
	if s.kept != nil {
		s.kept.begin(len(b))
	} else {
		s.batch.Reset()
	}
	for i := 0; ; {
		if b[i] != '{' {
			return
		}
		if s.kept == nil {
			d.begin(len(b))
		}
		d.resetRequest()
		end, err := d.object(b[i:])
		if err != nil || int64(end) > a.limit || !d.sound() {
			return
		}
		i += end
		s.n++
		s.end = s.from + int64(i)
		if s.kept != nil {
			s.kept.keep()
		} else {
			own.row.Request = &d.req
			s.batch.Add(&own.row)
		}
		if i = jsonscan.SkipSpace(b, i); i < len(b) {
			if b[i] != ',' {
				return
			}
			i = jsonscan.SkipSpace(b, i+1)
		}
		if i >= len(b) {
			s.complete = true
			return
		}
	}
}

// read reads n bytes of src. ok is false if there are fewer, or they cannot be read.
func (d *spanDecoder) read(src io.ReaderAt, from int64, n int) (b []byte, ok bool) {
	if cap(d.text) < n {
		d.text = make([]byte, n+n/8)
	}
	b = d.text[:n]
	got, _ := src.ReadAt(b, from)
	return b, got == n
}

// begin makes the memory ready for the requests of a span of size bytes.
func (k *keptRequests) begin(size int) {
	d, m, u := &k.dec, &k.memory, &k.used
	k.requests = k.requests[:0]
	d.arena.Reset(size)
	atLeast(&m.responses, u.responses)
	atLeast(&m.fields, u.fields)
	atLeast(&m.extra, u.extra)
	u.responses, u.fields, u.extra = 0, 0, 0
	d.responses, d.fields, d.extra = m.responses[:0], m.fields[:0], m.extra[:0]
}

// atLeast makes room for n elements, and some more.
func atLeast[T any](x *[]T, n int) {
	if cap(*x) < n {
		*x = make([]T, 0, n+n/8)
	}
}

// keep adds the present request and leaves its memory to it.
func (k *keptRequests) keep() {
	d, u := &k.dec, &k.used
	k.requests = append(k.requests, d.req)
	u.responses, u.fields, u.extra = u.responses+len(d.responses), u.fields+len(d.fields), u.extra+len(d.extra)
	d.responses, d.fields, d.extra = d.responses[len(d.responses):], d.fields[len(d.fields):], d.extra[len(d.extra):]
}
