package backend

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

const (
	// MaxErrorBytes bounds the body of an error, as it came and decoded.
	MaxErrorBytes = 64 << 10
	// maxCodings bounds the compressions of one body.
	maxCodings = 4
	// maxWindowBytes bounds the memory for decoding zstd.
	maxWindowBytes = 8 << 20
)

// DecodedError returns the body of an error without the compression that its headers name, or that
// its first bytes show: proxies compress although no request asks for that. A body that is cut is
// decoded as far as it goes, at most to [MaxErrorBytes]. A body that cannot be decoded becomes a text
// that says so; a body that is not compressed, whatever the headers say, stays as it is.
func DecodedError(header http.Header, body []byte) []byte {
	codings := contentCodings(header)
	if len(codings) == 0 {
		codings = []string{codingOf(body)}
	}
	for _, coding := range slices.Backward(codings[:min(len(codings), maxCodings)]) {
		decoded, err := decompress(coding, body)
		switch {
		case err == nil:
		case len(body) == 0 || isText(body):
			return body
		case len(decoded) == 0:
			return fmt.Appendf(nil, "the server's message is compressed (%.20q) and cannot be decoded", coding)
		}
		body = decoded
	}
	return body
}

// contentCodings returns the compressions that headers name, in the order in which they were applied.
func contentCodings(header http.Header) []string {
	var all []string
	for _, v := range header.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(v, ",") {
			if coding = strings.ToLower(strings.TrimSpace(coding)); coding != "" && coding != "identity" {
				all = append(all, coding)
			}
		}
	}
	return all
}

// codingOf returns the compression that the first bytes of a body show; "identity" for none. Brotli
// and deflate show none.
func codingOf(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("\x1f\x8b\x08")):
		return "gzip"
	case bytes.HasPrefix(body, []byte("\x28\xb5\x2f\xfd")):
		return "zstd"
	}
	return "identity"
}

// decompress returns the decoded body, at most MaxErrorBytes of it. With the error of a damaged body it
// returns the beginning.
func decompress(coding string, body []byte) ([]byte, error) {
	src := bytes.NewReader(body)
	var r io.Reader
	var err error
	switch coding {
	case "identity":
		return body, nil
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(src)
	case "deflate": // the zlib format; some servers send the raw one
		if r, err = zlib.NewReader(src); err != nil {
			r, err = flate.NewReader(bytes.NewReader(body)), nil
		}
	case "br":
		r = brotli.NewReader(src)
	case "zstd":
		var d *zstd.Decoder
		d, err = zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindowBytes))
		if err == nil {
			defer d.Close()
			r = d
		}
	default:
		err = errors.ErrUnsupported
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, MaxErrorBytes))
}

// isText reports whether a body looks like a text, such as JSON or HTML: it is printable.
func isText(body []byte) bool {
	return !bytes.ContainsFunc(body, func(r rune) bool {
		return r == utf8.RuneError || r < ' ' && r != '\t' && r != '\r' && r != '\n'
	})
}
