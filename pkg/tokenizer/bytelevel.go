package tokenizer

import "strings"

// byteChars and byteOfChar are GPT-2's alphabet of bytes, which turns any bytes into
// visible characters. A printable byte of Latin-1 is its own character. The other bytes,
// in order, are the characters from U+0100 on; the blank is U+0120 "Ġ".
var byteChars, byteOfChar = byteAlphabet()

// byteAlphabet returns the character of each byte, and the byte of each character, -1 for
// characters outside the alphabet.
func byteAlphabet() (chars [256]rune, bytes [0x144]int16) {
	for i := range bytes {
		bytes[i] = -1
	}
	next := rune(0x100)
	for b := range 256 {
		r := rune(b)
		if b < '!' || b > '~' && b < 0xA1 || b == 0xAD {
			r = next
			next++
		}
		chars[b] = r
		bytes[r] = int16(b)
	}
	return chars, bytes
}

// toByteChars writes each byte of s as its character.
func toByteChars(s string) string {
	var out strings.Builder
	out.Grow(len(s) + len(s)/4)
	for i := range len(s) {
		out.WriteRune(byteChars[s[i]])
	}
	return out.String()
}

// fromByteChars is the inverse of toByteChars. ok is false if a character of s is outside
// the alphabet.
func fromByteChars(s string) (raw string, ok bool) {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		if int(r) >= len(byteOfChar) || byteOfChar[r] < 0 {
			return "", false
		}
		out = append(out, byte(byteOfChar[r]))
	}
	return string(out), true
}

// byteLevelNormalizer is the normalizer ByteLevel.
type byteLevelNormalizer struct{}

func (byteLevelNormalizer) normalize(s string, _ int) string { return toByteChars(s) }

// byteLevel is the pre-tokenizer ByteLevel.
type byteLevel struct {
	prefix bool // put a blank before a piece that has none
	words  preTokenizer
	// raw omits the last step, writing bytes as characters, for a model of bytes.
	raw bool
}

func readByteLevel(n *node) (*byteLevel, error) {
	prefix, err := n.wantBool("add_prefix_space")
	if err != nil {
		return nil, err
	}
	b := &byteLevel{prefix: prefix}
	useRegex, err := n.boolOr("use_regex", true)
	if err != nil {
		return nil, err
	}
	if useRegex {
		b.words = isolate{scan: knownPattern(gpt2Pattern)}
	}
	return b, nil
}

func (b *byteLevel) cut(dst []piece, p piece) []piece {
	if b.prefix && p.text[0] != ' ' {
		p.text = " " + p.text
	}
	at := len(dst)
	if b.words != nil {
		dst = b.words.cut(dst, p)
	} else {
		dst = append(dst, p)
	}
	if !b.raw {
		for i := at; i < len(dst); i++ {
			dst[i].text = toByteChars(dst[i].text)
		}
	}
	return dst
}
