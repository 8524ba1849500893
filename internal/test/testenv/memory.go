package testenv

import (
	"runtime/metrics"
	"testing"
)

// BoundMemory runs read, which reads an input of the given length, and fails the test if read
// allocates more than fixed + perByte·input bytes. It counts all allocations, even freed
// memory, so the memory in use is never larger. Targets of make fuzz-readers call
// it: the Makefile finds them by its name.
func BoundMemory(t testing.TB, input int, fixed, perByte uint64, read func()) {
	t.Helper()
	before := allocated()
	read()
	if n, most := allocated()-before, fixed+perByte*uint64(input); n > most {
		t.Errorf("reading %d bytes allocates %d bytes; the limit is %d + %d for each", input, n, fixed, perByte)
	}
}

// allocated returns the bytes that the process has allocated on its heap so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
