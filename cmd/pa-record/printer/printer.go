package printer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"
)

const (
	// maxQueuedBytes bounds the text that waits for a slow reader. The report of a
	// run is far smaller, so a run never waits. pa-record inputs may write gigabytes,
	// and waits.
	maxQueuedBytes = 16 << 20
	// drainPatience is how long, after a signal, the printer waits for a stream that
	// accepts nothing before it drops the remaining text.
	drainPatience = 250 * time.Millisecond
)

// errNotRead is the error of writing to a full queue after a signal.
var errNotRead = errors.New("its reader has stopped reading; the rest of the text is dropped")

// A Printer writes standard output and standard error in the background. A stopped
// terminal (Ctrl-S, a pager) takes no more bytes after some kilobytes. Without the
// printer it would block the goroutine that prints: the recorder of answers, or the
// handler of signals.
//
// Two streams to one file share a queue, so that their texts keep their order.
// Otherwise each has its own queue, and a blocked stream does not block the other.
type Printer struct {
	Out, Err *Stream // standard output and standard error
	queues   []*printQueue
}

// New starts a printer for two streams. Close ends it.
func New(stdout, stderr io.Writer) *Printer {
	q := newPrintQueue()
	p := &Printer{queues: []*printQueue{q}, Out: &Stream{name: "standard output", dst: stdout, queue: q}}
	if !sameStream(stdout, stderr) {
		q = newPrintQueue()
		p.queues = append(p.queues, q)
	}
	p.Err = &Stream{name: "standard error", dst: stderr, queue: q}
	return p
}

// sameStream reports whether two writers write to one file.
func sameStream(a, b io.Writer) bool {
	if f, ok := a.(*os.File); ok {
		if g, ok := b.(*os.File); ok {
			s, err1 := f.Stat()
			t, err2 := g.Stat()
			return err1 == nil && err2 == nil && os.SameFile(s, t)
		}
	}
	return reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

// Hurry makes the printer drop the text of a stream that accepts nothing, instead of
// waiting. It is called after a signal, perhaps more than once.
func (p *Printer) Hurry() {
	for _, q := range p.queues {
		q.hurry()
	}
}

// Close ends the printer when all text is written, or when a stream accepts nothing
// after a call of Hurry. whole is false if text was dropped. err is the first error
// of standard output; Close prints it.
func (p *Printer) Close() (whole bool, err error) {
	whole = true
	for _, q := range p.queues {
		whole = q.drain() && whole
	}
	if err = p.Out.failure(); err != nil {
		fmt.Fprintf(p.Err, "pa-record: %v\n", err)
		whole = p.Err.queue.drain() && whole
	}
	for _, q := range p.queues {
		q.close()
	}
	return whole, err
}

// A Stream is one stream of a printer. Its Write returns at once unless
// maxQueuedBytes are queued.
type Stream struct {
	name  string
	dst   io.Writer
	queue *printQueue

	err error // the first error of dst; guarded by queue.mu
}

// Write implements io.Writer. It returns the error of an earlier write, because b is
// written later.
func (s *Stream) Write(b []byte) (int, error) {
	if err := s.queue.add(queuedText{to: s, text: slices.Clone(b)}); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Redraw shows a text that stays last on a terminal until another text is written, to this
// stream or to another one of the same file: that text comes after erase, which must remove
// what text drew. A text of Redraw that has not been written yet is dropped. An empty text
// only removes the previous one.
func (s *Stream) Redraw(text, erase string) {
	_ = s.queue.add(queuedText{to: s, text: []byte(text), drawn: true, erase: []byte(erase)})
}

func (s *Stream) failure() error {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.err
}

// A queuedText is text that waits to be written.
type queuedText struct {
	to    *Stream
	text  []byte
	drawn bool   // by Redraw: the next drawn text may replace it
	erase []byte // what removes it from the terminal
	// reached, if not nil, is closed when the queue reaches this text.
	reached chan struct{}
}

// A printQueue holds texts until its goroutine has written them in order.
type printQueue struct {
	hurried chan struct{} // closed by hurry

	mu      sync.Mutex
	changed *sync.Cond // signals a change of the fields below
	texts   []queuedText
	bytes   int
	onView  queuedText // drawn on the terminal, and erased by the next text; zero: none
	written uint64     // number of texts
	inHurry bool
	closed  bool
}

func newPrintQueue() *printQueue {
	q := &printQueue{hurried: make(chan struct{})}
	q.changed = sync.NewCond(&q.mu)
	go q.run() // ends after close, when all is written
	return q
}

// add queues a text.
func (q *printQueue) add(t queuedText) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	to := t.to
	for q.bytes > maxQueuedBytes && !q.inHurry && to.err == nil {
		q.changed.Wait()
	}
	switch {
	case to.err != nil:
		return to.err
	case q.bytes > maxQueuedBytes:
		return fmt.Errorf("%s: %w", to.name, errNotRead)
	}
	if n := len(q.texts); t.drawn && n > 0 && q.texts[n-1].drawn && q.texts[n-1].to == to {
		q.bytes -= len(q.texts[n-1].text)
		q.texts = q.texts[:n-1]
	}
	q.texts = append(q.texts, t)
	q.bytes += len(t.text)
	q.changed.Broadcast()
	return nil
}

// run writes the queued texts until the queue is closed and empty.
func (q *printQueue) run() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.texts) == 0 {
			if q.closed {
				return
			}
			q.changed.Wait()
		}
		t := q.texts[0]
		q.texts[0] = queuedText{}
		q.texts = q.texts[1:]
		if t.reached != nil {
			close(t.reached)
			continue
		}
		text, on := t.text, q.onView
		q.onView = queuedText{}
		switch {
		case on.to == t.to: // in one write, so that nothing flickers
			text = append(on.erase, text...)
		case on.to != nil:
			q.write(on.to, on.erase)
		}
		q.write(t.to, text)
		if t.drawn {
			q.onView = t
		}
		q.written++
		q.bytes -= len(t.text)
		q.changed.Broadcast()
	}
}

// write writes a text, and keeps the first error of the stream. It unlocks q.mu meanwhile.
func (q *printQueue) write(to *Stream, text []byte) {
	if to.err != nil || len(text) == 0 {
		return
	}
	q.mu.Unlock()
	_, err := to.dst.Write(text)
	q.mu.Lock()
	if err != nil {
		to.err = fmt.Errorf("%s: %w", to.name, err)
	}
}

func (q *printQueue) hurry() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.inHurry {
		q.inHurry = true
		close(q.hurried)
	}
	q.changed.Broadcast()
}

func (q *printQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

// drain waits until all queued text is written. It returns false if it gave up.
func (q *printQueue) drain() bool {
	reached := make(chan struct{})
	q.mu.Lock()
	q.texts = append(q.texts, queuedText{reached: reached})
	q.changed.Broadcast()
	q.mu.Unlock()
	select {
	case <-reached:
		return true
	case <-q.hurried:
	}
	for {
		before := q.count()
		select {
		case <-reached:
			return true
		case <-time.After(drainPatience):
			if q.count() == before {
				return false
			}
		}
	}
}

// count returns the number of texts written.
func (q *printQueue) count() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.written
}
