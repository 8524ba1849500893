package tokenizer

import "unicode/utf8"

// A joinTable holds the pairs of adjacent characters that some merge can put into one
// token. Between any other two characters a piece can be cut without changing its ids,
// because no merge crosses the cut.
//
// Pairs outside ASCII share bits, so has may wrongly report a pair as joined. That only
// loses a cut.
type joinTable struct {
	ascii  [utf8.RuneSelf][2]uint64
	others []uint64 // 1<<otherBits bits
}

const otherBits = 20

// newJoinTable enters all pairs of the merges. It enters pairs with wordMark a second
// time with a blank, because a text may hold either.
func newJoinTable(merges [][2]string) *joinTable {
	t := &joinTable{others: make([]uint64, 1<<(otherBits-6))}
	for _, m := range merges {
		before := rune(-1)
		for _, part := range m {
			for _, r := range part {
				if before >= 0 {
					t.add(before, r)
					if before == wordMark || r == wordMark {
						t.add(markAsBlank(before), markAsBlank(r))
					}
				}
				before = r
			}
		}
	}
	return t
}

func markAsBlank(r rune) rune {
	if r == wordMark {
		return ' '
	}
	return r
}

// otherBit returns the position of a pair in others.
func otherBit(a, b rune) (word int, bit uint64) {
	h := (uint64(a)<<32 | uint64(b)) * 0x9E3779B97F4A7C15 >> (64 - otherBits)
	return int(h >> 6), 1 << (h & 63)
}

func (t *joinTable) add(a, b rune) {
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		t.ascii[a][b>>6] |= 1 << (b & 63)
		return
	}
	word, bit := otherBit(a, b)
	t.others[word] |= bit
}

// has reports whether a merge may join a and b.
func (t *joinTable) has(a, b rune) bool {
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		return t.ascii[a][b>>6]>>(b&63)&1 != 0
	}
	word, bit := otherBit(a, b)
	return t.others[word]&bit != 0
}

// cuts returns the positions from from up to from+63 where s, which is UTF-8, can be cut: bit k is set if s can
// be cut before s[from+k]. It has no branch for each cut, because the processor would mispredict it.
func (t *joinTable) cuts(s string, from int) uint64 {
	part := s[from:min(from+64, len(s))]
	before := byte(0)
	if from > 0 {
		before = s[from-1]
	}
	cuts := uint64(0)
	for k := range len(part) {
		b := part[k]
		if before|b < utf8.RuneSelf {
			cuts |= ^(t.ascii[before&0x7f][b>>6&1] >> (b & 63)) & 1 << (k & 63)
		} else if utf8.RuneStart(b) && from+k > 0 {
			first, _ := utf8.DecodeLastRuneInString(s[:from+k])
			second, _ := utf8.DecodeRuneInString(s[from+k:])
			if !t.has(first, second) {
				cuts |= 1 << (k & 63)
			}
		}
		before = b
	}
	if from == 0 {
		cuts &^= 1 // the start
	}
	return cuts
}
