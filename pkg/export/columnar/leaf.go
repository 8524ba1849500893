package columnar

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// A leaf reads one column of one row group, some rows at a time.
//
// Levels encode how the values nest. A row starts at repetition level 0. The definition
// level is the depth in the path of the column down to which a node is present.
type leaf struct {
	pages  pageReader
	values pageValues
	shape  leafShape
	frugal bool // memory counts more than time
	limit  *budget
	memory [decodedBatches]leafMemory
	leafMemory

	levelsLeft int // levels of the page that are not decoded yet
	repLevels  rleDecoder
	defLevels  rleDecoder
	// Decoded levels. The elements from at to end are not used yet.
	repBlock, defBlock []uint8
	at, end            int
	// sameDef is the definition level of all decoded levels; −1 if they differ.
	sameDef int
}

// decodedBatches is the number of blocks of decoded rows in use at the same time: one is
// being decoded, one is being read, and the others wait. If many files are read, one waits.
const (
	decodedBatches      = 6
	leastDecodedBatches = 3
)

// newLeaf returns a leaf of a column without an open file.
func newLeaf(physicalType parquet.Type, shape leafShape, signed bool) *leaf {
	return &leaf{values: pageValues{physicalType: physicalType, signed: signed}, shape: shape, limit: &budget{}}
}

// open makes the leaf read the pages that p names, in the file src, and reuses its memory.
// maxBytes bounds a page.
func (l *leaf) open(src io.ReaderAt, p *columnPages, maxBytes int64) error {
	l.close()
	return l.pages.open(src, p, maxBytes)
}

// close forgets the file, and keeps the memory.
func (l *leaf) close() {
	l.pages.close()
	l.levelsLeft, l.at, l.end = 0, 0, 0
	l.repLevels, l.defLevels = rleDecoder{}, rleDecoder{}
	l.values.reset()
}

// A leafMemory holds decoded rows of a leaf.
type leafMemory struct {
	v     *vector // the values
	lists *vector // for a column in a list: where each row starts and ends in v
	// inner is set for a column in a list of lists: where each inner list starts and ends
	// in v. lists then says where each row starts and ends in inner.
	inner *vector
}

// useMemory makes the leaf decode into memory number i.
func (l *leaf) useMemory(i int) {
	m := &l.memory[i]
	if m.v == nil {
		m.v, m.lists = &vector{}, &vector{}
		if l.shape.maxRep == 2 {
			m.inner = &vector{}
		}
	}
	l.leafMemory = *m
}

// A leafShape gives the meaning of the definition levels of a column.
type leafShape struct {
	maxDef int
	maxRep int
	list   int // lowest definition level of a list that is present
	elem   int // lowest definition level of a list with an element
	// innerList and innerElem are these levels of the inner list of a list of lists.
	innerList, innerElem int
}

// shapeOf returns the shape of a column. It returns an error for lists nested deeper than
// a list of lists.
func shapeOf(col *schema.Column) (leafShape, error) {
	s := leafShape{maxDef: int(col.MaxDefinitionLevel()), maxRep: int(col.MaxRepetitionLevel())}
	if s.maxRep > 2 {
		return s, errors.New("lists nested more than twice are not supported")
	}
	level, left := s.maxDef, s.maxRep
	for n := col.SchemaNode(); n != nil && left > 0; n = n.Parent() {
		switch n.RepetitionType() {
		case parquet.Repetitions.Repeated:
			if left == 2 {
				s.innerElem, s.innerList = level, level-1
			} else {
				s.elem, s.list = level, level-1
			}
			level--
			left--
		case parquet.Repetitions.Optional:
			level--
		}
	}
	return s, nil
}

// readRows replaces the content of v, lists and inner by the next n rows.
func (l *leaf) readRows(n int, limit *budget) error {
	l.limit = limit
	l.v.reset(l.values.isText())
	l.lists.reset(true)
	switch l.shape.maxRep {
	case 0:
		return l.readValueRows(n)
	case 2:
		l.inner.reset(true)
	}
	return l.readListRows(n)
}

var errFewRows = errors.New("the column has fewer rows than the row group")

// readValueRows reads n rows of a column that is not in a list.
func (l *leaf) readValueRows(n int) error {
	for n > 0 {
		if more, err := l.fillLevels(); err != nil || !more {
			return cmp.Or(err, errFewRows)
		}
		levels := l.defBlock[l.at:min(l.end, l.at+n)]
		l.at += len(levels)
		n -= len(levels)
		if l.sameDef >= 0 && l.sameDef < l.shape.maxDef {
			if err := l.appendNulls(len(levels)); err != nil {
				return err
			}
			continue
		}
		for len(levels) > 0 {
			run := 0
			for run < len(levels) && int(levels[run]) == l.shape.maxDef {
				run++
			}
			if err := l.appendValues(run); err != nil {
				return err
			}
			for levels = levels[run:]; len(levels) > 0 && int(levels[0]) < l.shape.maxDef; levels = levels[1:] {
				if err := l.appendNull(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readListRows reads n rows of a column in a list or in a list of lists.
func (l *leaf) readListRows(n int) error {
	elem, most, inner := uint8(l.shape.elem), uint8(l.shape.maxDef), l.inner
	open := false // the last row may continue
	run := 0      // values that are not read yet
	for {
		if l.at == l.end {
			if err := l.appendValues(run); err != nil {
				return err
			}
			run = 0
			if more, err := l.fillLevels(); err != nil {
				return err
			} else if !more {
				if l.lists.n < n {
					return errFewRows
				}
				l.endRow(0)
				return nil
			}
		}
		if l.sameDef == int(most) {
			done, err := l.readValueLevels(n, &open, &run)
			if err != nil || done {
				return err
			}
			continue
		}
		reps, defs := l.repBlock[:l.end], l.defBlock[:l.end]
		for ; l.at < l.end; l.at++ {
			def := defs[l.at]
			switch rep := reps[l.at]; {
			case rep == 0:
				if open {
					l.endRow(run)
				}
				if open = l.lists.n < n; !open {
					return l.appendValues(run)
				}
				if err := l.beginRow(int(def)); err != nil {
					return err
				}
				if def < elem {
					continue
				}
			case !open:
				return errors.New("a row starts within a list")
			case def < elem:
				return errors.New("a list continues without an element")
			}
			if inner != nil {
				if reps[l.at] < 2 {
					if err := l.limit.take(elementBytes); err != nil {
						return err
					}
					inner.n++
					inner.offsets = append(inner.offsets, l.v.n+run)
				}
				if int(def) < l.shape.innerElem {
					continue
				}
				inner.offsets[inner.n] = l.v.n + run + 1
			}
			if def == most {
				run++
				continue
			}
			if err := l.appendValues(run); err != nil {
				return err
			}
			run = 0
			if err := l.appendNull(); err != nil {
				return err
			}
		}
	}
}

// readValueLevels goes through decoded levels that are all of values. run counts the values,
// and open says that a row may continue, as in readListRows. done is true when n rows are
// complete.
func (l *leaf) readValueLevels(n int, open *bool, run *int) (done bool, err error) {
	reps := l.repBlock[:l.end]
	for l.at < l.end {
		if reps[l.at] == 0 {
			if *open {
				l.endRow(*run)
			}
			if *open = l.lists.n < n; !*open {
				return true, l.appendValues(*run)
			}
			if err := l.beginRow(l.shape.maxDef); err != nil {
				return false, err
			}
			if l.inner == nil {
				l.at++
				*run++
			}
		} else if !*open {
			return false, errors.New("a row starts within a list")
		}
		if l.inner != nil {
			if err := l.readInnerValueLevels(run); err != nil {
				return false, err
			}
			continue
		}
		k := bytes.IndexByte(reps[l.at:], 0) // the next row
		if k < 0 {
			k = l.end - l.at
		}
		l.at += k
		*run += k
	}
	return false, nil
}

// readInnerValueLevels goes through the levels of one inner list, or of the rest of one. All
// levels are of values.
func (l *leaf) readInnerValueLevels(run *int) error {
	inner, reps := l.inner, l.repBlock[:l.end]
	if reps[l.at] < 2 {
		if err := l.limit.take(elementBytes); err != nil {
			return err
		}
		inner.n++
		inner.offsets = append(inner.offsets, 0)
		l.at++
		*run++
	}
	from := l.at
	for l.at < l.end && reps[l.at] == 2 {
		l.at++
	}
	*run += l.at - from
	inner.offsets[inner.n] = l.v.n + *run
	return nil
}

// beginRow starts a row whose first definition level is def.
func (l *leaf) beginRow(def int) error {
	if err := l.limit.take(elementBytes); err != nil {
		return err
	}
	if def < l.shape.list {
		l.lists.setNull(l.lists.n)
	}
	l.lists.n++
	if l.lists.nulls != nil {
		l.lists.growNulls(l.lists.n)
	}
	return nil
}

// endRow ends the last row. run of its values are not read yet.
func (l *leaf) endRow(run int) {
	if l.lists.n == 0 {
		return
	}
	if l.inner != nil {
		l.lists.offsets = append(l.lists.offsets, l.inner.n)
	} else {
		l.lists.offsets = append(l.lists.offsets, l.v.n+run)
	}
}

// appendNull appends a null to v.
func (l *leaf) appendNull() error { return l.appendNulls(1) }

// appendNulls appends n nulls to v.
func (l *leaf) appendNulls(n int) error {
	if err := l.limit.take(n * elementBytes); err != nil {
		return err
	}
	v := l.v
	if v.nulls == nil && v.nullMemory != nil {
		v.nulls, v.nullMemory = v.nullMemory, nil
	}
	v.growNulls(v.n)
	v.nulls = slices.Grow(v.nulls[:v.n], n)[:v.n+n]
	fill(v.nulls[v.n:], true)
	v.n += n
	if l.values.isText() {
		at := len(v.offsets)
		v.offsets = slices.Grow(v.offsets, n)[:at+n]
		fill(v.offsets[at:], len(v.text))
	} else {
		at := len(v.nums)
		v.nums = slices.Grow(v.nums, n)[:at+n]
		clear(v.nums[at:])
	}
	return nil
}

// appendValues appends the next n values of the page to v.
func (l *leaf) appendValues(n int) error {
	if n == 0 {
		return nil
	}
	if err := l.limit.take(n * elementBytes); err != nil {
		return err
	}
	v := l.v
	before := len(v.text)
	if err := l.values.append(v, n); err != nil {
		return err
	}
	v.n += n
	if v.nulls != nil {
		v.growNulls(v.n)
	}
	return l.limit.take(len(v.text) - before)
}

// levels returns the number of levels of the rows that readRows read: one for each element of a
// list, and one for an empty list or null.
func (l *leaf) levels() int64 {
	if l.shape.maxRep == 0 {
		return int64(l.v.n)
	}
	n := int64(0)
	for i := range l.lists.n {
		from, to, _ := l.lists.list(i)
		n += int64(max(1, to-from))
	}
	return n
}

// skip skips n levels, whole pages without decompressing them. The rows that readRows read are lost.
func (l *leaf) skip(n int64) error {
	l.v.reset(l.values.isText())
	for n > 0 {
		if l.at == l.end && l.levelsLeft == 0 {
			l.pages.skip = n
			more, err := l.nextPage()
			n, l.pages.skip = l.pages.skip, 0
			switch {
			case err != nil:
				return err
			case !more && n > 0:
				return errFewRows
			case !more:
				return nil
			}
			if n == 0 {
				return nil
			}
		}
		limit := budget{l.pages.maxBytes, l.pages.maxBytes}
		l.limit = &limit
		if more, err := l.fillLevels(); err != nil || !more {
			return cmp.Or(err, errFewRows)
		}
		levels := l.defBlock[l.at:min(int64(l.end), int64(l.at)+n)]
		values := 0
		for _, def := range levels {
			if int(def) == l.shape.maxDef {
				values++
			}
		}
		if err := l.appendValues(values); err != nil {
			return err
		}
		l.at += len(levels)
		n -= int64(len(levels))
		l.v.reset(l.values.isText())
	}
	return nil
}

// blockLevels is the number of levels that are decoded at once. It is small because a broken
// page may claim any number of levels.
const blockLevels = 4096

// frugalBlockLevels is the number of levels that a frugal leaf decodes at once.
const frugalBlockLevels = 512

// fillLevels decodes the next levels if all decoded levels are used. more is false at the
// end of the column.
func (l *leaf) fillLevels() (more bool, err error) {
	if l.at < l.end {
		return true, nil
	}
	for l.levelsLeft == 0 {
		if more, err := l.nextPage(); err != nil || !more {
			return false, err
		}
	}
	if l.defBlock == nil {
		most := blockLevels
		if l.frugal {
			most = frugalBlockLevels
		}
		l.repBlock, l.defBlock = make([]uint8, most), make([]uint8, most)
	}
	n := min(l.levelsLeft, len(l.defBlock))
	if l.pages.startsOnly { // few levels are needed
		n = min(n, frugalBlockLevels)
	}
	l.levelsLeft -= n
	if l.shape.maxRep > 0 {
		if err := decodeLevels(&l.repLevels, l.repBlock[:n], l.shape.maxRep, "repetition"); err != nil {
			return false, err
		}
	}
	l.sameDef = l.shape.maxDef
	if l.shape.maxDef > 0 {
		if l.sameDef = -1; l.defLevels.repeats(n) {
			l.sameDef = int(l.defLevels.value)
		}
		if err := decodeLevels(&l.defLevels, l.defBlock[:n], l.shape.maxDef, "definition"); err != nil {
			return false, err
		}
	}
	l.at, l.end = 0, n
	return true, nil
}

// decodeLevels fills to with the next levels. A level above most is an error.
func decodeLevels(h *rleDecoder, to []uint8, most int, kind string) error {
	same := h.repeats(len(to))
	if err := decodeRuns(h, to); err != nil {
		return err
	}
	switch {
	case same:
		to = to[:1]
	case most == 1<<h.width-1:
		return nil // no level can be higher
	}
	for _, level := range to {
		if int(level) > most {
			return fmt.Errorf("a %s level of %d", kind, level)
		}
	}
	return nil
}

// nextPage starts the next page of values. more is false at the end of the column.
func (l *leaf) nextPage() (more bool, err error) {
	for {
		next := l.pages.next
		if l.frugal {
			next = l.nextPacked
		}
		if more, err := next(); err != nil || !more {
			return false, err
		}
		if l.pages.header.kind != dictionaryPage {
			return true, l.startPage()
		}
		if err := l.readDictionary(); err != nil {
			return false, fmt.Errorf("dictionary: %w", err)
		}
	}
}

// nextPacked goes to the next page like pages.next, and keeps it in as little memory as is
// cheap.
func (l *leaf) nextPacked() (more bool, err error) {
	memory := pageMemory.Get().(*[]byte)
	defer pageMemory.Put(memory)
	packed := l.pages.data[:0]
	l.pages.data = *memory
	if more, err = l.pages.next(); more {
		packed, err = l.appendPacked(packed)
	}
	*memory, l.pages.data = l.pages.data, packed
	return more, err
}

// appendPacked appends the current page to b. It encodes plain integers as differences, and
// changes the header of the page accordingly: most columns of integers ascend or repeat, and
// take a quarter of the memory then.
func (l *leaf) appendPacked(b []byte) ([]byte, error) {
	h, page := &l.pages.header, l.pages.data
	var number func(b []byte, i int) int64
	size := 4
	switch l.values.physicalType {
	case parquet.Types.Int32:
		number = func(b []byte, i int) int64 { return int64(int32(binary.LittleEndian.Uint32(b[4*i:]))) }
	case parquet.Types.Int64:
		size = 8
		number = func(b []byte, i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	}
	if number == nil || h.kind == dictionaryPage || h.encoding != encodingPlain {
		return append(b, page...), nil
	}
	_, _, values, err := l.split()
	n := len(values) / size
	if err != nil || n == 0 {
		return append(b, page...), err
	}
	h.encoding = encodingDelta
	b = append(b, page[:len(page)-len(values)]...)
	last := number(values, 0)
	b = appendDeltaHeader(b, n, last)
	var block [8 * deltaBlock]int64
	for from := 1; from < n; from += len(block) {
		numbers := block[:min(len(block), n-from)]
		for i := range numbers {
			numbers[i] = number(values, from+i)
		}
		b = appendDeltaBlocks(b, last, numbers)
		last = numbers[len(numbers)-1]
	}
	return b, nil
}

// readDictionary reads the dictionary in the current page.
func (l *leaf) readDictionary() error {
	if l.values.dict != nil {
		return errors.New("the column has two")
	}
	dict := &vector{offsets: []int{0}}
	values := pageValues{physicalType: l.values.physicalType, signed: l.values.signed}
	n := l.pages.header.values
	if err := values.start(encodingPlain, l.pages.data, n, l.limit); err != nil {
		return err
	}
	for range n {
		before := len(dict.text)
		if err := values.append(dict, 1); err != nil {
			return err
		}
		dict.n++
		if err := l.limit.take(elementBytes + len(dict.text) - before); err != nil {
			return err
		}
	}
	l.values.dict = dict
	return nil
}

// split returns the levels and the values of the current page.
func (l *leaf) split() (reps, defs, values []byte, err error) {
	h, b := &l.pages.header, l.pages.data
	if h.kind == dataPageV2 {
		levels := h.repLevels + h.defLevels
		return b[:h.repLevels], b[h.repLevels:levels], b[levels:], nil
	}
	level := func(encoding, most int) []byte {
		switch {
		case err != nil || most == 0:
			return nil
		case encoding != encodingRLE:
			err = fmt.Errorf("levels are encoded as %s", parquet.Encoding(encoding))
			return nil
		case len(b) < 4:
			err = errPage
			return nil
		}
		n := uint64(binary.LittleEndian.Uint32(b))
		if b = b[4:]; n > uint64(len(b)) {
			err = errPage
			return nil
		}
		levels := b[:n]
		b = b[n:]
		return levels
	}
	reps = level(h.repLevels, l.shape.maxRep)
	defs = level(h.defLevels, l.shape.maxDef)
	return reps, defs, b, err
}

// startPage starts the current page.
func (l *leaf) startPage() error {
	reps, defs, values, err := l.split()
	if err != nil {
		return err
	}
	if l.repLevels, err = newRLEDecoder(reps, widthOf(l.shape.maxRep)); err != nil {
		return err
	}
	if l.defLevels, err = newRLEDecoder(defs, widthOf(l.shape.maxDef)); err != nil {
		return err
	}
	l.levelsLeft = l.pages.header.values
	return l.values.start(l.pages.header.encoding, values, l.levelsLeft, l.limit)
}
