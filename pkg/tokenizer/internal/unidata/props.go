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

// Traits of a rune that single components of the library use.
const (
	Word        uint8 = 1 << iota // \w of Whitespace and of single_word
	White                         // removed by WhitespaceSplit and Strip
	Numeric                       // separated by Digits
	Punctuation                   // separated by Punctuation and BertPreTokenizer
	Other                         // removed by BertNormalizer's clean_text
	Nonspacing                    // removed by BertNormalizer's strip_accents
	Combining                     // removed by StripAccents
)

// Props holds the properties of single runes. It is immutable.
type Props struct {
	ascii [utf8.RuneSelf]uint8 // classes
	table *stage[uint16]       // class | trait<<8
	lower map[rune]rune        // without U+0130, whose lower case is two characters
}

// Load returns the Props of the process, unpacked on first use.
var Load = sync.OnceValue(func() *Props {
	flat := make([]uint16, maxRune)
	for i, run := range categoryRuns {
		if run[1] < 0 {
			continue
		}
		class := classOf(categoryNames[run[1]])
		for r := run[0]; r < categoryRuns[i+1][0]; r++ { // the last run has no category
			flat[r] = uint16(class)
		}
	}
	space := differing(spaceExceptions, "Z")
	mark(flat, space, uint16(Space))
	mark(flat, space, uint16(White)<<8)
	mark(flat, differing(wordExceptions, wordCategories...), uint16(Word)<<8)
	mark(flat, differing(numericExceptions, "N"), uint16(Numeric)<<8)
	mark(flat, differing(punctuationExceptions, "P"), uint16(Punctuation)<<8)
	mark(flat, differing(otherExceptions, "C"), uint16(Other)<<8)
	mark(flat, differing(nonspacingExceptions, "Mn"), uint16(Nonspacing)<<8)
	mark(flat, differing(combiningExceptions, "M"), uint16(Combining)<<8)
	p := &Props{table: spread(flat), lower: map[rune]rune{}}
	for _, run := range lowercaseRuns {
		for r := run[0]; r <= run[1]; r += run[2] {
			p.lower[r] = r + run[3]
		}
	}
	for r := range p.ascii {
		p.ascii[r] = uint8(flat[r])
	}
	return p
})

// classOf returns the classes of a general category.
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

// ClassAt returns the classes and the length of the rune at s[i:], or 0, 0 at the end of s. s
// must be valid UTF-8.
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
	if r == 'İ' {
		return append(dst, "i\u0307"...)
	}
	if l, ok := p.lower[r]; ok {
		r = l
	}
	return utf8.AppendRune(dst, r)
}
