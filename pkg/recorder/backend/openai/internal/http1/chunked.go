package http1

import (
	"bytes"
	"net/textproto"
)

// A chunked is the state of a chunked body (RFC 9112, section 7.1):
//
//	size [;extension] CRLF  data CRLF … 0 [;extension] CRLF  [trailer CRLF]… CRLF
type chunked struct {
	part    chunkPart
	chunk   uint64 // missing bytes of the present chunk
	line    []byte // part of a line or of the trailer from earlier pieces
	excess  int64  // see size
	surplus int    // bytes of line after the trailer
}

type chunkPart uint8

const (
	chunkSize chunkPart = iota
	chunkData
	chunkEnd // the CRLF after the data
	chunkTrailer
)

// Bounds that net/http has, too.
const (
	maxLineBytes    = 4096 // of a line with a size, including its end
	maxTrailerBytes = 4096
	maxSizeDigits   = 16
	maxExcess       = 16 << 10
)

// maxChunkBytes bounds a chunk. net/http has no such bound, but no chunk is that long.
const maxChunkBytes = 1<<60 - 1

func (p *Parser) nextChunk() Event {
	b := &p.body
	for len(p.in) > 0 {
		switch b.part {
		case chunkSize:
			line, ok := p.takeLine()
			if !ok {
				break
			}
			if err := p.size(line); err != nil {
				return p.fail(err)
			}
			b.line = b.line[:0]
		case chunkData:
			n := int(min(uint64(len(p.in)), b.chunk))
			p.data, p.in = p.in[:n], p.in[n:]
			if b.chunk -= uint64(n); b.chunk == 0 {
				b.part = chunkEnd
			}
			return Data
		case chunkEnd:
			if n := len(b.line); p.in[0] != "\r\n"[n] {
				return p.fail(ErrChunk)
			} else if n == 1 {
				b.line, b.part = b.line[:0], chunkSize
			} else {
				b.line = append(b.line, '\r')
			}
			p.in = p.in[1:]
		case chunkTrailer:
			if e := p.trailer(); e != More {
				return e
			}
		}
		if p.state == failed {
			return Failed
		}
	}
	return More
}

// takeLine removes a line with its end from the input; ok is false if the end is missing.
func (p *Parser) takeLine() (line []byte, ok bool) {
	b := &p.body
	i := bytes.IndexByte(p.in, '\n')
	n := i + 1
	if i < 0 {
		n = len(p.in)
	}
	if len(b.line)+n > maxLineBytes {
		p.fail(ErrChunk)
		return nil, false
	}
	line = p.in[:n]
	if i < 0 || len(b.line) > 0 {
		b.line = append(b.line, line...)
		line = b.line
	}
	p.in = p.in[n:]
	return line, i >= 0
}

// size parses a line with a chunk's size.
//
// A server may send chunks of one byte, but extensions are bounded: the bytes of lines
// beyond 16 bytes a chunk and twice the data add up to the excess.
func (p *Parser) size(line []byte) error {
	b := &p.body
	if i := bytes.IndexByte(line, '\r'); i < 0 || i != len(line)-2 {
		return ErrChunk // a bare LF, or a CR inside
	}
	line = line[:len(line)-2]
	b.excess += int64(len(line)) + 2
	digits, _, _ := bytes.Cut(bytes.TrimRight(line, " \t"), semicolon)
	if len(digits) == 0 || len(digits) > maxSizeDigits {
		return ErrChunk
	}
	b.chunk = 0
	for _, c := range digits {
		v, ok := hexDigit(c)
		if !ok || b.chunk > maxChunkBytes>>4 {
			return ErrChunk
		}
		b.chunk = b.chunk<<4 | uint64(v)
	}
	if b.excess = max(0, b.excess-16-2*int64(b.chunk)); b.excess > maxExcess {
		return ErrChunk
	}
	b.part = chunkData
	if b.chunk == 0 {
		b.part = chunkTrailer
	}
	return nil
}

var semicolon = []byte(";")

func hexDigit(c byte) (v byte, ok bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// trailer reads the bytes after the last chunk: usually an empty line, otherwise header
// fields up to "\r\n\r\n", which are checked and dropped.
func (p *Parser) trailer() Event {
	b := &p.body
	for len(p.in) > 0 {
		b.line = append(b.line, p.in[0])
		p.in = p.in[1:]
		switch {
		case string(b.line) == "\r\n":
			return p.end()
		case bytes.HasSuffix(b.line, twoLines):
			p.src.Reset(b.line)
			p.br.Reset(&p.src)
			_, err := textproto.NewReader(p.br).ReadMIMEHeader()
			b.surplus = p.br.Buffered() + p.src.Len() // it may end at "\n\n"
			p.br.Reset(nil)
			if err != nil {
				return p.fail(ErrTrailer)
			}
			return p.end()
		case len(b.line) >= maxTrailerBytes:
			return p.fail(ErrTrailer)
		}
	}
	return More
}

var twoLines = []byte("\r\n\r\n")
