package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// A diskQueue is an unbounded queue in front of a file. Write copies a block into memory
// and never waits; one goroutine writes the blocks in order. The user must stop writing
// when too many bytes are Waiting.
//
// After the first error of the file, the queue writes nothing more, so that the file has
// no gap.
type diskQueue struct {
	dst  io.Writer
	wake chan struct{} // room for one signal, so that Write never blocks
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	blocks  [][]byte // oldest first
	spare   []byte   // memory of a written block
	waiting int64    // bytes of blocks and of the block that is being written
	written extent
	closed  bool
	err     error
}

// An extent counts the blocks that are completely in the file, and their bytes.
type extent struct {
	blocks uint64
	bytes  int64
}

// maxSpareBytes bounds diskQueue.spare.
const maxSpareBytes = 4 << 20

// newDiskQueue starts the goroutine, which ends with Close.
func newDiskQueue(dst io.Writer) *diskQueue {
	q := &diskQueue{dst: dst, wake: make(chan struct{}, 1), done: make(chan struct{})}
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
	block := q.spare
	q.spare = nil
	block = append(block[:0], b...)
	q.blocks = append(q.blocks, block)
	q.waiting += int64(len(b))
	q.mu.Unlock()
	q.signal()
	return len(b), nil
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
			block, more := q.next()
			if block == nil {
				if !more {
					return
				}
				break
			}
			err := q.intact()
			if err == nil {
				_, err = q.dst.Write(block)
			}
			q.wrote(block, err)
		}
	}
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

// next removes the oldest block. It returns nil if there is none; more is false if none
// will come.
func (q *diskQueue) next() (block []byte, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.blocks) == 0 {
		q.blocks = nil // the array has grown to the largest number of blocks so far
		return nil, !q.closed
	}
	block = q.blocks[0]
	q.blocks[0] = nil
	q.blocks = q.blocks[1:]
	return block, true
}

func (q *diskQueue) wrote(block []byte, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting -= int64(len(block))
	if cap(block) <= maxSpareBytes {
		q.spare = block
	}
	if err != nil {
		q.err = err
		q.blocks, q.spare, q.waiting = nil, nil, 0
		return
	}
	q.written.blocks++
	q.written.bytes += int64(len(block))
}
