package dialect

import (
	"iter"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// Tee reads r once and hands each request to all consumers. The consumers run in
// coroutines and in lockstep, so that one request is in memory at a time: a switch from one to the next
// takes less time than waking a goroutine, and most consumers take a few microseconds for a request. A
// consumer must not change the requests, and reads them in the goroutine that calls it; it may return early.
// Tee returns the errors of the consumers, in their order, when all have returned.
func Tee(r export.Reader, consumers []func(export.Reader) error) []error {
	errs := make([]error, len(consumers))
	var present []func() (struct{}, bool) // continue the consumers that want the next request
	b := &branches{Reader: r}
	for i, consume := range consumers {
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			errs[i] = consume(&branch{branches: b, pause: yield})
		})
		defer stop()
		present = append(present, next)
	}
	advance := func() {
		present = slices.DeleteFunc(present, func(next func() (struct{}, bool)) bool {
			_, waits := next()
			return !waits
		})
	}
	for advance(); len(present) > 0; advance() {
		b.more = r.Next()
	}
	return errs
}

// branches is the common state of the branches of one reader.
type branches struct {
	export.Reader
	more bool // result of Next
}

// A branch is one consumer's view of the reader.
type branch struct {
	*branches
	pause func(struct{}) bool // returns when the reader has the next request
	end   bool
}

// Next implements export.Reader. It waits until all branches ask for the next request, or have left.
func (b *branch) Next() bool {
	if !b.end {
		b.end = !b.pause(struct{}{}) || !b.more
	}
	return !b.end
}

// Close does nothing: the caller of Tee closes the reader.
func (b *branch) Close() error { return nil }
