package tokenizer

import (
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/tokenizer/internal/unidata"
)

// The regular expressions of common tokenizers, as their files spell them. Each has a
// scanner, which is used for exactly this spelling.
const (
	gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

	anyCaseContractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	asciiContractions   = `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`
	shortContractions   = `'(?i:[sdmt]|ll|ve|re)`

	letterWords  = `[^\r\n\p{L}\p{N}]?\p{L}+`
	markedWords  = `[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+`
	capitalWords = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`
	capitals     = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`

	blanks       = `\s*[\r\n]+|\s+(?!\S)|\s+`
	symbols      = ` ?[^\s\p{L}\p{N}]+[\r\n]*`
	slashSymbols = ` ?[^\s\p{L}\p{N}]+[\r\n/]*`

	digitsPattern   = `\p{N}{1,3}`
	han             = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
	deepseekPattern = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+" +
		`|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|` + blanks

	o200kPattern = capitalWords + anyCaseContractions + `?|` + capitals + anyCaseContractions + `?|\p{N}{1,3}|` + slashSymbols + `|` + blanks
)

// knownPattern returns the scanner of a regular expression, nil if it has none. Line ends
// may be literal instead of escaped.
func knownPattern(pattern string) scanner {
	pattern = strings.NewReplacer("\r", `\r`, "\n", `\n`).Replace(pattern)
	c := newClasses()
	switch pattern {
	case gpt2Pattern:
		return c.gpt2
	case digitsPattern:
		return c.digits
	case han:
		return scanHan
	case deepseekPattern:
		return c.deepseek
	case o200kPattern:
		return wordScanner{classes: c, capitals: true, contractions: foldedContractions, digits: 3, slash: true}.scan
	case capitalWords + `|` + capitals + `|\p{N}|` + slashSymbols + `|` + blanks: // Mistral's tekken
		return wordScanner{classes: c, capitals: true, digits: 1, slash: true}.scan
	}
	// The patterns of cl100k (GPT-4), Llama 3, Qwen and others differ in three places.
	for text, kind := range map[string]contractionKind{
		anyCaseContractions: foldedContractions, asciiContractions: asciiCaseContractions, shortContractions: foldedContractions,
	} {
		rest, ok := strings.CutPrefix(pattern, text+"|")
		if !ok {
			continue
		}
		s := wordScanner{classes: c, contractions: kind}
		switch rest {
		case letterWords + `|\p{N}{1,3}|` + symbols + `|` + blanks:
			s.digits = 3
		case letterWords + `|\p{N}|` + symbols + `|` + blanks:
			s.digits = 1
		case markedWords + `|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|` + blanks: // Qwen 3.5
			s.digits, s.marks = 1, true
		default:
			return nil
		}
		return s.scan
	}
	return nil
}

// skipTo returns the skip function of an isolate for a pattern with rare matches, else nil.
func skipTo(pattern string) func(s string, i int) int {
	switch pattern {
	case digitsPattern:
		c := newClasses()
		return func(s string, i int) int { return c.runWithout(s, i, unidata.Number) }
	case han:
		return func(s string, i int) int {
			for i < len(s) && s[i] < hanFirst {
				i++
			}
			return i
		}
	}
	return nil
}

// classes looks up character classes, with a separate table for ASCII.
type classes struct {
	ascii [utf8.RuneSelf]uint8
	props *unidata.Props
}

func newClasses() *classes {
	c := &classes{props: unidata.Load()}
	for r := range c.ascii {
		c.ascii[r] = c.props.Class(rune(r))
	}
	return c
}

// at returns the classes of the character at s[i] and its length, or 0, 0 at the end.
func (c *classes) at(s string, i int) (class uint8, size int) {
	if i < len(s) && s[i] < utf8.RuneSelf {
		return c.ascii[s[i]], 1
	}
	return c.props.ClassAt(s, i)
}

// run returns the end of the run of characters from s[i] on that have one of the classes.
func (c *classes) run(s string, i int, class uint8) int {
	for i < len(s) {
		if s[i] < utf8.RuneSelf {
			if c.ascii[s[i]]&class == 0 {
				break
			}
			i++
			continue
		}
		has, n := c.props.ClassAt(s, i)
		if has&class == 0 {
			break
		}
		i += n
	}
	return i
}

// runWithout returns the end of the run of characters from s[i] on without any of the
// classes.
func (c *classes) runWithout(s string, i int, class uint8) int {
	for i < len(s) {
		if s[i] < utf8.RuneSelf {
			if c.ascii[s[i]]&class != 0 {
				break
			}
			i++
			continue
		}
		has, n := c.props.ClassAt(s, i)
		if has&class != 0 {
			break
		}
		i += n
	}
	return i
}

const (
	letterOrNumber = unidata.Letter | unidata.Number
	notSymbol      = unidata.Space | letterOrNumber
)

func isLineEnd(b byte) bool { return b == '\r' || b == '\n' }

// gpt2 scans gpt2Pattern.
func (c *classes) gpt2(s string, i int) int {
	if end := asciiContraction(s, i, false); end > i {
		return end
	}
	at := i
	if s[i] == ' ' {
		at++
	}
	switch class, n := c.at(s, at); {
	case n == 0: // a blank at the end
		return at
	case class&unidata.Letter != 0:
		return c.run(s, at+n, unidata.Letter)
	case class&unidata.Number != 0:
		return c.run(s, at+n, unidata.Number)
	case class&unidata.Space == 0:
		return c.runWithout(s, at+n, notSymbol)
	}
	return c.spaces(s, i)
}

// spaces scans \s+(?!\S)|\s+ from a white space character at s[i]: the whole run without
// its last character. It includes the last one at the end of the text and in a run of one.
func (c *classes) spaces(s string, i int) int {
	end := c.run(s, i, unidata.Space)
	if end == len(s) {
		return end
	}
	_, n := utf8.DecodeLastRuneInString(s[i:end])
	if end-n > i {
		return end - n
	}
	return end
}

// blanks scans \s*[\r\n]+|\s+(?!\S)|\s+: up to the last line end of the run. A run
// without a line end is scanned by spaces.
func (c *classes) blanks(s string, i int) int {
	end := c.run(s, i, unidata.Space)
	if at := strings.LastIndexAny(s[i:end], "\r\n"); at >= 0 {
		return i + at + 1
	}
	if end == i {
		return i
	}
	return c.spaces(s, i)
}

// digits scans \p{N}{1,3}.
func (c *classes) digits(s string, i int) int { return c.numbers(s, i, 3) }

// numbers returns the end of at most limit numeric characters.
func (c *classes) numbers(s string, i, limit int) int {
	for range limit {
		class, n := c.at(s, i)
		if class&unidata.Number == 0 {
			break
		}
		i += n
	}
	return i
}

// hanFirst is the lowest first byte of the matches of han.
const hanFirst = 0xE3

// scanHan scans the pattern han.
func scanHan(s string, i int) int {
	for i < len(s) && s[i] >= hanFirst {
		r, n := utf8.DecodeRuneInString(s[i:])
		if (r < 0x3040 || r > 0x30FF) && (r < 0x4E00 || r > 0x9FA5) {
			break
		}
		i += n
	}
	return i
}

// deepseek scans deepseekPattern. Numbers and some control characters are in no match.
func (c *classes) deepseek(s string, i int) int {
	const symbol = unidata.Punct | unidata.Symbol
	class, n := c.at(s, i)
	if s[i] < utf8.RuneSelf && class&symbol != 0 {
		if end := asciiLetters(s, i+1); end > i+1 {
			return end
		}
	}
	const word = unidata.Letter | unidata.Mark
	if class&(unidata.Letter|symbol) == 0 && !isLineEnd(s[i]) {
		if next, _ := c.at(s, i+n); next&word != 0 {
			return c.run(s, i+n, word)
		}
	}
	if class&word != 0 {
		return c.run(s, i, word)
	}
	at := i
	if s[i] == ' ' {
		at++
	}
	if end := c.run(s, at, symbol); end > at {
		for end < len(s) && isLineEnd(s[end]) {
			end++
		}
		return end
	}
	return c.blanks(s, i)
}

func asciiLetters(s string, i int) int {
	for i < len(s) && (s[i]|0x20) >= 'a' && (s[i]|0x20) <= 'z' {
		i++
	}
	return i
}

// contractionKind selects how 's 't 're 've 'm 'll 'd match.
type contractionKind uint8

const (
	noContractions        contractionKind = iota
	asciiCaseContractions                 // in either case
	foldedContractions                    // also with ſ (U+017F), which folds to s
)

// asciiContraction returns the end of a contraction at s[i], or i.
func asciiContraction(s string, i int, anyCase bool) int {
	if s[i] != '\'' || i+1 >= len(s) {
		return i
	}
	lower := func(at int) byte {
		if at >= len(s) {
			return 0
		}
		b := s[at]
		if anyCase && 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		return b
	}
	switch lower(i + 1) {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		if lower(i+2) == 'e' {
			return i + 3
		}
	case 'l':
		if lower(i+2) == 'l' {
			return i + 3
		}
	}
	return i
}

// A wordScanner scans the patterns of cl100k and o200k and their variants:
//
//	contractions | words | \p{N}{1,digits} | symbols | blanks
//
// Words of o200k end before a capital after a small letter, and include a contraction at
// their end.
type wordScanner struct {
	*classes
	contractions contractionKind
	capitals     bool // words as in o200k
	marks        bool // \p{M} belongs to words
	digits       int
	slash        bool // a run of symbols includes / as it includes line ends
}

func (w wordScanner) scan(s string, i int) int {
	if !w.capitals {
		if end := w.contraction(s, i); end > i {
			return end
		}
	}
	class, n := w.at(s, i)
	if w.capitals {
		if end := w.capitalWord(s, i, class, n); end > i {
			return end
		}
	} else if end := w.word(s, i, class, n); end > i {
		return end
	}
	if class&unidata.Number != 0 {
		return w.numbers(s, i+n, w.digits-1)
	}
	without := notSymbol
	if w.marks {
		without |= unidata.Mark
	}
	at := i
	if s[i] == ' ' {
		at++
	}
	if end := w.runWithout(s, at, without); end > at {
		for end < len(s) && (isLineEnd(s[end]) || w.slash && s[end] == '/') {
			end++
		}
		return end
	}
	return w.blanks(s, i)
}

func (w wordScanner) contraction(s string, i int) int {
	if w.contractions == noContractions || i >= len(s) {
		return i
	}
	if end := asciiContraction(s, i, true); end > i {
		return end
	}
	if w.contractions == foldedContractions && strings.HasPrefix(s[i:], "'\u017f") {
		return i + len("'\u017f")
	}
	return i
}

// leads reports whether the character at s[i] matches [^\r\n\p{L}\p{N}].
func leads(s string, i int, class uint8) bool {
	return class&letterOrNumber == 0 && !isLineEnd(s[i])
}

// word scans [^\r\n\p{L}\p{N}]?\p{L}+, or with [\p{L}\p{M}]+.
func (w wordScanner) word(s string, i int, class uint8, n int) int {
	letters := unidata.Letter
	if w.marks {
		letters |= unidata.Mark
	}
	if leads(s, i, class) {
		if next, _ := w.at(s, i+n); next&letters != 0 {
			return w.run(s, i+n, letters)
		}
	}
	return w.run(s, i, letters)
}

// capitalWord scans o200k's two kinds of words. Each kind first tries to start with a
// character that is not a letter, then without it. A mark can be either.
func (w wordScanner) capitalWord(s string, i int, class uint8, n int) int {
	lead := leads(s, i, class)
	end := i
	if lead {
		end = w.capitalsThenSmall(s, i+n, i)
	}
	if end == i && class&(unidata.Upper|unidata.Lower) != 0 {
		end = w.capitalsThenSmall(s, i, i)
	}
	if end == i && lead {
		end = w.capitalsOnly(s, i+n, i)
	}
	if end == i {
		end = w.capitalsOnly(s, i, i)
	}
	if end > i {
		end = w.contraction(s, end)
	}
	return end
}

// capitalsThenSmall scans [upper]*[lower]+ from s[at]. Letters without case and marks belong
// to both classes. It returns none if there is no match.
func (w wordScanner) capitalsThenSmall(s string, at, none int) int {
	upper := w.run(s, at, unidata.Upper)
	if end := w.run(s, upper, unidata.Lower); end > upper {
		return end
	}
	// Give back capitals until the last one also counts as a small letter.
	for upper > at {
		_, n := utf8.DecodeLastRuneInString(s[at:upper])
		if class, _ := w.at(s, upper-n); class&unidata.Lower != 0 {
			return upper
		}
		upper -= n
	}
	return none
}

// capitalsOnly scans [upper]+[lower]* where no lower follows; capitalsThenSmall matches the
// other cases. It returns none if there is no match.
func (w wordScanner) capitalsOnly(s string, at, none int) int {
	if end := w.run(s, at, unidata.Upper); end > at {
		return end
	}
	return none
}
