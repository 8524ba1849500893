package columnar

import (
	"runtime"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
)

// A selection says what a Reader reads of its file, as a [export.Need] asks for it.
type selection struct {
	header
	src  source
	need export.Need
	seed uint64 // of the sample
}

// mostParts returns the number of parts that are decoded at the same time at most.
func (s *selection) mostParts() int {
	if s.src.ahead() == 0 {
		return 1
	}
	return max(1, runtime.GOMAXPROCS(0)/max(1, s.need.Share))
}

// viewOf returns the view by which Next reads a batch.
func (s *selection) viewOf(batch int) (v view) {
	all := s.need.Check == export.CheckAll
	brief := s.need.Derived == export.DerivedBrief && !all && s.src.brief(batch)
	v.wanted = func(col int) bool {
		switch {
		case writeOnly.of(col), s.need.Derived == export.DerivedUnused && col >= firstDerived:
			return false
		case brief && (ofBrief | ofResponse).of(col):
			return ofBrief.of(col)
		case s.need.Derived >= export.DerivedInstead && !all:
			return !ofAnswer.of(col)
		}
		return true
	}
	if s.need.Check == export.CheckSample {
		v.sample = func(rows int) rowSample { return s.src.sample(s.seed, batch, rows) }
		v.more = func(col int) bool { return !writeOnly.of(col) && col != colTokenCount && !v.wanted(col) }
	}
	return v
}

// rowPart returns the part of row i. d interns names.
func (s *selection) rowPart(d *rowDecoder, t *rows, i, batch int) part {
	q := export.Request{
		Status: parseName(&d.scalarDecoder, t.cols[colStatus].Bytes(i), export.ParseStatus),
		Phase:  parseName(&d.scalarDecoder, t.cols[colPhase].Bytes(i), export.ParsePhase),
	}
	return part{experiment: s.rowExperiment(t, i), excluded: q.Excluded() != export.NotExcluded, batch: batch}
}

// rowExperiment returns the index in run of the experiment of row i.
func (s *selection) rowExperiment(t *rows, i int) int {
	return int(t.cols[colExperiment].Num(i))
}

// A rowReader decodes rows in their order, and the rows to be checked.
type rowReader struct {
	*selection
	decoder rowDecoder
	checker rowDecoder   // of checks
	checks  []checkedRow // in the current rows, from the current row on
}

// read decodes row i of t. unchecked is the reason why the row is not checked although it should be.
func (r *rowReader) read(t *rows, i int) (unchecked error) {
	r.decoder.decode(t, i)
	for len(r.checks) > 0 && r.checks[0].index < i {
		r.checks = r.checks[1:]
	}
	if len(r.checks) > 0 && r.checks[0].index == i {
		return r.checks[0].err
	}
	return nil
}

// row returns row i, the last one that was decoded.
func (r *rowReader) row(i int) export.Row {
	row := export.Row{Request: &r.decoder.req, Derived: r.derivedOf(&r.decoder)}
	switch {
	case r.need.Check == export.CheckAll:
		row.Check = export.CheckedRequest{Request: row.Request, Derived: row.Derived, Outputs: true}
	case len(r.checks) > 0 && r.checks[0].index == i && r.checks[0].rows != nil:
		c := &r.checks[0]
		r.checker.decode(c.rows, c.at)
		row.Check = export.CheckedRequest{Request: &r.checker.req, Derived: r.derivedOf(&r.checker), Outputs: c.outputs}
	}
	return row
}

// derivedOf returns the derived columns of the row of d; nil if it has none, or damaged ones.
func (s *selection) derivedOf(d *rowDecoder) *export.Derived {
	if s.derivation == nil || !d.hasDerived {
		return nil
	}
	return &d.derived
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
