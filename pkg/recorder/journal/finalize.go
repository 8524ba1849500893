package journal

import (
	"context"
	"errors"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/recordlog"
)

// finalize writes the exports from the journal at path. edit, if not nil, changes their
// header. finalize returns the paths of the complete exports and the number of readable
// requests in the journal. A journal that breaks off is no error here. damage says why the journal
// could not be read to its end.
func finalize(ctx context.Context, path string, exports []*Export, edit func(*export.Run)) (written []string, requests int, damage, err error) {
	var errs []error
	for _, e := range exports {
		src, err := openEdited(ctx, path, edit)
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

// openEdited opens the journal at path for reading. edit, if not nil, changes the header.
func openEdited(ctx context.Context, path string, edit func(*export.Run)) (*editedRun, error) {
	o := export.Opener{Formats: []export.Format{recordlog.Format()}}
	r, err := o.Open(ctx, path)
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
