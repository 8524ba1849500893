package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/export"
)

// A Recovery describes what [Recover] did.
type Recovery struct {
	Exports  []string // paths of the written exports, as given to NewExport
	Requests int      // number of requests in each
	Killed   bool     // the run was killed: the journal has no end
	// EndedEarly is the error that ended the run early, "" if none did.
	EndedEarly string
	// Empty reports that the run was killed before its first request. The journal was
	// removed, and no export was written.
	Empty bool
}

// Recover writes exports from the journal that a killed run left at path, and then
// removes the journal. The exports lack the requests that were in flight or not yet in
// the file. Meta.Interrupted of such an export is "killed". A new export gets the mode of the
// journal.
//
// Recover returns a *FileError for a journal that is being written ([ErrBusy]), that was
// removed meanwhile ([ErrEnded]), or that is no regular file ([ErrNotRegular]), and for an
// export that is a pipe without a reader ([ErrNoReader]). If an
// export cannot be written, the journal stays and the error is a *KeptError. If ctx ends
// first, the journal stays and the error wraps the cause of ctx. If a journal is damaged, the
// exports have the requests before the damage, and the journal stays. If only that happens, or the
// removal of the journal fails, Recover returns the Recovery and the error.
func Recover(ctx context.Context, path string, exports []*Export) (*Recovery, error) {
	if err := checkExports(exports); err != nil {
		return nil, err
	}
	// Opening a pipe would wait for its writer.
	if disk.IsSpecial(path) {
		return nil, &FileError{path, ErrNotRegular}
	}
	lock, err := os.Open(path)
	if err != nil {
		return nil, disk.Unreadable(err)
	}
	if !lockFile(lock) {
		return nil, errors.Join(&FileError{path, ErrBusy}, lock.Close())
	}
	link := ""
	if target, ok := movedTo(path); ok { // follow it, and remove it in the end
		link, path = path, target
	}
	remove := func() error {
		err := disk.RemoveHeld(lock, path)
		if link != "" {
			err = errors.Join(err, os.Remove(link))
		}
		return err
	}
	if !disk.IsAt(lock, path) { // the run ended before we had the lock
		return nil, errors.Join(&FileError{path, ErrEnded}, lock.Close())
	}
	st, err := lock.Stat()
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if st.Size() == 0 && strings.HasSuffix(path, Suffix) {
		return &Recovery{Empty: true}, remove()
	}
	if err := openExports(ctx, exports, st.Mode().Perm()); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	defer closeExports(exports)
	var rec Recovery
	var damage error
	rec.Exports, rec.Requests, damage, err = finalize(ctx, source{path: path}, exports, func(run *export.Run) {
		rec.EndedEarly, _ = endedEarly(run)
		rec.Killed = run.Meta == nil || run.Meta.EndNS == 0
		if rec.Killed && run.Meta != nil {
			meta := *run.Meta
			meta.Interrupted = "killed"
			run.Meta = &meta
		}
	})
	switch {
	case ctx.Err() != nil:
		return nil, errors.Join(fmt.Errorf("%s is kept: %w", path, context.Cause(ctx)), lock.Close())
	case err != nil:
		return nil, &KeptError{path, rec.Requests, errors.Join(err, lock.Close())}
	case damage != nil:
		return &rec, errors.Join(fmt.Errorf("%w; the journal is kept", damage), lock.Close())
	}
	return &rec, remove()
}
