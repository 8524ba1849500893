//go:build !linux

package pause

import "time"

// suspended is nil, because no pair of clocks shows a suspension on this system.
var suspended func() time.Duration
