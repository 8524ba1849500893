package columnar

import (
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// A checkedRow is a row to be checked.
type checkedRow struct {
	index int   // in the rows that hold the checkedRow
	rows  *rows // with all columns of the file; nil if they cannot be read
	at    int   // index of the row in rows
	// outputs says that rows have the columns of inputs and outputs, as far as the file has them.
	outputs bool
	err     error // why the columns cannot be read
}

// A view says which columns of a batch are read.
type view struct {
	wanted func(col int) bool // the columns of all rows
	// sample returns the rows to be checked of a batch with that many rows; nil for none.
	sample func(rows int) rowSample
	// more reports whether a row to be checked has a column that other rows lack.
	more func(col int) bool
}

// A rowSample names rows of a batch to be checked.
type rowSample struct {
	rows    []int // ascending
	outputs bool  // with inputs and outputs
}

// viewOf returns the view by which Next reads a batch.
func (r *Reader) viewOf(batch int) view {
	v := view{wanted: r.wantedIn(batch)}
	if r.need.Check == export.CheckSample {
		v.sample = func(rows int) rowSample { return r.src.sample(r.seed, batch, rows) }
		v.more = func(col int) bool { return !writeOnly.of(col) && col != colTokenCount && !v.wanted(col) }
	}
	return v
}

// outputBatches is about the number of row groups whose sample has inputs and outputs, in a file of many.
const outputBatches = 4

// earlyRows is the number of rows at the start of a group to which a sample of several rows keeps. A later row
// would make a reader decode the whole of a small file, and the shards of a run are many small files.
const earlyRows = 8

// sampleOfGroup returns the sample of a row group. groups is the number of row groups of the file, and
// rows the number of rows of the group. Decoding a row costs as much as decoding all rows before it, most
// of all with outputs. So the sample of a group is its first row, and one group has a second row, without
// outputs. In a file of one or two groups, each group has several rows with outputs. The seed chooses the
// rows after the first one, and the groups with outputs.
func sampleOfGroup(seed uint64, group, groups, rows int) rowSample {
	turn := int((seed + uint64(group)) % uint64(groups))
	every := max(1, groups/outputBatches)
	if all := severalRows(seed, group, min(rows, earlyRows)); groups <= 2 {
		return rowSample{all, true}
	} else if turn == 0 {
		return rowSample{all[:min(len(all), 2)], false}
	}
	return rowSample{severalRows(0, 0, min(rows, 1)), turn%every == 0}
}

// severalRows returns the first row, the last row and two rows between.
func severalRows(seed uint64, batch, rows int) []int {
	if rows <= 1 {
		return []int{0}[:rows]
	}
	x := fingerprintOf(int64(seed), int64(batch))
	between := uint64(rows - 1)
	all := []int{0, int(x >> 1 % between), int(x >> 32 % between), rows - 1}
	slices.Sort(all)
	return slices.Compact(all)
}

// fingerprintOf returns a number that depends on all numbers.
func fingerprintOf(numbers ...int64) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // of FNV-1a
	x := uint64(offset)
	for _, n := range numbers {
		x = (x ^ uint64(n)) * prime
	}
	return x ^ x>>29 ^ x>>47 // the low bits mix worst
}

// checkedRequest returns what is checked of row i, which all holds. checks are the rows to be
// checked from row i on, which checker decodes.
func (r *Reader) checkedRequest(all, checker *rowDecoder, checks []checkedRow, i int) (c export.CheckedRequest) {
	switch {
	case r.need.Check == export.CheckAll:
		return export.CheckedRequest{Request: &all.req, Derived: r.derivedOf(all), Outputs: true}
	case len(checks) == 0 || checks[0].index != i || checks[0].rows == nil:
		return c
	}
	checker.decode(checks[0].rows, checks[0].at)
	return export.CheckedRequest{Request: &checker.req, Derived: r.derivedOf(checker), Outputs: checks[0].outputs}
}

// checksAt returns the rest of checks from row i on.
func checksAt(checks []checkedRow, i int) []checkedRow {
	for len(checks) > 0 && checks[0].index < i {
		checks = checks[1:]
	}
	return checks
}

// warnUnchecked warns that the columns of a row cannot be read, so that it is not checked.
func (r *Reader) warnUnchecked(where string, err error) {
	r.warn("check", where, "the derived columns were not checked, because the recorded ones cannot be read: "+err.Error())
}
