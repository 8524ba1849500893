package backend

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"iter"
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
	r, err := newDecoder(coding, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, MaxErrorBytes))
}

// newDecoder returns a reader of the decoded src. It may read from src at once.
func newDecoder(coding string, src io.Reader) (io.ReadCloser, error) {
	switch coding {
	case "identity":
		return io.NopCloser(src), nil
	case "gzip", "x-gzip":
		return gzip.NewReader(src)
	case "deflate": // the zlib format; some servers send the raw one
		b := bufio.NewReader(src)
		if head, err := b.Peek(2); err == nil && isZlib(head) {
			return zlib.NewReader(b)
		}
		return flate.NewReader(b), nil
	case "br":
		return io.NopCloser(brotli.NewReader(src)), nil
	case "zstd":
		d, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindowBytes))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, errors.ErrUnsupported
}

// isZlib reports whether a body begins as the zlib format does.
func isZlib(body []byte) bool {
	return len(body) > 1 && body[0]&0xf == 8 && (uint(body[0])<<8|uint(body[1]))%31 == 0
}

// A Decompressor undoes the compression of an answer that comes in pieces. Each piece gives at once what
// the server had flushed with it, so that the tokens of a compressed stream keep their times. It is for
// one goroutine.
type Decompressor struct {
	codings string // as the headers name them
	piece   []byte // what the decoders have not read yet
	ended   bool   // no piece follows
	err     error  // of the decoders; io.EOF at the end of the body
	failed  error  // of put
	resume  func() (struct{}, bool)
	stop    func()
}

// IsCompressed reports whether the body of an answer is compressed, by its headers or else by its first
// bytes; a text is not, whatever the headers say. undecided says that first is too short to tell.
func IsCompressed(header http.Header, first []byte) (yes, undecided bool) {
	codings := contentCodings(header)
	if codings == nil {
		return codingOf(first) != "identity", false
	}
	text := isText(first)
	if text && len(first) < 4 {
		return false, true
	}
	return !text || codings[len(codings)-1] == "deflate" && isZlib(first), false
}

// NewDecompressor returns the Decompressor of a body that is compressed, see [IsCompressed]. put gets
// the decoded bytes and may not keep them; after its first error it gets no more.
func NewDecompressor(header http.Header, first []byte, put func([]byte) error) *Decompressor {
	codings := contentCodings(header)
	if codings == nil {
		codings = []string{codingOf(first)}
	}
	d := &Decompressor{codings: strings.Join(codings, ", ")}
	d.resume, d.stop = iter.Pull(func(wait func(struct{}) bool) {
		d.err = d.decode(codings, &pieces{d, wait}, put)
	})
	return d
}

// decode passes the decoded body to put.
func (d *Decompressor) decode(codings []string, src io.Reader, put func([]byte) error) error {
	if len(codings) > maxCodings {
		return errors.ErrUnsupported
	}
	for _, coding := range slices.Backward(codings) {
		r, err := newDecoder(coding, src)
		if err != nil {
			return err
		}
		defer r.Close()
		src = r
	}
	buf := make([]byte, 4<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 && d.failed == nil {
			d.failed = put(buf[:n])
		}
		if err = cmp.Or(d.failed, err); err != nil {
			return err
		}
	}
}

// Write decodes the next piece of the body and returns the error of put. It ignores what follows the end
// of the body, or a damaged part.
func (d *Decompressor) Write(piece []byte) error {
	if d.piece = piece; len(piece) > 0 {
		d.resume()
	}
	d.piece = nil
	return d.failed
}

// Close decodes the rest. It returns the error of put, or an error if the body is damaged or cut, or if
// its compression is not known. A body that did not come whole needs no Close, but Stop.
func (d *Decompressor) Close() error {
	d.ended = true
	d.resume()
	d.stop()
	switch {
	case d.failed != nil:
		return d.failed
	case errors.Is(d.err, io.EOF):
		return nil
	case errors.Is(d.err, errors.ErrUnsupported):
		return fmt.Errorf("the answer is compressed (%.40q), which pa-record cannot decode; switch compression off in the server or the proxy", d.codings)
	default:
		return fmt.Errorf("the answer is compressed (%.40q) and damaged: %v", d.codings, d.err) //nolint:errorlint // an end within the body is no end of the connection
	}
}

// Stop ends the decoding and frees its memory. put gets nothing more. It may follow Close.
func (d *Decompressor) Stop() {
	d.failed = cmp.Or(d.failed, io.ErrClosedPipe)
	d.stop()
}

// pieces reads the pieces of a body, and waits for the next one.
type pieces struct {
	d    *Decompressor
	wait func(struct{}) bool
}

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.d.piece) == 0 {
		if p.d.ended {
			return 0, io.EOF
		}
		if !p.wait(struct{}{}) {
			return 0, io.ErrUnexpectedEOF
		}
	}
	n := copy(b, p.d.piece)
	p.d.piece = p.d.piece[n:]
	return n, nil
}

// Decompressed returns the body of a whole answer without its compression, at most limit bytes of it, and
// whether it was compressed. It returns the errors of [Decompressor.Close], and an [*AnswerMemoryError]
// for a body that is longer.
func Decompressed(header http.Header, body []byte, limit int64) (decoded []byte, compressed bool, err error) {
	if compressed, _ = IsCompressed(header, body); !compressed {
		return body, false, nil
	}
	d := NewDecompressor(header, body, func(p []byte) error {
		if int64(len(decoded))+int64(len(p)) > limit {
			return &AnswerMemoryError{limit}
		}
		decoded = append(decoded, p...)
		return nil
	})
	_ = d.Write(body) // Close returns the error
	return decoded, true, d.Close()
}

// isText reports whether a body looks like a text, such as JSON or HTML: it is printable.
func isText(body []byte) bool {
	return !bytes.ContainsFunc(body, func(r rune) bool {
		return r == utf8.RuneError || r < ' ' && r != '\t' && r != '\r' && r != '\n'
	})
}
