package columnar

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// A leaf reads one column of one row group, row by row.
//
// Its levels say how the values nest. A row starts at repetition level 0. The
// definition level is the depth in the column's path down to which a node is present.
type leaf struct {
	pages  file.PageReader
	kind   parquet.Type
	signed bool // integers of 32 bits are extended by their sign
	shape  leafShape
	limit  *budget
	memory [decodedBatches]leafMemory
	leafMemory

	left   int // levels of the page that are not decoded yet
	reps   rleDecoder
	defs   rleDecoder
	values pageValues
	dict   *vector
	// Decoded levels that are not used yet: the elements from at to end.
	repBlock, defBlock []uint8
	at, end            int
}

// A leafMemory holds decoded rows of a leaf.
type leafMemory struct {
	v     *vector // the values
	lists *vector // where the rows start and end in v, when the column is in a list
	// inner is set if the column is in a list of lists: where its lists start and end in
	// v. The rows in lists then count its lists.
	inner *vector
}

// use makes the leaf decode into memory number i.
func (l *leaf) use(i int) {
	m := &l.memory[i]
	if m.v == nil {
		m.v, m.lists = &vector{}, &vector{}
		if l.shape.maxRep == 2 {
			m.inner = &vector{}
		}
	}
	l.leafMemory = *m
}

// A leafShape gives the meaning of definition levels.
type leafShape struct {
	maxDef int
	maxRep int
	list   int // from this definition level on the list is present
	elem   int // from this definition level on the list has an element
	// innerList and innerElem are the same of the list in a list.
	innerList, innerElem int
}

// shapeOf returns the shape of a column, which may be in a list.
func shapeOf(col *schema.Column) (leafShape, error) {
	s := leafShape{maxDef: int(col.MaxDefinitionLevel()), maxRep: int(col.MaxRepetitionLevel())}
	if s.maxRep > 2 {
		return s, errors.New("lists within lists of lists are not expected there")
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

// A budget bounds the memory of decoded rows.
type budget struct{ left, most int64 }

func (b *budget) take(n int) error {
	if b.left -= int64(n); b.left < 0 {
		return &tooLargeError{-1, b.most}
	}
	return nil
}

// itemBytes is the approximate memory of an element of a list.
const itemBytes = 16

// rows replaces the content of v and lists by the next n rows.
func (l *leaf) rows(n int, limit *budget) error {
	l.limit = limit
	l.v.reset(l.kind == parquet.Types.ByteArray)
	l.lists.reset(true)
	switch l.shape.maxRep {
	case 0:
		return l.valueRows(n)
	case 2:
		l.inner.reset(true)
	}
	return l.listRows(n)
}

// reset empties v but keeps its memory.
func (v *vector) reset(offsets bool) {
	*v = vector{nums: v.nums[:0], text: v.text[:0], offs: v.offs[:0], spareNulls: v.memoryOfNulls()}
	if offsets {
		v.offs = append(v.offs, 0)
	}
}

var errFewRows = errors.New("the column has fewer rows than the row group")

// valueRows reads n rows of a column that is in no list.
func (l *leaf) valueRows(n int) error {
	for n > 0 {
		if more, err := l.fill(); err != nil || !more {
			return cmp.Or(err, errFewRows)
		}
		levels := l.defBlock[l.at:min(l.end, l.at+n)]
		l.at += len(levels)
		n -= len(levels)
		for len(levels) > 0 {
			run := 0
			for run < len(levels) && int(levels[run]) == l.shape.maxDef {
				run++
			}
			if err := l.take(run); err != nil {
				return err
			}
			for levels = levels[run:]; len(levels) > 0 && int(levels[0]) < l.shape.maxDef; levels = levels[1:] {
				if err := l.null(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// listRows reads n rows of a column that is in a list, or in a list of lists.
func (l *leaf) listRows(n int) error {
	elem, most, inner := uint8(l.shape.elem), uint8(l.shape.maxDef), l.inner
	open := false // the last row may go on
	run := 0      // values that are not read yet
	for {
		if l.at == l.end {
			if err := l.take(run); err != nil {
				return err
			}
			run = 0
			if more, err := l.fill(); err != nil {
				return err
			} else if !more {
				if l.lists.n < n {
					return errFewRows
				}
				l.endRow(0)
				return nil
			}
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
					return l.take(run)
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
				return errors.New("a list goes on without an element")
			}
			if inner != nil {
				if reps[l.at] < 2 {
					if err := l.limit.take(itemBytes); err != nil {
						return err
					}
					inner.n++
					inner.offs = append(inner.offs, l.v.n+run)
				}
				if int(def) < l.shape.innerElem {
					continue
				}
				inner.offs[inner.n] = l.v.n + run + 1
			}
			if def == most {
				run++
				continue
			}
			if err := l.take(run); err != nil {
				return err
			}
			run = 0
			if err := l.null(); err != nil {
				return err
			}
		}
	}
}

// beginRow starts a list whose first definition level is def.
func (l *leaf) beginRow(def int) error {
	if err := l.limit.take(itemBytes); err != nil {
		return err
	}
	if def < l.shape.list {
		l.lists.setNull(l.lists.n)
	}
	l.lists.n++
	if l.lists.nulls != nil {
		l.lists.setNotNull(l.lists.n)
	}
	return nil
}

// endRow ends the list that began last; run of its values are not read yet.
func (l *leaf) endRow(run int) {
	if l.lists.n == 0 {
		return
	}
	if l.inner != nil {
		l.lists.offs = append(l.lists.offs, l.inner.n)
	} else {
		l.lists.offs = append(l.lists.offs, l.v.n+run)
	}
}

// memoryOfNulls returns memory for nulls, to be used again.
func (v *vector) memoryOfNulls() []bool {
	if v.nulls != nil {
		return v.nulls[:0]
	}
	return v.spareNulls
}

// setNull marks value i as null, and leaves the values before it unchanged.
func (v *vector) setNull(i int) {
	if v.nulls == nil && v.spareNulls != nil {
		v.nulls, v.spareNulls = v.spareNulls, nil
	}
	v.setNotNull(i)
	v.nulls = append(v.nulls[:i], true)
}

// setNotNull makes nulls cover the values before n.
func (v *vector) setNotNull(n int) {
	if from := len(v.nulls); from < n {
		v.nulls = slices.Grow(v.nulls, n-from)[:n]
		clear(v.nulls[from:])
	}
}

// null appends a null to v.
func (l *leaf) null() error {
	if err := l.limit.take(itemBytes); err != nil {
		return err
	}
	v := l.v
	v.setNull(v.n)
	v.n++
	if l.kind == parquet.Types.ByteArray {
		v.offs = append(v.offs, len(v.text))
	} else {
		v.nums = append(v.nums, 0)
	}
	return nil
}

// take appends the next n values of the page to v.
func (l *leaf) take(n int) error {
	if n == 0 {
		return nil
	}
	if err := l.limit.take(n * itemBytes); err != nil {
		return err
	}
	v := l.v
	before := len(v.text)
	if err := l.values.append(l, v, n); err != nil {
		return err
	}
	v.n += n
	if v.nulls != nil {
		v.setNotNull(v.n)
	}
	return l.limit.take(len(v.text) - before)
}

// blockLevels is the number of levels that are decoded at once: few, because a broken page
// may claim any number.
const blockLevels = 1024

// fill decodes the next levels, unless some are waiting. more is false at the end of the
// column.
func (l *leaf) fill() (more bool, err error) {
	if l.at < l.end {
		return true, nil
	}
	for l.left == 0 {
		if more, err := l.page(); err != nil || !more {
			return false, err
		}
	}
	n := min(l.left, blockLevels)
	l.left -= n
	if l.defBlock == nil {
		l.repBlock, l.defBlock = make([]uint8, blockLevels), make([]uint8, blockLevels)
	}
	if l.shape.maxRep > 0 {
		if err := decodeLevels(&l.reps, l.repBlock[:n], l.shape.maxRep, "repetition"); err != nil {
			return false, err
		}
	}
	if l.shape.maxDef > 0 {
		if err := decodeLevels(&l.defs, l.defBlock[:n], l.shape.maxDef, "definition"); err != nil {
			return false, err
		}
	}
	l.at, l.end = 0, n
	return true, nil
}

// decodeLevels decodes levels of 0 to most.
func decodeLevels(h *rleDecoder, to []uint8, most int, kind string) error {
	if err := decodeRuns(h, to); err != nil {
		return err
	}
	for _, level := range to {
		if int(level) > most {
			return fmt.Errorf("a %s level of %d", kind, level)
		}
	}
	return nil
}

// Encodings of levels and values, as the file numbers them.
const (
	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDelta           = 5
	encodingDeltaLength     = 6
	encodingDeltaBytes      = 7
	encodingRLEDictionary   = 8
)

// page reads the next page of values.
func (l *leaf) page() (more bool, err error) {
	for l.pages.Next() {
		switch p := l.pages.Page().(type) {
		case *file.DictionaryPage:
			if err := l.dictionary(p); err != nil {
				return false, fmt.Errorf("dictionary: %w", err)
			}
		case *file.DataPageV1:
			return true, l.pageV1(p)
		case *file.DataPageV2:
			return true, l.pageV2(p)
		}
	}
	return false, l.pages.Err()
}

func (l *leaf) dictionary(p *file.DictionaryPage) error {
	if l.dict != nil {
		return errors.New("there are two")
	}
	l.dict = &vector{offs: []int{0}}
	values, err := newPageValues(l, encodingPlain, p.Data(), int(p.NumValues()))
	if err != nil {
		return err
	}
	for range p.NumValues() {
		before := len(l.dict.text)
		if err := values.append(l, l.dict, 1); err != nil {
			return err
		}
		l.dict.n++
		if err := l.limit.take(itemBytes + len(l.dict.text) - before); err != nil {
			return err
		}
	}
	return nil
}

func (l *leaf) pageV1(p *file.DataPageV1) error {
	b := p.Data()
	level := func(encoding parquet.Encoding, most int) (h rleDecoder, err error) {
		if most == 0 {
			return rleDecoder{}, nil
		}
		if encoding != encodingRLE {
			return rleDecoder{}, fmt.Errorf("levels are encoded as %s", encoding)
		}
		if len(b) < 4 {
			return rleDecoder{}, errPage
		}
		n := uint64(binary.LittleEndian.Uint32(b))
		if b = b[4:]; n > uint64(len(b)) {
			return rleDecoder{}, errPage
		}
		h, err = newRLEDecoder(b[:n], widthOf(most))
		b = b[n:]
		return h, err
	}
	var err error
	if l.reps, err = level(p.RepetitionLevelEncoding(), l.shape.maxRep); err != nil {
		return err
	}
	if l.defs, err = level(p.DefinitionLevelEncoding(), l.shape.maxDef); err != nil {
		return err
	}
	return l.startPage(int(p.Encoding()), b, int(p.NumValues()))
}

func (l *leaf) pageV2(p *file.DataPageV2) error {
	b := p.Data()
	reps, defs := int64(p.RepetitionLevelByteLen()), int64(p.DefinitionLevelByteLen())
	if reps < 0 || defs < 0 || reps+defs > int64(len(b)) {
		return errPage
	}
	var err error
	if l.reps, err = newRLEDecoder(b[:reps], widthOf(l.shape.maxRep)); err != nil {
		return err
	}
	if l.defs, err = newRLEDecoder(b[reps:reps+defs], widthOf(l.shape.maxDef)); err != nil {
		return err
	}
	return l.startPage(int(p.Encoding()), b[reps+defs:], int(p.NumValues()))
}

func (l *leaf) startPage(encoding int, b []byte, n int) (err error) {
	if n < 0 {
		return errPage
	}
	l.left = n
	l.values, err = newPageValues(l, encoding, b, n)
	return err
}

// pageValues decode the values of one page.
type pageValues struct {
	encoding int
	b        []byte
	bit      uint64     // of plain bools
	index    rleDecoder // into the dictionary, or bools
	delta    deltaDecoder
	lengths  []int // of the texts to come
	prefixes []int // common prefix with the previous value
	last     []byte
}

func newPageValues(l *leaf, encoding int, b []byte, n int) (pageValues, error) {
	p := pageValues{encoding: encoding, b: b}
	text := l.kind == parquet.Types.ByteArray
	number := l.kind == parquet.Types.Int32 || l.kind == parquet.Types.Int64
	var err error
	switch {
	case encoding == encodingPlain:
	case encoding == encodingPlainDictionary || encoding == encodingRLEDictionary:
		p.encoding = encodingRLEDictionary
		switch {
		case l.dict == nil:
			return p, errors.New("the dictionary is missing")
		case len(b) > 0:
			p.index, err = newRLEDecoder(b[1:], int(b[0]))
		}
	case encoding == encodingRLE && l.kind == parquet.Types.Boolean:
		if len(b) < 4 {
			return p, errPage
		}
		p.index, err = newRLEDecoder(b[4:], 1)
	case encoding == encodingDelta && number:
		if len(b) > 0 { // a page of nulls may hold nothing
			p.delta, err = newDeltaDecoder(b)
		}
	case encoding == encodingDeltaLength && text, encoding == encodingDeltaBytes && text:
		if len(b) == 0 {
			break
		}
		if encoding == encodingDeltaBytes {
			if p.prefixes, b, err = deltaLengths(l, b, n); err != nil {
				return p, err
			}
		}
		p.lengths, p.b, err = deltaLengths(l, b, n)
	default:
		return p, fmt.Errorf("values of type %s are encoded as %s, which is not supported; rewrite the file with PLAIN", l.kind, parquet.Encoding(encoding))
	}
	return p, err
}

func deltaLengths(l *leaf, b []byte, n int) ([]int, []byte, error) {
	d, err := newDeltaDecoder(b)
	if err != nil {
		return nil, nil, err
	}
	if d.left > uint64(l.limit.left/itemBytes) {
		return nil, nil, &tooLargeError{-1, l.limit.most}
	}
	lengths, err := d.lengths(n)
	return lengths, d.rest(), err
}

// append appends the next n values to v, but does not count them.
func (p *pageValues) append(l *leaf, v *vector, n int) error {
	switch p.encoding {
	case encodingRLEDictionary:
		return p.appendFromDictionary(l, v, n)
	case encodingPlain:
		return p.appendPlain(l, v, n)
	}
	for range n {
		if err := p.next(l, v); err != nil {
			return err
		}
	}
	return nil
}

// appendFromDictionary appends the next n values, which stand in the dictionary.
func (p *pageValues) appendFromDictionary(l *leaf, v *vector, n int) error {
	var block [256]uint32
	for n > 0 {
		indices := block[:min(n, len(block))]
		n -= len(indices)
		if err := decodeRuns(&p.index, indices); err != nil {
			return err
		}
		for _, i := range indices {
			if int64(i) >= int64(l.dict.n) {
				return fmt.Errorf("value %d of a dictionary of %d", i, l.dict.n)
			}
		}
		if l.kind == parquet.Types.ByteArray {
			for _, i := range indices {
				v.appendText(l.dict.str(int(i)))
			}
			continue
		}
		at := len(v.nums)
		v.nums = slices.Grow(v.nums, len(indices))[:at+len(indices)]
		for k, i := range indices {
			v.nums[at+k] = l.dict.nums[i]
		}
	}
	return nil
}

// appendPlain appends the next n values, which stand there as they are.
func (p *pageValues) appendPlain(l *leaf, v *vector, n int) error {
	size := 0
	switch l.kind {
	case parquet.Types.Int32, parquet.Types.Float:
		size = 4
	case parquet.Types.Int64, parquet.Types.Double:
		size = 8
	default:
		for range n {
			if err := p.nextPlain(l, v); err != nil {
				return err
			}
		}
		return nil
	}
	if n > len(p.b)/size {
		return errPage
	}
	at := len(v.nums)
	v.nums = slices.Grow(v.nums, n)[:at+n]
	nums := v.nums[at:]
	if size == 8 {
		for i := range nums {
			nums[i] = binary.LittleEndian.Uint64(p.b[8*i:])
		}
	} else {
		for i := range nums {
			nums[i] = l.extend(uint64(binary.LittleEndian.Uint32(p.b[4*i:])))
		}
	}
	p.b = p.b[n*size:]
	return nil
}

// next appends the next value to v, but does not count it.
func (p *pageValues) next(l *leaf, v *vector) error {
	switch p.encoding {
	case encodingRLE:
		i, err := p.index.next()
		if err != nil {
			return err
		}
		v.nums = append(v.nums, uint64(i))
	case encodingDelta:
		x, err := p.delta.next()
		if err != nil {
			return err
		}
		v.nums = append(v.nums, l.extend(x))
	case encodingDeltaLength, encodingDeltaBytes:
		return p.nextDeltaText(v)
	default:
		return fmt.Errorf("values are encoded as %d", p.encoding)
	}
	return nil
}

func (v *vector) appendText(b []byte) {
	v.text = append(v.text, b...)
	v.offs = append(v.offs, len(v.text))
}

// extend returns a value of 32 or 64 bits as 64 bits.
func (l *leaf) extend(x uint64) uint64 {
	switch {
	case l.kind != parquet.Types.Int32:
		return x
	case l.signed:
		return uint64(int32(x))
	}
	return uint64(uint32(x))
}

// nextPlain appends the next bool or text.
func (p *pageValues) nextPlain(l *leaf, v *vector) error {
	switch l.kind {
	case parquet.Types.Boolean:
		if p.bit/8 >= uint64(len(p.b)) {
			return errPage
		}
		v.nums = append(v.nums, uint64(p.b[p.bit/8]>>(p.bit%8)&1))
		p.bit++
	default:
		if len(p.b) < 4 {
			return errPage
		}
		n := uint64(binary.LittleEndian.Uint32(p.b))
		if p.b = p.b[4:]; n > uint64(len(p.b)) {
			return errPage
		}
		v.appendText(p.b[:n])
		p.b = p.b[n:]
	}
	return nil
}

func (p *pageValues) nextDeltaText(v *vector) error {
	if len(p.lengths) == 0 || p.lengths[0] > len(p.b) {
		return errPage
	}
	n := p.lengths[0]
	p.lengths = p.lengths[1:]
	suffix := p.b[:n]
	p.b = p.b[n:]
	if p.encoding == encodingDeltaLength {
		v.appendText(suffix)
		return nil
	}
	if len(p.prefixes) == 0 || p.prefixes[0] > len(p.last) {
		return errPage
	}
	p.last = append(p.last[:p.prefixes[0]:p.prefixes[0]], suffix...)
	p.prefixes = p.prefixes[1:]
	v.appendText(p.last)
	return nil
}
