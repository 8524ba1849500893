package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/pa-tools/pa/pkg/export/recordlog"
)

// A diskQueue is an unbounded queue of buffers in front of a file. Take never waits; one goroutine
// sets the checksums and writes the buffers in order, and another one has the file written to the
// disk about every second. The user must stop writing when too many bytes wait.
//
// If the file fails, the queue moves to a second file, once: see [mover]. After an error
// without a second file, or an error of the second file, the queue writes nothing more, so
// that the file has no gap, and keeps what it still gets in memory.
type diskQueue struct {
	dst    io.Writer
	mover  *mover        // nil: there is no second file
	wake   chan struct{} // room for one signal, so that Take never blocks
	done   chan struct{} // closed when the goroutine that writes has ended
	dirty  chan struct{} // room for one signal: there is something to sync
	synced chan struct{} // closed when the goroutine that syncs has ended

	mu      sync.Mutex
	buffers [][]byte // oldest first, each of whole frames
	spare   [][]byte // memory of written buffers
	headers []header // in the file, in their order
	closed  bool
	leave   error // why the queue must move before the next buffer
	queueState
}

// A queueState is what a diskQueue tells its user.
type queueState struct {
	waiting int64            // bytes that are not in the file yet
	written recordlog.Prefix // the frames that are completely in the file
	err     error            // the first error of the file
	rest    [][]byte         // after err: the frames that are not in the file, in their order
	stayed  error            // why the queue could not move when Leave asked; nil if it could
	moved   *moved           // the second file; nil if the queue has not moved
	// unsynced is why a sync of the current file failed; nil if none did. A later sync of the file need not fail again.
	unsynced error
}

// A header is a frame without which later frames cannot be read.
type header struct {
	off   int64 // in the file
	frame []byte
}

// Bounds of diskQueue.spare: a Writer needs two buffers, and more after a moment in which the
// file kept it waiting.
const (
	maxSpares     = 4
	maxSpareBytes = 1 << 20 // of each
)

// syncEvery is the time from one sync of the file to the next.
const syncEvery = time.Second

// newDiskQueue starts the goroutines, which end with Close. mover may be nil.
func newDiskQueue(dst io.Writer, mover *mover) *diskQueue {
	q := &diskQueue{
		dst: dst, mover: mover, wake: make(chan struct{}, 1), done: make(chan struct{}),
		dirty: make(chan struct{}, 1), synced: make(chan struct{}),
	}
	go q.run()
	go q.syncs()
	return q
}

var errQueueClosed = errors.New("written to after it was closed")

var _ recordlog.Sink = (*diskQueue)(nil)

// Take queues a buffer of whole frames and returns an empty one. It returns the file's error from
// writing an earlier buffer; the buffer is then in the rest.
func (q *diskQueue) Take(full []byte) (empty []byte, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.err != nil:
		q.rest = append(q.rest, full)
		return nil, q.err
	case q.closed:
		return full[:0], errQueueClosed
	}
	q.waiting += int64(len(full))
	if last := len(q.buffers) - 1; last >= 0 && cap(q.buffers[last])-len(q.buffers[last]) >= len(full) {
		// The file is slow. A buffer of each flush would take more memory than its bytes.
		q.buffers[last] = append(q.buffers[last], full...)
		return full[:0], nil
	}
	q.buffers = append(q.buffers, full)
	if n := len(q.spare); n > 0 {
		empty, q.spare = q.spare[n-1][:0], q.spare[:n-1]
	}
	signal(q.wake)
	return empty, nil
}

// Leave makes the queue move to its second file before it writes the next buffer, because of
// cause.
func (q *diskQueue) Leave(cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.moved == nil {
		q.leave = cause
	}
}

// State returns the present state.
func (q *diskQueue) State() queueState {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.queueState
}

// Close waits until all buffers are in the file or the file has failed, and returns the
// file's error. It does not close the file. It may be called more than once.
func (q *diskQueue) Close() error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.wake)
	<-q.done
	return q.State().err
}

// signal sends to a channel with room for one signal, unless it has one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (q *diskQueue) run() {
	defer close(q.done)
	for range q.wake {
		for {
			b, more := q.next()
			if b == nil {
				if !more {
					return
				}
				break
			}
			rest, err := q.put(b)
			q.wrote(b, rest, err)
			signal(q.dirty)
		}
	}
}

// syncs has the file written to the disk. A sync may take long, so it must not keep the other
// goroutine from writing.
func (q *diskQueue) syncs() {
	defer close(q.synced)
	every := time.NewTimer(0)
	defer every.Stop()
	for {
		select {
		case <-q.done:
			return
		case <-q.dirty:
		}
		select {
		case <-q.done:
			return
		case <-every.C:
		}
		every.Reset(syncEvery)
		select { // the sync covers what was written while the timer ran
		case <-q.dirty:
		default:
		}
		q.sync()
	}
}

// sync has the current file written to the disk. A file that fails is left.
func (q *diskQueue) sync() {
	q.mu.Lock()
	dst := q.dst
	q.mu.Unlock()
	f, ok := dst.(interface{ Sync() error })
	if !ok {
		return
	}
	err := f.Sync()
	for _, known := range []error{syscall.EINVAL, syscall.ENOTSUP, syscall.ENOSYS, os.ErrClosed} {
		if errors.Is(err, known) {
			return // no such file system has it, or the queue has moved
		}
	}
	if err != nil {
		q.mu.Lock()
		if q.dst == dst {
			q.unsynced = err
		}
		q.mu.Unlock()
		q.Leave(err)
	}
}

// put writes a buffer to the file, or moves and writes it to the second file. rest is what is in neither.
func (q *diskQueue) put(b []byte) (rest []byte, err error) {
	if cause := q.asked(); cause != nil && q.mover != nil {
		if err := q.move(cause); err != nil { // the first file still takes what comes; restore tries again
			q.mu.Lock()
			q.stayed = fmt.Errorf("%w; %w", cause, err)
			q.mu.Unlock()
		}
	}
	rest, err = q.write(b)
	// EFBIG is the limit of the process, which holds for every file.
	if err == nil || q.State().moved != nil || q.mover == nil || errors.Is(err, syscall.EFBIG) {
		return rest, err
	}
	if merr := q.move(err); merr != nil {
		return rest, fmt.Errorf("%w; %w", withoutName(err), merr)
	}
	return q.write(rest)
}

// write sets the checksums of a buffer and writes it to the current file. rest holds the frames that are not
// completely in the file.
func (q *diskQueue) write(b []byte) (rest []byte, err error) {
	if err := q.intact(); err != nil {
		return b, err
	}
	written, headers := q.sealed(b)
	if n, werr := q.dst.Write(b); werr != nil {
		n = q.wholeFrames(b, n)
		rest, err = b[n:], werr
		written, headers = q.sealed(b[:n])
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.written, q.headers = written, append(q.headers, headers...)
	return rest, err
}

// sealed sets the checksums of the frames in b, which follow the file's, and returns what the file then holds and the
// headers among the frames.
func (q *diskQueue) sealed(b []byte) (written recordlog.Prefix, headers []header) {
	written = q.written // only the goroutine of the queue changes it
	written.Add(b, func(kind recordlog.Kind, frame []byte) {
		if kind != recordlog.KindRequest && kind != recordlog.KindScrape {
			headers = append(headers, header{written.Bytes, bytes.Clone(frame)})
		}
	})
	return written, headers
}

// wholeFrames returns the size of the frames that are completely in the first n bytes of b.
func (q *diskQueue) wholeFrames(b []byte, n int) (size int) {
	p := q.written
	p.Add(b, func(_ recordlog.Kind, frame []byte) {
		if size+len(frame) > n {
			n = 0 // nor does a later frame, which may be shorter, count
			return
		}
		size += len(frame)
	})
	return size
}

// asked returns the cause that Leave gave, once; nil if there is none.
func (q *diskQueue) asked() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	cause := q.leave
	q.leave = nil
	return cause
}

// move makes the second file the current one. Only the goroutine of the queue may call it,
// or the user after Close.
func (q *diskQueue) move(cause error) error {
	m, written, headers, err := q.mover.move(cause, q.written, q.headers)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dst, q.moved, q.written, q.headers, q.unsynced = m.file, m, written, headers, nil
	return nil
}

// A cutError reports that another program shortened the file.
type cutError struct{ bytes int64 } // number of bytes left

func (e *cutError) Error() string {
	return fmt.Sprintf("another program cut it to %d bytes while it was being written", e.bytes)
}

// intact returns a *cutError if the file is shorter than the bytes written. The next
// buffer would leave a gap, after which no reader could go on.
func (q *diskQueue) intact() error {
	f, ok := q.dst.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return nil
	}
	st, err := f.Stat()
	if err == nil && st.Mode().IsRegular() && st.Size() < q.written.Bytes {
		return &cutError{st.Size()}
	}
	return nil
}

// next removes the oldest buffer. It is nil if there is none; more is false if none will come.
func (q *diskQueue) next() (b []byte, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.buffers) == 0 {
		q.buffers = nil // the array has grown to the largest number of buffers so far
		return nil, !q.closed
	}
	b = q.buffers[0]
	q.buffers[0] = nil
	q.buffers = q.buffers[1:]
	return b, true
}

// wrote records the outcome of put.
func (q *diskQueue) wrote(b, rest []byte, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting -= int64(len(b))
	if err != nil {
		q.err, q.rest = err, append([][]byte{rest}, q.buffers...)
		q.buffers, q.spare, q.waiting = nil, nil, 0
		return
	}
	if cap(b) <= maxSpareBytes && len(q.spare) < maxSpares {
		q.spare = append(q.spare, b)
	}
}
