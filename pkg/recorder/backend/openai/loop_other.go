//go:build !linux

package openai

import "errors"

// newLoop is not called: see noLoop.
func newLoop(*Backend) (loopTransport, error) { return nil, errors.ErrUnsupported }
