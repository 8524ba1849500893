package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/pa-tools/pa/pkg/export/columnar"
)

// A diskQueue is an unbounded queue in front of a file. Write copies a block into memory
// and never waits; one goroutine writes the blocks in order. The user must stop writing
// when too many bytes are Waiting.
//
// If the file fails, the queue moves to a second file, once: see [mover]. After an error
// without a second file, or an error of the second file, the queue writes nothing more, so
// that the file has no gap.
type diskQueue struct {
	dst   io.Writer
	mover *mover        // nil: there is no second file
	wake  chan struct{} // room for one signal, so that Write never blocks
	done  chan struct{} // closed when the goroutine has ended

	mu       sync.Mutex
	requests int      // number of requests in the blocks so far
	blocks   []block  // oldest first
	spare    []byte   // memory of a written block
	waiting  int64    // bytes of blocks and of the block that is being written
	records  []record // of the blocks in the file
	before   int      // number of requests in the written blocks
	written  extent
	closed   bool
	err      error
	leave    error // why the queue must move before the next block
	stayed   error // why it could not
	moved    *moved
}

// A block holds the bytes of one call of Write: a frame of the journal.
type block struct {
	data     []byte
	requests int // in this block and all earlier ones
}

// A record describes a block in the file.
type record struct {
	bytes    int64
	requests int    // in this block
	header   []byte // a copy of the block; nil if it holds requests or telemetry
}

// An extent counts the blocks that are completely in the file, and their bytes.
type extent struct {
	blocks uint64
	bytes  int64
}

// maxSpareBytes bounds diskQueue.spare.
const maxSpareBytes = 4 << 20

// newDiskQueue starts the goroutine, which ends with Close. mover may be nil.
func newDiskQueue(dst io.Writer, mover *mover) *diskQueue {
	q := &diskQueue{dst: dst, mover: mover, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run()
	return q
}

var errQueueClosed = errors.New("written to after it was closed")

// Write queues a copy of b. It returns the file's error from writing this or an earlier
// block.
func (q *diskQueue) Write(b []byte) (int, error) {
	q.mu.Lock()
	switch {
	case q.err != nil:
		defer q.mu.Unlock()
		return 0, q.err
	case q.closed:
		defer q.mu.Unlock()
		return 0, errQueueClosed
	}
	data := q.spare
	q.spare = nil
	q.blocks = append(q.blocks, block{append(data[:0], b...), q.requests})
	q.waiting += int64(len(b))
	q.mu.Unlock()
	q.signal()
	return len(b), nil
}

// Count says how many requests all blocks up to the next one hold.
func (q *diskQueue) Count(requests int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requests = requests
}

// Leave makes the queue move to its second file before it writes the next block, because of
// cause.
func (q *diskQueue) Leave(cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.moved == nil {
		q.leave = cause
	}
}

// Moved returns the second file; nil if the queue has not moved.
func (q *diskQueue) Moved() *moved {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.moved
}

// Stayed returns why the queue could not move when Leave asked; nil if it could.
func (q *diskQueue) Stayed() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stayed
}

// Waiting returns the bytes that are not in the file yet.
func (q *diskQueue) Waiting() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// Written returns the blocks that are completely in the file.
func (q *diskQueue) Written() extent {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.written
}

// Err returns the first error of the file, or nil.
func (q *diskQueue) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// Close waits until all blocks are in the file or the file has failed, and returns the
// file's error. It does not close the file. It may be called more than once.
func (q *diskQueue) Close() error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
	<-q.done
	return q.Err()
}

func (q *diskQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *diskQueue) run() {
	defer close(q.done)
	for range q.wake {
		for {
			b, more := q.next()
			if b.data == nil {
				if !more {
					return
				}
				break
			}
			q.wrote(b, q.put(&b))
		}
	}
}

// put writes a block to the file, or moves and writes it to the second file.
func (q *diskQueue) put(b *block) error {
	if cause := q.asked(); cause != nil && q.mover != nil {
		if err := q.move(cause); err != nil { // the first file still takes what comes; restore tries again
			q.stay(fmt.Errorf("%w; %w", cause, err))
		}
	}
	err := q.write(b)
	// EFBIG is the limit of the process, which holds for every file.
	if err == nil || q.Moved() != nil || q.mover == nil || errors.Is(err, syscall.EFBIG) {
		return err
	}
	if merr := q.move(err); merr != nil {
		return fmt.Errorf("%w; %w", withoutName(err), merr)
	}
	return q.write(b)
}

// write writes a block to the current file.
func (q *diskQueue) write(b *block) error {
	if err := q.intact(); err != nil {
		return err
	}
	if m := q.Moved(); m != nil {
		if err := m.renumber(b.data, q.Written().blocks); err != nil {
			return err
		}
	}
	_, err := q.dst.Write(b.data)
	return err
}

// asked returns the cause that Leave gave, once; nil if there is none.
func (q *diskQueue) asked() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	cause := q.leave
	q.leave = nil
	return cause
}

// stay records why the queue could not move.
func (q *diskQueue) stay(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stayed = err
}

// move makes the second file the current one. Only the goroutine of the queue may call it,
// or the user after Close.
func (q *diskQueue) move(cause error) error {
	m, records, err := q.mover.move(cause, q.records)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dst, q.moved, q.records = m.file, m, records
	q.written = extent{blocks: uint64(len(records))}
	for _, r := range records {
		q.written.bytes += r.bytes
	}
	return nil
}

// A cutError reports that another program shortened the file.
type cutError struct{ bytes int64 } // number of bytes left

func (e *cutError) Error() string {
	return fmt.Sprintf("another program cut it to %d bytes while it was being written", e.bytes)
}

// intact returns a *cutError if the file is shorter than the bytes written. The next
// block would leave a gap, after which no reader could go on.
func (q *diskQueue) intact() error {
	f, ok := q.dst.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return nil
	}
	st, err := f.Stat()
	if err == nil && st.Mode().IsRegular() && st.Size() < q.Written().bytes {
		return &cutError{st.Size()}
	}
	return nil
}

// next removes the oldest block. Its data are nil if there is none; more is false if none
// will come.
func (q *diskQueue) next() (b block, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.blocks) == 0 {
		q.blocks = nil // the array has grown to the largest number of blocks so far
		return block{}, !q.closed
	}
	b = q.blocks[0]
	q.blocks[0] = block{}
	q.blocks = q.blocks[1:]
	return b, true
}

// wrote records the outcome of put.
func (q *diskQueue) wrote(b block, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting -= int64(len(b.data))
	if err != nil {
		q.err = err
		q.blocks, q.spare, q.waiting = nil, nil, 0
		return
	}
	r := record{bytes: int64(len(b.data)), requests: b.requests - q.before}
	q.before = b.requests
	if !columnar.JournalFrame(b.data).HoldsRows() {
		r.header = bytes.Clone(b.data)
	}
	q.records = append(q.records, r)
	if cap(b.data) <= maxSpareBytes {
		q.spare = b.data
	}
	q.written.blocks++
	q.written.bytes += r.bytes
}
