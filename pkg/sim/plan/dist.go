package plan

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/sanitize"
)

// A Kind is the kind of a distribution. The zero value means "not set".
type Kind int

// The kinds.
//
// Mean and Stddev describe the distribution before samples are limited to their range. For
// example, negative samples of a normal distribution of delays become 0, which raises the
// mean.
//
// A lognormal variable is exp(X) with X normal of mean μ and variance σ². Its
// moments are m = exp(μ + σ²/2) and s² = (exp(σ²) − 1)·exp(2μ + σ²). The second
// is (exp(σ²) − 1)·m², so that
//
//	σ² = ln(1 + s²/m²)
//	μ  = ln m − σ²/2
const (
	Constant  Kind = iota + 1 // always Mean; Stddev is 0
	Normal                    // Gaussian
	Lognormal                 // never negative, skewed to the right; Mean > 0
)

var kindNames = map[Kind]string{Constant: "constant", Normal: "normal", Lognormal: "lognormal"}

// String returns the kind's name as the Parse functions read it.
func (k Kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// A Delay is a distribution of times. Samples are limited to the range from 0 to
// MaxDelay. The zero value is the default.
type Delay struct {
	Kind         Kind
	Mean, Stddev time.Duration
}

// ConstantDelay returns a constant delay.
func ConstantDelay(d time.Duration) Delay { return Delay{Kind: Constant, Mean: d} }

// ParseDelay reads a delay:
//
//	delay    = duration | kind ":" duration [ "," duration ]
//	kind     = "constant" | "normal" | "lognormal"
//	duration = as time.ParseDuration: "20ms", "1.5s"
//
// A duration alone is a constant. The second duration is the standard deviation, 0 by
// default.
func ParseDelay(s string) (Delay, error) {
	kind, mean, stddev, err := parseDist(s, time.ParseDuration)
	d := Delay{kind, mean, stddev}
	if err == nil {
		err = d.Validate()
	}
	if err != nil {
		return Delay{}, fmt.Errorf("delay %q: %w; expected 20ms, normal:20ms,2ms or lognormal:20ms,5ms", clip(s), err)
	}
	return d, nil
}

// String returns d in the form that ParseDelay reads; "" for the zero value.
func (d Delay) String() string {
	switch {
	case d == Delay{}:
		return ""
	case d.Kind == Constant && d.Stddev == 0:
		return d.Mean.String()
	}
	return fmt.Sprintf("%v:%v,%v", d.Kind, d.Mean, d.Stddev)
}

// Validate reports invalid parameters. The zero value is valid.
func (d Delay) Validate() error {
	if d.Mean > MaxDelay || d.Stddev > MaxDelay {
		return fmt.Errorf("%v is more than %v", max(d.Mean, d.Stddev), MaxDelay)
	}
	return validateDist(d.Kind, float64(d.Mean), float64(d.Stddev))
}

// sample returns the delay at quantile u, where 0 < u ≤ 1.
func (d Delay) sample(u float64) time.Duration {
	if d.Kind == Constant {
		return d.Mean
	}
	return time.Duration(math.Round(quantile(d.Kind, float64(d.Mean), float64(d.Stddev), u, 0, float64(MaxDelay))))
}

// A Length is a distribution of token counts. Samples are rounded and limited to the
// range from 1 to MaxContextTokens. The zero value is the default.
type Length struct {
	Kind         Kind
	Mean, Stddev float64
}

// ConstantLength returns a constant length.
func ConstantLength(n int) Length { return Length{Kind: Constant, Mean: float64(n)} }

// ParseLength reads a length in the grammar of [ParseDelay], with decimal numbers instead of
// durations ("64", "normal:64,8").
func ParseLength(s string) (Length, error) {
	kind, mean, stddev, err := parseDist(s, parseDecimal)
	l := Length{kind, mean, stddev}
	if err == nil {
		err = l.Validate()
	}
	if err != nil {
		return Length{}, fmt.Errorf("length %q: %w; expected 64, normal:64,8 or lognormal:64,16", clip(s), err)
	}
	return l, nil
}

// String returns l in the form that ParseLength reads; "" for the zero value.
func (l Length) String() string {
	mean, stddev := strconv.FormatFloat(l.Mean, 'f', -1, 64), strconv.FormatFloat(l.Stddev, 'f', -1, 64)
	switch {
	case l == Length{}:
		return ""
	case l.Kind == Constant && l.Stddev == 0:
		return mean
	}
	return fmt.Sprintf("%v:%s,%s", l.Kind, mean, stddev)
}

// Validate reports invalid parameters. The zero value is valid.
func (l Length) Validate() error {
	if l.Mean > MaxContextTokens || l.Stddev > MaxContextTokens {
		return fmt.Errorf("%g is more than %d tokens", max(l.Mean, l.Stddev), MaxContextTokens)
	}
	return validateDist(l.Kind, l.Mean, l.Stddev)
}

// sample returns the length at quantile u, where 0 < u ≤ 1. It is at least 1.
func (l Length) sample(u float64) int {
	return int(math.Round(quantile(l.Kind, l.Mean, l.Stddev, u, 1, MaxContextTokens)))
}

// quantile returns the u-quantile of the distribution, limited to [lo, hi].
func quantile(kind Kind, mean, stddev, u, lo, hi float64) float64 {
	x := mean
	if stddev > 0 {
		// Φ⁻¹(u) = √2·erf⁻¹(2u − 1): one uniform variable gives one normal one.
		z := math.Sqrt2 * math.Erfinv(2*u-1)
		switch kind {
		case Normal:
			x = mean + stddev*z
		case Lognormal:
			// stddev/mean first: the square of each alone may overflow.
			cv := stddev / mean
			sigma2 := math.Log1p(cv * cv)
			x = mean * math.Exp(math.Sqrt(sigma2)*z-sigma2/2)
		}
	}
	return min(max(x, lo), hi)
}

func parseDist[T any](s string, parse func(string) (T, error)) (kind Kind, mean, stddev T, err error) {
	kind = Constant
	if name, rest, ok := strings.Cut(s, ":"); ok {
		kind, s = 0, rest
		for k, n := range kindNames {
			if n == name {
				kind = k
			}
		}
		if kind == 0 {
			return kind, mean, stddev, fmt.Errorf("unknown kind %q", clip(name))
		}
	}
	first, second, two := strings.Cut(s, ",")
	if mean, err = parse(first); err == nil && two {
		stddev, err = parse(second)
	}
	return kind, mean, stddev, err
}

// parseDecimal parses a decimal number. Unlike strconv.ParseFloat it rejects hexadecimal,
// infinity and NaN.
func parseDecimal(s string) (float64, error) {
	if s == "" || strings.Trim(s, "0123456789.+-eE") != "" {
		return 0, fmt.Errorf("%q is not a number", clip(s))
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", clip(s))
	}
	return x, nil
}

func validateDist(kind Kind, mean, stddev float64) error {
	switch {
	case kind == 0 && mean == 0 && stddev == 0:
		return nil
	case kind < Constant || kind > Lognormal:
		return fmt.Errorf("unknown kind %d", int(kind))
	case math.IsNaN(mean) || mean < 0:
		return errors.New("the mean is negative")
	case math.IsNaN(stddev) || stddev < 0:
		return errors.New("the standard deviation is negative")
	case kind == Constant && stddev != 0:
		return errors.New("a constant has no standard deviation")
	case kind == Lognormal && mean == 0:
		return errors.New("the mean of a lognormal distribution must be above 0")
	}
	return nil
}

// clip bounds foreign text in messages.
func clip(s string) string { return sanitize.Clip(s, 80) }
