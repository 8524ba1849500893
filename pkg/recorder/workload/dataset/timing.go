package dataset

import (
	"fmt"
	"math"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// duration returns n units, which must not be negative.
func duration(n float64, unit time.Duration) (time.Duration, error) {
	ns := math.Round(n * float64(unit))
	if !(ns >= 0 && ns < math.MaxInt64) {
		return 0, fmt.Errorf("%v × %v: must be from 0 to %v", n, unit, time.Duration(math.MaxInt64))
	}
	return time.Duration(ns), nil
}

// A window is the part of a recorded schedule that is wanted; to 0 is open.
type window struct{ from, to time.Duration }

// admit moves e to its place in the schedule that begins with the window; false
// says that it lies outside. What has no time is always in.
func (w window) admit(e *workload.Entry) bool {
	if !e.Timed {
		return true
	}
	if e.Offset < w.from || w.to > 0 && e.Offset >= w.to {
		return false
	}
	e.Offset -= w.from
	return true
}
