package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Blocks keeps blocks of bytes that are read again later: up to a number of bytes in memory, and
// further blocks in a temporary file. It may be used by several goroutines.
type Blocks struct {
	max  int64 // 0: no bound
	dir  string
	what string // the content, for errors

	mu   sync.Mutex
	used int64      // bytes in memory
	file *temporary // the other blocks; nil before the first
	size int64      // bytes of the file
	full error      // why no more blocks go to the file
	err  error      // why a block could not be read back
}

// A Block is the place of a block of [Blocks]. The zero value is an empty block.
type Block struct {
	n    int
	data []byte // nil: in the file, or empty
	at   int64  // in the file
}

// InFile reports whether the block is in the temporary file.
func (b *Block) InFile() bool { return b.data == nil && b.n > 0 }

// NewBlocks returns Blocks that keep maxBytes in memory; 0 keeps all blocks in memory. The
// temporary file is created in dir when it is needed; "" is the system's folder for temporary
// files. what names the content in errors, and the file: "values".
func NewBlocks(maxBytes int64, dir, what string) *Blocks {
	return &Blocks{max: maxBytes, dir: dir, what: what}
}

// Keep keeps a copy of b. If the copy stays in memory, its slice has a capacity of room bytes more.
func (s *Blocks) Keep(b []byte, room int) Block {
	if len(b) == 0 {
		return Block{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(len(b))
	if s.max > 0 && s.used+n > s.max && s.full == nil {
		if s.full = s.write(b); s.full == nil {
			s.size += n
			return Block{n: len(b), at: s.size - n}
		}
	}
	s.used += n
	data := make([]byte, len(b), len(b)+room)
	copy(data, b)
	return Block{n: len(b), data: data}
}

// Bytes returns the bytes of a block. A block of the file is read into buf, which grows if it is
// too small, and has a capacity of room bytes more. If the file cannot be read, the bytes are
// 0, and Err returns the error.
func (s *Blocks) Bytes(b *Block, buf []byte, room int) []byte {
	if !b.InFile() {
		return b.data
	}
	if cap(buf) < b.n+room {
		buf = make([]byte, b.n+room)
	}
	buf = buf[:b.n]
	s.mu.Lock()
	file := s.file
	s.mu.Unlock()
	if n, err := file.ReadAt(buf, b.at); n < len(buf) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		clear(buf)
		s.Fail(fmt.Errorf("read %s back from the temporary file: %w", s.what, err))
	}
	return buf
}

// Release notes that a block is not needed any more. A block in the file keeps its place.
func (s *Blocks) Release(b *Block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= int64(len(b.data))
	*b = Block{}
}

// write appends a block to the file. The caller holds mu.
func (s *Blocks) write(b []byte) error {
	if s.file == nil {
		f, err := createTemporary(s.dir, "pa-"+s.what+"-*")
		if err != nil {
			return fmt.Errorf("keep %s in a temporary file: %w; set TMPDIR to a folder that can be written", s.what, err)
		}
		s.file = f
	}
	if _, err := s.file.WriteAt(b, s.size); err != nil {
		return fmt.Errorf("keep %s in a temporary file in %s: %w; make room there, or set TMPDIR to a larger disk", s.what, cmp.Or(s.dir, os.TempDir()), err)
	}
	return nil
}

// Used returns the bytes in memory and in the temporary file.
func (s *Blocks) Used() (memory, file int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.size
}

// Full returns the error of the temporary file that keeps blocks in memory beyond the
// bound; nil if there is none.
func (s *Blocks) Full() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full
}

// Err returns the first error of reading blocks back from the temporary file; nil if there is
// none.
func (s *Blocks) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Fail keeps the first error for Err.
func (s *Blocks) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = cmp.Or(s.err, err)
}

// Close removes the temporary file. The blocks must not be used any more.
func (s *Blocks) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}
