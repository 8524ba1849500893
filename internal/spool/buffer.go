package spool

import (
	"fmt"
	"io"
)

// MaxBufferMemory is how much of a Buffer stays in memory.
const MaxBufferMemory = 1 << 20

// A Buffer keeps bytes until they are wanted: up to MaxBufferMemory in memory,
// beyond that in a temporary file. The zero value is ready.
type Buffer struct {
	// Dir is the folder of the file; "" is the system's for temporary files.
	Dir string
	// What names the content in errors.
	What string

	buf  []byte
	file *temporary
	n    int64 // bytes in file
}

// Len returns how many bytes are kept.
func (s *Buffer) Len() int64 { return s.n + int64(len(s.buf)) }

// Write appends b.
func (s *Buffer) Write(b []byte) (int, error) {
	s.buf = append(s.buf, b...)
	if len(s.buf) <= MaxBufferMemory {
		return len(b), nil
	}
	if s.file == nil {
		f, err := createTemporary(s.Dir, "pa-buffer-*")
		if err != nil {
			return 0, fmt.Errorf("keep %s: %w", s.What, err)
		}
		s.file = f
	}
	n, err := s.file.Write(s.buf)
	s.n += int64(n)
	s.buf = s.buf[:0]
	if err != nil {
		return 0, fmt.Errorf("keep %s: %w", s.What, err)
	}
	return len(b), nil
}

// MoveTo writes all to w and empties the buffer.
func (s *Buffer) MoveTo(w io.Writer) error {
	if s.file != nil {
		if _, err := io.Copy(w, io.NewSectionReader(s.file, 0, s.n)); err != nil {
			return fmt.Errorf("copy %s: %w", s.What, err)
		}
		if err := s.file.Truncate(0); err != nil {
			return fmt.Errorf("copy %s: %w", s.What, err)
		}
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("copy %s: %w", s.What, err)
		}
		s.n = 0
	}
	_, err := w.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

// Close deletes the temporary file.
func (s *Buffer) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}
