package load

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxIntervals bounds the intervals in a file.
const maxIntervals = 10_000_000

// ReadIntervals reads recorded gaps in the format of --request-intervals: one number of
// microseconds a line, not negative, not all 0. Blank lines at the end are ignored. name
// is the name of the file in errors.
func ReadIntervals(name string, r io.Reader) ([]time.Duration, error) {
	var gaps []time.Duration
	sum := 0.0
	blank := 0 // number of the first blank line; 0: none
	sc := bufio.NewScanner(r)
	line := 0
	for sc.Scan() {
		line++
		text := strings.TrimSpace(sc.Text())
		if text == "" {
			if blank == 0 {
				blank = line
			}
			continue
		}
		if blank > 0 {
			return nil, fmt.Errorf("%s: line %d: expected a number of microseconds, found none", name, blank)
		}
		us, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(us) {
			return nil, fmt.Errorf("%s: line %d: expected a number of microseconds, found %.40q", name, line, text)
		}
		if us < 0 || us > math.MaxInt64/1e3 {
			return nil, fmt.Errorf("%s: line %d: %.40s µs: must be from 0 to 292 years", name, line, text)
		}
		if len(gaps) == maxIntervals {
			return nil, fmt.Errorf("%s: more than %d intervals", name, maxIntervals)
		}
		gaps = append(gaps, time.Duration(math.Round(us*1e3)))
		sum += us
	}
	switch err := sc.Err(); {
	case err != nil:
		return nil, fmt.Errorf("%s: line %d: %w", name, line+1, err)
	case len(gaps) == 0:
		return nil, fmt.Errorf("%s: holds no interval; expected one number of microseconds a line", name)
	case sum == 0:
		return nil, fmt.Errorf("%s: all intervals are 0; at least one must be longer", name)
	}
	return gaps, nil
}
