package load

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxLevels bounds a sweep, so that a slip of the pen is an error and not a
// run of days.
const maxLevels = 10_000

// ParseConcurrency reads the levels of a closed loop in the forms of
// --concurrency-range:
//
//	range = number | number ":" end [ ":" step ] | number { "," number }
//
// "4" is one level, "1:8:2" is 1, 3, 5, 7 (perf_analyzer's start:end:step with
// the end included where it is met), "1,4,8" is a list in that order. All
// numbers are at least 1 and the end is not before the start.
func ParseConcurrency(s string) ([]int, error) { return parseLevels("concurrency", s, wholeNumber) }

// ParseRates reads the levels of an open loop in the same forms, in which the
// numbers need not be whole, but are above 0: "2.5", "1:2:0.5", "1,2.5".
func ParseRates(s string) ([]float64, error) {
	rates, err := parseLevels("request rate", s, positiveNumber)
	for i, r := range rates {
		// 0.1 and twice 0.1 more are 0.3, and not what they come to in binary.
		rates[i], _ = strconv.ParseFloat(strconv.FormatFloat(r, 'g', 12, 64), 64)
	}
	return rates, err
}

// ParsePeriodic reads a range start:end or start:end:step in the form of
// --periodic-concurrency-range; the step is 1 if there is none.
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

// parseLevels reads a range or a list of what are called levels of something.
func parseLevels[T int | float64](what, s string, number func(string) (T, error)) (levels []T, err error) {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s %q: %w", what, s, fmt.Errorf(format, args...))
	}
	if strings.Contains(s, ",") {
		if strings.Contains(s, ":") {
			return nil, fail("a range start:end:step or a list 1,4,8, not both")
		}
		for part := range strings.SplitSeq(s, ",") {
			n, err := number(part)
			if err != nil {
				return nil, fail("%w", err)
			}
			levels = append(levels, n)
		}
		return levels, nil
	}
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return nil, fail("at most three parts, start:end:step")
	}
	start, err := number(parts[0])
	if err != nil {
		return nil, fail("%w", err)
	}
	end, step := start, T(1)
	if len(parts) > 1 {
		if zero, err := strconv.ParseFloat(strings.TrimSpace(parts[1]), 64); err == nil && zero == 0 {
			return nil, fail("an end of 0 (search until a latency limit) is not supported; give the last level")
		}
		if end, err = number(parts[1]); err != nil {
			return nil, fail("%w", err)
		}
	}
	if len(parts) > 2 {
		if step, err = number(parts[2]); err != nil {
			return nil, fail("%w", err)
		}
	}
	if end < start {
		return nil, fail("the end is before the start")
	}
	// In steps of 0.1 the end is a multiple, but not in binary.
	steps := math.Floor(float64(end-start)/float64(step) + 1e-9)
	if steps >= maxLevels {
		return nil, fail("%.0f levels; at most %d", steps+1, maxLevels)
	}
	for i := range int(steps) + 1 {
		levels = append(levels, start+T(i)*step)
	}
	return levels, nil
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
