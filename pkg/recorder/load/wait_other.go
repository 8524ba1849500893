//go:build !linux

package load

import "time"

// sleep waits with a timer, up to a millisecond too long.
func sleep(d time.Duration) { time.Sleep(d) }
