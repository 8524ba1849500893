//go:build !linux

package recorder

import "time"

// machineAsleep is nil, because no pair of clocks shows a suspension on this system.
var machineAsleep func() time.Duration
