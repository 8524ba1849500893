package resultfile

import (
	"fmt"
	"math"
)

// Nanoseconds converts seconds to the nearest whole nanosecond. It splits off the whole
// seconds first, because their product with 10⁹ does not fit the 53 bits of a float. ok
// is false for seconds that are negative, NaN, or more than 292 years.
func Nanoseconds(seconds float64) (ns uint64, ok bool) {
	if !(seconds >= 0 && seconds < math.MaxInt64/1e9) {
		return 0, false
	}
	whole, part := math.Modf(seconds)
	return uint64(whole)*1e9 + uint64(math.Round(part*1e9)), true
}

// Milliseconds does the same for milliseconds.
func Milliseconds(ms float64) (ns uint64, ok bool) {
	if !(ms >= 0 && ms < math.MaxInt64/1e6) {
		return 0, false
	}
	whole, part := math.Modf(ms)
	return uint64(whole)*1e6 + uint64(math.Round(part*1e6)), true
}

// SyntheticStart is the start of requests whose start is unknown. It is not 0, which
// means not recorded.
const SyntheticStart = 1_000_000_000

// BadTime is the problem of an entry whose time of that name is none.
func BadTime(at int64, name string, v float64) *BadEntry {
	return &BadEntry{At: at, Msg: fmt.Sprintf("%s: expected a time, found %v", name, v)}
}
