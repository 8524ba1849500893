package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// LeaveOut names the runs that a comparison leaves out because the user asked for it. A run is named by
// its side and its number in the order of the starts: old.1 is the first old run. The zero value leaves
// out none.
type LeaveOut struct {
	// Runs are names of runs.
	Runs []string
	// First is the number of runs that are left out at the start of each side.
	First int
}

// runName names a run of a side by its place, from 1, in the order of the starts.
func runName(side string, place int) string { return fmt.Sprintf("%s.%d", side, place) }

// numbersOf returns the numbers of the runs of both sides that x names, in rising order.
func (x *LeaveOut) numbersOf(sides Sides) (older, newer []int, err error) {
	for i := range x.First {
		older, newer = append(older, i+1), append(newer, i+1)
	}
	for _, name := range x.Runs {
		side, digits, ok := cutLast(name, ".")
		n, numberErr := strconv.Atoi(digits)
		if !ok || numberErr != nil || n < 1 {
			return nil, nil, fmt.Errorf("%q is not a run; write %s.1 for the first run of the %s side", name, sides.old(), sides.old())
		}
		switch side {
		case sides.old():
			older = append(older, n)
		case sides.new():
			newer = append(newer, n)
		case "old":
			older = append(older, n)
		case "new":
			newer = append(newer, n)
		default:
			return nil, nil, fmt.Errorf("%q names no side; the sides are %s and %s", name, sides.old(), sides.new())
		}
	}
	slices.Sort(older)
	slices.Sort(newer)
	return slices.Compact(older), slices.Compact(newer), nil
}

// cutLast cuts s at the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// Remaining returns how many runs of each side are left of this many. It returns an error if x names a
// run that does not exist, or leaves none of a side.
func (x *LeaveOut) Remaining(older, newer int, sides Sides) (o, n int, err error) {
	oldOut, newOut, err := x.numbersOf(sides)
	if err != nil {
		return 0, 0, err
	}
	for _, side := range [...]struct {
		name string
		runs int
		out  []int
	}{{sides.old(), older, oldOut}, {sides.new(), newer, newOut}} {
		switch {
		case len(side.out) > 0 && side.out[len(side.out)-1] > side.runs:
			return 0, 0, fmt.Errorf("there is no run %s.%d: the %s side has %d", side.name, side.out[len(side.out)-1], side.name, side.runs)
		case len(side.out) == side.runs:
			return 0, 0, fmt.Errorf("no run of the %s side is left", side.name)
		}
	}
	return older - len(oldOut), newer - len(newOut), nil
}

// apply numbers the runs of both sides by their starts and returns the runs that are left, and the runs
// that are left out. Names that Remaining refuses are ignored.
func (x *LeaveOut) apply(older, newer []*Run, sides Sides) (o, n []*Run, numbers map[*Run]string, out []*Run) {
	oldOut, newOut, _ := x.numbersOf(sides)
	numbers = make(map[*Run]string, len(older)+len(newer))
	left := func(runs []*Run, side string, leave []int) (rest []*Run) {
		for i, r := range byStart(runs) {
			numbers[r] = runName(side, i+1)
			if slices.Contains(leave, i+1) && len(leave) < len(runs) {
				out = append(out, r)
			} else {
				rest = append(rest, r)
			}
		}
		return rest
	}
	return left(older, sides.old(), oldOut), left(newer, sides.new(), newOut), numbers, out
}

// named returns a run's number for a sentence: "old run 1".
func (res *Result) named(r *Run) string {
	side, digits, _ := cutLast(cmp.Or(res.numbers[r], "?.0"), ".")
	return side + " run " + digits
}
