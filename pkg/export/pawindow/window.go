package pawindow

import (
	"math"
	"slices"
	"time"
)

// A Window is a time span of a measurement, including both ends.
type Window struct{ StartNS, EndNS uint64 }

// Duration returns the length of the window: 0 if its end is not after its start, at most
// 292 years.
func (w Window) Duration() time.Duration {
	return time.Duration(min(w.EndNS-min(w.StartNS, w.EndNS), math.MaxInt64))
}

// Unbounded reports whether w is the placeholder that perf_analyzer writes for
// loads that it does not measure in windows (periodic concurrency, sessions): all
// of time.
func (w Window) Unbounded() bool { return w.StartNS == 0 && w.EndNS == ^uint64(0) }

// Cut returns the n windows between n+1 boundaries, nil for fewer than two boundaries.
func Cut(boundaries []uint64) []Window {
	if len(boundaries) < 2 {
		return nil
	}
	windows := make([]Window, len(boundaries)-1)
	for i := range windows {
		windows[i] = Window{boundaries[i], boundaries[i+1]}
	}
	return windows
}

// Find returns the index of the window that counts a request with the end endNS, -1 if there
// is none. On a boundary it is the earlier window, which saw the request first. The windows must be in order.
func Find(windows []Window, endNS uint64) int {
	i, _ := slices.BinarySearchFunc(windows, endNS, func(w Window, ns uint64) int {
		if w.EndNS < ns {
			return -1
		}
		return 1
	})
	if i == len(windows) || endNS < windows[i].StartNS {
		return -1
	}
	return i
}

// Reported returns the windows of a report: the last [StableOver], all if there are fewer.
func Reported[W any](windows []W) []W { return windows[max(0, len(windows)-StableOver):] }
