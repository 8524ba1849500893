package sse

import "fmt"

// defaultMaxFrameBytes is the default of Splitter.MaxFrameBytes.
const defaultMaxFrameBytes = 64 << 20

// A Splitter cuts a byte stream into frames. It is fed with pieces of any size
// and delivers each frame with the piece that completes it:
//
//   - after the LF of a blank line: "…\n\n", "…\r\n\r\n", "…\r\r\n"¹, "…\n\r\n"¹
//   - after the CR of a blank line that follows a line ended by CR or LF, without
//     waiting for an LF: "…\r\r", "…\n\r"
//   - after "\r\n\r" only with the byte that follows: LF belongs to the frame,
//     any other byte does not
//
// ¹ These are cut after the CR. The LF goes to the front of the next frame, where
// line endings have no effect: each frame has at least one line that is not blank,
// and begins with the blank lines before that line. So an event never waits for a
// byte that a server might not send, unless the server itself uses CR LF.
//
// The zero value is ready for use. A Splitter allocates nothing when frames
// come whole, and grows one buffer to the longest frame that came in pieces.
// It is for one goroutine.
type Splitter struct {
	// MaxFrameBytes bounds a frame, and so the memory for an endless line;
	// 0 means defaultMaxFrameBytes. A longer frame ends the splitting, see Err.
	MaxFrameBytes int

	// in[start:pos] has been scanned and belongs to the present frame, which
	// begins with carry. in[pos:] is not scanned yet. carry is empty unless
	// start == 0. Invariant: 0 ≤ start ≤ pos ≤ len(in).
	in    []byte
	start int
	pos   int
	carry []byte
	taken bool // carry was delivered as a frame and is free

	state state
	frame []byte
	err   error
	lines lineFinder // finds line ends of in
}

// A FrameTooLongError is the error for a frame of more than MaxBytes bytes.
type FrameTooLongError struct {
	MaxBytes int
}

func (e *FrameTooLongError) Error() string {
	return fmt.Sprintf("an event of more than %d bytes without a blank line at its end", e.MaxBytes)
}

type state uint8

const (
	atFront     state = iota // no line yet, only line endings
	inLine                   // inside a line that is not blank
	afterLF                  // a line ended in LF
	afterCR                  // a line ended in CR; LF may follow
	afterCRLF                // a line ended in CR LF
	afterCRLFCR              // a blank line ended in CR; LF may follow
)

// Feed takes the next piece of the stream. Before Feed, the caller must call Next
// until it returns false. p must not change until Next has returned false again.
func (s *Splitter) Feed(p []byte) {
	if s.err != nil {
		return
	}
	s.keep()
	s.in, s.start, s.pos, s.lines = p, 0, 0, lineFinder{}
}

// Next advances to the next complete frame and reports whether there is one.
// false means that the next piece is needed, or that Err is not nil.
func (s *Splitter) Next() bool {
	s.frame = nil
	if s.err != nil {
		return false
	}
	s.drop()
	end := s.scan()
	if n := len(s.carry) + s.pos - s.start; n > s.max() {
		s.err = &FrameTooLongError{MaxBytes: s.max()}
		s.pos = s.start + max(0, s.max()-len(s.carry))
		s.keep()
		return false
	}
	if !end {
		s.keep()
		return false
	}
	if len(s.carry) > 0 {
		s.carry = append(s.carry, s.in[s.start:s.pos]...)
		s.frame, s.taken = s.carry, true
	} else {
		s.frame = s.in[s.start:s.pos:s.pos]
	}
	s.start, s.state = s.pos, atFront
	return true
}

// Frame returns the present frame. It is valid until the next call of Next or
// Feed, and aliases the piece that was fed or the Splitter's buffer.
func (s *Splitter) Frame() []byte { return s.frame }

// Rest returns the bytes after the last frame, once Next has returned false. At the end of
// the stream these are an unfinished event, line endings alone, or nothing. They are
// valid until the next call of another method. Parse reads them like a frame.
func (s *Splitter) Rest() []byte {
	s.drop()
	s.keep()
	return s.carry
}

// AtStart reports that the next byte begins a frame: nothing before it is in a frame that is
// not complete, not even a line ending. It is only valid once Next has returned false.
func (s *Splitter) AtStart() bool {
	return s.err == nil && s.state == atFront && len(s.carry) == 0
}

// Err returns a *FrameTooLongError once a frame was too long, else nil. Rest
// then holds the first MaxFrameBytes bytes of that frame, and Next delivers no
// more frames.
func (s *Splitter) Err() error { return s.err }

// Reset makes s ready for another stream. It keeps MaxFrameBytes and, up to
// 1 MiB, the buffer.
func (s *Splitter) Reset() {
	const keepBytes = 1 << 20
	c := s.carry[:0]
	if cap(c) > keepBytes {
		c = nil
	}
	*s = Splitter{MaxFrameBytes: s.MaxFrameBytes, carry: c}
}

func (s *Splitter) max() int {
	if s.MaxFrameBytes <= 0 {
		return defaultMaxFrameBytes
	}
	return s.MaxFrameBytes
}

// drop forgets a carry that was delivered.
func (s *Splitter) drop() {
	if s.taken {
		s.carry, s.taken = s.carry[:0], false
	}
}

// keep moves the scanned part of the present frame from the piece to carry and, unless
// bytes are left to scan, drops the piece.
func (s *Splitter) keep() {
	if s.start < s.pos {
		s.carry = append(s.carry, s.in[s.start:s.pos]...)
	}
	s.in, s.start, s.pos, s.lines = nil, 0, 0, lineFinder{}
}

// scan moves pos to the end of the present frame and reports true, or to the
// end of the piece and reports false.
func (s *Splitter) scan() bool {
	for s.pos < len(s.in) {
		if s.state == inLine {
			s.pos = s.lines.end(s.in, s.pos)
			if s.pos == len(s.in) {
				return false
			}
		}
		c := s.in[s.pos]
		if s.state == afterCRLFCR {
			if c == '\n' {
				s.pos++
			}
			return true
		}
		s.pos++
		switch {
		case c != '\r' && c != '\n':
			s.state = inLine
		case s.state == atFront:
		case s.state == inLine:
			s.state = afterLF
			if c == '\r' {
				s.state = afterCR
			}
		case s.state == afterCR && c == '\n':
			s.state = afterCRLF
		case s.state == afterCRLF && c == '\r':
			s.state = afterCRLFCR
		default:
			return true
		}
	}
	return false
}
