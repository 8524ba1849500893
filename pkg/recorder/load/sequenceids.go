package load

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// ParseSequenceIDs reads the ids of sequences, FIRST:LAST, or FIRST alone.
func ParseSequenceIDs(text string) (first, last uint64, err error) {
	a, b, bounded := strings.Cut(text, ":")
	number := func(s string) (uint64, error) {
		n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
		switch {
		case err != nil || n > math.MaxInt64:
			return 0, errors.New("expected FIRST:LAST, whole numbers such as 1:1000")
		case n == 0:
			return 0, errors.New("0 means no sequence; begin with 1")
		}
		return n, nil
	}
	if first, err = number(a); err != nil || !bounded {
		return first, 0, err
	}
	if last, err = number(b); err == nil && last < first {
		err = errors.New("the first id is above the last")
	}
	return first, last, err
}
