package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/export/recordlog"
)

// A mover moves a journal that cannot be written further into another folder.
type mover struct {
	from *os.File
	path string // of from
	dir  string
}

// errRemoved is the cause of a move.
var errRemoved = errors.New("it was removed or renamed during the run")

// A moved is a journal in its second file.
type moved struct {
	file  *os.File // locked
	path  string
	cause error // why it moved
	size  int64 // of the first file, in bytes
	lost  int   // number of requests that another program cut from the first file
}

// move copies the frames that are still in the first file into a new file. Where another
// program cut the first file, the new one gets the headers again, without which readers
// could not go on, and a note on the lost requests. written and headers describe the first
// file; move returns the prefix and the headers of the new file.
func (m *mover) move(cause error, written recordlog.Prefix, headers []header) (*moved, recordlog.Prefix, []header, error) {
	fail := func(err error) (*moved, recordlog.Prefix, []header, error) { return nil, written, headers, err }
	st, err := m.from.Stat()
	if err != nil {
		return fail(err)
	}
	f, err := m.create()
	if err != nil {
		return fail(diskError("it cannot be moved to "+m.dir, err))
	}
	to := &moved{file: f, path: f.Name(), cause: cause, size: st.Size()}
	kept, again, err := to.copy(m.from, written, headers)
	if err != nil {
		return fail(errors.Join(diskError("it cannot be moved to "+m.dir, err), disk.RemoveHeld(f, to.path)))
	}
	return to, kept, again, nil
}

// create makes the new file, which only its owner may read. See movedTo for its name.
func (m *mover) create() (*os.File, error) {
	f, err := os.CreateTemp(m.dir, movedPrefix(m.path)+"*"+Suffix)
	if err != nil {
		return nil, err
	}
	if !lockFile(f) {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.Name(), ErrBusy), disk.RemoveHeld(f, f.Name()))
	}
	return f, nil
}

// lockFile locks a file and reports whether no other process holds the lock. It returns true
// on a file system without locks.
func lockFile(f *os.File) bool { return disk.TryLock(f) != disk.Busy }

// movedPrefix begins the name of the file to which the journal at path moves.
func movedPrefix(path string) string {
	return strings.ReplaceAll(strings.TrimSuffix(filepath.Base(path), Suffix), "*", "_") + "-"
}

// movedTo returns where the journal at path moved to. ok is false if path is not the link
// that such a journal leaves. The name of the target is checked, because the target is
// removed with the link.
func movedTo(path string) (target string, ok bool) {
	target, err := os.Readlink(path)
	if err != nil || !filepath.IsAbs(target) {
		return "", false
	}
	name := filepath.Base(target)
	return target, strings.HasPrefix(name, movedPrefix(path)) && strings.HasSuffix(name, Suffix)
}

// isRegularOrMoved reports whether a journal can be or is at path: there is nothing, a
// regular file, or the link of a journal that moved.
func isRegularOrMoved(path string) bool {
	if disk.IsSpecial(path) {
		return false
	}
	st, err := os.Lstat(path)
	if err != nil || st.Mode().IsRegular() {
		return true
	}
	_, moved := movedTo(path)
	return moved
}

// copy writes the frames of the first file to the new one.
func (m *moved) copy(from *os.File, written recordlog.Prefix, headers []header) (kept recordlog.Prefix, again []header, err error) {
	kept = written
	if m.size < written.Bytes {
		kept = recordlog.WholeFrames(from, m.size)
	}
	if n, err := io.Copy(m.file, io.NewSectionReader(from, 0, kept.Bytes)); err != nil || n < kept.Bytes {
		return kept, nil, errors.Join(err, ifShort(n, kept.Bytes))
	}
	add := func(frame []byte) error {
		kept.Add(frame, nil)
		_, err := m.file.Write(frame)
		return err
	}
	m.lost = written.Requests - kept.Requests
	for _, h := range headers {
		if h.off >= kept.Bytes {
			h = header{kept.Bytes, bytes.Clone(h.frame)} // move may fail
			if err := add(h.frame); err != nil {
				return kept, nil, err
			}
		}
		again = append(again, h)
	}
	if m.lost > 0 {
		err = add(recordlog.Note(m.note()))
	}
	return kept, again, err
}

// note says which requests are missing.
func (m *moved) note() string {
	return fmt.Sprintf("requests lost: %d, because another program cut the journal to %d bytes during the run", m.lost, m.size)
}

// ifShort returns an error if fewer bytes than wanted were copied.
func ifShort(n, want int64) error {
	if n < want {
		return fmt.Errorf("%d of %d bytes could be read: %w", n, want, io.ErrUnexpectedEOF)
	}
	return nil
}
