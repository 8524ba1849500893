package spool

import "bytes"

// maxBlanks is the number of bytes that are kept of a run of blanks between the tokens
// of JSON. Indentation is shorter, so the offsets of normal files stay true.
const maxBlanks = 1 << 10

// A blankCutter shortens runs of blanks outside of the strings of a JSON text,
// which cost nothing in a compressed file. Content of another kind stays as it
// is: it is told by its first byte that is no blank.
type blankCutter struct {
	kind     byte // 0: not known yet, 'j' JSON, 'o' other
	inString bool
	escaped  bool
	run      int // blanks that directly precede
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// cut shortens b in place. Bytes are moved only behind a run that was shortened:
// honest files have none, and go through here at the speed of the disk.
func (k *blankCutter) cut(b []byte) []byte {
	if k.kind == 'o' {
		return b
	}
	kept, from := 0, 0 // b[:kept] is the result, b[from:i] belongs behind it
	move := func(to int) {
		if kept != from {
			copy(b[kept:], b[from:to])
		}
		kept += to - from
	}
	for i := 0; i < len(b); {
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
			k.run += min(i-start, room)
			if i-start > room {
				move(start + room)
				from = i
			}
			continue
		}
		if k.kind == 0 && !k.sniff(b[i:]) {
			break
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

// sniff finds the kind of the content by its first bytes and reports whether it is
// JSON.
func (k *blankCutter) sniff(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	k.kind = 'o'
	if len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		k.kind = 'j'
	}
	return k.kind == 'j'
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
