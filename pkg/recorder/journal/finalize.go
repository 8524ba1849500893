package journal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/recordlog"
)

// A source is a journal to read.
type source struct {
	path string
	// If the file could not be written further, whole is the size of its whole frames, and tail holds the frames after them,
	// which are in memory alone.
	whole    int64
	tail     []byte
	requests int // in tail
	// held is the file if it has no path anymore; else it is nil.
	held io.ReaderAt
}

// open opens the journal.
func (s source) open(ctx context.Context) (export.Reader, error) {
	if len(s.tail) == 0 && s.held == nil {
		o := export.Opener{Formats: []export.Format{recordlog.Format()}}
		return o.Open(ctx, s.path)
	}
	file, closeFile := s.held, func() error { return nil }
	if file == nil {
		f, err := os.Open(s.path)
		if err != nil {
			return nil, err
		}
		file, closeFile = f, f.Close
	}
	size := s.whole + int64(len(s.tail))
	r, err := recordlog.Format().Open(ctx, s.path, &joined{file, s.whole, s.tail}, size, export.Limits{})
	if err != nil {
		return nil, errors.Join(err, closeFile())
	}
	return &openSource{r, closeFile}, nil
}

// A joined reads the first size bytes of a file, and then tail.
type joined struct {
	file io.ReaderAt
	size int64
	tail []byte
}

// ReadAt implements io.ReaderAt.
func (j *joined) ReadAt(b []byte, off int64) (n int, err error) {
	if off < j.size {
		if n, err = j.file.ReadAt(b[:min(int64(len(b)), j.size-off)], off); err != nil || n == len(b) {
			return n, err
		}
	}
	m, err := bytes.NewReader(j.tail).ReadAt(b[n:], off+int64(n)-j.size)
	return n + m, err
}

// An openSource closes the file of a source with its reader.
type openSource struct {
	export.Reader
	close func() error
}

// Close implements export.Reader.
func (s *openSource) Close() error { return errors.Join(s.Reader.Close(), s.close()) }

// finalize writes the exports from a journal. edit, if not nil, changes their
// header. finalize returns the paths of the complete exports and the number of readable
// requests in the journal. A journal that breaks off is no error here. damage says why the journal
// could not be read to its end.
func finalize(ctx context.Context, from source, exports []*Export, edit func(*export.Run)) (written []string, requests int, damage, err error) {
	var errs []error
	for _, e := range exports {
		src, err := openEdited(ctx, from, edit)
		if err != nil {
			return written, requests, nil, err
		}
		err = e.write(ctx, src)
		if err == nil {
			written = append(written, e.path)
		}
		for ctx.Err() == nil && src.Next() { // count the requests that were not written
		}
		requests = max(requests, src.requests)
		if cut := (*export.CutError)(nil); src.Err() != nil && !errors.As(src.Err(), &cut) {
			damage = src.Err()
		}
		errs = append(errs, err, src.Close())
	}
	return written, requests, damage, errors.Join(errs...)
}

// openEdited opens a journal for reading. edit, if not nil, changes the header.
func openEdited(ctx context.Context, from source, edit func(*export.Run)) (*editedRun, error) {
	r, err := from.open(ctx)
	if err != nil {
		return nil, err
	}
	src := &editedRun{Reader: r, run: r.Run()}
	if edit != nil {
		run := *r.Run()
		edit(&run)
		src.run = &run
	}
	return src, nil
}

// An editedRun is a reader with a changed header. It counts its requests.
type editedRun struct {
	export.Reader
	run      *export.Run
	requests int
}

// Run implements export.Reader.
func (e *editedRun) Run() *export.Run { return e.run }

// Next implements export.Reader.
func (e *editedRun) Next() bool {
	ok := e.Reader.Next()
	if ok {
		e.requests++
	}
	return ok
}
