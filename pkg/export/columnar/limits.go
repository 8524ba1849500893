package columnar

import (
	"fmt"
	"runtime"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar/internal/pages"
)

// A boundAllocator panics with a *tooLargeError when Arrow asks for a buffer of more than
// maxBytes. A broken file may ask for any size.
type boundAllocator struct {
	memory.Allocator
	maxBytes int64
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
	if int64(size) > a.maxBytes || size < 0 {
		panic(&tooLargeError{Size: int64(size), Max: a.maxBytes})
	}
}

// A tooLargeError reports data that takes more memory than allowed.
type tooLargeError = pages.TooLargeError

// batchLimit returns the maximum bytes of a batch of an Arrow file.
func batchLimit(lim export.Limits) int64 { return max(1<<30, 4*lim.MaxValueBytes) }

// rowsLimit returns the maximum bytes of memory for decoded rows.
func rowsLimit(lim export.Limits) int64 { return 4 * max(lim.ValueBytes(), 1<<20) }

// catchPanic turns a panic in do into an error: arrow v15 reports by panic some of
// the errors of the file that it writes to or reads from.
func catchPanic(do func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("damaged beyond what can be read (%w)", p)
		case error:
			err = p
		default:
			err = fmt.Errorf("%v", p)
		}
	}()
	return do()
}
