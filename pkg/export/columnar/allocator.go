package columnar

import (
	"fmt"

	"github.com/apache/arrow/go/v15/arrow/memory"
)

// The Parquet writer of arrow v15 enlarges its buffers of levels by the few bytes that it
// needs next, and takes them from this global, even if it is given another allocator.
// With Go's exact reallocation a list column costs time quadratic in its length
// (apache/arrow#41541). This is the only global that the project changes; it changes
// nothing but the spare room of Arrow's buffers.
func init() { memory.DefaultAllocator = growAllocator{memory.NewGoAllocator()} }

// A growAllocator at least doubles a buffer that it reallocates, so that n bytes appended
// in small steps are copied fewer than 2n times.
type growAllocator struct{ memory.Allocator }

func (a growAllocator) Reallocate(size int, b []byte) []byte {
	if cap(b) >= size {
		return b[:size]
	}
	n := a.Allocate(max(size, 2*cap(b)))
	copy(n, b)
	a.Free(b)
	return n[:size]
}

// A boundAllocator refuses single buffers above its bound by a panic with a
// *tooLargeError: the sizes that a broken file asks for come from nowhere else.
type boundAllocator struct {
	memory.Allocator
	most int64
}

func (a boundAllocator) Allocate(size int) []byte {
	a.check(size)
	return a.Allocator.Allocate(size)
}

func (a boundAllocator) Reallocate(size int, b []byte) []byte {
	a.check(size)
	return a.Allocator.Reallocate(size, b)
}

func (a boundAllocator) check(size int) {
	if int64(size) > a.most || size < 0 {
		panic(&tooLargeError{int64(size), a.most})
	}
}

// A tooLargeError says that something takes more memory than allowed.
type tooLargeError struct{ size, most int64 }

func (e *tooLargeError) Error() string {
	if e.size < 0 {
		return fmt.Sprintf("larger than %d bytes in memory; if the file is sound, raise the limit with --max-value", e.most)
	}
	return fmt.Sprintf("a buffer of %d bytes is asked for, more than %d; if the file is sound, raise the limit with --max-value", e.size, e.most)
}
