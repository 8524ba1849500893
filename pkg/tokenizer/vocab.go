package tokenizer

import (
	"hash/maphash"
)

// maxID bounds the ids of a vocabulary, whose tokens are in a slice by id. The
// largest vocabularies in use have some 260 000.
const maxID = 1 << 22

// A vocab maps tokens to ids and back.
type vocab struct {
	byID    []string // "" for a hole, and for a token that is the empty string
	ids     map[string]uint32
	present []bool
}

func newVocab(n int) *vocab {
	return &vocab{ids: make(map[string]uint32, n)}
}

// add puts in a token; an id that is given twice keeps its last token for
// decoding.
func (v *vocab) add(token string, id uint32) {
	for int(id) >= len(v.byID) {
		v.byID = append(v.byID, "")
		v.present = append(v.present, false)
	}
	v.byID[id] = token
	v.present[id] = true
	v.ids[token] = id
}

// size is the number of different tokens, as the library counts them.
func (v *vocab) size() int { return len(v.ids) }

func (v *vocab) id(token string) (uint32, bool) {
	id, ok := v.ids[token]
	return id, ok
}

// byteTokens returns the ids of the tokens <0x00> to <0xFF> of byte_fallback, -1 for
// those that are missing.
func (v *vocab) byteTokens() (ids [256]int64) {
	for i := range ids {
		ids[i] = -1
		if id, ok := v.id(byteToken(byte(i))); ok {
			ids[i] = int64(id)
		}
	}
	return ids
}

// token is the token of an id; ok is false for a hole.
func (v *vocab) token(id uint32) (string, bool) {
	if int(id) >= len(v.byID) || !v.present[id] {
		return "", false
	}
	return v.byID[id], true
}

// A wordTable finds the id of a piece that is one token. It does what a map
// would do in a third of the time: the hash is taken once, for this table and
// the cache, and slots hold part of it.
type wordTable struct {
	slots []wordSlot // length is a power of two
	words []string
}

// A wordSlot is empty when word is 0; else words[word-1] may be what is sought.
type wordSlot struct {
	hash uint32
	word uint32
	id   uint32
}

// newWordTable makes a table of words[i] → ids[i]. hash must be the one that
// lookups use.
func newWordTable(words []string, ids []uint32, seed maphash.Seed) *wordTable {
	size := 16
	for size < 2*len(words) {
		size *= 2
	}
	t := &wordTable{slots: make([]wordSlot, size), words: words}
	for i, w := range words {
		h := maphash.String(seed, w)
		at := h & uint64(size-1)
		for t.slots[at].word != 0 {
			at = (at + 1) & uint64(size-1)
		}
		t.slots[at] = wordSlot{hash: uint32(h >> 32), word: uint32(i + 1), id: ids[i]}
	}
	return t
}

func (t *wordTable) find(w string, hash uint64) (id uint32, ok bool) {
	mask := uint64(len(t.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		s := &t.slots[at]
		if s.word == 0 {
			return 0, false
		}
		if s.hash == uint32(hash>>32) && t.words[s.word-1] == w {
			return s.id, true
		}
	}
}
