package jsonscan

import (
	"bytes"

	"github.com/pa-tools/pa/internal/overlap"
)

// An Envelope is the common start and end of strings that differ in the middle, as the events
// of a streamed answer do. Such a string is decoded by comparing and copying its parts instead
// of going from escape to escape.
//
// It is exact: front and back begin and end between characters and have no \u escape, and the
// middle of a string in the envelope has no escape. So the content of the string is the content
// of its three parts.
//
// The zero value learns the envelope of the strings that it is given.
type Envelope struct {
	// Front and Back are the parts as written; Back includes the closing quote. Both are
	// empty without an envelope. Open and Learn change them in place.
	Front, Back []byte
	// FrontContent and BackContent are the contents of the parts.
	FrontContent, BackContent []byte

	last     []byte // the last string that was not in the envelope
	missed   int    // strings in a row that were not
	attempts Attempts
}

const (
	minFront    = 32   // bytes of front from which an envelope pays
	maxEnvelope = 4096 // bytes of the longest string
)

// Open returns where the back begins in a string that begins behind the quote b[start-1]. ok is
// false if the string is not in the envelope.
func (e *Envelope) Open(b []byte, start int) (back int, ok bool) {
	if len(e.Front) == 0 || !bytes.HasPrefix(b[start:], e.Front) {
		return 0, false
	}
	back = IndexSpecial(b, start+len(e.Front))
	if !bytes.HasPrefix(b[back:], e.Back) {
		return 0, false
	}
	e.Used()
	return back, true
}

// Used notes that a string is in the envelope. Open does so itself.
func (e *Envelope) Used() {
	e.missed = 0
	e.attempts.Used()
}

// Learn looks for an envelope of a string that is not in the present one, and reports whether
// it found another envelope. raw is a valid string without its opening quote.
func (e *Envelope) Learn(raw []byte) (changed bool) {
	if len(raw) > maxEnvelope {
		return false
	}
	// A single string beside the others is no reason to give an envelope up.
	if e.missed++; e.missed > 1 {
		if same := overlap.Prefix(raw, e.last); same >= minFront && e.attempts.Try() {
			changed = e.between(raw, e.last, same)
		}
	}
	e.last = append(e.last[:0], raw...)
	return changed
}

// between makes the envelope of a and b, which have the first same bytes in common. It returns
// false if there is none: they have no end in common, say.
//
// The front ends with the last escape in common, if there is one: the next string has the same
// quotes, but not the first letters of a word that a and b happen to share.
func (e *Envelope) between(a, b []byte, same int) bool {
	end := overlap.Suffix(a[same:], b[same:])
	if end == 0 {
		return false
	}
	front, escape, back := 0, 0, 0
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
			if front = i + n; n > 1 {
				escape = front
			}
		case back == 0 && i >= len(a)-end && (n > 1 || a[i] == '"'):
			back = i // where Open looks for it: at a special character
		}
		if n == 6 && (i < front || back > 0) {
			return false
		}
	}
	if escape >= minFront {
		front = escape
	}
	e.Front, e.Back = append(e.Front[:0], a[:front]...), append(e.Back[:0], a[back:]...)
	e.FrontContent = appendContent(e.FrontContent[:0], e.Front)
	e.BackContent = appendContent(e.BackContent[:0], e.Back[:len(e.Back)-1])
	return true
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
