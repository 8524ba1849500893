package openai

// An arena keeps the bytes of one answer at a time in a few large pieces of
// memory instead of one for each event. The memory belongs to whoever holds
// the slices; the arena only remembers how much the last answer took, because
// the next one will be like it.
type arena struct {
	free   []byte // the rest of the present piece
	bytes  int    // kept of the present answer
	pieces int

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
		if a.bytes > 0 { // longer than the last one; not twice as long
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
