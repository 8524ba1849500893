package inference

import (
	"fmt"
	"math"
	"testing"
)

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

// The usual printed table of Student's t, to its three decimals.
func TestStudentQuantile(t *testing.T) {
	for _, tt := range []struct{ df, at90, at95, at99 float64 }{
		{1, 6.314, 12.706, 63.657},
		{2, 2.920, 4.303, 9.925},
		{3, 2.353, 3.182, 5.841},
		{4, 2.132, 2.776, 4.604},
		{5, 2.015, 2.571, 4.032},
		{8, 1.860, 2.306, 3.355},
		{10, 1.812, 2.228, 3.169},
		{16, 1.746, 2.120, 2.921},
		{20, 1.725, 2.086, 2.845},
		{30, 1.697, 2.042, 2.750},
		{60, 1.671, 2.000, 2.660},
		{120, 1.658, 1.980, 2.617},
		{1e7, 1.645, 1.960, 2.576},
		{math.Inf(1), 1.645, 1.960, 2.576},
	} {
		for level, want := range map[float64]float64{0.90: tt.at90, 0.95: tt.at95, 0.99: tt.at99} {
			if got := StudentQuantile(level, tt.df); !near(got, want, 0.00051) {
				t.Errorf("StudentQuantile(%v, %v) = %.4f, want %.3f", level, tt.df, got, want)
			}
		}
	}
}

// With 1 and 2 degrees of freedom the distribution has a closed form.
func TestStudentUpperClosedForm(t *testing.T) {
	for _, x := range []float64{-40, -2, -0.3, 0, 1e-9, 0.5, 1, 3, 60, 1e4, 1e9} {
		one := math.Atan2(1, x) / math.Pi
		two := 1 / (2 + x*x + x*math.Sqrt(2+x*x)) // = ½ − x/(2√(2+x²)), without the cancellation
		if got := StudentUpper(x, 1); !near(got/one, 1, 1e-9) {
			t.Errorf("StudentUpper(%v, 1) = %v, want %v", x, got, one)
		}
		if x < 0 {
			two = 0.5 - x/(2*math.Sqrt(2+x*x))
		}
		if got := StudentUpper(x, 2); !near(got/two, 1, 1e-9) {
			t.Errorf("StudentUpper(%v, 2) = %v, want %v", x, got, two)
		}
	}
}

// Quantile and tail undo each other, also with broken degrees of freedom.
func TestStudentInverse(t *testing.T) {
	for _, df := range []float64{0.3, 1, 2.5, 4, 16, 31.7, 400, 1e5} {
		for _, level := range []float64{1e-6, 0.5, 0.8, 0.95, 0.999, 1 - 1e-9} {
			t.Run(fmt.Sprint(df, level), func(t *testing.T) {
				x := StudentQuantile(level, df)
				if got, want := 2*StudentUpper(x, df), 1-level; math.Abs(got-want) > 1e-8*want {
					t.Errorf("2·StudentUpper(%v, %v) = %v, want %v", x, df, got, want)
				}
			})
		}
	}
}
