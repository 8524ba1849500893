package load

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxLevels bounds the levels of a range, so that a typing error does not start a run of
// days. A list is as long as it was written.
const maxLevels = 10_000

// A Sweep holds the levels that a flag names with a list or a range. The zero value has
// none.
type Sweep[T int | float64] struct {
	// List holds the levels in order; nil for a range without an end.
	List []T
	// Start, End and Step describe a range or a single number; End is 0 for a range
	// without an end. All are 0 for a list.
	Start, End, Step T
}

// At returns level i of a list or a range; ok is false after the last level. A range, also
// one without an end, has at most 10,000 levels.
func (s *Sweep[T]) At(i int) (level T, ok bool) {
	switch {
	case s.List != nil && i < len(s.List):
		return s.List[i], true
	case s.List != nil || s.Start == 0 || i >= maxLevels:
		return 0, false
	}
	return rounded(s.Start + T(i)*s.Step), true
}

// rounded removes the binary rounding error of a level: 0.1 + 2·0.1 becomes 0.3. Whole
// numbers of up to twelve digits do not change.
func rounded[T int | float64](x T) T {
	f, _ := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', 12, 64), 64)
	return T(f)
}

// ParseConcurrency parses the levels of a closed loop in the syntax of
// --concurrency-range:
//
//	range = number | number ":" end [ ":" step ] | number { "," number }
//
// "4" is one level. "1:8:2" is 1, 3, 5, 7: perf_analyzer's start:end:step, which includes
// an end that a step reaches. "1,4,8" is a list in this order. All numbers are at least 1
// and the end is not before the start. "1:0:2" has no end: 1, 3, 5, …
func ParseConcurrency(s string) (Sweep[int], error) {
	return parseLevels("concurrency", s, wholeNumber)
}

// ParseRates parses the levels of an open loop in the same syntax. Its numbers are above 0
// and may have fractions: "2.5", "1:2:0.5", "1,2.5".
func ParseRates(s string) (Sweep[float64], error) {
	return parseLevels("request rate", s, positiveNumber)
}

// ParsePeriodic parses a range start:end or start:end:step in the syntax of
// --periodic-concurrency-range. The default step is 1.
func ParsePeriodic(s string) (p Periodic, err error) {
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return p, fmt.Errorf("periodic concurrency %q: expected start:end:step, such as 1:20:1", s)
	}
	p.Step = 1
	for i, to := range []*int{&p.Start, &p.End, &p.Step}[:len(parts)] {
		if *to, err = wholeNumber(parts[i]); err != nil {
			return p, fmt.Errorf("periodic concurrency %q: %w", s, err)
		}
	}
	return p, nil
}

// parseLevels parses a range or a list. what names the levels in errors.
func parseLevels[T int | float64](what, s string, number func(string) (T, error)) (levels Sweep[T], err error) {
	if strings.Contains(s, ",") {
		levels.List, err = parseList(s, number)
	} else {
		levels, err = parseRange(s, number)
	}
	if err != nil {
		return Sweep[T]{}, fmt.Errorf("%s %q: %w", what, s, err)
	}
	return levels, nil
}

func parseList[T int | float64](s string, number func(string) (T, error)) (levels []T, err error) {
	if strings.Contains(s, ":") {
		return nil, errors.New("a range start:end:step or a list 1,4,8, not both")
	}
	for part := range strings.SplitSeq(s, ",") {
		n, err := number(part)
		if err != nil {
			return nil, err
		}
		levels = append(levels, n)
	}
	return levels, nil
}

func parseRange[T int | float64](s string, number func(string) (T, error)) (r Sweep[T], err error) {
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return r, errors.New("at most three parts, start:end:step")
	}
	if r.Start, err = number(parts[0]); err != nil {
		return r, err
	}
	r.End, r.Step = r.Start, 1
	if len(parts) > 2 {
		if r.Step, err = number(parts[2]); err != nil {
			return r, err
		}
	}
	if len(parts) > 1 {
		if zero, err := strconv.ParseFloat(strings.TrimSpace(parts[1]), 64); err == nil && zero == 0 {
			r.End = 0
			return r, nil
		}
		if r.End, err = number(parts[1]); err != nil {
			return r, err
		}
	}
	if r.End < r.Start {
		turned := fmt.Sprintf("%v:%v", r.End, r.Start)
		if len(parts) > 2 {
			turned += fmt.Sprintf(":%v", r.Step)
		}
		return r, fmt.Errorf("the end is before the start; write %s", turned)
	}
	// In binary, an end such as 0.3 is not an exact multiple of the step 0.1; without
	// 1e-9 its level would be lost.
	steps := math.Floor(float64(r.End-r.Start)/float64(r.Step) + 1e-9)
	if steps >= maxLevels {
		return r, fmt.Errorf("%.0f levels; at most %d", steps+1, maxLevels)
	}
	for i := range int(steps) + 1 {
		r.List = append(r.List, rounded(r.Start+T(i)*r.Step))
	}
	return r, nil
}

func wholeNumber(part string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is too large", part)
	case err != nil:
		return 0, fmt.Errorf("%q is not a whole number; write 4, 1:8:2 or 1,4,8", part)
	case n < 1:
		return 0, fmt.Errorf("%d must be at least 1", n)
	}
	return int(n), nil
}

func positiveNumber(part string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(x):
		return 0, fmt.Errorf("%q is not a number; write 2.5, 1:8:0.5 or 1,2.5", part)
	case x <= 0:
		return 0, fmt.Errorf("%v must be above 0", x)
	case x > maxRate:
		return 0, fmt.Errorf("%s is too large", part)
	}
	return x, nil
}
