package jsonscan

import (
	"bytes"
	"encoding/binary"
)

// An envelope is the common start and end of strings that differ in the middle, as the events
// of a streamed answer do. Such a string is decoded by comparing and copying its parts instead
// of going from escape to escape.
//
// It is exact: front and back begin and end between characters and have no \u escape, and the
// middle of a string in the envelope has no escape. So the content of the string is the content
// of its three parts.
type envelope struct {
	front, back               []byte // as written; back includes the closing quote
	frontContent, backContent []byte

	last     []byte // the last string that was not in the envelope
	missed   int    // strings in a row that were not
	attempts Attempts
}

const (
	minFront    = 32   // bytes of front from which an envelope pays
	maxEnvelope = 4096 // bytes of the longest string
)

// open returns where the back begins in a string that begins behind the quote b[start-1]. ok is
// false if the string is not in the envelope.
func (e *envelope) open(b []byte, start int) (back int, ok bool) {
	if len(e.front) == 0 || !bytes.HasPrefix(b[start:], e.front) {
		return 0, false
	}
	back = indexSpecial(b, start+len(e.front))
	if !bytes.HasPrefix(b[back:], e.back) {
		return 0, false
	}
	e.missed = 0
	e.attempts.Used()
	return back, true
}

// learn looks for an envelope of a string that is not in the present one. raw is a valid string
// without its opening quote.
func (e *envelope) learn(raw []byte) {
	if len(raw) > maxEnvelope {
		return
	}
	// A single string beside the others is no reason to give an envelope up.
	if e.missed++; e.missed > 1 {
		if same := commonPrefix(raw, e.last); same >= minFront && e.attempts.Try() {
			e.between(raw, e.last, same)
		}
	}
	e.last = append(e.last[:0], raw...)
}

// commonPrefix returns the length of the common start of a and b.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i+8 <= n && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]) {
		i += 8
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// between makes the envelope of a and b, which have the first same bytes in common, unless
// they have no end in common.
func (e *envelope) between(a, b []byte, same int) {
	end := 0
	for end < min(len(a), len(b))-same && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if end == 0 {
		return
	}
	front, back := 0, 0
	for i, n := 0, 0; i < len(a); i += n {
		n = 1
		if a[i] == '\\' {
			n = 2
			if a[i+1] == 'u' {
				n = 6
			}
		}
		switch {
		case i+n <= same:
			front = i + n
		case back == 0 && i >= len(a)-end && (n > 1 || a[i] == '"'):
			back = i // where open looks for it: at a special character
		}
		if n == 6 && (i < front || back > 0) {
			return
		}
	}
	e.front, e.back = append(e.front[:0], a[:front]...), append(e.back[:0], a[back:]...)
	e.frontContent = appendContent(e.frontContent[:0], e.front)
	e.backContent = appendContent(e.backContent[:0], e.back[:len(e.back)-1])
}

// appendContent appends the content of part of a valid string that has no \u escape.
func appendContent(dst, part []byte) []byte {
	for i := 0; i < len(part); i++ {
		c := part[i]
		if c == '\\' {
			i++
			c = unescaped[part[i]]
		}
		dst = append(dst, c)
	}
	return dst
}
