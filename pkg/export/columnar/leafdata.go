package columnar

import (
	"encoding/binary"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
	pqschema "github.com/apache/arrow/go/v15/parquet/schema"
)

// A leafData holds the values of one column of a Parquet file in the rows of a row group: a
// leaf of the columns of successive batches.
type leafData struct {
	desc *pqschema.Column
	kind parquet.Type
	// dictionary says that the values may have a dictionary.
	dictionary bool
	batches    []leafBatch
}

// A leafBatch holds the values of a leafData in one batch.
type leafBatch struct {
	rows int
	// lists are the lists around the values, the outermost first.
	lists  []*arrowColumn
	values *arrowColumn
}

// leavesOf returns the leaves of the batches in the order of a file with the schema: one leaf
// for each field of a list of structs, one leaf for any other column.
func leavesOf(batches []*batch, schema *pqschema.Schema) []leafData {
	all := make([]leafData, schema.NumColumns())
	for i := range all {
		desc := schema.Column(i)
		all[i] = leafData{
			desc: desc, kind: desc.PhysicalType(), dictionary: hasDictionary(desc.Path()),
			batches: make([]leafBatch, 0, len(batches)),
		}
	}
	for _, b := range batches {
		leaf := 0
		for _, c := range b.cols {
			l := leafBatch{rows: b.rows}
			for c.isList() {
				l.lists = append(l.lists, c)
				c = c.children[0]
			}
			fields := []*arrowColumn{c}
			if c.isStruct() {
				fields = c.children
			}
			for _, l.values = range fields {
				all[leaf].batches = append(all[leaf].batches, l)
				leaf++
			}
		}
	}
	return all
}

// sizeOf returns the approximate size of the values of the batches before encoding.
func sizeOf(batches []leafBatch) int {
	n := 0
	for i := range batches {
		n += batches[i].values.size()
	}
	return n
}

// levels appends the definition and repetition levels of the batch to e.
func (l *leafBatch) levels(e *valueLevels, most uint8) {
	if len(l.lists) == 0 {
		if most > 0 {
			e.appendDefs(l.values, 0, l.values.n, most)
		}
		return
	}
	outer := l.lists[0]
	present := uint8(0) // definition level of a list that is present but empty
	if outer.field.Nullable {
		present = 1
	}
	begin := 0
	for row := range l.rows {
		end := outer.offset(row + 1)
		switch {
		case outer.isNull(row):
			e.defs.add(present-1, 1)
			e.reps.add(0, 1)
		case begin == end:
			e.defs.add(present, 1)
			e.reps.add(0, 1)
		case len(l.lists) == 1:
			e.reps.add(0, 1)
			e.reps.add(1, end-begin-1)
			e.appendDefs(l.values, begin, end, most)
		default:
			l.innerLevels(e, begin, end, present, most)
		}
		begin = end
	}
}

// innerLevels appends the levels of a row that holds the inner lists from index from up to
// index to.
func (l *leafBatch) innerLevels(e *valueLevels, from, to int, present, most uint8) {
	inner := l.lists[1]
	rep := uint8(0) // of the first value of the row
	for i := from; i < to; i++ {
		begin, end := inner.offset(i), inner.offset(i+1)
		if begin == end {
			e.defs.add(present+2, 1)
			e.reps.add(rep, 1)
		} else {
			e.reps.add(rep, 1)
			e.reps.add(2, end-begin-1)
			e.appendDefs(l.values, begin, end, most)
		}
		rep = 1
	}
}

// appendDefs appends the definition levels of the values of c from index from up to index
// to: most, or one less for null.
func (e *valueLevels) appendDefs(c *arrowColumn, from, to int, most uint8) {
	if c.nulls == 0 {
		e.defs.add(most, to-from)
		return
	}
	for ; from < to; from++ {
		if c.isNull(from) {
			e.defs.add(most-1, 1)
		} else {
			e.defs.add(most, 1)
		}
	}
}

// appendNumbers appends the values that are not null to b, as integers of 64 bits with their
// sign extended, and doubles as their bits.
func (c *arrowColumn) appendNumbers(b []int64) []int64 {
	at := len(b)
	b = slices.Grow(b, c.n)[:at+c.n]
	numbers := b[at:]
	data := c.data
	switch c.width {
	case 0:
		for i := range numbers {
			numbers[i] = int64(data[i/8] >> (i % 8) & 1)
		}
	case 1:
		for i := range numbers {
			numbers[i] = int64(int8(data[i]))
		}
	case 4:
		for ; len(numbers) > 0 && len(data) >= 4; numbers, data = numbers[1:], data[4:] {
			numbers[0] = int64(int32(binary.LittleEndian.Uint32(data)))
		}
	default:
		for ; len(numbers) > 0 && len(data) >= 8; numbers, data = numbers[1:], data[8:] {
			numbers[0] = int64(binary.LittleEndian.Uint64(data))
		}
	}
	numbers = b[at:]
	if c.nulls == 0 {
		return b
	}
	kept := b[:at]
	for i := 0; i < len(numbers); i++ {
		for i+8 <= len(numbers) && i%8 == 0 && c.valid[i/8] == 0xff {
			kept = append(kept, numbers[i:i+8]...)
			i += 8
		}
		if i < len(numbers) && !c.isNull(i) {
			kept = append(kept, numbers[i])
		}
	}
	return kept
}

// appendTexts appends the texts that are not null to texts. A column with shared texts has only
// their rests.
func (c *arrowColumn) appendTexts(texts [][]byte) [][]byte {
	begin := 0
	for i := range c.n {
		end := c.offset(i + 1)
		if !c.isNull(i) {
			texts = append(texts, c.data[begin:end])
		}
		begin = end
	}
	return texts
}
