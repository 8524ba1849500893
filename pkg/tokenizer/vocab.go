package tokenizer

import (
	"hash/maphash"
)

// maxID bounds the ids of a vocabulary, which index a slice. The largest vocabularies in
// use have about 260,000 tokens.
const maxID = 1 << 22

// freeIDs is the largest id that a tokenizer.json of any size may have. Larger ids are bounded by
// its size.
const freeIDs = 1 << 16

// A vocab maps tokens to ids and back.
type vocab struct {
	byID    []string // "" for an unused id and for an empty token; see present
	ids     map[string]uint32
	present []bool
}

func newVocab(n int) *vocab {
	return &vocab{ids: make(map[string]uint32, n)}
}

// add enters a token. The last token of an id is used for decoding.
func (v *vocab) add(token string, id uint32) {
	for int(id) >= len(v.byID) {
		v.byID = append(v.byID, "")
		v.present = append(v.present, false)
	}
	v.byID[id] = token
	v.present[id] = true
	v.ids[token] = id
}

// size returns the number of distinct tokens, as the library counts them.
func (v *vocab) size() int { return len(v.ids) }

func (v *vocab) id(token string) (uint32, bool) {
	id, ok := v.ids[token]
	return id, ok
}

// byteTokens returns the ids of the tokens <0x00> to <0xFF> of byte_fallback, -1 for
// missing ones.
func (v *vocab) byteTokens() (ids [256]int64) {
	for i := range ids {
		ids[i] = -1
		if id, ok := v.id(byteToken(byte(i))); ok {
			ids[i] = int64(id)
		}
	}
	return ids
}

// token returns the token of an id. ok is false for an unused id.
func (v *vocab) token(id uint32) (string, bool) {
	if int(id) >= len(v.byID) || !v.present[id] {
		return "", false
	}
	return v.byID[id], true
}

// A wordTable maps pieces that are one token to ids. It takes a third of the time of a
// map, because the table and the cache share one hash, and slots hold a part of it.
type wordTable struct {
	slots []wordSlot // length is a power of two
	words []string
}

// A wordSlot is empty if word is 0; otherwise it is for words[word-1].
type wordSlot struct {
	hash uint32
	word uint32
	id   uint32
}

// newWordTable builds the table words[i] → ids[i]. find needs hashes with the same seed.
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
