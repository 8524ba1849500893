package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// wordPiece is the model WordPiece. From left to right, it takes the longest token that
// matches; after the first token, only tokens with the prefix match. A piece that cannot
// be covered, or that is too long, is the unknown token.
type wordPiece struct {
	vocab    *vocab
	first    *trie // all tokens
	rest     *trie // tokens with the prefix, stored without it
	unk      uint32
	maxChars int
}

func readWordPiece(m *modelFile) (model, error) {
	w := &wordPiece{vocab: m.vocab, first: newTrie(), rest: newTrie()}
	var err error
	if w.unk, err = m.unknownToken(); err != nil {
		return nil, err
	}
	prefix, err := m.wantString("continuing_subword_prefix")
	if err != nil {
		return nil, err
	}
	limit, err := m.wantUint32("max_input_chars_per_word")
	if err != nil {
		return nil, err
	}
	w.maxChars = int(limit)
	for token, id := range w.vocab.ids {
		if err := checkToken(token); err != nil {
			return nil, m.errorf("%w", err)
		}
		fits := w.first.add(token, int32(id))
		if rest, ok := strings.CutPrefix(token, prefix); ok && fits {
			fits = w.rest.add(rest, int32(id))
		}
		if !fits {
			return nil, m.errorf("the vocabulary is too large")
		}
	}
	return w, nil
}

// unknownToken returns the id of unk_token, which must be in the vocabulary.
func (m *modelFile) unknownToken() (uint32, error) {
	if m.vocab == nil {
		return 0, m.errorf(`"vocab" is missing`)
	}
	token, err := m.wantString("unk_token")
	if err != nil {
		return 0, err
	}
	id, ok := m.vocab.id(token)
	if !ok {
		return 0, m.member("unk_token").errorf("token %s is not in the vocabulary, so text that it stands for cannot be counted", quote(token))
	}
	return id, nil
}

func (w *wordPiece) vocabulary() *vocab { return w.vocab }

func (w *wordPiece) words() (pieces []string, ids []uint32) {
	for token, id := range w.vocab.ids {
		if token != "" && utf8.RuneCountInString(token) <= w.maxChars {
			pieces = append(pieces, token)
			ids = append(ids, id)
		}
	}
	return pieces, ids
}

func (w *wordPiece) encode(dst []uint32, piece string, _ *scratch) []uint32 {
	if len(piece) > w.maxChars && utf8.RuneCountInString(piece) > w.maxChars {
		return append(dst, w.unk)
	}
	n := len(dst)
	tokens := w.first
	for i := 0; i < len(piece); {
		id, end := tokens.longest(piece, i)
		if id < 0 {
			return append(dst[:n], w.unk)
		}
		dst = append(dst, uint32(id))
		tokens, i = w.rest, end
	}
	return dst
}

// wordLevel is the model WordLevel: a piece is a token or the unknown token.
type wordLevel struct {
	vocab *vocab
	unk   uint32
}

func readWordLevel(m *modelFile) (model, error) {
	unk, err := m.unknownToken()
	if err != nil {
		return nil, err
	}
	return &wordLevel{m.vocab, unk}, nil
}

func (w *wordLevel) vocabulary() *vocab { return w.vocab }

func (w *wordLevel) words() (pieces []string, ids []uint32) {
	for token, id := range w.vocab.ids {
		if token != "" {
			pieces = append(pieces, token)
			ids = append(ids, id)
		}
	}
	return pieces, ids
}

func (w *wordLevel) encode(dst []uint32, piece string, _ *scratch) []uint32 {
	if id, ok := w.vocab.id(piece); ok {
		return append(dst, id)
	}
	return append(dst, w.unk)
}
