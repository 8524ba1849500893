package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
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
var errNotRead = errors.New("nobody reads it")

// A printer writes standard output and standard error in the background. A
// terminal that nobody reads (Ctrl-S, a stopped pager) takes no more bytes after
// some kilobytes. Without the printer it would block the goroutine that prints: the
// recorder of answers, or the handler of signals.
//
// Two streams to one file share a queue, so that their texts keep their order.
// Otherwise each has its own queue, and a blocked stream does not block the other.
type printer struct {
	out, err *printStream
	queues   []*printQueue
}

// newPrinter starts a printer for two streams. close ends it.
func newPrinter(stdout, stderr io.Writer) *printer {
	q := newPrintQueue()
	p := &printer{queues: []*printQueue{q}, out: &printStream{name: "standard output", dst: stdout, queue: q}}
	if !sameStream(stdout, stderr) {
		q = newPrintQueue()
		p.queues = append(p.queues, q)
	}
	p.err = &printStream{name: "standard error", dst: stderr, queue: q}
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

// hurry makes the printer drop the text of a stream that accepts nothing, instead of
// waiting. It is called after a signal, perhaps more than once.
func (p *printer) hurry() {
	for _, q := range p.queues {
		q.hurry()
	}
}

// close ends the printer when all text is written, or when a stream accepts nothing
// after a call of hurry. whole is false if text was dropped. err is the first error
// of standard output; close prints it.
func (p *printer) close() (whole bool, err error) {
	whole = true
	for _, q := range p.queues {
		whole = q.drain() && whole
	}
	if err = p.out.failure(); err != nil {
		fmt.Fprintf(p.err, "pa-record: %v\n", err)
		whole = p.err.queue.drain() && whole
	}
	for _, q := range p.queues {
		q.close()
	}
	return whole, err
}

// A printStream is one stream of a printer. Its Write returns at once unless
// maxQueuedBytes are queued.
type printStream struct {
	name  string
	dst   io.Writer
	queue *printQueue

	err error // the first error of dst; guarded by queue.mu
}

// Write implements io.Writer. It returns the error of an earlier write, because b is
// written later.
func (s *printStream) Write(b []byte) (int, error) {
	if err := s.queue.add(s, b, false); err != nil {
		return 0, err
	}
	return len(b), nil
}

// WriteLatest is Write for a text that replaces the previous text of WriteLatest, if
// that one is still last in the queue.
func (s *printStream) WriteLatest(b []byte) { _ = s.queue.add(s, b, true) }

func (s *printStream) failure() error {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.err
}

// A printText is text that waits to be written.
type printText struct {
	to     *printStream
	text   []byte
	latest bool // the next latest text may replace it
	// reached, if not nil, is closed when the queue reaches this text.
	reached chan struct{}
}

// A printQueue holds texts until its goroutine has written them in order.
type printQueue struct {
	hurried chan struct{} // closed by hurry

	mu      sync.Mutex
	changed *sync.Cond // signals a change of the fields below
	texts   []printText
	bytes   int
	written uint64 // number of texts
	inHurry bool
	closed  bool
}

func newPrintQueue() *printQueue {
	q := &printQueue{hurried: make(chan struct{})}
	q.changed = sync.NewCond(&q.mu)
	go q.run() // ends after close, when all is written
	return q
}

// add queues a copy of text.
func (q *printQueue) add(to *printStream, text []byte, latest bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes > maxQueuedBytes && !q.inHurry && to.err == nil {
		q.changed.Wait()
	}
	switch {
	case to.err != nil:
		return to.err
	case q.bytes > maxQueuedBytes:
		return fmt.Errorf("%s: %w", to.name, errNotRead)
	}
	if n := len(q.texts); latest && n > 0 && q.texts[n-1].latest && q.texts[n-1].to == to {
		q.bytes -= len(q.texts[n-1].text)
		q.texts = q.texts[:n-1]
	}
	q.texts = append(q.texts, printText{to: to, text: append([]byte(nil), text...), latest: latest})
	q.bytes += len(text)
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
		q.texts[0] = printText{}
		q.texts = q.texts[1:]
		if t.reached != nil {
			close(t.reached)
			continue
		}
		if t.to.err == nil {
			q.mu.Unlock()
			_, err := t.to.dst.Write(t.text)
			q.mu.Lock()
			if err != nil {
				t.to.err = fmt.Errorf("%s: %w", t.to.name, err)
			}
		}
		q.written++
		q.bytes -= len(t.text)
		q.changed.Broadcast()
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
	q.texts = append(q.texts, printText{reached: reached})
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
