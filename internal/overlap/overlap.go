package overlap

import "encoding/binary"

// Prefix returns the number of equal bytes at the starts of a and b.
func Prefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i+8 <= n && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]) {
		i += 8
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// Suffix returns the number of equal bytes at the ends of a and b.
func Suffix(a, b []byte) int {
	n := min(len(a), len(b))
	a, b = a[len(a)-n:], b[len(b)-n:]
	i := n
	for i >= 8 && binary.LittleEndian.Uint64(a[i-8:]) == binary.LittleEndian.Uint64(b[i-8:]) {
		i -= 8
	}
	for i > 0 && a[i-1] == b[i-1] {
		i--
	}
	return n - i
}
