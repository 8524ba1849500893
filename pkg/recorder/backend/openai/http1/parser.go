package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
)

// An Event is a part of a response that the bytes fed completed.
type Event uint8

// Events. A response is one Head, any number of Data, then End. Failed takes the place
// of the missing events.
const (
	More   Event = iota // all was taken; feed more
	Head                // see Response
	Data                // see Parser.Data
	End                 // of the response; see Rest and Reusable
	Failed              // see Err
)

// String returns the event's name in lower case.
func (e Event) String() string {
	return [...]string{"more", "head", "data", "end", "failed"}[e]
}

const (
	// maxHeadBytes bounds a head and the interim ones before it, together.
	maxHeadBytes = 1 << 20
	// maxInterim is as many responses of 100 to 199 as may come before one
	// that counts.
	maxInterim = 7
	// maxCheckedBytes bounds the bytes scanned for heads that come in pieces.
	maxCheckedBytes = 64 << 10
	// maxKeptBytes is how large a buffer may be that is kept for the next
	// response.
	maxKeptBytes = 64 << 10
)

const protocol = "HTTP/"

// A Parser reads one response after the other. It is for one goroutine. Use
// Reset before the first.
type Parser struct {
	request http.Request // only its method
	state   parserState
	err     error

	in []byte // fed and not yet taken

	// Of the present head.
	held      []byte // what came in earlier pieces
	lineStart int    // where in held the line begins whose end is not there
	begun     bool   // its first bytes are HTTP/1
	checked   int    // bytes of held that were looked at

	checkedBytes int // in all, since Reset

	headBytes int // bytes of all heads since Reset
	interim   int // interim heads

	resp *http.Response
	data []byte
	left int64 // bytes of the body to come; < 0 until the stream ends
	body chunked

	// br reads src for http.ReadResponse, which needs a bufio.Reader.
	br  *bufio.Reader
	src bytes.Reader
}

type parserState uint8

const (
	inHead parserState = iota
	inBody
	inChunks
	ended
	failed
)

// Reset makes p ready for the response to a request of that method; "" means
// GET. It forgets the bytes fed before.
func (p *Parser) Reset(method string) {
	held := p.held[:0]
	if cap(held) > maxKeptBytes {
		held = nil
	}
	*p = Parser{
		request: http.Request{Method: method},
		held:    held,
		body:    chunked{line: p.body.line[:0]},
		br:      p.br,
	}
}

// Feed gives the next piece of the stream, after Next has returned More. b must
// not change until Next returns something else than Head or Data.
func (p *Parser) Feed(b []byte) { p.in = b }

// Next returns the next event in the bytes fed. After End and Failed it returns the same
// event until Reset.
func (p *Parser) Next() Event {
	p.data = nil
	switch p.state {
	case inHead:
		return p.nextHead()
	case inBody:
		return p.nextBody()
	case inChunks:
		return p.nextChunk()
	case ended:
		return End
	default:
		return Failed
	}
}

// EOF says that the stream ended, after Next has returned More. It returns End
// for a body that ends with the stream, else Failed, unless the response had
// ended before.
func (p *Parser) EOF() Event {
	p.in = nil
	switch {
	case p.state == ended:
		return End
	case p.state == failed:
		return Failed
	case p.state == inBody && p.left < 0:
		return p.end()
	case p.state == inHead && !p.begun && string(p.held) != protocol[:len(p.held)]:
		return p.fail(&NotHTTPError{First: string(p.held)})
	case p.state == inHead && p.lineStart > 0:
		if _, err := p.parseHead(p.held[:p.lineStart]); err != nil {
			return p.fail(err) // also when a line is wrong that might have gone on
		}
	}
	return p.fail(io.ErrUnexpectedEOF)
}

// Response returns the head, as http.ReadResponse does, from Head on. Its Body
// is not to be used, and it has no trailer: that is dropped.
func (p *Parser) Response() *http.Response { return p.resp }

// Data returns the piece of the body of the event Data. It is never empty, and is a part
// of the bytes fed.
func (p *Parser) Data() []byte { return p.data }

// Err returns why Failed came.
func (p *Parser) Err() error { return p.err }

// Rest returns how many of the bytes fed come after the response, once End
// came.
func (p *Parser) Rest() int { return len(p.in) + p.body.surplus }

// Reusable reports, once End came, whether the connection may carry another
// request: the response ended by itself, announces no close, and nothing comes
// after it.
func (p *Parser) Reusable() bool {
	return p.state == ended && !p.resp.Close && p.left >= 0 && p.Rest() == 0
}

func (p *Parser) fail(err error) Event {
	p.state, p.err, p.in = failed, err, nil
	return Failed
}

func (p *Parser) end() Event {
	p.state = ended
	return End
}

// nextHead looks for the blank line that ends the head. A head that lies in one
// piece is read where it is.
func (p *Parser) nextHead() Event {
	for {
		if !p.begun {
			if e := p.beginHead(); e != Head {
				return e
			}
		}
		n := p.headEnd()
		if n < 0 {
			return p.checkHead()
		}
		if e := p.readHead(n); e != More {
			return e
		}
	}
}

// beginHead checks the first bytes of a head, within the first line. It returns Head
// when they are HTTP/1.
func (p *Parser) beginHead() Event {
	n := min(len(p.in), len(protocol)-len(p.held))
	if i := bytes.IndexByte(p.in[:n], '\n'); i >= 0 {
		n = i + 1
	} else if len(p.held)+n < len(protocol) {
		p.held = append(p.held, p.in...)
		p.in = nil
		return More
	}
	if first := string(p.held) + string(p.in[:n]); first != protocol {
		return p.fail(&NotHTTPError{First: first})
	}
	p.begun = true
	return Head
}

// headEnd returns how many bytes of p.in belong to the head. Without its end in
// p.in it holds them all and returns -1.
func (p *Parser) headEnd() int {
	line := p.held[p.lineStart:] // what there is of the present line
	n := 0
	for {
		i := bytes.IndexByte(p.in[n:], '\n')
		if i < 0 {
			break
		}
		text := p.in[n : n+i]
		n += i + 1
		if isBlank(line, text) {
			return n
		}
		line = nil
	}
	if n > 0 {
		p.lineStart = len(p.held) + n
	}
	p.held = append(p.held, p.in...)
	p.in = nil
	return -1
}

// checkHead looks at the lines of a head that is not complete. net/http does not
// wait for the end of a head that is wrong; the server may never send it.
func (p *Parser) checkHead() Event {
	if p.headBytes+len(p.held) > maxHeadBytes {
		return p.fail(ErrHeadTooLong)
	}
	n := completeLines(p.held, p.lineStart)
	if n == p.checked || p.checkedBytes+n > maxCheckedBytes {
		return More
	}
	p.checked = n
	p.checkedBytes += n
	if _, err := p.parseHead(p.held[:n]); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return p.fail(err)
	}
	return More
}

// completeLines returns how much of an incomplete head, which has a line's end
// before lineStart, is lines to which nothing is added any more: a line that
// begins with white space continues the one before it.
func completeLines(head []byte, lineStart int) int {
	n := lineStart
	for n > 0 && (n == len(head) || head[n] == ' ' || head[n] == '\t') {
		before := bytes.LastIndexByte(head[:n-1], '\n') + 1
		if before == 0 {
			break // the status line, which is never continued
		}
		n = before
	}
	return n
}

// isBlank reports whether a line is empty whose text, without its LF, is a, then
// b.
func isBlank(a, b []byte) bool {
	switch len(a) + len(b) {
	case 0:
		return true
	case 1:
		return string(a) == "\r" || string(b) == "\r"
	}
	return false
}

// readHead reads the head that ends after n bytes of p.in. It returns More for
// an interim one.
func (p *Parser) readHead(n int) Event {
	head := p.in[:n]
	if len(p.held) > 0 {
		p.held = append(p.held, head...)
		head = p.held
	}
	p.in = p.in[n:]
	if p.headBytes += len(head); p.headBytes > maxHeadBytes {
		return p.fail(ErrHeadTooLong)
	}
	resp, err := p.parseHead(head)
	p.held, p.lineStart, p.begun, p.checked = p.held[:0], 0, false, 0
	if err != nil {
		return p.fail(err)
	}
	if code := resp.StatusCode; isInterim(code) && code != http.StatusSwitchingProtocols {
		if p.interim++; p.interim > maxInterim {
			return p.fail(ErrInterim)
		}
		return More
	}
	p.resp = resp
	switch {
	case !p.bodyAllowed():
		p.state, p.left = inBody, 0
	case len(resp.TransferEncoding) > 0:
		p.state = inChunks
	default:
		p.state, p.left = inBody, resp.ContentLength
	}
	return Head
}

func isInterim(code int) bool { return 100 <= code && code <= 199 }

// parseHead lets net/http read a whole head.
func (p *Parser) parseHead(head []byte) (*http.Response, error) {
	p.src.Reset(head)
	if p.br == nil {
		p.br = bufio.NewReader(&p.src)
	} else {
		p.br.Reset(&p.src)
	}
	defer p.br.Reset(nil) // it must not hold on to what was fed
	resp, err := http.ReadResponse(p.br, &p.request)
	if err != nil {
		return nil, err
	}
	resp.Request, resp.Body = nil, nil
	return resp, nil
}

// bodyAllowed reports whether the response may have a body (RFC 9112, section
// 6.3).
func (p *Parser) bodyAllowed() bool {
	code := p.resp.StatusCode
	return p.request.Method != http.MethodHead && !isInterim(code) && code != http.StatusNoContent && code != http.StatusNotModified
}

func (p *Parser) nextBody() Event {
	switch {
	case p.left == 0:
		return p.end()
	case len(p.in) == 0:
		return More
	case p.left < 0:
		p.data, p.in = p.in, nil
	default:
		n := int(min(int64(len(p.in)), p.left))
		p.data, p.in = p.in[:n], p.in[n:]
		p.left -= int64(n)
	}
	return Data
}
