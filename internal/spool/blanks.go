package spool

import "bytes"

// maxBlanks is how much is kept of a run of blanks between the tokens of JSON.
// Indentation is shorter, so that the offsets of honest files stay true.
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

// cut shortens b in place.
func (k *blankCutter) cut(b []byte) []byte {
	if k.kind == 'o' {
		return b
	}
	kept := 0 // b[:kept] is the result
	for i := 0; i < len(b); {
		if k.inString {
			n := k.stringBytes(b[i:])
			if kept != i {
				copy(b[kept:], b[i:i+n])
			}
			kept, i = kept+n, i+n
			continue
		}
		c := b[i]
		if isBlank(c) {
			if k.run < maxBlanks {
				b[kept] = c
				kept++
				k.run++
			}
			i++
			continue
		}
		if k.kind == 0 && !k.sniff(b[i:]) {
			return append(b[:kept], b[i:]...)
		}
		k.run = 0
		k.inString = c == '"'
		b[kept] = c
		kept, i = kept+1, i+1
	}
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
		n := bytes.IndexAny(b[i:], `"\`)
		if n < 0 {
			return len(b)
		}
		i += n + 1
		if b[i-1] == '"' {
			k.inString = false
			return i
		}
		if i == len(b) {
			k.escaped = true
			return i
		}
		i++
	}
	return len(b)
}
