package outfile

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
			err = &Error{path, ErrNoReader}
		case <-ctx.Done():
			err = &Error{path, context.Cause(ctx)}
		}
		again.Stop()
		return nil, err
	}
}

// An interruptibleWriter writes to dst in a goroutine, so that the end of ctx ends Write,
// even while dst accepts nothing (a pipe that is not read, a disk that hangs). The goroutine
// then stays until dst returns.
type interruptibleWriter struct {
	ctx  context.Context
	path string // for errors
	dst  io.Writer
	buf  []byte // belongs to the goroutine while it writes
	err  error  // ends all later writes
}

// Write implements io.Writer.
func (w *interruptibleWriter) Write(p []byte) (int, error) {
	if w.err == nil && w.ctx.Err() != nil {
		w.err = context.Cause(w.ctx)
	}
	if w.err != nil {
		return 0, w.err
	}
	type result struct {
		n   int
		err error
	}
	w.buf = append(w.buf[:0], p...)
	b := w.buf
	done := make(chan result, 1)
	go func() { // ends when dst returns
		n, err := w.dst.Write(b)
		done <- result{n, err}
	}()
	select {
	case got := <-done:
		w.err = named(w.path, got.err)
		return got.n, w.err
	case <-w.ctx.Done():
		w.err = context.Cause(w.ctx)
		return 0, w.err
	}
}
