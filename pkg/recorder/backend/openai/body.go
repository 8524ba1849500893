package openai

import (
	"bufio"
	"errors"
	"io"
	"net/http"
)

// A body gives the bytes of an answer as they come. Unlike the one of
// net/http it never waits for more while it has some.
type body struct {
	br *bufio.Reader
	// left is the number of bytes to come; < 0 means until the connection is
	// closed. With chunks it means nothing.
	left    int64
	chunked bool
	chunks  dechunker
	taken   int // bytes of br that the last piece lies in
}

func (b *body) reset(br *bufio.Reader, resp *http.Response) {
	*b = body{br: br, left: resp.ContentLength}
	b.chunked = len(resp.TransferEncoding) > 0
}

// next returns the next piece, not empty, or io.EOF after a complete body. It
// reads the connection once when nothing is buffered, and only then. The piece
// is valid until the next call.
func (b *body) next() ([]byte, error) {
	for {
		if _, err := b.br.Discard(b.taken); err != nil {
			return nil, err
		}
		b.taken = 0
		if !b.chunked && b.left == 0 || b.chunks.done {
			return nil, io.EOF
		}
		if b.br.Buffered() == 0 {
			if _, err := b.br.Peek(1); err != nil {
				if errors.Is(err, io.EOF) && (b.chunked || b.left > 0) {
					err = io.ErrUnexpectedEOF
				}
				return nil, err
			}
		}
		p, err := b.br.Peek(b.br.Buffered())
		if err != nil {
			return nil, err
		}
		switch {
		case b.chunked:
			data, n, err := b.chunks.next(p)
			b.taken = n
			if err != nil {
				return nil, err
			}
			if len(data) > 0 {
				return data, nil
			}
		case b.left > 0:
			p = p[:min(int64(len(p)), b.left)]
			b.left -= int64(len(p))
			fallthrough
		default:
			b.taken = len(p)
			return p, nil
		}
	}
}

// A dechunker takes the framing off a chunked body (RFC 9112, section 7.1),
// piece by piece:
//
//	size [;extension] CRLF  data CRLF … 0 CRLF  [trailer CRLF]… CRLF
type dechunker struct {
	state  chunkState
	left   uint64 // of the present chunk
	digits int    // of its size
	line   int    // bytes of extensions or of the trailer line
	extra  int    // bytes of extensions and trailers in all
	done   bool
}

type chunkState uint8

const (
	chunkSize chunkState = iota
	chunkExtension
	chunkData
	chunkEnd // the CRLF after the data
	chunkTrailer
)

// maxChunkExtra bounds what extensions and trailers of one body may cost; a
// server that sends a byte a chunk with an extension each is not worth more.
const maxChunkExtra = 1 << 20

var errChunk = errors.New("malformed chunked encoding")

// next returns the first run of data in p and the number of bytes up to its
// end. Without data in p it takes all of p, or up to the end of the body.
func (d *dechunker) next(p []byte) (data []byte, n int, err error) {
	for n < len(p) && !d.done {
		if d.state == chunkData {
			m := int(min(uint64(len(p)-n), d.left))
			data = p[n : n+m]
			if d.left -= uint64(m); d.left == 0 {
				d.state = chunkEnd
			}
			return data, n + m, nil
		}
		if err := d.framing(p[n]); err != nil {
			return nil, n, err
		}
		n++
	}
	return nil, n, nil
}

// framing takes one byte that is not data.
func (d *dechunker) framing(c byte) error {
	switch d.state {
	case chunkSize:
		v, isHex := hexDigit(c)
		switch {
		case isHex && d.digits < 15: // 60 bits
			d.left = d.left<<4 | uint64(v)
			d.digits++
			return nil
		case isHex || d.digits == 0:
			return errChunk
		}
		d.state = chunkExtension
		fallthrough
	case chunkExtension:
		if c != '\n' {
			return d.count()
		}
		d.state, d.digits = chunkData, 0
		if d.left == 0 {
			d.state, d.line = chunkTrailer, 0
		}
	case chunkEnd:
		switch c {
		case '\r':
		case '\n':
			d.state = chunkSize
		default:
			return errChunk
		}
	case chunkTrailer:
		switch c {
		case '\r':
		case '\n':
			d.done = d.line == 0
			d.line = 0
		default:
			d.line++
			return d.count()
		}
	}
	return nil
}

func (d *dechunker) count() error {
	if d.extra++; d.extra > maxChunkExtra {
		return errChunk
	}
	return nil
}

func hexDigit(c byte) (v byte, ok bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
