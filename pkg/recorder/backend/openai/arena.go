package openai

// An arena keeps the bytes of one answer in a few large pieces of memory instead of one
// piece for each event. The memory belongs to the holders of the slices. The arena
// remembers the size of the last answer, because the next one is usually similar.
type arena struct {
	free   []byte // rest of the present piece
	bytes  int    // bytes kept of the present answer
	pieces int    // slices kept of the present answer

	lastBytes, lastPieces int // bounded
}

const (
	minArenaBytes  = 4 << 10
	maxArenaBytes  = 1 << 20
	maxArenaPieces = 16 << 10
)

func (a *arena) begin() {
	a.free, a.bytes, a.pieces = nil, 0, 0
}

// keep returns a copy of b.
func (a *arena) keep(b []byte) []byte {
	n := len(b)
	if len(a.free) < n {
		size := a.lastBytes
		if a.bytes > 0 { // the answer is longer than the last one, but hardly twice as long
			size /= 4
		}
		a.free = make([]byte, max(n, size, minArenaBytes))
	}
	a.bytes += n
	a.pieces++
	kept := a.free[:n:n]
	a.free = a.free[n:]
	copy(kept, b)
	return kept
}

func (a *arena) end() {
	a.lastBytes = min(a.bytes, maxArenaBytes)
	a.lastPieces = min(a.pieces, maxArenaPieces)
	a.free = nil
}
