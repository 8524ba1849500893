package pages

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	pqschema "github.com/apache/arrow/go/v15/parquet/schema"
	"github.com/klauspost/compress/zstd"
)

// This file writes the pages of Parquet columns. Arrow v15's writer is not used: it makes a
// compressor for each page, encodes one column after the other, and its DELTA_BYTE_ARRAY
// cannot be read by other readers.

// PageBytes is the approximate size of a page before encoding.
const PageBytes = 1 << 20

// Bounds of a dictionary.
const (
	maxDictionary      = 1 << 16
	maxDictionaryBytes = 1 << 20
)

// A Part holds encoded pages of a column: of some batches, or of a whole row group with a
// dictionary.
type Part struct {
	Column  *Column
	Batches []Batch
	Size    int // approximate, before encoding

	Bytes        []byte                           // of the pages and their headers
	Dictionary   int                              // length of the dictionary page at the start of Bytes
	Uncompressed int                              // length of the pages before compression and of their headers
	Levels       int                              // number of values and nulls
	Pages        [encodingRLEDictionary + 1]int32 // number of pages by encoding
	Stats        Statistics
}

// An Encoder encodes pages. It keeps buffers between pages, and is for one goroutine.
type Encoder struct {
	zstd *zstd.Encoder
	valueLevels
	numbers    []int64
	texts      [][]byte
	page       []byte
	compressed []byte
	lengths    []int64
	dictionary dictionary
}

// NewEncoder returns an Encoder.
func NewEncoder() (*Encoder, error) {
	// Higher levels take several times as long and save at most a tenth of the size. A
	// window as large as a page finds all of its repetitions.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(PageBytes), zstd.WithZeroFrames(true))
	return &Encoder{zstd: z}, err
}

// EachPart calls add with the batches of each part of the column that is encoded by itself, in the order of
// the file, and with their approximate size: the batches of a page, or all of a column that may have a dictionary.
func (l *Column) EachPart(add func(batches []Batch, size int)) {
	if l.Dictionary {
		size := 0
		for i := range l.Batches {
			size += l.Batches[i].Size
		}
		add(l.Batches, size)
		return
	}
	for all := l.Batches; len(all) > 0; {
		n, size := nextPage(all)
		add(all[:n], size)
		all = all[n:]
	}
}

// nextPage returns the number of batches that fill a page; at least 1.
func nextPage(batches []Batch) (n, size int) {
	for n < len(batches) {
		k := batches[n].Size
		if n > 0 && size+k > PageBytes {
			break
		}
		n++
		size += k
	}
	return n, size
}

// Encode fills p with the pages of its batches.
func (e *Encoder) Encode(p *Part) {
	p.Bytes, p.Dictionary, p.Uncompressed, p.Levels = p.Bytes[:0], 0, 0, 0
	clear(p.Pages[:])
	p.Stats = Statistics{Kind: p.Column.Kind}
	var indices []uint32
	if p.Column.Dictionary && e.dictionary.build(e, p) {
		e.writeDictionary(p)
		indices = e.dictionary.indices
	}
	for all := p.Batches; len(all) > 0; {
		n, _ := nextPage(all)
		used := e.writePage(p, all[:n], indices)
		if indices != nil {
			indices = indices[used:]
		}
		all = all[n:]
	}
}

// writePage writes the page of the batches. It returns the number of values that are not null.
// indices are of the values in the dictionary from the first value of the page on; nil without
// a dictionary.
func (e *Encoder) writePage(p *Part, batches []Batch, indices []uint32) int {
	l := p.Column
	maxDef, maxRep := int(l.Desc.MaxDefinitionLevel()), int(l.Desc.MaxRepetitionLevel())
	e.defs.reset()
	e.reps.reset()
	e.numbers, e.texts = e.numbers[:0], e.texts[:0]
	stats := Statistics{Kind: l.Kind}
	levels, n := 0, 0
	for i := range batches {
		b := &batches[i]
		levels += b.Values.N
		n += b.Values.N - b.Values.Nulls
		b.levels(&e.valueLevels, uint32(maxDef))
		switch {
		case indices != nil:
		case l.Kind != parquet.Types.ByteArray:
			e.numbers = b.Values.appendNumbers(e.numbers)
		case b.Shared == nil:
			e.texts = b.Values.appendTexts(e.texts)
		case b.Shared.Some:
			stats.addText(b.Shared.Least)
			stats.addText(b.Shared.Most)
		}
	}
	page := e.page[:0]
	if maxRep > 0 {
		page = appendLevels(page, &e.reps, maxRep)
	}
	if maxDef > 0 {
		page = appendLevels(page, &e.defs, maxDef)
		levels = e.defs.n
	}
	encoding := encodingPlain
	switch {
	case n == 0:
	case indices != nil:
		encoding = encodingRLEDictionary
		page = e.dictionary.appendIndices(page, indices[:n])
		e.dictionary.statistics(&stats, indices[:n])
	case l.Kind == parquet.Types.ByteArray && batches[0].Shared != nil:
		encoding = encodingDeltaBytes
		page = e.appendShared(page, batches)
	case l.Kind == parquet.Types.ByteArray:
		page = appendPlainTexts(page, e.texts)
	case l.Kind == parquet.Types.Int64:
		encoding = encodingDelta
		page = appendDelta(page, e.numbers)
	default:
		page = appendPlainNumbers(page, e.numbers, l.Kind)
	}
	e.page = page
	if indices == nil {
		for _, v := range e.texts {
			stats.addText(v)
		}
		stats.addNumbers(e.numbers)
	}
	stats.nulls = int64(levels - n)
	p.Stats.Merge(&stats)
	p.Levels += levels
	p.Pages[encoding]++
	e.compress(p, func(dst []byte, compressed int) []byte {
		return appendDataPageHeader(dst, len(page), compressed, levels, encoding, stats.Encoded())
	})
	return n
}

// writeDictionary writes the page of the dictionary.
func (e *Encoder) writeDictionary(p *Part) {
	if p.Column.Kind == parquet.Types.ByteArray {
		e.page = appendPlainTexts(e.page[:0], e.dictionary.texts)
	} else {
		e.page = appendPlainNumbers(e.page[:0], e.dictionary.numbers, p.Column.Kind)
	}
	e.compress(p, func(dst []byte, compressed int) []byte {
		return appendDictionaryPageHeader(dst, len(e.page), compressed, e.dictionary.len())
	})
	p.Dictionary = len(p.Bytes)
}

// compress appends e.page to p, behind the header that header appends.
func (e *Encoder) compress(p *Part, header func(dst []byte, compressed int) []byte) {
	e.compressed = e.zstd.EncodeAll(e.page, e.compressed[:0])
	before := len(p.Bytes)
	p.Bytes = header(p.Bytes, len(e.compressed))
	p.Uncompressed += len(p.Bytes) - before + len(e.page)
	p.Bytes = append(p.Bytes, e.compressed...)
}

// appendLevels appends levels up to most, behind their length in bytes.
func appendLevels(b []byte, levels *runList, most int) []byte {
	at := len(b)
	b = levels.appendTo(append(b, 0, 0, 0, 0), widthOf(most))
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// appendShared appends shared texts as DELTA_BYTE_ARRAY.
func (e *Encoder) appendShared(b []byte, batches []Batch) []byte {
	lengths := e.lengths[:0]
	for i := range batches {
		c := batches[i].Values
		for k, n := range batches[i].Shared.Prefixes {
			if !c.IsNull(k) {
				lengths = append(lengths, int64(n))
			}
		}
	}
	b = appendDelta(b, lengths)
	lengths = lengths[:0]
	for i := range batches {
		c := batches[i].Values
		begin := 0
		for k := range c.N {
			end := c.Offset(k + 1)
			if !c.IsNull(k) {
				lengths = append(lengths, int64(end-begin))
			}
			begin = end
		}
	}
	e.lengths = lengths
	b = appendDelta(b, lengths)
	for i := range batches {
		b = append(b, batches[i].Values.Data...)
	}
	return b
}

// A dictionary holds the distinct values of a column.
type dictionary struct {
	texts   [][]byte
	numbers []int64
	// indices are of the values of the column that are not null.
	indices []uint32
	runs    runList // memory of appendIndices
	// plain is the size of all values of the column in bytes, and stored the size of the distinct values.
	plain, stored int

	byText   map[string]uint32
	byNumber map[int64]uint32
	small    [256]uint32 // index + 1 of numbers from 0 to 255; 0 for none
	used     []bool      // memory of statistics
}

func (d *dictionary) len() int { return len(d.texts) + len(d.numbers) }

// build fills d from the values of p. ok is false if a dictionary does not make the column
// smaller, or would be too large.
func (d *dictionary) build(e *Encoder, p *Part) (ok bool) {
	d.texts, d.numbers, d.indices = d.texts[:0], d.numbers[:0], d.indices[:0]
	d.plain, d.stored = 0, 0
	if d.byText == nil {
		d.byText, d.byNumber = map[string]uint32{}, map[int64]uint32{}
	}
	clear(d.byText)
	clear(d.byNumber)
	clear(d.small[:])
	for i := range p.Batches {
		if p.Column.Kind == parquet.Types.ByteArray {
			ok = d.addTexts(p.Batches[i].Values)
		} else {
			e.numbers = p.Batches[i].Values.appendNumbers(e.numbers[:0])
			ok = d.addNumbers(e.numbers)
		}
		if !ok {
			return false
		}
	}
	return d.stored > 0 && d.stored+len(d.indices)*d.width()/8 < d.plain
}

// addTexts adds the texts of c. ok is false if there are too many.
func (d *dictionary) addTexts(c *Values) (ok bool) {
	var last []byte // with the index at, if some is set
	at, some := uint32(0), false
	for i, end := 0, 0; i < c.N; i++ {
		begin := end
		if end = c.Offset(i + 1); c.IsNull(i) {
			continue
		}
		s := c.Data[begin:end]
		d.plain += 4 + len(s)
		if !some || !bytes.Equal(s, last) {
			known := false
			if at, known = d.byText[string(s)]; !known {
				at = uint32(len(d.texts))
				if d.stored += 4 + len(s); at == maxDictionary || d.stored > maxDictionaryBytes {
					return false
				}
				d.byText[string(s)] = at
				d.texts = append(d.texts, s)
			}
			last, some = s, true
		}
		d.indices = append(d.indices, at)
	}
	return true
}

// addNumbers adds numbers. ok is false if there are too many different ones.
func (d *dictionary) addNumbers(numbers []int64) (ok bool) {
	d.plain += 8 * len(numbers)
	for _, v := range numbers {
		if uint64(v) < uint64(len(d.small)) {
			if at := d.small[v]; at > 0 {
				d.indices = append(d.indices, at-1)
				continue
			}
		}
		at, known := d.byNumber[v]
		if !known {
			at = uint32(len(d.numbers))
			if d.stored += 8; at == maxDictionary || d.stored > maxDictionaryBytes {
				return false
			}
			d.numbers = append(d.numbers, v)
			if uint64(v) < uint64(len(d.small)) {
				d.small[v] = at + 1
			} else {
				d.byNumber[v] = at
			}
		}
		d.indices = append(d.indices, at)
	}
	return true
}

// width returns the number of bits of an index. It is never 0, because some readers do not
// expect that.
func (d *dictionary) width() int { return max(1, bits.Len(uint(d.len()-1))) }

// appendIndices appends indices, behind the number of their bits.
func (d *dictionary) appendIndices(b []byte, indices []uint32) []byte {
	d.runs.reset()
	for _, i := range indices {
		d.runs.add(i, 1)
	}
	return d.runs.appendTo(append(b, byte(d.width())), d.width())
}

// statistics adds the values with the indices to stats.
func (d *dictionary) statistics(stats *Statistics, indices []uint32) {
	d.used = slices.Grow(d.used[:0], d.len())[:d.len()]
	clear(d.used)
	for _, i := range indices {
		d.used[i] = true
	}
	var numbers []int64
	for i, used := range d.used {
		switch {
		case !used:
		case len(d.texts) > 0:
			stats.addText(d.texts[i])
		default:
			numbers = append(numbers, d.numbers[i])
		}
	}
	stats.addNumbers(numbers)
}

// maxStatisticBytes bounds a minimum or maximum; a longer one is left out.
const maxStatisticBytes = 4096

// A Statistics holds the minimum and the maximum of the values of a page or a column.
type Statistics struct {
	Kind     parquet.Type
	some     bool  // there is a value
	min, max int64 // of doubles, by [ordered]
	// minText and maxText are valid until the batches change.
	minText, maxText []byte
	nulls            int64
}

// ordered turns the bits of a double that is not NaN into a number with the order of the double, and back.
func ordered(bits int64) int64 { return bits ^ bits>>63&math.MaxInt64 }

// addNumbers adds all numbers of a page at once; s has none yet.
func (s *Statistics) addNumbers(numbers []int64) {
	if len(numbers) == 0 {
		return
	}
	double := s.Kind == parquet.Types.Double
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, v := range numbers {
		if double {
			v = ordered(v)
		}
		least, most = min(least, v), max(most, v)
	}
	s.min, s.max, s.some = least, most, true
}

func (s *Statistics) addText(v []byte) {
	switch {
	case !s.some:
		s.minText, s.maxText, s.some = v, v, true
	case bytes.Compare(v, s.minText) < 0:
		s.minText = v
	case bytes.Compare(v, s.maxText) > 0:
		s.maxText = v
	}
}

// Merge adds the values of o.
func (s *Statistics) Merge(o *Statistics) {
	nulls := s.nulls + o.nulls
	switch {
	case !o.some:
	case !s.some:
		*s = *o
	case s.Kind == parquet.Types.ByteArray:
		s.addText(o.minText)
		s.addText(o.maxText)
	default:
		s.min, s.max = min(s.min, o.min), max(s.max, o.max)
	}
	s.nulls = nulls
}

// Encoded returns the statistics as they are in the file.
func (s *Statistics) Encoded() metadata.EncodedStatistics {
	e := metadata.EncodedStatistics{HasNullCount: true, NullCount: s.nulls}
	if !s.some {
		return e
	}
	least, most := s.min, s.max
	if s.Kind == parquet.Types.Double {
		least, most = ordered(least), ordered(most)
		if least == 0 { // −0 and 0 are equal: the format asks for the lower and the higher one
			least = math.MinInt64
		}
		if most == math.MinInt64 {
			most = 0
		}
	}
	if s.Kind == parquet.Types.ByteArray {
		e.Min, e.Max = s.minText, s.maxText
	} else {
		e.Signed = true
		e.Min = appendPlainNumbers(nil, []int64{least}, s.Kind)
		e.Max = appendPlainNumbers(nil, []int64{most}, s.Kind)
	}
	e.HasMin, e.HasMax = len(e.Min) <= maxStatisticBytes, len(e.Max) <= maxStatisticBytes
	return e
}

// A Column holds the values of one column of a Parquet file in the rows of a row group, in
// successive batches.
type Column struct {
	Desc *pqschema.Column
	Kind parquet.Type
	// Dictionary says that the values may have a dictionary.
	Dictionary bool
	Batches    []Batch
}

// A Batch holds the values of a Column in some rows.
type Batch struct {
	Rows int
	// Lists are the lists around the values, the outermost first.
	Lists  []*Values
	Values *Values
	Shared *SharedTexts // set if Values holds the rests of shared texts
	Size   int          // approximate, before encoding
}

// SharedTexts describes texts whose values leave out the bytes that a text shares with
// the text before.
type SharedTexts struct {
	Prefixes []int32 // number of shared bytes of each text; 0 for null and for the first text
	// Least and Most are the minimum and the maximum, if Some is set.
	Some        bool
	Least, Most []byte
}

// levels appends the definition and repetition levels of the batch to e.
func (l *Batch) levels(e *valueLevels, most uint32) {
	if len(l.Lists) == 0 {
		if most > 0 {
			e.appendDefs(l.Values, 0, l.Values.N, most)
		}
		return
	}
	outer := l.Lists[0]
	present := uint32(0) // definition level of a list that is present but empty
	if outer.Nullable {
		present = 1
	}
	begin := 0
	for row := range l.Rows {
		end := outer.Offset(row + 1)
		switch {
		case outer.IsNull(row):
			e.defs.add(present-1, 1)
			e.reps.add(0, 1)
		case begin == end:
			e.defs.add(present, 1)
			e.reps.add(0, 1)
		case len(l.Lists) == 1:
			e.reps.add(0, 1)
			e.reps.add(1, end-begin-1)
			e.appendDefs(l.Values, begin, end, most)
		default:
			l.innerLevels(e, begin, end, present, most)
		}
		begin = end
	}
}

// innerLevels appends the levels of a row that holds the inner lists from index from up to
// index to.
func (l *Batch) innerLevels(e *valueLevels, from, to int, present, most uint32) {
	inner := l.Lists[1]
	rep := uint32(0) // of the first value of the row
	for i := from; i < to; i++ {
		begin, end := inner.Offset(i), inner.Offset(i+1)
		if begin == end {
			e.defs.add(present+2, 1)
			e.reps.add(rep, 1)
		} else {
			e.reps.add(rep, 1)
			e.reps.add(2, end-begin-1)
			e.appendDefs(l.Values, begin, end, most)
		}
		rep = 1
	}
}

// appendDefs appends the definition levels of the values of c from index from up to index
// to: most, or one less for null.
func (e *valueLevels) appendDefs(c *Values, from, to int, most uint32) {
	if c.Nulls == 0 {
		e.defs.add(most, to-from)
		return
	}
	for ; from < to; from++ {
		if c.IsNull(from) {
			e.defs.add(most-1, 1)
		} else {
			e.defs.add(most, 1)
		}
	}
}
