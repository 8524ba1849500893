package load

import (
	"errors"
	"fmt"
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
func ParseConcurrency(s string) ([]int, error) {
	if strings.Contains(s, ",") {
		if strings.Contains(s, ":") {
			return nil, fmt.Errorf("concurrency %q: a range start:end:step or a list 1,4,8, not both", s)
		}
		var levels []int
		for _, part := range strings.Split(s, ",") {
			n, err := level(s, part)
			if err != nil {
				return nil, err
			}
			levels = append(levels, n)
		}
		return levels, nil
	}
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return nil, fmt.Errorf("concurrency %q: at most three parts, start:end:step", s)
	}
	start, err := level(s, parts[0])
	if err != nil {
		return nil, err
	}
	end, step := start, 1
	if len(parts) > 1 {
		if strings.TrimSpace(parts[1]) == "0" {
			return nil, fmt.Errorf("concurrency %q: an end of 0 (search until a latency limit) is not supported; give the last level", s)
		}
		if end, err = level(s, parts[1]); err != nil {
			return nil, err
		}
	}
	if len(parts) > 2 {
		if step, err = level(s, parts[2]); err != nil {
			return nil, err
		}
	}
	if end < start {
		return nil, fmt.Errorf("concurrency %q: the end is before the start", s)
	}
	if (end-start)/step >= maxLevels {
		return nil, fmt.Errorf("concurrency %q: %d levels; at most %d", s, (end-start)/step+1, maxLevels)
	}
	var levels []int
	for n := start; n <= end; n += step {
		levels = append(levels, n)
	}
	return levels, nil
}

// level reads one number of the range s.
func level(s, part string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("concurrency %q: %s is too large", s, part)
	case err != nil:
		return 0, fmt.Errorf("concurrency %q: %q is not a whole number; write 4, 1:8:2 or 1,4,8", s, part)
	case n < 1:
		return 0, fmt.Errorf("concurrency %q: %d must be at least 1", s, n)
	}
	return int(n), nil
}
