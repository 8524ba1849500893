package tokenizer

// A wordCache remembers the ids of short pieces. Its entries are of a fixed
// size and found by hash alone, a newer piece taking the place of an older, so
// that it is bounded, allocates nothing and costs the collector nothing.
type wordCache struct {
	entries []cacheEntry // length is a power of two
}

const (
	cacheEntries = 1 << 13
	cacheKey     = 47 // bytes of the longest piece that is kept
	cacheIDs     = 11 // ids of the longest that is kept
)

// A cacheEntry is empty when size is 0.
type cacheEntry struct {
	size uint8
	key  [cacheKey]byte
	n    uint32
	ids  [cacheIDs]uint32
}

func newWordCache() *wordCache {
	return &wordCache{entries: make([]cacheEntry, cacheEntries)}
}

// append appends the ids of a piece to dst, if it knows them.
func (c *wordCache) append(dst []uint32, piece string, hash uint64) ([]uint32, bool) {
	e := &c.entries[hash&(cacheEntries-1)]
	if int(e.size) != len(piece) || string(e.key[:e.size]) != piece {
		return dst, false
	}
	return append(dst, e.ids[:e.n]...), true
}

// put remembers the ids of a piece that is not empty, if both are short.
func (c *wordCache) put(piece string, hash uint64, ids []uint32) {
	if len(piece) > cacheKey || len(ids) > cacheIDs {
		return
	}
	e := &c.entries[hash&(cacheEntries-1)]
	e.size = uint8(copy(e.key[:], piece))
	e.n = uint32(copy(e.ids[:], ids))
}
