package columnar

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/export"
)

// sharedTexts is the part of a column of texts that stores only what follows the bytes that
// a text shares with the text before: the events of a streamed answer differ in few bytes. A
// Parquet file has such columns as DELTA_BYTE_ARRAY.
type sharedTexts struct {
	prefixes []int32 // number of shared bytes of each text; 0 for null and for the first text
	last     []byte  // the last text that is not null
	bytes    int     // of all texts as a whole
	// least and most are the minimum and the maximum, if some is set.
	some        bool
	least, most []byte
	// envelope is of the last text, if that was not escaped; nil without one.
	envelope *export.Envelope
	memory   []byte
}

func (s *sharedTexts) reset() {
	s.prefixes, s.last, s.bytes, s.some, s.envelope = s.prefixes[:0], s.last[:0], 0, false, nil
}

// appendValue appends the rest of the text of v to b.
func (s *sharedTexts) appendValue(b []byte, v *export.Value) []byte {
	e := v.Envelope
	if e == nil {
		return append(b, s.append(v.Data)...)
	}
	if s.envelope != e || !utf8.Valid(v.Data) {
		s.memory = append(append(append(s.memory[:0], e.Front...), v.Data...), e.Back...)
		b = append(b, s.append(s.memory)...)
		if len(s.last) == len(s.memory) && len(e.Front) >= len(textEscape) { // it was not escaped, as no other text in e
			s.envelope = e
		}
		return b
	}
	// The last text has the same front. Envelopes are cut between characters.
	shared := len(e.Front) + commonPrefix(s.last[len(e.Front):], v.Data)
	for shared < len(s.last) && !utf8.RuneStart(s.last[shared]) {
		shared--
	}
	back := e.Back
	data := v.Data[shared-len(e.Front):]
	if len(data) == 0 {
		n := commonPrefix(s.last[shared:], back)
		for shared+n < len(s.last) && !utf8.RuneStart(s.last[shared+n]) {
			n--
		}
		shared += n
		back = back[n:]
	}
	s.last = append(append(s.last[:shared], data...), back...)
	s.added(shared)
	return append(append(b, data...), back...)
}

// append adds text and returns its rest, as it is in the file. The rest is valid until the next
// call.
func (s *sharedTexts) append(text []byte) (rest []byte) {
	s.envelope = nil
	shared := commonPrefix(s.last, text)
	for shared < len(s.last) && !utf8.RuneStart(s.last[shared]) {
		shared-- // so that the text is UTF-8 if the rest is
	}
	if rest = text[shared:]; !utf8.Valid(rest) || bytes.HasPrefix(text, []byte(textEscape)) {
		escaped := base64.StdEncoding.AppendEncode([]byte(textEscape), text)
		shared = commonPrefix(s.last, escaped)
		for shared < len(s.last) && !utf8.RuneStart(s.last[shared]) {
			shared--
		}
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
	switch {
	case !s.some:
		s.some, s.least, s.most = true, append(s.least[:0], s.last...), append(s.most[:0], s.last...)
	case bytes.Compare(s.last, s.least) < 0:
		s.least = append(s.least[:0], s.last...)
	case bytes.Compare(s.last, s.most) > 0:
		s.most = append(s.most[:0], s.last...)
	}
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
	if !s.some || bytes.Compare(o.least, s.least) < 0 {
		s.least = append(s.least[:0], o.least...)
	}
	if !s.some || bytes.Compare(o.most, s.most) > 0 {
		s.most = append(s.most[:0], o.most...)
	}
	s.some = true
}
