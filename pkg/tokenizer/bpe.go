package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// bpe is the model BPE. A piece starts as one symbol per character, or per byte if raw.
// Then the adjacent pair whose merge comes first in the list of merges becomes one symbol,
// the leftmost of several such pairs. This repeats until no pair has a merge.
type bpe struct {
	vocab *vocab
	pairs *pairTable

	// raw means that pieces are bytes, which the pre-tokenizer does not write as
	// characters. Every byte then has an id.
	raw    bool
	byteID [256]uint32
	// asciiID holds the id of each ASCII character, -1 for one outside the
	// vocabulary. It is for models without prefix and suffix.
	asciiID [utf8.RuneSelf]int64

	// A character outside the vocabulary becomes its bytes, such as <0x00>, else the
	// unknown token, else nothing.
	prefix       string // continuing_subword_prefix
	suffix       string // end_of_word_suffix
	byteFallback bool
	fallbackID   [256]int64 // -1 for a byte outside the vocabulary
	unk          int64      // -1 for none
	fuseUnk      bool

	ignoreMerges bool

	// mark is the character for a blank: wordMark or the blank itself. It is 0 if pieces
	// are never cut. Pieces are cut where no merge crosses, by joined: anywhere, or only
	// before mark. This cuts the long pieces of tokenizers without a pre-tokenizer into
	// words.
	mark     rune
	joined   *joinTable
	anywhere bool
}

// wordMark is SentencePiece's blank.
const wordMark = '▁'

// readBPE builds a bpe. byteLevel means that its pieces are bytes written as characters.
func readBPE(m *modelFile, byteLevel bool) (model, error) {
	if m.vocab == nil {
		return nil, m.errorf(`"vocab" is missing`)
	}
	if !m.hasMerges {
		return nil, m.errorf(`"merges" is missing`)
	}
	if d := m.member("dropout"); d != nil && strings.Trim(d.text, "0.") != "" {
		return nil, d.errorf("dropout %s is not supported; it makes counts random", d.text)
	}
	b := &bpe{vocab: m.vocab, unk: -1}
	var err error
	if b.prefix, err = m.stringOr("continuing_subword_prefix", ""); err != nil {
		return nil, err
	}
	if b.suffix, err = m.stringOr("end_of_word_suffix", ""); err != nil {
		return nil, err
	}
	for name, to := range map[string]*bool{"fuse_unk": &b.fuseUnk, "byte_fallback": &b.byteFallback, "ignore_merges": &b.ignoreMerges} {
		if *to, err = m.boolOr(name, false); err != nil {
			return nil, err
		}
	}
	if err := b.readPairs(m); err != nil {
		return nil, err
	}
	b.fallbackID = b.vocab.byteTokens()
	if byteLevel && b.prefix == "" && b.suffix == "" {
		b.readBytes()
	}
	if err := b.readUnk(m); err != nil {
		return nil, err
	}
	if !b.raw {
		b.findMark(m)
	}
	for i := range b.asciiID {
		b.asciiID[i] = -1
		if id, ok := b.vocab.id(string(rune(i))); ok {
			b.asciiID[i] = int64(id)
		}
	}
	return b, nil
}

// byteToken returns the token of a byte in a vocabulary with byte_fallback.
func byteToken(b byte) string { return fmt.Sprintf("<0x%02X>", b) }

func (b *bpe) readPairs(m *modelFile) error {
	b.pairs = newPairTable(len(m.merges))
	var joined []byte
	for rank, merge := range m.merges {
		var ids [2]uint32
		fail := func(token string) error {
			return m.doc.errorAt(m.mergeAt[rank], fmt.Sprintf("model.merges[%d]", rank), "token %s is not in the vocabulary", quote(token))
		}
		for i, token := range merge {
			var ok bool
			if ids[i], ok = b.vocab.id(token); !ok {
				return fail(token)
			}
		}
		joined = append(joined[:0], merge[0]...)
		if len(merge[1]) < len(b.prefix) {
			return m.doc.errorAt(m.mergeAt[rank], fmt.Sprintf("model.merges[%d]", rank), "token %s is shorter than continuing_subword_prefix", quote(merge[1]))
		}
		joined = append(joined, merge[1][len(b.prefix):]...)
		id, ok := b.vocab.ids[string(joined)]
		if !ok {
			return fail(string(joined))
		}
		b.pairs.set(ids[0], ids[1], uint32(rank), id)
	}
	return nil
}

// readBytes sets raw if the vocabulary holds the character of every byte.
func (b *bpe) readBytes() {
	for i := range b.byteID {
		id, ok := b.vocab.id(string(byteChars[i]))
		if !ok {
			return
		}
		b.byteID[i] = id
	}
	b.raw = true
}

// readUnk looks up the unknown token. It may be missing if it is never needed.
func (b *bpe) readUnk(m *modelFile) error {
	token, err := m.stringOr("unk_token", "")
	if err != nil || m.member("unk_token") == nil || b.raw {
		return err
	}
	id, ok := b.vocab.id(token)
	switch {
	case ok:
		b.unk = int64(id)
		return nil
	case b.byteFallback && b.allBytes():
		return nil
	}
	return m.member("unk_token").errorf("token %s is not in the vocabulary, so text that it stands for cannot be counted", quote(token))
}

func (b *bpe) allBytes() bool {
	for _, id := range b.fallbackID {
		if id < 0 {
			return false
		}
	}
	return true
}

// findMark sets mark and anywhere if pieces can be cut. They cannot if unknown characters
// could span a cut, because several of them become one token or nothing.
func (b *bpe) findMark(m *modelFile) {
	_, known := b.vocab.id(string(wordMark))
	allBytes := b.byteFallback && b.allBytes()
	dropsUnknown := b.unk < 0 && !allBytes
	if !known || dropsUnknown || b.ignoreMerges || b.prefix != "" || b.suffix != "" || b.mergesBytes(m) {
		return
	}
	b.mark, b.anywhere = wordMark, allBytes
	b.joined = newJoinTable(m.merges)
}

// mergesBytes reports whether a merge involves a byte of an unknown character.
func (b *bpe) mergesBytes(m *modelFile) bool {
	if !b.byteFallback {
		return false
	}
	isByte := map[string]bool{}
	for i := range b.fallbackID {
		isByte[byteToken(byte(i))] = true
	}
	for _, merge := range m.merges {
		if isByte[merge[0]] || isByte[merge[1]] {
			return true
		}
	}
	return false
}

func (b *bpe) vocabulary() *vocab { return b.vocab }

func (b *bpe) words() (pieces []string, ids []uint32) {
	var s scratch
	var out []uint32
	for id, token := range b.vocab.byID {
		if !b.vocab.present[id] || token == "" || b.vocab.ids[token] != uint32(id) {
			continue
		}
		ok := true
		switch {
		case b.raw:
			token, ok = fromByteChars(token)
		case b.mark == ' ':
			token, ok = withBlanks(token)
		}
		if !ok {
			continue // no text contains this token
		}
		// The text of a token may encode to other ids.
		if !b.ignoreMerges {
			if out = b.encode(out[:0], token, &s); len(out) != 1 || out[0] != uint32(id) {
				continue
			}
		}
		pieces = append(pieces, token)
		ids = append(ids, uint32(id))
	}
	return pieces, ids
}

// wordEnd returns the first position before a blank where piece can be cut, or its length. Cuts do not
// change the ids, and the parts repeat more often than whole pieces, which makes the cache
// effective.
func (b *bpe) wordEnd(piece string) int {
	n := utf8.RuneLen(b.mark)
	for i := 0; ; {
		at := strings.IndexRune(piece[i:], b.mark)
		if at < 0 {
			return len(piece)
		}
		if i += at; i > 0 {
			before, _ := utf8.DecodeLastRuneInString(piece[:i])
			if before != b.mark && !b.joined.has(before, b.mark) {
				return i
			}
		}
		i += n
	}
}

func (b *bpe) encode(dst []uint32, piece string, s *scratch) []uint32 {
	ids := s.ids[:0]
	if b.raw {
		for i := range len(piece) {
			ids = append(ids, b.byteID[piece[i]])
		}
	} else {
		ids = b.symbols(ids, piece)
	}
	s.ids = ids
	return append(dst, b.pairs.merge(ids, s)...)
}

// symbols appends the initial symbols of the characters of a piece.
func (b *bpe) symbols(ids []uint32, piece string) []uint32 {
	pending := false // an unknown token that is not in ids yet
	plain := b.prefix == "" && b.suffix == ""
	for i, r := range piece {
		if plain && !pending && r < utf8.RuneSelf && b.asciiID[r] >= 0 && (r != ' ' || b.mark != ' ') {
			ids = append(ids, uint32(b.asciiID[r]))
			continue
		}
		end := i + utf8.RuneLen(r)
		char := piece[i:end]
		if r == ' ' && b.mark == ' ' {
			char = string(wordMark)
		}
		if b.prefix != "" && i > 0 {
			char = b.prefix + char
		}
		if b.suffix != "" && end == len(piece) {
			char += b.suffix
		}
		if id, ok := b.vocab.ids[char]; ok {
			if pending {
				ids = append(ids, uint32(b.unk))
				pending = false
			}
			ids = append(ids, id)
			continue
		}
		if b.byteFallback {
			// As in the library, a pending unknown token comes after these
			// bytes, not before.
			if with, ok := b.fallback(ids, char); ok {
				ids = with
				continue
			}
		}
		if b.unk < 0 {
			continue
		}
		if pending && !b.fuseUnk {
			ids = append(ids, uint32(b.unk))
		}
		pending = true
	}
	if pending {
		ids = append(ids, uint32(b.unk))
	}
	return ids
}

// fallback appends the bytes of char if the vocabulary holds all of them.
func (b *bpe) fallback(ids []uint32, char string) ([]uint32, bool) {
	n := len(ids)
	for i := range len(char) {
		id := b.fallbackID[char[i]]
		if id < 0 {
			return ids[:n], false
		}
		ids = append(ids, uint32(id))
	}
	return ids, true
}
