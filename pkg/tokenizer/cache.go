package tokenizer

import "slices"

// A wordCache maps pieces to ids, with separate tables for short and long pieces. Entries
// have fixed sizes and a position that depends only on the hash; a new piece replaces an
// old one. The cache is therefore bounded, does not allocate, and costs the garbage
// collector nothing.
type wordCache struct {
	// short holds pairs of entries. A piece is in one entry of its pair, the newer
	// piece first. The length is 1<<shortBits.
	short []shortEntry
	long  []longEntry // length is longEntries; nil before the first long piece
}

const (
	shortBits   = 14
	shortLength = 16 // bytes of the longest short piece
	shortIDs    = 7
	longEntries = 1 << 12
	longLength  = 47
	longIDs     = 11
)

// A shortKey identifies a piece of at most shortLength bytes: its first eight bytes, the bytes
// after them, both filled with zeros, and its length.
type shortKey struct {
	head, tail uint64
	size       uint8
}

// A shortEntry is empty if the size of its key is 0.
type shortEntry struct {
	shortKey
	n   uint8
	ids [shortIDs]uint32
}

// A longEntry is empty if size is 0.
type longEntry struct {
	size uint8
	key  [longLength]byte
	n    uint32
	ids  [longIDs]uint32
}

func newWordCache() *wordCache {
	return &wordCache{short: make([]shortEntry, 1<<shortBits)}
}

// keyOf returns the key of the short, non-empty piece text[begin:end].
func keyOf(text string, begin, end int) shortKey {
	n := end - begin
	if begin+shortLength <= len(text) { // without branches, which the processor would mispredict
		w := text[begin : begin+shortLength]
		head := load64(w) & (^uint64(0) >> (64 - 8*min(n, 8)))
		tail := load64(w[8:]) & (1<<(8*(max(n, 8)-8)) - 1)
		return shortKey{head, tail, uint8(n)}
	}
	w := text[begin:end]
	switch {
	case n >= 8:
		return shortKey{load64(w), load64(w[n-8:]) >> (8 * (16 - n)), uint8(n)}
	case n >= 4:
		return shortKey{uint64(load32(w)) | uint64(load32(w[n-4:]))<<(8*(n-4)), 0, uint8(n)}
	}
	return shortKey{uint64(w[0]) | uint64(w[n/2])<<(8*(n/2)) | uint64(w[n-1])<<(8*(n-1)), 0, uint8(n)}
}

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// pair returns the two entries that can hold the piece of a key.
func (c *wordCache) pair(k shortKey) *[2]shortEntry {
	h := (k.head ^ uint64(k.size)) * 0x9E3779B97F4A7C15
	h = (h ^ h>>29 ^ k.tail) * 0xD6E8FEB86659FD93
	return (*[2]shortEntry)(c.short[h>>(64-shortBits)&^1:])
}

// appendShort appends the cached ids of a short piece to dst. It returns false if there
// are none.
func (c *wordCache) appendShort(dst []uint32, k shortKey) ([]uint32, bool) {
	pair := c.pair(k)
	e := &pair[0]
	if e.shortKey != k {
		if e = &pair[1]; e.shortKey != k {
			return dst, false
		}
	}
	// All ids are copied, because a copy of a fixed size takes less time than one of e.n ids.
	n := len(dst)
	dst = slices.Grow(dst, shortIDs)[:n+shortIDs]
	*(*[shortIDs]uint32)(dst[n:]) = e.ids
	return dst[:n+int(e.n)], true
}

// putShort stores the ids of a short piece, unless there are too many.
func (c *wordCache) putShort(k shortKey, ids []uint32) {
	if len(ids) > shortIDs {
		return
	}
	pair := c.pair(k)
	pair[1] = pair[0]
	pair[0].shortKey = k
	pair[0].n = uint8(copy(pair[0].ids[:], ids))
}

// appendLong appends the cached ids of a piece to dst. It returns false if there are none.
func (c *wordCache) appendLong(dst []uint32, w string, hash uint64) ([]uint32, bool) {
	if c.long == nil {
		return dst, false
	}
	e := &c.long[hash%longEntries]
	if int(e.size) != len(w) || string(e.key[:e.size]) != w {
		return dst, false
	}
	return append(dst, e.ids[:e.n]...), true
}

// putLong stores the ids of a non-empty piece, unless piece or ids are too long.
func (c *wordCache) putLong(w string, hash uint64, ids []uint32) {
	if len(w) > longLength || len(ids) > longIDs {
		return
	}
	if c.long == nil {
		c.long = make([]longEntry, longEntries)
	}
	e := &c.long[hash%longEntries]
	e.size = uint8(copy(e.key[:], w))
	e.n = uint32(copy(e.ids[:], ids))
}
