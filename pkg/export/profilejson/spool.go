package profilejson

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// maxSpoolMemory is how much of a spool stays in memory.
const maxSpoolMemory = 1 << 20

// A spool keeps bytes until they are wanted: up to maxSpoolMemory in memory,
// beyond that in a temporary file.
type spool struct {
	dir  string // of the temporary file; "" is the system's
	buf  []byte
	file *os.File
	name string // of file; "" when it has none any more
	n    int64  // bytes in file
}

// empty reports whether nothing was written.
func (s *spool) empty() bool { return s.n == 0 && len(s.buf) == 0 }

func (s *spool) Write(b []byte) (int, error) {
	s.buf = append(s.buf, b...)
	if len(s.buf) <= maxSpoolMemory {
		return len(b), nil
	}
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "pa-excluded-*")
		if err != nil {
			return 0, fmt.Errorf("keep excluded requests: %w", err)
		}
		s.file, s.name = f, f.Name()
		// Without a name it goes away even if this process is killed. Where
		// an open file cannot be removed, remove does it.
		if os.Remove(s.name) == nil {
			s.name = ""
		}
	}
	n, err := s.file.Write(s.buf)
	s.n += int64(n)
	s.buf = s.buf[:0]
	if err != nil {
		return 0, fmt.Errorf("keep excluded requests: %w", err)
	}
	return len(b), nil
}

// moveTo writes all to w and empties the spool.
func (s *spool) moveTo(w io.Writer) error {
	if s.file != nil {
		if _, err := io.Copy(w, io.NewSectionReader(s.file, 0, s.n)); err != nil {
			return fmt.Errorf("copy excluded requests: %w", err)
		}
		if err := s.file.Truncate(0); err != nil {
			return fmt.Errorf("copy excluded requests: %w", err)
		}
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("copy excluded requests: %w", err)
		}
		s.n = 0
	}
	_, err := w.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

// remove deletes the temporary file.
func (s *spool) remove() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
	}
	s.file = nil
	return err
}
