package pages

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

// A Leaf reads one column of one row group, some rows at a time.
//
// Levels encode how the values nest. A row starts at repetition level 0. The definition
// level is the depth in the path of the column down to which a node is present.
type Leaf struct {
	Shape  Shape
	Frugal bool // memory counts more than time

	pages  pageReader
	values pageValues
	limit  *Budget
	memory [Memories]leafMemory
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

// Memories is the number of memories of a Leaf, for blocks of decoded rows that are in use at the same time.
const Memories = 6

// NewLeaf returns a leaf of a column without an open file.
func NewLeaf(physicalType parquet.Type, shape Shape, signed bool) *Leaf {
	return &Leaf{values: pageValues{physicalType: physicalType, signed: signed}, Shape: shape, limit: &Budget{}}
}

// Open makes the leaf read the pages that p names, in the file src, and reuses its memory.
// maxBytes bounds a page.
func (l *Leaf) Open(src io.ReaderAt, p *Chunk, maxBytes int64) error {
	l.Close()
	return l.pages.open(src, p, maxBytes)
}

// Close forgets the file, and keeps the memory.
func (l *Leaf) Close() {
	l.pages.close()
	l.levelsLeft, l.at, l.end = 0, 0, 0
	l.repLevels, l.defLevels = rleDecoder{}, rleDecoder{}
	l.values.reset()
}

// SetStartsOnly makes the leaf, until it is opened again, decompress large pages only as far as their first
// block goes. It may lack rows then.
func (l *Leaf) SetStartsOnly(only bool) { l.pages.startsOnly = only }

// A leafMemory holds decoded rows of a leaf.
type leafMemory struct {
	V     *Vector // the values
	Lists *Vector // for a column in a list: where each row starts and ends in V
	// Inner is set for a column in a list of lists: where each inner list starts and ends
	// in V. Lists then says where each row starts and ends in Inner.
	Inner *Vector
}

// UseMemory makes the leaf decode into memory number i.
func (l *Leaf) UseMemory(i int) {
	m := &l.memory[i]
	if m.V == nil {
		m.V, m.Lists = &Vector{}, &Vector{}
		if l.Shape.MaxRep == 2 {
			m.Inner = &Vector{}
		}
	}
	l.leafMemory = *m
}

// A Shape gives the meaning of the definition levels of a column.
type Shape struct {
	maxDef    int
	MaxRep    int // how deep lists are nested around the values
	list      int // lowest definition level of a list that is present
	elem      int // lowest definition level of a list with an element
	innerElem int // the same of the inner list of a list of lists
}

// ShapeOf returns the shape of a column. It returns an error for lists nested deeper than
// a list of lists.
func ShapeOf(col *schema.Column) (Shape, error) {
	s := Shape{maxDef: int(col.MaxDefinitionLevel()), MaxRep: int(col.MaxRepetitionLevel())}
	if s.MaxRep > 2 {
		return s, errors.New("lists nested more than twice are not supported")
	}
	level, left := s.maxDef, s.MaxRep
	for n := col.SchemaNode(); n != nil && left > 0; n = n.Parent() {
		switch n.RepetitionType() {
		case parquet.Repetitions.Repeated:
			if left == 2 {
				s.innerElem = level
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

// ReadRows replaces the content of V, Lists and Inner by the next n rows.
func (l *Leaf) ReadRows(n int, limit *Budget) error {
	l.limit = limit
	l.V.reset(l.values.isText())
	l.Lists.reset(true)
	switch l.Shape.MaxRep {
	case 0:
		return l.readValueRows(n)
	case 2:
		l.Inner.reset(true)
	}
	return l.readListRows(n)
}

var errFewRows = errors.New("the column has fewer rows than the row group")

// readValueRows reads n rows of a column that is not in a list.
func (l *Leaf) readValueRows(n int) error {
	for n > 0 {
		if more, err := l.fillLevels(); err != nil || !more {
			return cmp.Or(err, errFewRows)
		}
		levels := l.defBlock[l.at:min(l.end, l.at+n)]
		l.at += len(levels)
		n -= len(levels)
		for len(levels) > 0 {
			values := 0
			for values < len(levels) && int(levels[values]) == l.Shape.maxDef {
				values++
			}
			nulls := values
			for nulls < len(levels) && int(levels[nulls]) < l.Shape.maxDef {
				nulls++
			}
			if err := cmp.Or(l.appendValues(values), l.appendNulls(nulls-values)); err != nil {
				return err
			}
			levels = levels[nulls:]
		}
	}
	return nil
}

// readListRows reads n rows of a column in a list or in a list of lists.
func (l *Leaf) readListRows(n int) error {
	elem, most, inner := uint8(l.Shape.elem), uint8(l.Shape.maxDef), l.Inner
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
				if l.Lists.N < n {
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
				if open = l.Lists.N < n; !open {
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
					inner.N++
					inner.Offsets = append(inner.Offsets, l.V.N+run)
				}
				if int(def) < l.Shape.innerElem {
					continue
				}
				inner.Offsets[inner.N] = l.V.N + run + 1
			}
			if def == most {
				run++
				continue
			}
			if err := l.appendValues(run); err != nil {
				return err
			}
			run = 0
			if err := l.appendNulls(1); err != nil {
				return err
			}
		}
	}
}

// readValueLevels goes through decoded levels that are all of values. run counts the values,
// and open says that a row may continue, as in readListRows. done is true when n rows are
// complete.
func (l *Leaf) readValueLevels(n int, open *bool, run *int) (done bool, err error) {
	reps := l.repBlock[:l.end]
	for l.at < l.end {
		if reps[l.at] == 0 {
			if *open {
				l.endRow(*run)
			}
			if *open = l.Lists.N < n; !*open {
				return true, l.appendValues(*run)
			}
			if err := l.beginRow(l.Shape.maxDef); err != nil {
				return false, err
			}
			if l.Inner == nil {
				l.at++
				*run++
			}
		} else if !*open {
			return false, errors.New("a row starts within a list")
		}
		if l.Inner != nil {
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
func (l *Leaf) readInnerValueLevels(run *int) error {
	inner, reps := l.Inner, l.repBlock[:l.end]
	if reps[l.at] < 2 {
		if err := l.limit.take(elementBytes); err != nil {
			return err
		}
		inner.N++
		inner.Offsets = append(inner.Offsets, 0)
		l.at++
		*run++
	}
	from := l.at
	for l.at < l.end && reps[l.at] == 2 {
		l.at++
	}
	*run += l.at - from
	inner.Offsets[inner.N] = l.V.N + *run
	return nil
}

// beginRow starts a row whose first definition level is def.
func (l *Leaf) beginRow(def int) error {
	if err := l.limit.take(elementBytes); err != nil {
		return err
	}
	if def < l.Shape.list {
		l.Lists.appendNulls(1)
	}
	l.Lists.N++
	if l.Lists.Nulls != nil {
		l.Lists.growNulls(l.Lists.N)
	}
	return nil
}

// endRow ends the last row. run of its values are not read yet.
func (l *Leaf) endRow(run int) {
	if l.Lists.N == 0 {
		return
	}
	if l.Inner != nil {
		l.Lists.Offsets = append(l.Lists.Offsets, l.Inner.N)
	} else {
		l.Lists.Offsets = append(l.Lists.Offsets, l.V.N+run)
	}
}

// appendNulls appends n nulls to V.
func (l *Leaf) appendNulls(n int) error {
	if n == 0 {
		return nil
	}
	if err := l.limit.take(n * elementBytes); err != nil {
		return err
	}
	v := l.V
	v.appendNulls(n)
	v.N += n
	if l.values.isText() {
		at := len(v.Offsets)
		v.Offsets = slices.Grow(v.Offsets, n)[:at+n]
		fill(v.Offsets[at:], len(v.Text))
	} else {
		at := len(v.Nums)
		v.Nums = slices.Grow(v.Nums, n)[:at+n]
		clear(v.Nums[at:])
	}
	return nil
}

// appendValues appends the next n values of the page to V.
func (l *Leaf) appendValues(n int) error {
	if n == 0 {
		return nil
	}
	if err := l.limit.take(n * elementBytes); err != nil {
		return err
	}
	v := l.V
	before := len(v.Text)
	if err := l.values.append(v, n); err != nil {
		return err
	}
	v.N += n
	if v.Nulls != nil {
		v.growNulls(v.N)
	}
	return l.limit.take(len(v.Text) - before)
}

// Levels returns the number of levels of the rows that ReadRows read: one for each element of a
// list, and one for an empty list or null.
func (l *Leaf) Levels() int64 {
	if l.Shape.MaxRep == 0 {
		return int64(l.V.N)
	}
	n := int64(0)
	for i := range l.Lists.N {
		from, to, _ := l.Lists.List(i)
		n += int64(max(1, to-from))
	}
	return n
}

// Skip skips n levels, whole pages without decompressing them. The rows that ReadRows read are lost.
func (l *Leaf) Skip(n int64) error {
	l.V.reset(l.values.isText())
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
		l.limit = NewBudget(l.pages.maxBytes)
		if more, err := l.fillLevels(); err != nil || !more {
			return cmp.Or(err, errFewRows)
		}
		levels := l.defBlock[l.at:min(int64(l.end), int64(l.at)+n)]
		values := 0
		for _, def := range levels {
			if int(def) == l.Shape.maxDef {
				values++
			}
		}
		if err := l.appendValues(values); err != nil {
			return err
		}
		l.at += len(levels)
		n -= int64(len(levels))
		l.V.reset(l.values.isText())
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
func (l *Leaf) fillLevels() (more bool, err error) {
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
		if l.Frugal {
			most = frugalBlockLevels
		}
		l.repBlock, l.defBlock = make([]uint8, most), make([]uint8, most)
	}
	n := min(l.levelsLeft, len(l.defBlock))
	if l.pages.startsOnly { // few levels are needed
		n = min(n, frugalBlockLevels)
	}
	l.levelsLeft -= n
	if l.Shape.MaxRep > 0 {
		if err := decodeLevels(&l.repLevels, l.repBlock[:n], l.Shape.MaxRep, "repetition"); err != nil {
			return false, err
		}
	}
	l.sameDef = l.Shape.maxDef
	if l.Shape.maxDef > 0 {
		if l.sameDef = -1; l.defLevels.repeats(n) {
			l.sameDef = int(l.defLevels.value)
		}
		if err := decodeLevels(&l.defLevels, l.defBlock[:n], l.Shape.maxDef, "definition"); err != nil {
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
func (l *Leaf) nextPage() (more bool, err error) {
	for {
		next := l.pages.next
		if l.Frugal {
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
func (l *Leaf) nextPacked() (more bool, err error) {
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
func (l *Leaf) appendPacked(b []byte) ([]byte, error) {
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
func (l *Leaf) readDictionary() error {
	if l.values.dict != nil {
		return errors.New("the column has two")
	}
	dict := &Vector{Offsets: []int{0}}
	values := pageValues{physicalType: l.values.physicalType, signed: l.values.signed}
	n := l.pages.header.values
	if err := values.start(encodingPlain, l.pages.data, n, l.limit); err != nil {
		return err
	}
	for range n {
		before := len(dict.Text)
		if err := values.append(dict, 1); err != nil {
			return err
		}
		dict.N++
		if err := l.limit.take(elementBytes + len(dict.Text) - before); err != nil {
			return err
		}
	}
	l.values.dict = dict
	return nil
}

// split returns the levels and the values of the current page.
func (l *Leaf) split() (reps, defs, values []byte, err error) {
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
	reps = level(h.repLevels, l.Shape.MaxRep)
	defs = level(h.defLevels, l.Shape.maxDef)
	return reps, defs, b, err
}

// startPage starts the current page.
func (l *Leaf) startPage() error {
	reps, defs, values, err := l.split()
	if err != nil {
		return err
	}
	if l.repLevels, err = newRLEDecoder(reps, widthOf(l.Shape.MaxRep)); err != nil {
		return err
	}
	if l.defLevels, err = newRLEDecoder(defs, widthOf(l.Shape.maxDef)); err != nil {
		return err
	}
	l.levelsLeft = l.pages.header.values
	return l.values.start(l.pages.header.encoding, values, l.levelsLeft, l.limit)
}
