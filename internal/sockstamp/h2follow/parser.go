package h2follow

import (
	"encoding/binary"
	"fmt"

	"github.com/pa-tools/pa/internal/sockstamp"
)

// preface is the first bytes that a client sends.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Frame types and flags, RFC 9113 section 6.
const (
	frameData         = 0
	frameHeaders      = 1
	framePriority     = 2
	frameReset        = 3
	frameSettings     = 4
	framePushPromise  = 5
	framePing         = 6
	frameGoAway       = 7
	frameWindowUpdate = 8
	frameContinuation = 9

	flagAck        = 0x1 // SETTINGS, PING
	flagEndStream  = 0x1 // DATA, HEADERS
	flagEndHeaders = 0x4 // HEADERS, PUSH_PROMISE, CONTINUATION
	flagPadded     = 0x8 // DATA, HEADERS, PUSH_PROMISE
	flagPriority   = 0x20
)

const headBytes = 9

// A parser follows the frames of one direction, in pieces of any size:
//
//	  3        1      1       4
//	+--------+------+-------+-----------+---------…+
//	| length | type | flags | stream id | payload  |
//	+--------+------+-------+-----------+---------…+
type parser struct {
	table    *table
	what     string   // "read" or "written"
	incoming bool     // messages are received
	requests bool     // HEADERS open streams
	bytes    bool     // no gRPC, see Config.Bytes
	unary    bool     // see Config.Unary
	headers  *headers // nil: not decoded
	preface  int      // bytes of it to come

	now sockstamp.Stamp // of the piece that is fed, if it is received

	offset uint64 // bytes before the piece that is fed
	frames bool   // there was one
	block  uint32 // the stream whose header block goes on in the next frame; 0: none

	// The present frame.
	at     int // where it begins in the piece that is fed; 0: there or before
	head   [headBytes]byte
	have   int // bytes of head
	typ    byte
	flags  byte
	id     uint32
	left   int  // bytes of the payload to come, padding included
	pad    int  // bytes of padding at the end of it
	padded bool // the next byte says how many
	skip   int  // bytes of priority to come
}

// feed parses the next bytes. It calls report for the extents of messages in p. After an
// error, which is a violation of HTTP/2, nothing more may be fed.
func (r *parser) feed(p []byte, report func(*stream, extent)) error {
	i := 0
	r.at = 0
	for i < len(p) {
		switch {
		case r.preface > 0:
			if p[i] != preface[len(preface)-r.preface] {
				return r.errorf(i, "byte %#x is not of the HTTP/2 preface", p[i])
			}
			r.preface--
			i++
		case r.have < headBytes:
			if r.have == 0 {
				r.at = i
			}
			n := copy(r.head[r.have:], p[i:])
			r.have += n
			i += n
			if r.have < headBytes {
				break
			}
			if err := r.begin(i, report); err != nil {
				return err
			}
			if r.left == 0 {
				if err := r.end(i, report); err != nil {
					return err
				}
			}
		default:
			n, err := r.payload(p, i, report)
			if err != nil {
				return err
			}
			i += n
			r.left -= n
			if r.left == 0 {
				if err := r.end(i, report); err != nil {
					return err
				}
			}
		}
	}
	r.offset += uint64(len(p))
	return nil
}

// begin starts a frame whose head is whole.
func (r *parser) begin(at int, report func(*stream, extent)) error {
	r.left = int(binary.BigEndian.Uint32(r.head[:]) >> 8)
	r.typ, r.flags = r.head[3], r.head[4]
	r.id = binary.BigEndian.Uint32(r.head[5:]) & (1<<31 - 1)
	r.pad, r.padded, r.skip = 0, false, 0
	if why := r.wrong(); why != "" {
		return r.errorf(at, "a frame of type %d, %d bytes, on stream %d: %s", r.typ, r.left, r.id, why)
	}
	r.frames = true
	least := 0
	switch r.typ {
	case frameData, frameHeaders:
		if r.padded = r.flags&flagPadded != 0; r.padded {
			least++
		}
		if r.typ == frameHeaders && r.flags&flagPriority != 0 {
			r.skip = 5
			least += r.skip
		}
	}
	if least > r.left {
		return r.errorf(at, "a frame of type %d with flags %#x has %d bytes", r.typ, r.flags, r.left)
	}
	switch r.typ {
	case frameHeaders, framePushPromise, frameContinuation:
		r.block = r.id
		if r.flags&flagEndHeaders != 0 {
			r.block = 0
		}
	}
	if r.typ == frameHeaders && r.requests {
		r.table.begin(r.id)
	}
	if (r.bytes || r.unary) && r.typ == frameHeaders {
		if s := r.table.stream(r.id); s != nil {
			r.beginHeaders(s, at, report)
		}
	}
	return nil
}

// beginHeaders records the first byte of a request or of an answer.
func (r *parser) beginHeaders(s *stream, at int, report func(*stream, extent)) {
	switch {
	case r.incoming && s.head.first == (sockstamp.Stamp{}):
		s.head.first = r.now // asked for with Config.Bytes only
	case r.requests && s.out.n == 0:
		// No frame begins in an earlier piece, because writers write the head of a frame
		// at once.
		report(s, extent{begin: r.at, end: at, first: true})
	}
}

// endFrame notes that a frame of a stream is complete.
func (r *parser) endFrame(s *stream, at int, report func(*stream, extent)) {
	switch {
	case r.incoming && s.body.total == 0 && r.typ != frameData && r.flags&flagEndHeaders != 0:
		s.head.last = r.now
	case r.requests:
		s.ending = s.ending || r.typ != frameContinuation && r.flags&flagEndStream != 0
		if s.ending && r.block == 0 {
			report(s, extent{begin: max(0, at-1), end: at, last: true})
		}
	}
}

// wrong says why the present frame cannot be one; empty: it can.
func (r *parser) wrong() string {
	ofStream := r.id != 0
	switch {
	case !r.frames && (r.typ != frameSettings || r.flags&flagAck != 0):
		return "the first must have the settings"
	case r.block != 0 && (r.typ != frameContinuation || r.id != r.block):
		return fmt.Sprintf("the headers of stream %d are not complete", r.block)
	case r.block == 0 && r.typ == frameContinuation:
		return "it continues nothing"
	}
	switch r.typ {
	case frameData:
		if r.id > r.table.newest && r.id%2 == 1 {
			return "nobody opened that stream"
		}
		fallthrough
	case frameHeaders, frameContinuation, framePushPromise:
		if !ofStream {
			return "it must be of a stream"
		}
	case framePriority:
		if !ofStream || r.left != 5 {
			return "it must be of a stream and have 5 bytes"
		}
	case frameReset:
		if !ofStream || r.left != 4 {
			return "it must be of a stream and have 4 bytes"
		}
	case frameSettings:
		if ofStream || r.left%6 != 0 {
			return "it must be of no stream and have a multiple of 6 bytes"
		}
	case framePing:
		if ofStream || r.left != 8 {
			return "it must be of no stream and have 8 bytes"
		}
	case frameGoAway:
		if ofStream || r.left < 8 {
			return "it must be of no stream and have 8 bytes or more"
		}
	case frameWindowUpdate:
		if r.left != 4 {
			return "it must have 4 bytes"
		}
	}
	return ""
}

// payload takes bytes of the present frame's payload from p[i:] and returns
// how many.
func (r *parser) payload(p []byte, i int, report func(*stream, extent)) (n int, err error) {
	switch {
	case r.padded:
		r.padded, r.pad = false, int(p[i])
		if r.pad+r.skip > r.left-1 {
			return 0, r.errorf(i, "%d bytes of padding in a frame that has %d more", r.pad, r.left-1)
		}
		return 1, nil
	case r.skip > 0:
		n = min(r.skip, len(p)-i)
		r.skip -= n
		return n, nil
	case r.left <= r.pad:
		return min(r.left, len(p)-i), nil
	}
	n = min(r.left-r.pad, len(p)-i)
	switch r.typ {
	case frameData:
		s := r.table.stream(r.id)
		switch {
		case s == nil:
		case r.bytes && r.incoming:
			s.body.add(n, r.now, r.table.config.Messages)
		case !r.bytes:
			cut := &s.cutOut
			if r.incoming {
				cut = &s.cutIn
			}
			cut.feed(p, i, i+n, func(m extent) { report(s, m) })
		}
	case frameHeaders, frameContinuation:
		if r.headers != nil {
			if err := r.headers.write(p[i : i+n]); err != nil {
				return 0, r.errorf(i, "headers: %w", err)
			}
		}
	}
	return n, nil
}

// end ends the present frame.
func (r *parser) end(at int, report func(*stream, extent)) error {
	r.have = 0
	switch r.typ {
	case frameData, frameHeaders, frameContinuation:
		if s := r.table.stream(r.id); s != nil && (r.bytes || r.unary) {
			if r.requests && r.typ != frameData && r.block == 0 {
				report(s, extent{begin: max(0, at-1), end: at, headEnd: at})
			}
			if r.bytes {
				r.endFrame(s, at, report)
			}
		}
	}
	switch r.typ {
	case frameHeaders, frameContinuation:
		if r.headers != nil && r.flags&flagEndHeaders != 0 {
			name, err := r.headers.end()
			if err != nil {
				return r.errorf(at, "headers: %w", err)
			}
			if name != "" {
				r.table.name(r.id, name)
			}
		}
	case frameReset:
		r.table.end(r.id)
	}
	if (r.typ == frameData || r.typ == frameHeaders) && r.flags&flagEndStream != 0 && !r.requests {
		r.table.end(r.id) // an RPC ends with its answer
	}
	return nil
}

func (r *parser) errorf(at int, format string, args ...any) error {
	return fmt.Errorf("byte %d of what was %s: "+format, append([]any{r.offset + uint64(at), r.what}, args...)...)
}
