package values

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/pa-tools/pa/internal/spool"
)

// A Store bounds the bytes that the blocks of its Lists take in memory. Up to 1023 values of
// each List, which are no block yet, take 8 bytes each besides.
type Store struct {
	max int64 // 0: no bound
	dir string

	mu   sync.Mutex
	used int64            // bytes of the blocks in memory
	file *spool.Temporary // the other blocks; nil before the first
	size int64            // bytes of the file
	full error            // why no more blocks go to the file
	err  error            // why a block could not be read back
}

// NewStore returns a Store that keeps maxBytes of blocks in memory; 0 keeps all blocks in
// memory. The temporary file is created in dir when it is needed; "" is the system's folder
// for temporary files.
func NewStore(maxBytes int64, dir string) *Store { return &Store{max: maxBytes, dir: dir} }

// NewList returns a List without values.
func (s *Store) NewList(kind Kind) *List { return &List{store: s, kind: kind} }

// Full returns the error of the temporary file because of which values stay in memory
// beyond the bound; nil if there is none.
func (s *Store) Full() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full
}

// Err returns the first error of reading values back from the temporary file; nil if there
// is none. After an error, statistics of the Lists are wrong.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close removes the temporary file. The Lists must not be used any more.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// keep sets where a block is: in memory as a copy of packed and 8 bytes more, or in the file.
func (s *Store) keep(b *block, packed []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(len(packed))
	if s.max > 0 && s.used+n > s.max && s.full == nil {
		if s.full = s.write(packed); s.full == nil {
			b.at = s.size
			s.size += n
			return
		}
	}
	s.used += n
	b.data = make([]byte, n+8)
	copy(b.data, packed)
}

// release notes that blocks of so many bytes in memory are not needed any more. Blocks in the
// file keep their place.
func (s *Store) release(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= int64(bytes)
}

// write appends a block to the file. The caller holds mu.
func (s *Store) write(packed []byte) error {
	if s.file == nil {
		f, err := spool.CreateTemporary(s.dir, "pa-values-*")
		if err != nil {
			return fmt.Errorf("keep values in a temporary file: %w; set TMPDIR to a folder that can be written", err)
		}
		s.file = f
	}
	if _, err := s.file.WriteAt(packed, s.size); err != nil {
		return fmt.Errorf("keep values in a temporary file in %s: %w; make room there, or set TMPDIR to a larger disk", cmp.Or(s.dir, os.TempDir()), err)
	}
	return nil
}

// read reads a block that is in the file; buf is as long as the block.
func (s *Store) read(b *block, buf []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, err := s.file.ReadAt(buf, b.at); n < len(buf) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		clear(buf)
		s.err = cmp.Or(s.err, fmt.Errorf("read values back from the temporary file: %w", err))
	}
}

// fail keeps the first error for Err.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = cmp.Or(s.err, err)
}
