//go:build !linux

package recorder

import "time"

func newWaker(every time.Duration) waker { return newTickWaker(every) }
