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

// next returns the first position in s where s can be cut, or the length of s.
func (t *joinTable) next(s string) int {
	for i := 1; i < len(s); i++ {
		a, b := s[i-1], s[i]
		if (a | b) < utf8.RuneSelf {
			if t.ascii[a][b>>6]>>(b&63)&1 == 0 {
				return i
			}
			continue
		}
		if !utf8.RuneStart(b) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i:])
		if !t.has(before, after) {
			return i
		}
	}
	return len(s)
}
