package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/export/columnar"
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
	file      *os.File // locked
	path      string
	cause     error // why it moved
	size      int64 // of the first file, in bytes
	lost      int   // number of requests that another program cut from the first file
	renumbers bool  // later frames need another ordinal, because frames are missing
}

// move copies the blocks that are still in the first file into a new file. Where another
// program cut the first file, the new one gets the headers again, without which readers
// could not go on, and a note on the lost requests. records describe the blocks of the first
// file; move returns the records of the new one.
func (m *mover) move(cause error, records []record) (*moved, []record, error) {
	st, err := m.from.Stat()
	if err != nil {
		return nil, nil, err
	}
	f, err := m.create()
	if err != nil {
		return nil, nil, diskError("it cannot be moved to "+m.dir, err)
	}
	to := &moved{file: f, path: f.Name(), cause: cause, size: st.Size()}
	records, err = to.copy(m.from, records)
	if err != nil {
		return nil, nil, errors.Join(diskError("it cannot be moved to "+m.dir, err), disk.RemoveHeld(f, to.path))
	}
	return to, records, nil
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

// copy writes the blocks of the first file to the new one.
func (m *moved) copy(from *os.File, records []record) ([]record, error) {
	var kept []record
	var bytes int64
	for _, r := range records {
		if bytes+r.bytes > m.size {
			break
		}
		bytes += r.bytes
		kept = append(kept, r)
	}
	if n, err := io.Copy(m.file, io.NewSectionReader(from, 0, bytes)); err != nil || n < bytes {
		return nil, errors.Join(err, ifShort(n, bytes))
	}
	for _, r := range records[len(kept):] {
		m.renumbers = true
		if m.lost += r.requests; r.header == nil {
			continue
		}
		if err := columnar.JournalFrame(r.header).Renumber(uint64(len(kept))); err != nil {
			return nil, err
		}
		if _, err := m.file.Write(r.header); err != nil {
			return nil, err
		}
		kept = append(kept, r)
	}
	if m.lost == 0 {
		return kept, nil
	}
	note := counter{w: m.file}
	if err := columnar.AppendNote(&note, uint64(len(kept)), m.note()); err != nil {
		return nil, err
	}
	return append(kept, record{bytes: note.n}), nil
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

// renumber gives a frame the ordinal of its new place.
func (m *moved) renumber(frame []byte, ordinal uint64) error {
	if !m.renumbers {
		return nil
	}
	return columnar.JournalFrame(frame).Renumber(ordinal)
}

// A counter counts the bytes that pass to w.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
