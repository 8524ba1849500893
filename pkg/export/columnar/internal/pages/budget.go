package pages

import "fmt"

// A TooLargeError reports data that takes more memory than allowed. A negative size is
// unknown.
type TooLargeError struct{ Size, Max int64 }

func (e *TooLargeError) Error() string {
	if e.Size < 0 {
		return fmt.Sprintf("larger than %d bytes in memory; if the file is sound, raise the limit with --max-value", e.Max)
	}
	return fmt.Sprintf("a buffer of %d bytes is larger than the limit of %d; if the file is sound, raise the limit with --max-value", e.Size, e.Max)
}

// A Budget bounds the memory of decoded rows.
type Budget struct{ left, max int64 }

// NewBudget returns a Budget of max bytes.
func NewBudget(max int64) *Budget { return &Budget{max, max} }

// take takes n bytes; it returns an error if fewer are left.
func (b *Budget) take(n int) error {
	if b.left -= int64(n); b.left < 0 {
		return &TooLargeError{-1, b.max}
	}
	return nil
}

// elementBytes is the approximate memory of an element of a list.
const elementBytes = 16
