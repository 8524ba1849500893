package tokenizer

import (
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/tokenizer/internal/unidata"
)

// A piece is a non-empty part of a text before the model encodes it.
type piece struct {
	text string
	// start marks the piece at the start of the text. Metaspace with prepend_scheme
	// "first" needs it.
	start bool
}

// A preTokenizer cuts a piece and appends the parts to dst. It is safe for concurrent use.
type preTokenizer interface {
	cut(dst []piece, p piece) []piece
}

// readPreTokenizer builds the pre-tokenizer of a description. It returns nil for null.
func readPreTokenizer(n *node) (preTokenizer, error) {
	if n.isNull() {
		return nil, nil
	}
	name, err := n.typeName()
	if err != nil {
		return nil, err
	}
	props := unidata.Load()
	switch name {
	case "Sequence":
		all, err := readSequence(n, "pretokenizers", "pre-tokenizer", readPreTokenizer)
		return preTokenizerSequence(all), err
	case "ByteLevel":
		return readByteLevel(n)
	case "Metaspace":
		return readMetaspace(n)
	case "Split":
		return readSplit(n)
	case "Whitespace":
		return split{find: wordsAndSymbols(props), behavior: removed, invert: true}, nil
	case "WhitespaceSplit":
		return split{find: one(func(r rune) bool { return props.Is(unidata.White, r) }), behavior: removed}, nil
	case "CharDelimiterSplit":
		delimiter, err := n.wantRune("delimiter")
		return split{find: one(func(r rune) bool { return r == delimiter }), behavior: removed}, err
	case "Punctuation":
		return readPunctuation(n)
	case "Digits":
		return readDigits(n)
	case "BertPreTokenizer":
		return bertWords{props}, nil
	case "UnicodeScripts":
		return unicodeScripts{}, nil
	case "FixedLength":
		return readFixedLength(n)
	}
	return nil, n.errorf("pre-tokenizer %s is not supported", quote(name))
}

// A preTokenizerSequence applies its pre-tokenizers in order, each to the pieces of the
// one before.
type preTokenizerSequence []preTokenizer

func (all preTokenizerSequence) cut(dst []piece, p piece) []piece {
	switch len(all) {
	case 0:
		return append(dst, p)
	case 1:
		return all[0].cut(dst, p)
	}
	if first, ok := all[0].(isolate); ok { // the same as below without a list of pieces
		for i := 0; i < len(p.text); {
			end := first.next(p.text, i)
			dst = all[1:].cut(dst, piece{p.text[i:end], p.start && i == 0})
			i = end
		}
		return dst
	}
	for _, part := range all[0].cut(nil, p) {
		dst = all[1:].cut(dst, part)
	}
	return dst
}

// bertWords is the pre-tokenizer BertPreTokenizer: it removes white space and makes each
// punctuation mark a piece.
type bertWords struct{ props *unidata.Props }

func (b bertWords) cut(dst []piece, p piece) []piece {
	begin := 0
	end := func(i int) {
		if begin < i {
			dst = append(dst, piece{p.text[begin:i], p.start && begin == 0})
		}
	}
	for i, r := range p.text {
		if !b.props.Is(unidata.White|unidata.Punctuation, r) {
			continue
		}
		end(i)
		begin = i
		if b.props.Is(unidata.Punctuation, r) {
			end(i + utf8.RuneLen(r))
		}
		begin = i + utf8.RuneLen(r)
	}
	end(len(p.text))
	return dst
}

// one returns a scanner of single characters.
func one(is func(rune) bool) scanner {
	return func(s string, i int) int {
		r, n := utf8.DecodeRuneInString(s[i:])
		if is(r) {
			return i + n
		}
		return i
	}
}

// wordsAndSymbols returns a scanner of \w+|[^\w\s]+.
func wordsAndSymbols(props *unidata.Props) scanner {
	kind := func(s string, i int) (word bool, n int) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if props.Is(unidata.White, r) {
			return false, 0
		}
		return props.Is(unidata.Word, r), n
	}
	return func(s string, i int) int {
		first, n := kind(s, i)
		for n > 0 {
			i += n
			if i == len(s) {
				break
			}
			var word bool
			if word, n = kind(s, i); word != first {
				break
			}
		}
		return i
	}
}

func readPunctuation(n *node) (preTokenizer, error) {
	props := unidata.Load()
	s := split{find: one(func(r rune) bool { return props.Is(unidata.Punctuation, r) }), behavior: isolated}
	if b := n.member("behavior"); b != nil {
		var err error
		if s.behavior, err = readBehavior(b); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func readDigits(n *node) (preTokenizer, error) {
	props := unidata.Load()
	individual, err := n.wantBool("individual_digits")
	if err != nil {
		return nil, err
	}
	s := split{find: one(func(r rune) bool { return props.Is(unidata.Numeric, r) }), behavior: contiguous}
	if individual {
		s.behavior = isolated
	}
	return s, nil
}

// unicodeScripts is the pre-tokenizer UnicodeScripts: it cuts where the script changes. As
// in the library, characters without a script at the start of a text are lost.
type unicodeScripts struct{}

func (unicodeScripts) cut(dst []piece, p piece) []piece {
	last, begin := -1, -1
	for i, r := range p.text {
		script := unidata.Script(r)
		if script == unidata.AnyScript {
			continue
		}
		if script != last {
			if begin >= 0 {
				dst = append(dst, piece{p.text[begin:i], p.start && begin == 0})
			}
			begin, last = i, script
		}
	}
	if begin >= 0 {
		dst = append(dst, piece{p.text[begin:], p.start && begin == 0})
	}
	return dst
}

// fixedLength is the pre-tokenizer FixedLength: it cuts after this many characters.
type fixedLength int

func readFixedLength(n *node) (preTokenizer, error) {
	m := n.member("length")
	if m == nil {
		return fixedLength(5), nil // the library's default
	}
	length, err := m.uint32()
	if err != nil {
		return nil, err
	}
	if length == 0 {
		return nil, m.errorf("expected at least 1, found 0")
	}
	return fixedLength(length), nil
}

func (length fixedLength) cut(dst []piece, p piece) []piece {
	begin, count := 0, 0
	for i := range p.text {
		if count == int(length) {
			dst = append(dst, piece{p.text[begin:i], p.start && begin == 0})
			begin, count = i, 0
		}
		count++
	}
	return append(dst, piece{p.text[begin:], p.start && begin == 0})
}
