package http1

import (
	"errors"
	"fmt"
)

// A NotHTTPError says that a response does not begin as HTTP/1 does.
type NotHTTPError struct {
	First string // its first five bytes, or fewer if its first line has not more
}

func (e *NotHTTPError) Error() string {
	return fmt.Sprintf("a response begins with HTTP/, this one with %q", e.First)
}

// Errors that a Parser ends with. Those about the head's lines are net/http's.
// A stream that ends too early is an io.ErrUnexpectedEOF.
var (
	ErrHeadTooLong = fmt.Errorf("the head of the answer is longer than %d bytes", maxHeadBytes)
	ErrInterim     = errors.New("malformed HTTP response: one interim answer after the other")
	ErrChunk       = errors.New("malformed chunked encoding")
	ErrTrailer     = errors.New("malformed trailer after a chunked body")
)
