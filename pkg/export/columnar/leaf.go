package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"

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
	v      *vector // the values of the rows read last
	lists  *vector // where the rows start and end in v, when the column is in a list
	// inner is set if the column is in a list of lists: where its lists start and end in
	// v. The rows in lists then count its lists.
	inner *vector

	left   int // levels of the page not read yet
	reps   rleDecoder
	defs   rleDecoder
	values pageValues
	dict   *vector
	// The level that was read and is not used yet; valid if ahead.
	ahead    bool
	rep, def int
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
	if l.shape.maxRep == 2 {
		if l.inner == nil {
			l.inner = &vector{}
		}
		l.inner.reset(true)
	}
	for range n {
		if err := l.row(l.lists, l.v); err != nil {
			return err
		}
	}
	return nil
}

// reset empties v but keeps its memory.
func (v *vector) reset(offsets bool) {
	*v = vector{nums: v.nums[:0], text: v.text[:0], offs: v.offs[:0]}
	if offsets {
		v.offs = append(v.offs, 0)
	}
}

func (l *leaf) row(lists, v *vector) error {
	if err := l.level(); err != nil {
		return err
	}
	if !l.ahead {
		return errors.New("the column has fewer rows than the row group")
	}
	if l.rep != 0 {
		return errors.New("a row starts within a list")
	}
	l.ahead = false
	if l.shape.maxRep == 0 {
		return l.value(v)
	}
	if err := l.limit.take(itemBytes); err != nil {
		return err
	}
	if l.def < l.shape.list {
		lists.setNull(lists.n)
	}
	lists.n++
	if l.def >= l.shape.elem {
		if err := l.element(v); err != nil {
			return err
		}
		for {
			if err := l.level(); err != nil {
				return err
			}
			if !l.ahead || l.rep == 0 {
				break
			}
			l.ahead = false
			if l.def < l.shape.elem {
				return errors.New("a list goes on without an element")
			}
			if err := l.element(v); err != nil {
				return err
			}
		}
	}
	if l.inner != nil {
		lists.offs = append(lists.offs, l.inner.n)
	} else {
		lists.offs = append(lists.offs, v.n)
	}
	if lists.nulls != nil {
		lists.setNotNull(lists.n)
	}
	return nil
}

// element appends the element of the current level to v, or to the list that is the
// element.
func (l *leaf) element(v *vector) error {
	if l.inner == nil {
		return l.value(v)
	}
	if l.rep < 2 {
		if err := l.limit.take(itemBytes); err != nil {
			return err
		}
		l.inner.n++
		l.inner.offs = append(l.inner.offs, v.n)
	}
	if l.def < l.shape.innerElem {
		return nil
	}
	err := l.value(v)
	l.inner.offs[l.inner.n] = v.n
	return err
}

// setNull marks value i as null, and leaves the values before it unchanged.
func (v *vector) setNull(i int) {
	v.setNotNull(i)
	v.nulls = append(v.nulls[:i], true)
}

// setNotNull makes nulls cover the values before n.
func (v *vector) setNotNull(n int) {
	for len(v.nulls) < n {
		v.nulls = append(v.nulls, false)
	}
}

// value appends the value of the current level to v.
func (l *leaf) value(v *vector) error {
	if err := l.limit.take(itemBytes); err != nil {
		return err
	}
	if l.def < l.shape.maxDef {
		v.setNull(v.n)
		v.n++
		if l.kind == parquet.Types.ByteArray {
			v.offs = append(v.offs, len(v.text))
		} else {
			v.nums = append(v.nums, 0)
		}
		return nil
	}
	before := len(v.text)
	if err := l.values.next(l, v); err != nil {
		return err
	}
	v.n++
	if v.nulls != nil {
		v.setNotNull(v.n)
	}
	return l.limit.take(len(v.text) - before)
}

// level reads the next level unless one is waiting. ahead stays false at the
// end of the column.
func (l *leaf) level() error {
	if l.ahead {
		return nil
	}
	for l.left == 0 {
		more, err := l.page()
		if err != nil || !more {
			return err
		}
	}
	l.left--
	l.rep, l.def = 0, l.shape.maxDef
	if l.shape.maxRep > 0 {
		v, err := l.reps.next()
		if err != nil {
			return err
		}
		if l.rep = int(v); l.rep > l.shape.maxRep {
			return fmt.Errorf("a repetition level of %d", l.rep)
		}
	}
	if l.shape.maxDef > 0 {
		v, err := l.defs.next()
		if err != nil {
			return err
		}
		if l.def = int(v); l.def > l.shape.maxDef {
			return fmt.Errorf("a definition level of %d", l.def)
		}
	}
	l.ahead = true
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
		if err := values.next(l, l.dict); err != nil {
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

// next appends the next value to v, but does not count it.
func (p *pageValues) next(l *leaf, v *vector) error {
	switch p.encoding {
	case encodingRLEDictionary:
		i, err := p.index.next()
		if err != nil {
			return err
		}
		if int64(i) >= int64(l.dict.n) {
			return fmt.Errorf("value %d of a dictionary of %d", i, l.dict.n)
		}
		if l.kind == parquet.Types.ByteArray {
			v.appendText(l.dict.str(int(i)))
		} else {
			v.nums = append(v.nums, l.dict.nums[i])
		}
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
		return p.nextPlain(l, v)
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

func (p *pageValues) nextPlain(l *leaf, v *vector) error {
	switch l.kind {
	case parquet.Types.Boolean:
		if p.bit/8 >= uint64(len(p.b)) {
			return errPage
		}
		v.nums = append(v.nums, uint64(p.b[p.bit/8]>>(p.bit%8)&1))
		p.bit++
	case parquet.Types.Int32, parquet.Types.Float:
		if len(p.b) < 4 {
			return errPage
		}
		v.nums = append(v.nums, l.extend(uint64(binary.LittleEndian.Uint32(p.b))))
		p.b = p.b[4:]
	case parquet.Types.Int64, parquet.Types.Double:
		if len(p.b) < 8 {
			return errPage
		}
		v.nums = append(v.nums, binary.LittleEndian.Uint64(p.b))
		p.b = p.b[8:]
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
