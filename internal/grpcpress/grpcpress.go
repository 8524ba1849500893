package grpcpress

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// A Format is a compression of gRPC messages, by gRPC's name. The options
// grpc.WithCompressor and WithDecompressor take it, and encoding.RegisterCompressor does.
type Format string

// The formats. Deflate is the zlib format (RFC 1950), as in HTTP.
const (
	Gzip    Format = "gzip"
	Deflate Format = "deflate"
)

// Parse returns the format of that name.
func Parse(name string) (Format, error) {
	switch f := Format(name); f {
	case Gzip, Deflate:
		return f, nil
	}
	return "", fmt.Errorf("compression %q: it is %s or %s", name, Gzip, Deflate)
}

// Name returns gRPC's name.
func (f Format) Name() string { return string(f) }

// Compress returns what compresses into w. Nothing is complete before it is closed.
func (f Format) Compress(w io.Writer) (io.WriteCloser, error) {
	if f == Gzip {
		return gzip.NewWriter(w), nil
	}
	return zlib.NewWriter(w), nil
}

// Decompress is the inverse of Compress. The error is that r does not begin as it
// should; of nothing at all it is io.ErrUnexpectedEOF.
func (f Format) Decompress(r io.Reader) (z io.Reader, err error) {
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

// A Client compresses and decompresses whole messages, for a client's options.
type Client struct{ Format }

// Type returns gRPC's name.
func (c Client) Type() string { return c.Name() }

// An Out is a Client that compresses.
type Out struct{ Client }

// Do compresses p into w.
func (o Out) Do(w io.Writer, p []byte) error {
	z, err := o.Compress(w)
	if err != nil {
		return err
	}
	_, err = z.Write(p)
	return errors.Join(err, z.Close())
}

// An In is a Client that decompresses, messages of up to MaxBytes.
type In struct {
	Client
	MaxBytes int64
}

// Do decompresses all of r.
func (i In) Do(r io.Reader) ([]byte, error) {
	z, err := i.Decompress(r)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(z, i.MaxBytes+1))
	if err == nil && int64(len(b)) > i.MaxBytes {
		err = fmt.Errorf("a message of more than %d bytes", i.MaxBytes)
	}
	return b, err
}
