package dataset

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/spool"
)

// defaultMaxRowBytes is the default of Options.MaxRowBytes.
const defaultMaxRowBytes = 64 << 20

// A source is the decompressed content of a file.
type source struct {
	io.ReaderAt
	name   string
	size   int64  // bytes
	sum    string // SHA-256 of the content in hexadecimal, before blanks were cut
	maxRow int64  // limit for one row, in bytes
	close  func() error
}

// openSource opens a file; "-" means in.
func openSource(ctx context.Context, path string, in io.Reader, opt *Options) (*source, error) {
	if path == "-" {
		if in == nil {
			return nil, errors.New("-: there is no standard input; give a file")
		}
		return spooled(ctx, "stdin", in, opt)
	}
	f, err := disk.OpenStream(ctx, path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	head := make([]byte, 4)
	n := 0
	if info.Mode().IsRegular() {
		n, _ = f.ReadAt(head, 0) // later reads report an error
	}
	if !info.Mode().IsRegular() || spool.Compression(head[:n]) != "" {
		s, err := spooled(ctx, path, f, opt)
		return s, errors.Join(err, f.Close())
	}
	return &source{ReaderAt: f, name: path, size: info.Size(), maxRow: opt.maxRow(), close: f.Close}, nil
}

// spooled copies src to an unnamed temporary file.
func spooled(ctx context.Context, name string, src io.Reader, opt *Options) (*source, error) {
	c := opt.Spool
	c.CutBlanks = true
	h := sha256.New() // hashes the decompressed content
	c.Content = h
	s, err := spool.Copy(ctx, name, src, c)
	if err != nil {
		return nil, err
	}
	if s.Err != nil {
		return nil, errors.Join(fmt.Errorf("%s: damaged after %d bytes of content: %w", name, s.Size, s.Err), s.Close())
	}
	return &source{ReaderAt: s.File, name: name, size: s.Size, sum: hexOf(h), maxRow: opt.maxRow(), close: s.Close}, nil
}

// scan returns a reader over all of s, and the hash that it feeds; nil if the hash is known.
func (s *source) scan() (*bufio.Reader, hash.Hash) {
	var all io.Reader = io.NewSectionReader(s, 0, s.size)
	var h hash.Hash
	if s.sum == "" {
		h = sha256.New()
		all = io.TeeReader(all, h)
	}
	return bufio.NewReaderSize(all, 256<<10), h
}

// finishHash reads the rest of a scan and stores its hash h. A nil h means that the hash is
// known already.
func (s *source) finishHash(r io.Reader, h hash.Hash) error {
	if h == nil {
		return nil
	}
	_, err := io.Copy(io.Discard, r)
	s.sum = hexOf(h)
	return err
}

func hexOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// read returns the bytes from start to end. It returns an error if that is longer than a row
// may be.
func (s *source) read(start, end int64) ([]byte, error) {
	if end-start > s.maxRow {
		return nil, s.tooLong(end - start)
	}
	b := make([]byte, end-start)
	if _, err := s.ReadAt(b, start); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	return b, nil
}

func (s *source) tooLong(bytes int64) error {
	return fmt.Errorf("%d bytes long; a row may have at most %d", bytes, s.maxRow)
}

// head returns up to n bytes from the start of s, without a byte order mark.
func (s *source) head(n int64) ([]byte, error) {
	b := make([]byte, min(n, s.size))
	if _, err := s.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	return bytes.TrimPrefix(b, byteOrderMark), nil
}

// byteOrderMark starts the files of some editors.
var byteOrderMark = []byte("\ufeff")

// skipMark skips a byte order mark and returns its length.
func skipMark(r *bufio.Reader) int64 {
	if b, _ := r.Peek(len(byteOrderMark)); !bytes.Equal(b, byteOrderMark) {
		return 0
	}
	n, _ := r.Discard(len(byteOrderMark)) // it is there
	return int64(n)
}

// lineAt returns the number of the line, from 1, that holds the byte at off.
func (s *source) lineAt(off int64) int {
	r := bufio.NewReaderSize(io.NewSectionReader(s, 0, off), 256<<10)
	line := 1
	for {
		b, err := r.ReadSlice('\n')
		if len(b) > 0 && b[len(b)-1] == '\n' {
			line++
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return line // too low if the disk fails now
		}
	}
}
