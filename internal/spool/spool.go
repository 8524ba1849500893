package spool

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/pa-tools/pa/internal/disk"
)

// maxZstdWindow is the memory that decompressing zstd may take: what
// zstd --long=27 needs, the most that zstd -d takes without being told.
const maxZstdWindow = 128 << 20

// Config says where a stream is kept, and how much of it.
type Config struct {
	// Dir is the folder of the file; "" is the system's for temporary files.
	Dir string
	// MaxBytes bounds the content, so that a small compressed file cannot fill
	// the disk; 0 means half of the free space in Dir, or 64 GiB if that is less.
	MaxBytes int64
	// MaxRatio bounds the decompressed bytes for each compressed byte, beyond the
	// first 64 MiB; 0 means 1000, a negative number no limit.
	MaxRatio int
	// CutBlanks keeps only the first kilobyte of a run of blanks between the
	// tokens of JSON: they cost nothing in a compressed file. Content that does not
	// begin as JSON stays whole (see BeginsJSON).
	CutBlanks bool
	// Content, if not nil, receives the content with all its blanks.
	Content io.Writer
	// Check, if not nil, is called with the first bytes of the content, up to
	// CheckBytes, before more is read. Copy returns its error.
	Check      func(head []byte) error
	CheckBytes int
}

// A Spool is a temporary file that holds a stream, decompressed.
type Spool struct {
	File *os.File
	Size int64
	// Err is what ended the stream early. What came before is in the file.
	Err error

	temporary *temporary // File
}

// Compression returns "gzip", "zstd" or "" by the magic number that head starts
// with. A zstd stream may start with a skippable frame.
func Compression(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0x1F, 0x8B, 0x08}):
		return "gzip"
	case bytes.HasPrefix(head, []byte{0x28, 0xB5, 0x2F, 0xFD}),
		len(head) >= 4 && head[0]&0xF0 == 0x50 && head[1] == 0x2A && head[2] == 0x4D && head[3] == 0x18:
		return "zstd"
	}
	return ""
}

// IsUTF16 reports whether head starts like a text in UTF-16, as Windows writes it: with a mark of the byte order, or with two
// characters of ASCII.
func IsUTF16(head []byte) bool {
	if bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF}) {
		return true
	}
	if len(head) < 4 {
		return false
	}
	zero := [4]bool{head[0] == 0, head[1] == 0, head[2] == 0, head[3] == 0}
	return zero == [4]bool{false, true, false, true} || zero == [4]bool{true, false, true, false}
}

// Copy copies src, decompressed, to a temporary file. A stream that breaks off
// is no error: see Spool.Err. The error for one that holds more than the limits
// allow is a *LimitError, and the cause of ctx when ctx ends. The caller closes the
// spool. name is for messages.
func Copy(ctx context.Context, name string, src io.Reader, c Config) (_ *Spool, err error) {
	f, err := createTemporary(c.Dir, "pa-spool-*")
	if err != nil {
		return nil, fmt.Errorf("%s: has to be copied to be read: %w", name, err)
	}
	s := &Spool{File: f.File, temporary: f}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	counted := &countingReader{src: disk.Interruptible(ctx, src)}
	in := bufio.NewReaderSize(counted, 64<<10)
	head, err := in.Peek(4)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var content io.Reader = in
	kind := Compression(head)
	switch kind {
	case "gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%s: gzip: %w", name, err)
		}
		content = z
	case "zstd":
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, fmt.Errorf("%s: zstd: %w", name, err)
		}
		defer z.Close()
		content = z
	}
	fill := filler{spool: s, name: name, content: content, config: c}
	if kind != "" {
		fill.compressed = counted
	}
	if err := fill.fill(ctx); err != nil {
		return nil, err
	}
	if s.Err != nil && kind != "" && !strings.HasPrefix(s.Err.Error(), kind) {
		s.Err = fmt.Errorf("%s: %w", kind, s.Err)
	}
	return s, nil
}

// A countingReader counts the bytes that are read from src.
type countingReader struct {
	src io.Reader
	n   int64
}

func (r *countingReader) Read(b []byte) (int, error) {
	n, err := r.src.Read(b)
	r.n += int64(n)
	return n, err
}

// A filler copies content to the file of a spool, within the limits.
type filler struct {
	spool      *Spool
	name       string
	content    io.Reader
	compressed *countingReader // source of the decompression; nil: content is not compressed
	config     Config

	blanks  blankCutter
	read    int64  // bytes of content, with all blanks
	head    []byte // kept for Config.Check
	checked bool
}

// fill copies the content. It returns errors of the file and of the limits, and keeps
// errors of the content in Spool.Err.
func (f *filler) fill(ctx context.Context) error {
	s := f.spool
	most, why := f.config.maxBytes()
	ratio := f.config.maxRatio()
	f.checked = f.config.Check == nil
	buf := make([]byte, 256<<10)
	for {
		n, err := f.content.Read(buf)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f.read += int64(n)
		if c := f.compressed; c != nil && f.read > freeOfRatio && f.read/int64(ratio) > c.n {
			return &LimitError{Name: f.name, Ratio: float64(f.read) / float64(c.n), MaxRatio: ratio}
		}
		kept := buf[:n]
		if w := f.config.Content; w != nil {
			if _, err := w.Write(kept); err != nil {
				return fmt.Errorf("read %s: %w", f.name, err)
			}
		}
		if f.config.CutBlanks {
			kept = f.blanks.cut(kept)
		}
		if s.Size+int64(len(kept)) > most {
			return &LimitError{Name: f.name, MaxBytes: most, Why: why}
		}
		if e := f.check(kept, err != nil); e != nil {
			return e
		}
		if _, err := s.File.Write(kept); err != nil {
			return fmt.Errorf("%s: copy to %s: %w; make room there, or set TMPDIR to a larger disk", f.name, tempDir(f.config.Dir), err)
		}
		s.Size += int64(len(kept))
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			s.Err = err
			return nil
		}
	}
}

// check calls Config.Check as soon as it has enough bytes, or the content has ended.
func (f *filler) check(kept []byte, ended bool) error {
	if f.checked {
		return nil
	}
	f.head = append(f.head, kept[:min(len(kept), f.config.CheckBytes-len(f.head))]...)
	if len(f.head) < f.config.CheckBytes && !ended {
		return nil
	}
	f.checked = true
	if ended && len(f.head) < f.config.CheckBytes {
		return nil // so short that the caller sees all of it
	}
	return f.config.Check(f.head)
}

func tempDir(dir string) string {
	if dir == "" {
		return os.TempDir()
	}
	return dir
}

// Close closes and removes the file.
func (s *Spool) Close() error { return s.temporary.Close() }
