package ranks

import "hash/fnv"

// A Share is the part that one of Size ranks has of a load. The zero value is the whole
// load, the share of a process that records alone.
type Share struct {
	Rank int // from 0
	Size int // number of ranks; 0 means 1
}

// size returns the number of ranks, at least 1.
func (s Share) size() int { return max(s.Size, 1) }

// Whole reports whether the share is the whole load.
func (s Share) Whole() bool { return s.size() == 1 && s.Rank == 0 }

// Idle reports whether the share is empty, because its rank is beyond the ranks that
// share the load; see [Share.Among].
func (s Share) Idle() bool { return s.Rank >= s.size() }

// Among returns the share of a load that only n of the ranks can send, because a closed
// loop has n slots. The ranks from n on are idle. n below 1, and n of at least Size,
// leave the share as it is.
func (s Share) Among(n int) Share {
	if n >= 1 && n < s.size() {
		s.Size = n
	}
	return s
}

// Count returns how many of the first n requests of the load belong to the share. All
// counts together are n.
func (s Share) Count(n int) int {
	if s.Idle() || n <= s.Rank {
		return 0
	}
	return (n-s.Rank-1)/s.size() + 1
}

// Number returns which request of the load is request k of the share, both from 0. It
// is the inverse of Count: Count(Number(k)) is k, and Number(k) belongs to the share.
func (s Share) Number(k int) int { return k*s.size() + s.Rank }

// Slots returns how many of n slots belong to the share: 16 slots in 5 shares are 4, 3,
// 3, 3 and 3.
func (s Share) Slots(n int) int { return s.Count(n) }

// OwnsSession reports whether the conversation of a session belongs to the share. The
// rank is the session's 64-bit FNV-1a hash modulo the number of ranks.
func (s Share) OwnsSession(session string) bool {
	if s.Whole() {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(session)) // never fails
	return int(h.Sum64()%uint64(s.size())) == s.Rank
}
