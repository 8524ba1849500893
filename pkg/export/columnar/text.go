package columnar

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/overlap"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar/internal/pages"
)

// textEscape starts an escaped text.
const textEscape = "base64:"

// Columns of text are UTF-8, because DuckDB and polars refuse anything else, while
// perf_analyzer's strings may be any bytes. So a string that is not UTF-8 is stored as
// textEscape and its bytes in base64 (RFC 4648, padded). A string that starts with
// textEscape is stored in the same way, so that the two cannot be confused.

// appendText appends what stands in the file for s.
func appendText(dst, s []byte) []byte {
	if utf8.Valid(s) && !bytes.HasPrefix(s, []byte(textEscape)) {
		return append(dst, s...)
	}
	return base64.StdEncoding.AppendEncode(append(dst, textEscape...), s)
}

// originalText is the inverse of appendText. It returns b itself where nothing
// was escaped, or where what follows the escape is no base64 (written by hand).
func originalText(b []byte) []byte {
	rest, escaped := bytes.CutPrefix(b, []byte(textEscape))
	if !escaped {
		return b
	}
	s, err := base64.StdEncoding.AppendDecode(nil, rest)
	if err != nil {
		return b
	}
	if s == nil {
		s = []byte{}
	}
	return s
}

// sharedTexts is the part of a column of texts that stores only what follows the bytes that
// a text shares with the text before: the events of a streamed answer differ in few bytes. A
// Parquet file has such columns as DELTA_BYTE_ARRAY.
type sharedTexts struct {
	prefixes []int32 // number of shared bytes of each text; 0 for null and for the first text
	last     []byte  // the last text that is not null
	bytes    int     // of all texts as a whole
	// least and most are the minimum and the maximum, if some is set.
	some        bool
	least, most textBound
	// envelope is of the last text, if that was not escaped; nil without one.
	envelope *export.Envelope
	memory   []byte
}

func (s *sharedTexts) reset() {
	s.prefixes, s.last, s.bytes, s.some, s.envelope = s.prefixes[:0], s.last[:0], 0, false, nil
}

// described returns what the pages of the texts need, valid until s changes.
func (s *sharedTexts) described() *pages.SharedTexts {
	return &pages.SharedTexts{Prefixes: s.prefixes, Some: s.some, Least: s.least.text, Most: s.most.text}
}

// appendValue appends the rest of the text of v to b.
func (s *sharedTexts) appendValue(b []byte, v *export.Value) []byte {
	e := v.Envelope
	if e == nil {
		return append(b, s.append(v.Data)...)
	}
	if s.envelope != e || !isASCII(v.Data) && !utf8.Valid(v.Data) {
		s.memory = append(append(append(s.memory[:0], e.Front...), v.Data...), e.Back...)
		b = append(b, s.append(s.memory)...)
		if len(s.last) == len(s.memory) && len(e.Front) >= len(textEscape) { // it was not escaped, as no other text in e
			s.envelope = e
		}
		return b
	}
	// The last text has the same front. Envelopes are cut between characters.
	shared := s.shared(len(e.Front), v.Data)
	back := e.Back
	data := v.Data[shared-len(e.Front):]
	if len(data) == 0 {
		before := shared
		shared = s.shared(before, back)
		back = back[shared-before:]
	}
	before := len(b)
	b = append(append(b, data...), back...)
	s.last = append(s.last[:shared], b[before:]...)
	s.added(shared)
	return b
}

// shared returns the number of bytes at the start of the last text that the next text shares. That text
// shares the first bytes, known in number, and goes on with rest.
func (s *sharedTexts) shared(known int, rest []byte) int {
	n := known + overlap.Prefix(s.last[known:], rest)
	for n < len(s.last) && !utf8.RuneStart(s.last[n]) {
		n-- // so that the text is UTF-8 if the bytes that follow are
	}
	return n
}

// append adds text and returns its rest, as it is in the file. The rest is valid until the next
// call.
func (s *sharedTexts) append(text []byte) (rest []byte) {
	s.envelope = nil
	shared := s.shared(0, text)
	if rest = text[shared:]; !utf8.Valid(rest) || bytes.HasPrefix(text, []byte(textEscape)) {
		escaped := base64.StdEncoding.AppendEncode([]byte(textEscape), text)
		shared = s.shared(0, escaped)
		rest = escaped[shared:]
	}
	s.last = append(s.last[:shared], rest...)
	s.added(shared)
	return rest
}

// added counts s.last, the last text, which shares bytes with the text before.
func (s *sharedTexts) added(shared int) {
	s.prefixes = append(s.prefixes, int32(shared))
	s.bytes += len(s.last)
	if !s.some {
		s.some = true
		s.least.set(s.last)
		s.most.set(s.last)
		return
	}
	if s.least.order(s.last, shared) < 0 {
		s.least.set(s.last)
	}
	if s.most.order(s.last, shared) > 0 {
		s.most.set(s.last)
	}
}

// A textBound is the minimum or the maximum of texts.
type textBound struct {
	text   []byte
	shared int // number of bytes at the start of text that the last text has, too
}

// set makes last, the last text, the bound.
func (b *textBound) set(last []byte) {
	b.text, b.shared = append(b.text[:0], last...), len(last)
}

// order returns a number below 0 if last, the last text, comes before the bound, above 0 if it
// comes after the bound, and 0 if last is no new bound. last shares its first bytes, shared in
// number, with the previous text, which was last in the previous call.
func (b *textBound) order(last []byte, shared int) int {
	if shared > b.shared {
		return 0 // on the same side of the bound as the previous text
	}
	b.shared = shared + overlap.Prefix(last[shared:], b.text[shared:])
	if b.shared < len(last) && b.shared < len(b.text) {
		return int(last[b.shared]) - int(b.text[b.shared])
	}
	return len(last) - len(b.text)
}

// isASCII reports whether all bytes of b are ASCII.
func isASCII(b []byte) bool {
	all := byte(0)
	for _, x := range b {
		all |= x
	}
	return all < utf8.RuneSelf
}

// appendNull adds a null.
func (s *sharedTexts) appendNull() { s.prefixes = append(s.prefixes, 0) }

// appendAll adds the texts of o, whose first text shares nothing.
func (s *sharedTexts) appendAll(o *sharedTexts) {
	s.prefixes = append(s.prefixes, o.prefixes...)
	s.bytes += o.bytes
	if !o.some {
		return
	}
	s.last = append(s.last[:0], o.last...)
	if !s.some || bytes.Compare(o.least.text, s.least.text) < 0 {
		s.least.set(o.least.text)
	}
	if !s.some || bytes.Compare(o.most.text, s.most.text) > 0 {
		s.most.set(o.most.text)
	}
	s.some = true
	s.least.shared, s.most.shared = overlap.Prefix(s.last, s.least.text), overlap.Prefix(s.last, s.most.text)
}
