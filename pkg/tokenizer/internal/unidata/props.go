package unidata

import (
	"sync"
	"unicode/utf8"
)

// Classes of a rune in the library's regular expressions.
const (
	Letter uint8 = 1 << iota // \p{L}
	Number                   // \p{N}
	Space                    // \s
	Upper                    // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	Lower                    // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
	Mark                     // \p{M}
	Punct                    // \p{P}
	Symbol                   // \p{S}
)

// Traits of a rune that components of the library ask for one by one.
const (
	Word        uint8 = 1 << iota // \w of Whitespace and of single_word
	White                         // what WhitespaceSplit removes and Strip strips
	Numeric                       // what Digits cuts off
	Punctuation                   // what Punctuation and BertPreTokenizer cut off
	Other                         // what BertNormalizer cleans away
	Nonspacing                    // the accents that BertNormalizer strips
	Combining                     // what StripAccents removes
)

// Props answers questions about single runes. It is immutable.
type Props struct {
	ascii [utf8.RuneSelf]uint8 // classes
	table *stage[uint16]       // class | trait<<8
	lower map[rune]string
}

// Load returns the one Props of the process, spread out on first use.
var Load = sync.OnceValue(func() *Props {
	flat := make([]uint16, maxRune)
	for i, run := range categoryRuns {
		if run[1] < 0 {
			continue
		}
		class := classOf(categoryNames[run[1]])
		for r := run[0]; r < categoryRuns[i+1][0]; r++ { // the last run is of none
			flat[r] = uint16(class)
		}
	}
	mark(flat, spaceRuns, uint16(Space))
	for bit, runs := range [][]rune{wordRuns, whiteRuns, numericRuns, punctuationRuns, otherRuns, nonspacingRuns, combiningRuns} {
		mark(flat, runs, 1<<8<<bit)
	}
	p := &Props{table: spread(flat), lower: records(lowercase)}
	for r := range p.ascii {
		p.ascii[r] = uint8(flat[r])
	}
	return p
})

// classOf is the classes that a general category belongs to.
func classOf(category string) uint8 {
	switch category {
	case "Lu", "Lt":
		return Letter | Upper
	case "Ll":
		return Letter | Lower
	case "Lm", "Lo":
		return Letter | Upper | Lower
	}
	switch category[0] {
	case 'M':
		return Mark | Upper | Lower
	case 'N':
		return Number
	case 'P':
		return Punct
	case 'S':
		return Symbol
	}
	return 0
}

// Class returns the classes of r, a valid rune.
func (p *Props) Class(r rune) uint8 {
	if uint32(r) < utf8.RuneSelf {
		return p.ascii[r]
	}
	return uint8(p.table.at(r))
}

// ClassAt returns the classes of the rune at s[i:] and its length; 0, 0 at the
// end of s, which must be valid UTF-8.
func (p *Props) ClassAt(s string, i int) (class uint8, size int) {
	if i >= len(s) {
		return 0, 0
	}
	if c := s[i]; c < utf8.RuneSelf {
		return p.ascii[c], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return uint8(p.table.at(r)), n
}

// Is reports whether r, a valid rune, has one of the traits.
func (p *Props) Is(trait uint8, r rune) bool {
	return uint8(p.table.at(r)>>8)&trait != 0
}

// AppendLower appends the lower case of r, which may be several runes.
func (p *Props) AppendLower(dst []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(dst, byte(r))
	}
	if l, ok := p.lower[r]; ok {
		return append(dst, l...)
	}
	return utf8.AppendRune(dst, r)
}

// records makes a map of the generated records: a rune and what belongs to it.
func records(table string) map[rune]string {
	m := make(map[rune]string, len(table)/8)
	for len(table) > 0 {
		r, n := utf8.DecodeRuneInString(table)
		end := n
		for table[end] != '\n' {
			end++
		}
		m[r] = table[n:end]
		table = table[end+1:]
	}
	return m
}
