package grpcconn

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// A Compression is a compression of gRPC messages, by gRPC's name. It implements the interface
// Compressor of google.golang.org/grpc/encoding.
type Compression string

// The compressions. Deflate is the zlib format (RFC 1950), as in HTTP.
const (
	Gzip    Compression = "gzip"
	Deflate Compression = "deflate"
)

// CheckCompression returns an error unless there is a compression of that name.
func CheckCompression(name string) error {
	switch Compression(name) {
	case Gzip, Deflate:
		return nil
	}
	return fmt.Errorf("compression %q: expected %s or %s", name, Gzip, Deflate)
}

// Name returns gRPC's name.
func (f Compression) Name() string { return string(f) }

// Compress returns a writer that compresses into w. Its Close writes the end.
func (f Compression) Compress(w io.Writer) (io.WriteCloser, error) {
	if f == Gzip {
		return gzip.NewWriter(w), nil
	}
	return zlib.NewWriter(w), nil
}

// Decompress returns a reader of the text that Compress compressed into r. The error says that r does not begin
// as the format does; it is io.ErrUnexpectedEOF if r is empty.
func (f Compression) Decompress(r io.Reader) (z io.Reader, err error) {
	if f == Gzip {
		z, err = gzip.NewReader(r)
	} else {
		z, err = zlib.NewReader(r)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return z, err
}

// Type returns gRPC's name.
func (f Compression) Type() string { return string(f) }

// A Compressor compresses whole messages, for a client's options.
type Compressor struct{ Compression }

// Do compresses p into w.
func (c Compressor) Do(w io.Writer, p []byte) error {
	z, err := c.Compress(w)
	if err != nil {
		return err
	}
	_, err = z.Write(p)
	return errors.Join(err, z.Close())
}

// A Decompressor decompresses whole messages of up to MaxBytes.
type Decompressor struct {
	Compression
	MaxBytes int64
}

// Do decompresses all of r.
func (d Decompressor) Do(r io.Reader) ([]byte, error) {
	z, err := d.Decompress(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(z, d.MaxBytes+1))
	if err == nil && int64(len(b)) > d.MaxBytes {
		err = fmt.Errorf("a message of more than %d bytes", d.MaxBytes)
	}
	return b, err
}
