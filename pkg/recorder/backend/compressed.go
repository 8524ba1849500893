package backend

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

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
		decoded := decompress(coding, body)
		if len(decoded) == 0 && len(body) > 0 {
			if isText(body) {
				return body
			}
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

// decompress returns what can be decoded of body, at most MaxErrorBytes; nothing for an unknown coding.
func decompress(coding string, body []byte) []byte {
	src := bytes.NewReader(body)
	var r io.Reader
	var err error
	switch coding {
	case "identity":
		return body
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
		return nil
	}
	if err != nil {
		return nil
	}
	decoded, _ := io.ReadAll(io.LimitReader(r, MaxErrorBytes)) // the rest of a damaged body is of no use
	return decoded
}

// isText reports whether a body looks like the text of an error: printable, or JSON or HTML.
func isText(body []byte) bool {
	return !bytes.ContainsFunc(body[:min(len(body), 512)], func(r rune) bool {
		return r == '\ufffd' || r < ' ' && r != '\t' && r != '\r' && r != '\n'
	})
}
