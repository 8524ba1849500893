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
)

// defaultMaxBytes is what Config.MaxBytes 0 means.
const defaultMaxBytes = 64 << 30

// maxZstdWindow is the memory that decompressing zstd may take: what
// zstd --long=27 needs, the most that zstd -d takes without being told.
const maxZstdWindow = 128 << 20

// Config says where a stream is kept, and how much of it.
type Config struct {
	// Dir is the folder of the file; "" is the system's for temporary files.
	Dir string
	// MaxBytes bounds the content, so that a small compressed file cannot fill
	// the disk; 0 means 64 GiB.
	MaxBytes int64
}

// A Spool is a temporary file that holds a stream, decompressed.
type Spool struct {
	File *os.File
	Size int64
	// Err is what ended the stream early. What came before is in the file.
	Err error

	name string // to be removed on Close; "" when it has no name any more
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

// Copy copies src, decompressed, to a temporary file. A stream that breaks off
// is no error: see Spool.Err. The caller closes the spool. name is for messages.
func Copy(ctx context.Context, name string, src io.Reader, c Config) (_ *Spool, err error) {
	f, err := os.CreateTemp(c.Dir, "pa-spool-*")
	if err != nil {
		return nil, fmt.Errorf("%s: has to be copied to be read: %w", name, err)
	}
	s := &Spool{File: f, name: f.Name()}
	// Without a name it goes away even if this process is killed. Where an
	// open file cannot be removed, Close does it.
	if os.Remove(s.name) == nil {
		s.name = ""
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	in := bufio.NewReaderSize(src, 256<<10)
	head, err := in.Peek(4)
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
	if err := s.fill(ctx, name, content, c); err != nil {
		return nil, err
	}
	if s.Err != nil && kind != "" && !strings.HasPrefix(s.Err.Error(), kind) {
		s.Err = fmt.Errorf("%s: %w", kind, s.Err)
	}
	return s, nil
}

// fill copies content to the file. Errors of the file are returned, those of
// content are kept in s.Err.
func (s *Spool) fill(ctx context.Context, name string, content io.Reader, c Config) error {
	most := c.MaxBytes
	if most <= 0 {
		most = defaultMaxBytes
	}
	buf := make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := content.Read(buf)
		if s.Size+int64(n) > most {
			return fmt.Errorf("%s: holds more than %d bytes of content; decompress it to a file and give that", name, most)
		}
		if _, err := s.File.Write(buf[:n]); err != nil {
			return fmt.Errorf("%s: copy to %s: %w; make room there, or set TMPDIR to a larger disk", name, tempDir(c.Dir), err)
		}
		s.Size += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			s.Err = err
			return nil
		}
	}
}

func tempDir(dir string) string {
	if dir == "" {
		return os.TempDir()
	}
	return dir
}

// Close closes and removes the file.
func (s *Spool) Close() error {
	err := s.File.Close()
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
	}
	return err
}
