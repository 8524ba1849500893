package http1

import (
	"errors"
	"fmt"
)

// A NotHTTPError reports that a response does not begin like HTTP/1.
type NotHTTPError struct {
	First string // first five bytes, or fewer if the first line is shorter
}

func (e *NotHTTPError) Error() string {
	return fmt.Sprintf("expected a response that begins with HTTP/, found %q", e.First)
}

// Errors of a Parser. Errors about the lines of the head are net/http's. A stream that ends
// too early gives io.ErrUnexpectedEOF.
var (
	ErrHeadTooLong = fmt.Errorf("the head of the answer is longer than %d bytes", maxHeadBytes)
	ErrInterim     = errors.New("malformed HTTP response: too many interim responses (status 1xx)")
	ErrChunk       = errors.New("malformed chunked encoding")
	ErrTrailer     = errors.New("malformed trailer after a chunked body")
)
