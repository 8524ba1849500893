package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/tokenizer/internal/unidata"
)

// A normalizer rewrites text before it is cut. Text and result are valid UTF-8; an
// unchanged text is returned itself. A result of more than most bytes may be incomplete,
// and the caller refuses it. A normalizer is safe for concurrent use.
type normalizer interface {
	normalize(s string, most int) string
}

// A firstDropper is a normalizer that may remove the first character of a text. Metaspace
// with prepend_scheme "first" needs to know: the character that is then first did not
// start the text.
type firstDropper interface {
	dropsFirst(s string) bool
}

// readNormalizer builds the normalizer of a description. It returns nil for null.
func readNormalizer(n *node) (normalizer, error) {
	if n.isNull() {
		return nil, nil
	}
	name, err := n.typeName()
	if err != nil {
		return nil, err
	}
	switch name {
	case "Sequence":
		all, err := readSequence(n, "normalizers", "normalizer", readNormalizer)
		return normalizerSequence(all), err
	case "NFC", "NFD", "NFKC", "NFKD":
		return unicodeForms[name], nil
	case "Lowercase":
		return newLowercase(), nil
	case "Strip":
		return readStrip(n)
	case "StripAccents":
		return newStripAccents(), nil
	case "Prepend":
		return readPrepend(n)
	case "Replace":
		return readReplace(n)
	case "BertNormalizer":
		return readBertNormalizer(n)
	case "Nmt":
		return nmt{}, nil
	case "Precompiled":
		return readPrecompiled(n)
	case "ByteLevel":
		return byteLevelNormalizer{}, nil
	}
	return nil, n.errorf("normalizer %s is not supported", quote(name))
}

// A normalizerSequence applies its normalizers in order.
type normalizerSequence []normalizer

func (all normalizerSequence) normalize(s string, most int) string {
	for _, n := range all {
		if s = n.normalize(s, most); len(s) > most {
			break
		}
	}
	return s
}

func (all normalizerSequence) dropsFirst(s string) bool {
	most := longest(len(s))
	for _, n := range all {
		if dropsFirst(n, s) {
			return true
		}
		if s = n.normalize(s, most); len(s) > most {
			break
		}
	}
	return false
}

func dropsFirst(n normalizer, s string) bool {
	d, ok := n.(firstDropper)
	return ok && d.dropsFirst(s)
}

// unicodeForms holds the normalizers NFC, NFD, NFKC and NFKD by name.
var unicodeForms = map[string]unicodeForm{
	"NFC":  unicodeForm(unidata.NFC),
	"NFD":  unicodeForm(unidata.NFD),
	"NFKC": unicodeForm(unidata.NFKC),
	"NFKD": unicodeForm(unidata.NFKD),
}

type unicodeForm unidata.Form

func (f unicodeForm) normalize(s string, _ int) string { return unidata.Form(f).String(s) }

// lowercase is the normalizer Lowercase. It maps each character independently, so there is
// no final sigma.
type lowercase struct{ props *unidata.Props }

func newLowercase() lowercase { return lowercase{unidata.Load()} }

func (l lowercase) normalize(s string, _ int) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf && (s[i] < 'A' || s[i] > 'Z') {
		i++
	}
	if i == len(s) {
		return s
	}
	out := append(make([]byte, 0, len(s)+8), s[:i]...)
	for _, r := range s[i:] {
		out = l.props.AppendLower(out, r)
	}
	return string(out)
}

// strip is the normalizer Strip: it removes white space from the ends of the text.
type strip struct {
	props       *unidata.Props
	left, right bool
}

func readStrip(n *node) (normalizer, error) {
	left, err := n.wantBool("strip_left")
	if err != nil {
		return nil, err
	}
	right, err := n.wantBool("strip_right")
	if err != nil {
		return nil, err
	}
	return strip{unidata.Load(), left, right}, nil
}

func (t strip) white(r rune) bool { return t.props.Is(unidata.White, r) }

func (t strip) normalize(s string, _ int) string {
	if t.left {
		s = strings.TrimLeftFunc(s, t.white)
	}
	if t.right {
		s = strings.TrimRightFunc(s, t.white)
	}
	return s
}

func (t strip) dropsFirst(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && t.left && t.white(r)
}

// filter removes characters. It is the normalizer StripAccents.
type filter struct {
	drop func(r rune) bool
}

func newStripAccents() filter {
	props := unidata.Load()
	return filter{func(r rune) bool { return props.Is(unidata.Combining, r) }}
}

func (f filter) normalize(s string, _ int) string {
	return strings.Map(func(r rune) rune {
		if f.drop(r) {
			return -1
		}
		return r
	}, s)
}

func (f filter) dropsFirst(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && f.drop(r)
}

// prepend is the normalizer Prepend: it puts a prefix before a non-empty text.
type prepend string

func readPrepend(n *node) (normalizer, error) {
	s, err := n.wantString("prepend")
	return prepend(s), err
}

func (p prepend) normalize(s string, _ int) string {
	if s == "" {
		return s
	}
	return string(p) + s
}

// replace is the normalizer Replace: it replaces matches of a pattern by a
// literal text.
type replace struct {
	find    matcher
	literal string // the pattern if it is literal, else ""
	content string
	blanks  bool // the pattern is the regular expression for several blanks
}

const severalBlanks = " {2,}"

func readReplace(n *node) (*replace, error) {
	find, text, err := readPattern(n)
	if err != nil {
		return nil, err
	}
	literalText := ""
	if _, ok := find.(literal); ok {
		literalText = text
	}
	content, err := n.wantString("content")
	if err != nil {
		return nil, err
	}
	return &replace{find: find, literal: literalText, content: content, blanks: literalText == "" && text == severalBlanks}, nil
}

func (r *replace) normalize(s string, most int) string {
	if r.literal != "" && r.fits(s, most) {
		return strings.ReplaceAll(s, r.literal, r.content)
	}
	if r.blanks && !strings.Contains(s, "  ") {
		return s
	}
	var out strings.Builder
	done := 0
	for m := r.find.matches(s); m.next(); {
		out.WriteString(s[done:m.start])
		out.WriteString(r.content)
		done = m.end
		if out.Len() > most {
			return out.String()
		}
	}
	if done == 0 && out.Len() == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// fits reports whether the result of replacing r.literal, which is not empty, in s has at
// most this many bytes.
func (r *replace) fits(s string, most int) bool {
	growth := max(0, len(r.content)-len(r.literal))
	matches := len(s) / len(r.literal) // or fewer
	return len(s)+matches*growth <= most || len(s)+strings.Count(s, r.literal)*growth <= most
}

// nmt is the normalizer Nmt: it removes control characters and replaces white space by
// blanks.
type nmt struct{}

func (nmt) normalize(s string, _ int) string { return strings.Map(nmtRune, s) }

func (nmt) dropsFirst(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && nmtRune(r) < 0
}

func nmtRune(r rune) rune {
	switch {
	case r >= 0x01 && r <= 0x08, r == 0x0B, r >= 0x0E && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
		return -1
	case r == '\t', r == '\n', r == 0x0C, r == '\r',
		r == 0x1680, r >= 0x200B && r <= 0x200F, r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		return ' '
	}
	return r
}

// bertNormalizer is the normalizer BertNormalizer.
type bertNormalizer struct {
	props     *unidata.Props
	lower     lowercase
	clean     bool
	chinese   bool
	accents   bool
	lowercase bool
}

func readBertNormalizer(n *node) (normalizer, error) {
	b := bertNormalizer{props: unidata.Load(), lower: newLowercase()}
	var err error
	for _, f := range []struct {
		name string
		to   *bool
	}{{"clean_text", &b.clean}, {"handle_chinese_chars", &b.chinese}, {"lowercase", &b.lowercase}} {
		if *f.to, err = n.wantBool(f.name); err != nil {
			return nil, err
		}
	}
	// By default, accents are removed with capitals.
	b.accents, err = n.boolOr("strip_accents", b.lowercase)
	return b, err
}

func (b bertNormalizer) normalize(s string, most int) string {
	if isPlain(s) {
		if b.lowercase {
			s = b.lower.normalize(s, most)
		}
		return s
	}
	if b.clean {
		s = strings.Map(b.cleaned, s)
	}
	if b.chinese {
		s = spaceChinese(s)
	}
	if b.accents {
		s = unidata.NFD.String(s)
		s = filter{b.isAccent}.normalize(s, most)
	}
	if b.lowercase {
		s = b.lower.normalize(s, most)
	}
	return s
}

// isPlain reports whether s is printable ASCII, in which only capitals change.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func (b bertNormalizer) cleaned(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return ' '
	case r == 0, r == 0xFFFD, b.props.Is(unidata.Other, r):
		return -1
	case b.props.Is(unidata.White, r):
		return ' '
	}
	return r
}

func (b bertNormalizer) dropsFirst(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return false
	}
	if b.clean && b.cleaned(r) < 0 {
		return true
	}
	return b.accents && strings.TrimFunc(unidata.NFD.String(s[:n]), b.isAccent) == ""
}

func (b bertNormalizer) isAccent(r rune) bool { return b.props.Is(unidata.Nonspacing, r) }

// spaceChinese puts blanks around each Chinese character.
func spaceChinese(s string) string {
	at := strings.IndexFunc(s, isChinese)
	if at < 0 {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + len(s)/2)
	out.WriteString(s[:at])
	for _, r := range s[at:] {
		if isChinese(r) {
			out.WriteByte(' ')
			out.WriteRune(r)
			out.WriteByte(' ')
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// isChinese reports whether r is in a block that BERT counts as Chinese. As in the library,
// one block starts at 2B920 instead of 2B820.
func isChinese(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF, r >= 0x20000 && r <= 0x2A6DF,
		r >= 0x2A700 && r <= 0x2B73F, r >= 0x2B740 && r <= 0x2B81F, r >= 0x2B920 && r <= 0x2CEAF,
		r >= 0xF900 && r <= 0xFAFF, r >= 0x2F800 && r <= 0x2FA1F:
		return true
	}
	return false
}

// Bounds of a normalized text. Without them, a hostile file could turn one
// line into gigabytes, with several Replace steps or with a Precompiled step of long
// replacements. Real steps stay far below: NFKD turns one byte into at most 11, ByteLevel
// into 2, Replace with ▁ into 3.
const (
	freeGrowth = 1 << 20   // bytes that every result may have
	maxGrowth  = 16        // multiple of the text that a larger result may have
	maxGrown   = 256 << 20 // bytes of a result that is longer than its text
)

// longest returns the bound in bytes for the output of all normalizers for a text of n bytes.
func longest(n int) int {
	return max(n, freeGrowth, min(maxGrowth*n, maxGrown))
}

// refuse sets an error that Err returns: the normalizer made a text of so many bytes longer than longest allows.
func (t *Tokenizer) refuse(text int) {
	t.failed.set(fmt.Errorf("%s: its normalizer makes more than %d bytes of a text of %d bytes, so the text was not counted", t.name, longest(text), text))
}

// maxLengthening bounds the pre-tokenizers in a file that make text longer, up to five
// times each. Real files have one.
const maxLengthening = 2

// lengthening counts the parts of a pre-tokenizer that can make text longer.
func lengthening(p preTokenizer) int {
	switch p := p.(type) {
	case *byteLevel, *metaspace:
		return 1
	case preTokenizerSequence:
		n := 0
		for _, one := range p {
			n += lengthening(one)
		}
		return n
	}
	return 0
}
