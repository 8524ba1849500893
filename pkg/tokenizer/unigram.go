package tokenizer

import (
	"slices"
	"unicode/utf8"
)

// unigram is the model Unigram: the segmentation with the highest sum of scores, found by
// the Viterbi algorithm. Of equal ones it keeps the first one found, as the library does.
type unigram struct {
	vocab        *vocab
	scores       []float64
	tokens       *trie
	unk          uint32
	unkScore     float64
	byteFallback bool
	fallbackID   [256]int64 // -1 for a byte outside the vocabulary
}

// unkPenalty is the difference between the lowest score and an unknown character's.
const unkPenalty = 10

func readUnigram(m *modelFile) (model, error) {
	if m.scores == nil {
		return nil, m.errorf(`"vocab" is missing, or no array of tokens and scores`)
	}
	u := &unigram{vocab: m.vocab, scores: m.scores, tokens: newTrie()}
	if m.member("unk_id") == nil {
		return nil, m.errorf(`"unk_id" is missing, so text with unknown characters cannot be counted`)
	}
	var err error
	if u.unk, err = m.wantUint32("unk_id"); err != nil {
		return nil, err
	}
	if int(u.unk) >= len(u.scores) {
		return nil, m.member("unk_id").errorf("%d is not in the vocabulary, which has %d tokens", u.unk, len(u.scores))
	}
	if u.byteFallback, err = m.boolOr("byte_fallback", false); err != nil {
		return nil, err
	}
	for token, id := range u.vocab.ids {
		if err := checkToken(token); err != nil {
			return nil, m.errorf("%w", err)
		}
		if !u.tokens.add(token, int32(id)) {
			return nil, m.errorf("the vocabulary is too large")
		}
	}
	u.unkScore = slices.Min(u.scores) - unkPenalty
	u.fallbackID = u.vocab.byteTokens()
	return u, nil
}

func (u *unigram) vocabulary() *vocab { return u.vocab }

// words returns none: finding out whether a token is the best segmentation of its own text
// takes as long as encoding it.
func (u *unigram) words() (pieces []string, ids []uint32) { return nil, nil }

// A pathNode is the best segmentation up to a position in the piece: its score, and the
// last token with its start.
type pathNode struct {
	score float64
	start int32 // -1 if none was found yet
	id    uint32
}

func (u *unigram) encode(dst []uint32, piece string, s *scratch) []uint32 {
	nodes := slices.Grow(s.nodes[:0], len(piece)+1)[:len(piece)+1]
	s.nodes = nodes
	for i := range nodes {
		nodes[i] = pathNode{start: -1}
	}
	nodes[0].start = 0
	for i := 0; i < len(piece); {
		_, size := utf8.DecodeRuneInString(piece[i:])
		here := nodes[i].score
		reach := func(end int, score float64, id uint32) {
			n := &nodes[end]
			if n.start < 0 || here+score > n.score {
				*n = pathNode{here + score, int32(i), id}
			}
		}
		single := false // a token is exactly this character
		node := uint32(0)
		for k := i; k < len(piece); k++ {
			var ok bool
			if node, ok = u.tokens.step(node, piece[k]); !ok {
				break
			}
			if id := u.tokens.values[node]; id >= 0 {
				reach(k+1, u.scores[id], uint32(id))
				single = single || k+1-i == size
			}
		}
		if !single {
			reach(i+size, u.unkScore, u.unk)
		}
		i += size
	}
	// Go back from the end. A run of unknown characters is one token.
	start := len(dst)
	for end := len(piece); end > 0; {
		n := nodes[end]
		begin := int(n.start)
		if n.id == u.unk {
			for begin > 0 && nodes[begin].id == u.unk {
				begin = int(nodes[begin].start)
			}
			dst = u.unknown(dst, piece[begin:end])
		} else {
			dst = append(dst, n.id)
		}
		end = begin
	}
	slices.Reverse(dst[start:])
	return dst
}

// unknown appends the ids of unknown text in reverse order.
func (u *unigram) unknown(dst []uint32, text string) []uint32 {
	if id, ok := u.vocab.id(text); ok { // the text spells the unknown token
		return append(dst, id)
	}
	if !u.byteFallback {
		return append(dst, u.unk)
	}
	n := len(dst)
	for i := len(text) - 1; i >= 0; i-- {
		id := u.fallbackID[text[i]]
		if id < 0 {
			return append(dst[:n], u.unk)
		}
		dst = append(dst, uint32(id))
	}
	return dst
}
