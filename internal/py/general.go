package py

import (
	"math"
	"strconv"
)

// General formats f as f"{f:g}" does: six digits at most, no zeros behind, with
// an exponent below 10⁻⁴ and from 10⁶ on.
func General(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Repr(f)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}
