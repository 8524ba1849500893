package synth

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// An Amount is a random whole number of at least 0. The zero value is always 0.
type Amount struct {
	// Law is what the numbers above 0 follow; nil draws 0.
	Law LengthDistribution
	// Percent of the draws follow Law, and the others are 0. 0 means that all follow Law.
	Percent float64
}

// Draw returns a number.
func (a Amount) Draw(r *rand.Rand) int {
	if a.Law == nil || a.Percent > 0 && r.Float64()*100 >= a.Percent {
		return 0
	}
	return a.Law.Draw(r)
}

// Mean returns the mean of the numbers, as exactly as MeanLength of the law.
func (a Amount) Mean() float64 {
	switch {
	case a.Law == nil:
		return 0
	case a.Percent > 0:
		return a.Law.MeanLength() * a.Percent / 100
	}
	return a.Law.MeanLength()
}

// Validate reports parameters that Draw cannot use.
func (a Amount) Validate() error {
	switch {
	case !(a.Percent >= 0 && a.Percent <= 100):
		return fmt.Errorf("%v%%: must be from 0%% to 100%%", a.Percent)
	case a.Law == nil:
		return nil
	}
	return a.Law.Validate()
}

// positive is Validate for an amount that is never 0.
func (a Amount) positive() error {
	if a.Law == nil || a.Percent > 0 && a.Percent < 100 {
		return fmt.Errorf("%v: must be at least 1", a)
	}
	return a.Validate()
}

// String returns the amount in the form that ParseAmount reads.
func (a Amount) String() string {
	switch {
	case a.Law == nil:
		return "0"
	case a.Percent > 0:
		return fmt.Sprintf("%v%%:%v", a.Percent, a.Law)
	}
	return a.Law.String()
}

// MarshalText implements encoding.TextMarshaler with String.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// ParseAmount parses one of
//
//	0  LAW  P%:LAW
//
// and validates the result. LAW is as in ParseLengthDistribution, and P is the share of the draws that follow it.
func ParseAmount(text string) (a Amount, err error) {
	if text == "0" {
		return a, nil
	}
	if percent, law, ok := strings.Cut(text, "%:"); ok {
		if a.Percent, err = strconv.ParseFloat(percent, 64); err != nil || !(a.Percent > 0) || a.Percent > 100 {
			return a, fmt.Errorf("%.40q: expected a percentage above 0 and up to 100", percent)
		}
		text = law
	}
	a.Law, err = ParseLengthDistribution(text)
	return a, err
}
