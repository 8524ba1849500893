//go:build !linux

package sockstamp

// outOfOrderOn is not asked: only Linux stamps reads.
func outOfOrderOn(int) (count uint32, ok bool) { return 0, false }
