package columnar

import (
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// A checkMode says which rows a Reader hands over to be checked.
type checkMode uint8

const (
	checkNone checkMode = iota
	checkSample
	checkAll
)

// A checkedRow is a row to be checked.
type checkedRow struct {
	index int   // in the rows that hold the checkedRow
	rows  *rows // with all columns of the file; nil if they cannot be read
	at    int   // index of the row in rows
	err   error // why the columns cannot be read
}

// A view says what is read of a batch.
type view struct {
	wanted func(col int) bool
	// checks returns the numbers of the rows of which all columns are read, ascending, of a batch
	// with that many rows; nil means that no row has more than the wanted columns.
	checks func(rows int) []int
	// more reports whether these rows have the column besides the wanted ones.
	more func(col int) bool
}

// viewOf returns what Next reads of a batch.
func (r *Reader) viewOf(batch int) view {
	v := view{wanted: r.wantedIn(batch)}
	if r.check == checkSample {
		v.checks = func(rows int) []int { return sampleOf(r.src.fingerprint(batch), r.src.batches(), rows) }
		v.more = func(col int) bool { return !isWriteOnly(col) && !v.wanted(col) }
	}
	return v
}

// deepBatches is about the number of batches of a file that are sampled beyond their first row. The
// first row of a batch is cheap; a later row takes as long as all rows before it.
const deepBatches = 2

// sampleOf returns the numbers of the rows to be checked in a batch with that fingerprint and number
// of rows, of a file with that many batches: the first row of each, and in some batches the last row
// and two between. Which ones they are depends on the fingerprint, so on the content of the file.
func sampleOf(fingerprint uint64, batches, rows int) []int {
	if rows == 0 {
		return nil
	}
	if rows == 1 || batches > deepBatches && fingerprint%uint64(batches) >= deepBatches {
		return []int{0}
	}
	between := uint64(rows - 1)
	all := []int{0, int(fingerprint >> 8 % between), int(fingerprint >> 32 % between), rows - 1}
	slices.Sort(all)
	return slices.Compact(all)
}

// fingerprintOf returns a number that depends on all numbers.
func fingerprintOf(numbers ...int64) uint64 {
	h := fnv.New64a()
	for _, n := range numbers {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) // it never fails
	}
	// FNV's low bits mix worst.
	x := h.Sum64()
	return x ^ x>>29 ^ x>>47
}

var _ export.CheckingReader = (*Reader)(nil)

// CheckDerived makes Next hand over requests with all columns, to be checked.
func (r *Reader) CheckDerived(all bool) bool {
	if r.derivation == nil {
		return false
	}
	r.check = checkSample
	if all {
		r.check = checkAll
	}
	return true
}

// Checked returns the current request if it is to be checked, and its derived columns.
func (r *Reader) Checked() (*export.Request, *export.Derived) {
	switch {
	case !r.valid || r.newBatch != nil:
		return nil, nil
	case r.check == checkAll:
		return &r.decoder.req, r.Derived()
	case len(r.checks) == 0 || r.checks[0].index != r.nextRow-1 || r.checks[0].rows == nil:
		return nil, nil
	}
	return r.checker.decodeChecked(&r.checks[0])
}

// decodeChecked returns the request of a row to be checked, and its derived columns.
func (d *rowDecoder) decodeChecked(c *checkedRow) (*export.Request, *export.Derived) {
	d.decode(c.rows, c.at)
	if !d.hasDerived {
		return &d.req, nil
	}
	return &d.req, &d.derived
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

// HasOutputs reports whether the file has the column outputs.
func (r *Reader) HasOutputs() bool { return r.src != nil && r.src.has(colOutputs) }

// Restart makes Next begin again with the first row.
func (r *Reader) Restart() {
	if r.src == nil {
		return
	}
	r.free()
	r.warnings = slices.Clip(r.warnings[:r.opening])
	for kind, i := range r.warned {
		if i >= r.opening {
			delete(r.warned, kind)
		}
	}
	r.newBatch, r.nextPart, r.batchRow, r.ended, r.valid, r.experiment, r.err = nil, 0, 0, false, false, 0, nil
	r.checks, r.checker = nil, rowDecoder{}
	r.withoutAnswers, r.brief, r.withoutDerived, r.check = false, false, false, checkNone
}
