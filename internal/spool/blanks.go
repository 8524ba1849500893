package spool

import (
	"bytes"
	"strings"
)

const (
	// maxBlanks is the number of bytes that are kept of a run of blanks between the
	// tokens of JSON. Indentation is shorter, so the offsets of normal files stay true.
	maxBlanks = 1 << 10
	// maxUndecided is the number of blanks that are kept of content of any kind before
	// its first tokens show whether it is JSON.
	maxUndecided = 64 << 20
)

// BeginsJSON reports whether text begins as a JSON object with members, or as an array
// of objects, arrays or strings. A byte order mark and blanks may precede. Other text may
// begin with a brace or a bracket, too: "[INST] Hello". known is false if text ends too
// early to tell.
func BeginsJSON(text []byte) (is, known bool) {
	const blanks, byteOrderMark = " \t\r\n", "\uFEFF"
	if strings.HasPrefix(byteOrderMark, string(text[:min(len(text), len(byteOrderMark))])) {
		text = text[min(len(text), len(byteOrderMark)):]
	}
	if text = bytes.TrimLeft(text, blanks); len(text) == 0 {
		return false, false
	}
	if text[0] != '{' && text[0] != '[' {
		return false, true
	}
	next := bytes.TrimLeft(text[1:], blanks)
	if len(next) == 0 {
		return false, false
	}
	return next[0] == '"' || text[0] == '[' && (next[0] == '{' || next[0] == '['), true
}

// A blankCutter shortens runs of blanks outside of the strings of a JSON text, because a
// compressed file may hold any number of them. Other content, as [BeginsJSON] finds it,
// stays unchanged.
type blankCutter struct {
	kind     contentKind
	first    []byte // the content until the kind is known, with one blank for all leading ones and no others
	inString bool
	escaped  bool
	run      int // blanks that directly precede; until the kind is known, all blanks
}

// A contentKind says whether content is JSON.
type contentKind byte

const (
	kindUnknown contentKind = iota
	kindJSON
	kindOther
)

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// cut shortens b in place. Bytes are moved only behind a run that was shortened:
// honest files have none, and go through here at the speed of the disk.
func (k *blankCutter) cut(b []byte) []byte {
	if k.kind == kindOther {
		return b
	}
	kept, from := 0, 0 // b[:kept] is the result, b[from:i] belongs behind it
	move := func(to int) {
		if kept != from {
			copy(b[kept:], b[from:to])
		}
		kept += to - from
	}
	for i := 0; i < len(b) && k.kind != kindOther; {
		if k.inString {
			i += k.stringBytes(b[i:])
			continue
		}
		if isBlank(b[i]) {
			start := i
			for i < len(b) && isBlank(b[i]) {
				i++
			}
			room := maxBlanks - k.run
			if k.kind == kindUnknown {
				room = maxUndecided - k.run
			}
			k.run += min(i-start, room)
			if i-start > room {
				move(start + room)
				from = i
			}
			continue
		}
		if k.kind == kindUnknown {
			i += k.decide(b[i])
			continue
		}
		k.run = 0
		for i < len(b) && !isBlank(b[i]) {
			i++
			if b[i-1] == '"' {
				k.inString = true
				break
			}
		}
	}
	move(len(b))
	return b[:kept]
}

// decide looks at the next byte that is no blank while the kind of the content is
// unknown. It returns 1, or 0 if the byte made the kind known and is still to be read.
func (k *blankCutter) decide(c byte) int {
	if len(k.first) == 0 && k.run > 0 {
		k.first = append(k.first, ' ')
	}
	k.first = append(k.first, c)
	switch is, known := BeginsJSON(k.first); {
	case !known:
		return 1
	case is:
		k.kind, k.run = kindJSON, 0
	default:
		k.kind = kindOther
	}
	return 0
}

// stringBytes returns how many bytes of b belong to the string that it begins in.
func (k *blankCutter) stringBytes(b []byte) int {
	i := 0
	if k.escaped && len(b) > 0 {
		k.escaped, i = false, 1
	}
	for i < len(b) {
		c := b[i]
		i++
		switch {
		case c == '"':
			k.inString = false
			return i
		case c == '\\' && i == len(b):
			k.escaped = true
		case c == '\\':
			i++
		}
	}
	return len(b)
}
