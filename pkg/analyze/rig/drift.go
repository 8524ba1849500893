package rig

import (
	"math"

	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A Drift is a change of the values over the order of the runs.
type Drift struct {
	// Change is the change from the first run to the last, on the least-squares line
	// through the logarithms.
	Change float64
	// Interval is its 95 % interval: Student's t with n − 2 degrees of freedom.
	Interval inference.Interval
	// P is the two-sided p-value of "no drift".
	P float64
	// Adjusted is P adjusted by Holm's method over the primary metrics of all levels; NaN
	// for other metrics.
	Adjusted float64
}

// driftOf fits a line through at least 3 logarithms, in the order of the runs.
func driftOf(logs []float64) Drift {
	n := float64(len(logs))
	middle, mean := (n-1)/2, 0.0
	for _, y := range logs {
		mean += y / n
	}
	var sxx, sxy float64
	for i, y := range logs {
		x := float64(i) - middle
		sxx += x * x
		sxy += x * (y - mean)
	}
	slope := sxy / sxx
	residuals := 0.0
	for i, y := range logs {
		e := y - mean - slope*(float64(i)-middle)
		residuals += e * e
	}
	df := n - 2
	change := slope * (n - 1)
	se := math.Sqrt(residuals/df/sxx) * (n - 1)
	half := se * inference.StudentQuantile(confidence, df)
	d := Drift{math.Expm1(change), inference.Interval{Low: math.Expm1(change - half), High: math.Expm1(change + half)}, 1, math.NaN()}
	if change != 0 {
		d.P = 2 * inference.StudentUpper(math.Abs(change)/se, df) // 0 on a perfect line
	}
	return d
}
