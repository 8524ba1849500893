package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
)

// An Event is a part of a response that was completed by the bytes fed.
type Event uint8

// Events. A response has one Head, any number of Data, and End. Failed replaces the missing
// events.
const (
	More   Event = iota // all bytes are used; feed more
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
	// maxHeadBytes bounds a head together with the interim heads before it.
	maxHeadBytes = 1 << 20
	// maxInterim bounds the interim responses (100 to 199) before the final one.
	maxInterim = 7
	// maxCheckedBytes bounds the bytes scanned for heads that come in pieces.
	maxCheckedBytes = 64 << 10
	// maxKeptBytes bounds the buffer that is kept for the next response.
	maxKeptBytes = 64 << 10
)

const protocol = "HTTP/"

// A Parser parses one response after the other. It is for one goroutine. Call Reset before
// each response.
type Parser struct {
	request http.Request // only its method is set
	state   parserState
	err     error

	in []byte // bytes fed and not yet used

	// The present head.
	held      []byte // bytes from earlier pieces
	lineStart int    // index in held of the incomplete line
	begun     bool   // the first bytes are HTTP/1
	checked   int    // checked bytes of held

	checkedBytes int // all checked bytes since Reset

	headBytes int // bytes of all heads since Reset
	interim   int // number of interim heads

	resp *http.Response
	data []byte
	left int64 // missing bytes of the body; < 0: it ends with the stream
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

// Reset prepares p for the response to a request with this method; "" means GET. It drops
// the bytes fed before.
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

// Feed passes the next piece of the stream to p, after Next has returned More. b must not
// change until Next returns an event other than Head and Data.
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

// EOF handles the end of the stream, after Next has returned More. It returns End for a
// complete response and for a body that ends with the stream, otherwise Failed.
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
			return p.fail(err) // also for a wrong line that might have continued
		}
	}
	return p.fail(io.ErrUnexpectedEOF)
}

// Response returns the head from the event Head on, in the form of http.ReadResponse. Its
// Body must not be used, and it has no trailer.
func (p *Parser) Response() *http.Response { return p.resp }

// Data returns the piece of the body of the event Data. It is never empty, and is a part
// of the bytes fed.
func (p *Parser) Data() []byte { return p.data }

// Err returns the error after the event Failed.
func (p *Parser) Err() error { return p.err }

// Rest returns the number of fed bytes after the response. Call it after End.
func (p *Parser) Rest() int { return len(p.in) + p.body.surplus }

// Reusable reports whether the connection may carry another request: the response did not
// end with the stream, announces no close, and no bytes follow it. Call it after End.
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

// nextHead searches the blank line that ends the head. It does not copy a head in one
// piece.
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

// headEnd returns the number of bytes of p.in that belong to the head. If p.in does not
// contain the end of the head, headEnd adds p.in to p.held and returns -1.
func (p *Parser) headEnd() int {
	line := p.held[p.lineStart:] // beginning of the present line
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

// checkHead checks the lines of an incomplete head. Like net/http it does not wait for the
// end of a malformed head, which the server may never send.
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

// completeLines returns the number of bytes of an incomplete head in lines that cannot
// continue: a line that begins with white space continues the line before it. A line ends
// before lineStart.
func completeLines(head []byte, lineStart int) int {
	n := lineStart
	for n > 0 && (n == len(head) || head[n] == ' ' || head[n] == '\t') {
		before := bytes.LastIndexByte(head[:n-1], '\n') + 1
		if before == 0 {
			break // the status line cannot continue
		}
		n = before
	}
	return n
}

// isBlank reports whether the line with the text a+b, without its LF, is empty.
func isBlank(a, b []byte) bool {
	switch len(a) + len(b) {
	case 0:
		return true
	case 1:
		return string(a) == "\r" || string(b) == "\r"
	}
	return false
}

// readHead parses the head that ends after n bytes of p.in. It returns More for an interim
// head.
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

// parseHead parses a complete head with net/http.
func (p *Parser) parseHead(head []byte) (*http.Response, error) {
	p.src.Reset(head)
	if p.br == nil {
		p.br = bufio.NewReader(&p.src)
	} else {
		p.br.Reset(&p.src)
	}
	defer p.br.Reset(nil) // it must not keep the bytes fed
	resp, err := http.ReadResponse(p.br, &p.request)
	if err != nil {
		return nil, err
	}
	resp.Request, resp.Body = nil, nil
	return resp, nil
}

// bodyAllowed reports whether the response may have a body (RFC 9112, section 6.3).
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
