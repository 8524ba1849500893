package disk

import (
	"context"
	"io"
)

// An interruptibleReader reads src in a goroutine, so that the end of ctx ends Read.
type interruptibleReader struct {
	ctx  context.Context
	src  io.Reader
	buf  []byte // belongs to the goroutine while it reads
	done chan readResult
	rest []byte // bytes of the last read that Read has not returned yet
	err  error
}

type readResult struct {
	n   int
	err error
}

// Interruptible returns a reader of src. When ctx ends, its Read returns the cause
// of ctx, even while src waits for more (a pipe without a writer, a terminal). The
// goroutine that reads src then stays until src returns.
func Interruptible(ctx context.Context, src io.Reader) io.Reader {
	return &interruptibleReader{ctx: ctx, src: src, buf: make([]byte, 64<<10), done: make(chan readResult, 1)}
}

// Read implements io.Reader.
func (r *interruptibleReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.ctx.Err() != nil {
			r.err = context.Cause(r.ctx)
			return 0, r.err
		}
		go func() {
			n, err := r.src.Read(r.buf)
			r.done <- readResult{n, err}
		}()
		select {
		case got := <-r.done:
			r.rest, r.err = r.buf[:got.n], got.err
		case <-r.ctx.Done():
			r.err = context.Cause(r.ctx)
			return 0, r.err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	if len(r.rest) == 0 && n == 0 {
		return 0, r.err
	}
	return n, nil
}
