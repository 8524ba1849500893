package disk

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// ErrNoReader is the reason of the error for a pipe that no process reads.
var ErrNoReader = errors.New("no process reads this pipe; start its reader first, or give a file")

const (
	// readerPatience is how long openStream waits for a reader that is started at the same
	// time, as in "cat pipe & pa-record …".
	readerPatience = 500 * time.Millisecond
	readerPoll     = 10 * time.Millisecond
)

// openStream opens a pipe or a device for writing. It never waits for a reader longer than
// readerPatience.
func openStream(ctx context.Context, path string) (*os.File, error) {
	patience := time.NewTimer(readerPatience)
	defer patience.Stop()
	for {
		f, err := openAtOnce(path)
		if !lacksReader(err) {
			return f, named(path, err)
		}
		again := time.NewTimer(readerPoll)
		select {
		case <-again.C:
			continue
		case <-patience.C:
			err = &OutputError{path, ErrNoReader}
		case <-ctx.Done():
			err = &OutputError{path, context.Cause(ctx)}
		}
		again.Stop()
		return nil, err
	}
}

// An interruptibleWriter writes to dst with [interruptibly].
type interruptibleWriter struct {
	ctx  context.Context
	path string // for errors
	dst  io.Writer
	buf  []byte // belongs to the goroutine of interruptibly while it runs
	err  error  // ends all later writes
}

// Write implements io.Writer.
func (w *interruptibleWriter) Write(p []byte) (n int, err error) {
	if w.err == nil {
		w.err = context.Cause(w.ctx)
	}
	if w.err != nil {
		return 0, w.err
	}
	w.buf = append(w.buf[:0], p...)
	n, err = interruptibly(w.ctx, func() (int, error) { return w.dst.Write(w.buf) })
	w.err = named(w.path, err)
	return n, w.err
}

// interruptibly calls f in a goroutine and returns its result, or the cause of ctx when ctx ends,
// even while f waits (for a pipe that is not read, for a disk that hangs). The goroutine then
// stays until f returns.
func interruptibly(ctx context.Context, f func() (int, error)) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() { // ends when f returns
		n, err := f()
		done <- result{n, err}
	}()
	select {
	case got := <-done:
		return got.n, got.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}
