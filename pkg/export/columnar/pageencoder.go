package columnar

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	pqschema "github.com/apache/arrow/go/v15/parquet/schema"
	"github.com/klauspost/compress/zstd"
)

// This file writes the pages of Parquet columns. Arrow v15's writer is not used: it makes a
// compressor for each page, encodes one column after the other, and its DELTA_BYTE_ARRAY
// cannot be read by other readers.

// pageBytes is the approximate size of a page before encoding.
const pageBytes = 1 << 20

// Bounds of a dictionary.
const (
	maxDictionary      = 1 << 16
	maxDictionaryBytes = 1 << 20
)

// A pagePart holds encoded pages of a column: of some batches, or of a whole row group with a
// dictionary.
type pagePart struct {
	leaf    *leafData
	batches []leafBatch
	size    int // approximate, before encoding

	bytes        []byte // of the pages and their headers
	dictionary   int    // length of the dictionary page at the start of bytes
	uncompressed int    // length of the pages before compression and of their headers
	levels       int    // number of values and nulls
	pages        [encodingRLEDictionary + 1]int32
	stats        pageStatistics
}

// A pageEncoder encodes pages. It keeps buffers between pages, and is for one goroutine.
type pageEncoder struct {
	zstd *zstd.Encoder
	valueLevels
	numbers    []int64
	texts      [][]byte
	page       []byte
	compressed []byte
	lengths    []int64
	dictionary dictionary
}

func newPageEncoder() (*pageEncoder, error) {
	// Higher levels take several times as long and save at most a tenth of the size. A
	// window as large as a page finds all of its repetitions.
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(pageBytes), zstd.WithZeroFrames(true))
	return &pageEncoder{zstd: z}, err
}

// nextPage returns the number of batches that fill a page; at least 1.
func nextPage(batches []leafBatch) (n, size int) {
	for n < len(batches) {
		k := batches[n].values.size()
		if n > 0 && size+k > pageBytes {
			break
		}
		n++
		size += k
	}
	return n, size
}

// encode fills p with the pages of its batches.
func (e *pageEncoder) encode(p *pagePart) {
	p.bytes, p.dictionary, p.uncompressed, p.levels = p.bytes[:0], 0, 0, 0
	clear(p.pages[:])
	p.stats = pageStatistics{kind: p.leaf.kind}
	var indices []uint32
	if p.leaf.dictionary && e.dictionary.build(e, p) {
		e.writeDictionary(p)
		indices = e.dictionary.indices
	}
	for all := p.batches; len(all) > 0; {
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
func (e *pageEncoder) writePage(p *pagePart, batches []leafBatch, indices []uint32) int {
	l := p.leaf
	maxDef, maxRep := int(l.desc.MaxDefinitionLevel()), int(l.desc.MaxRepetitionLevel())
	e.defs.reset()
	e.reps.reset()
	e.numbers, e.texts = e.numbers[:0], e.texts[:0]
	stats := pageStatistics{kind: l.kind}
	levels, n := 0, 0
	for i := range batches {
		b := &batches[i]
		levels += b.values.n
		n += b.values.n - b.values.nulls
		b.levels(&e.valueLevels, uint8(maxDef))
		switch {
		case indices != nil:
		case l.kind != parquet.Types.ByteArray:
			e.numbers = b.values.appendNumbers(e.numbers)
		case b.values.shared == nil:
			e.texts = b.values.appendTexts(e.texts)
		case b.values.shared.some:
			stats.addText(b.values.shared.least.text)
			stats.addText(b.values.shared.most.text)
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
	case l.kind == parquet.Types.ByteArray && batches[0].values.shared != nil:
		encoding = encodingDeltaBytes
		page = e.appendShared(page, batches)
	case l.kind == parquet.Types.ByteArray:
		page = appendPlainTexts(page, e.texts)
	case l.kind == parquet.Types.Int64:
		encoding = encodingDelta
		page = appendDelta(page, e.numbers)
	default:
		page = appendPlainNumbers(page, e.numbers, l.kind)
	}
	e.page = page
	if indices == nil {
		stats.addTexts(e.texts)
		stats.addNumbers(e.numbers)
	}
	stats.nulls = int64(levels - n)
	p.stats.merge(&stats)
	p.levels += levels
	p.pages[encoding]++
	e.compress(p, func(dst []byte, compressed int) []byte {
		return appendDataPageHeader(dst, len(page), compressed, levels, encoding, stats.encoded())
	})
	return n
}

// writeDictionary writes the page of the dictionary.
func (e *pageEncoder) writeDictionary(p *pagePart) {
	if p.leaf.kind == parquet.Types.ByteArray {
		e.page = appendPlainTexts(e.page[:0], e.dictionary.texts)
	} else {
		e.page = appendPlainNumbers(e.page[:0], e.dictionary.numbers, p.leaf.kind)
	}
	e.compress(p, func(dst []byte, compressed int) []byte {
		return appendDictionaryPageHeader(dst, len(e.page), compressed, e.dictionary.len())
	})
	p.dictionary = len(p.bytes)
}

// compress appends e.page to p, behind the header that header appends.
func (e *pageEncoder) compress(p *pagePart, header func(dst []byte, compressed int) []byte) {
	e.compressed = e.zstd.EncodeAll(e.page, e.compressed[:0])
	before := len(p.bytes)
	p.bytes = header(p.bytes, len(e.compressed))
	p.uncompressed += len(p.bytes) - before + len(e.page)
	p.bytes = append(p.bytes, e.compressed...)
}

// appendLevels appends levels up to most, behind their length in bytes.
func appendLevels(b []byte, levels *levelRuns, most int) []byte {
	at := len(b)
	b = levels.appendTo(append(b, 0, 0, 0, 0), widthOf(most))
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// appendShared appends shared texts as DELTA_BYTE_ARRAY.
func (e *pageEncoder) appendShared(b []byte, batches []leafBatch) []byte {
	lengths := e.lengths[:0]
	for i := range batches {
		c := batches[i].values
		for k, n := range c.shared.prefixes {
			if !c.isNull(k) {
				lengths = append(lengths, int64(n))
			}
		}
	}
	b = appendDelta(b, lengths)
	lengths = lengths[:0]
	for i := range batches {
		c := batches[i].values
		begin := 0
		for k := range c.n {
			end := c.offset(k + 1)
			if !c.isNull(k) {
				lengths = append(lengths, int64(end-begin))
			}
			begin = end
		}
	}
	e.lengths = lengths
	b = appendDelta(b, lengths)
	for i := range batches {
		b = append(b, batches[i].values.data...)
	}
	return b
}

// A dictionary holds the distinct values of a column.
type dictionary struct {
	texts   [][]byte
	numbers []int64
	// indices are of the values of the column that are not null.
	indices []uint32
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
func (d *dictionary) build(e *pageEncoder, p *pagePart) (ok bool) {
	d.texts, d.numbers, d.indices = d.texts[:0], d.numbers[:0], d.indices[:0]
	d.plain, d.stored = 0, 0
	if d.byText == nil {
		d.byText, d.byNumber = map[string]uint32{}, map[int64]uint32{}
	}
	clear(d.byText)
	clear(d.byNumber)
	clear(d.small[:])
	for i := range p.batches {
		if p.leaf.kind == parquet.Types.ByteArray {
			ok = d.addTexts(p.batches[i].values)
		} else {
			e.numbers = p.batches[i].values.appendNumbers(e.numbers[:0])
			ok = d.addNumbers(e.numbers)
		}
		if !ok {
			return false
		}
	}
	return d.stored > 0 && d.stored+len(d.indices)*d.width()/8 < d.plain
}

// addTexts adds the texts of c. ok is false if there are too many.
func (d *dictionary) addTexts(c *arrowColumn) (ok bool) {
	var last []byte // with the index at, if some is set
	at, some := uint32(0), false
	for i, end := 0, 0; i < c.n; i++ {
		begin := end
		if end = c.offset(i + 1); c.isNull(i) {
			continue
		}
		s := c.data[begin:end]
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
	return appendRuns(append(b, byte(d.width())), indices, d.width())
}

// statistics adds the values with the indices to stats.
func (d *dictionary) statistics(stats *pageStatistics, indices []uint32) {
	d.used = resized(d.used, d.len())
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

// resized returns a slice of n elements, in the memory of x if that is enough.
func resized[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// maxStatisticBytes bounds a minimum or maximum; a longer one is left out.
const maxStatisticBytes = 4096

// A pageStatistics holds the minimum and the maximum of the values of a page or a column.
type pageStatistics struct {
	kind     parquet.Type
	some     bool  // there is a value
	min, max int64 // of doubles, by [ordered]
	// minText and maxText are valid until the batches change.
	minText, maxText []byte
	nulls            int64
}

// ordered turns the bits of a double that is not NaN into a number with the order of the double, and back.
func ordered(bits int64) int64 { return bits ^ bits>>63&math.MaxInt64 }

// addNumbers adds all numbers of a page at once; s has none yet.
func (s *pageStatistics) addNumbers(numbers []int64) {
	if len(numbers) == 0 {
		return
	}
	double := s.kind == parquet.Types.Double
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, v := range numbers {
		if double {
			v = ordered(v)
		}
		least, most = min(least, v), max(most, v)
	}
	s.min, s.max, s.some = least, most, true
}

func (s *pageStatistics) addTexts(texts [][]byte) {
	for _, v := range texts {
		s.addText(v)
	}
}

func (s *pageStatistics) addText(v []byte) {
	switch {
	case !s.some:
		s.minText, s.maxText, s.some = v, v, true
	case bytes.Compare(v, s.minText) < 0:
		s.minText = v
	case bytes.Compare(v, s.maxText) > 0:
		s.maxText = v
	}
}

// merge adds the values of o.
func (s *pageStatistics) merge(o *pageStatistics) {
	nulls := s.nulls + o.nulls
	switch {
	case !o.some:
	case !s.some:
		*s = *o
	case s.kind == parquet.Types.ByteArray:
		s.addText(o.minText)
		s.addText(o.maxText)
	default:
		s.min, s.max = min(s.min, o.min), max(s.max, o.max)
	}
	s.nulls = nulls
}

// encoded returns the statistics as they are in the file.
func (s *pageStatistics) encoded() metadata.EncodedStatistics {
	e := metadata.EncodedStatistics{HasNullCount: true, NullCount: s.nulls}
	if !s.some {
		return e
	}
	least, most := s.min, s.max
	if s.kind == parquet.Types.Double {
		least, most = ordered(least), ordered(most)
		if least == 0 { // −0 and 0 are equal: the format asks for the lower and the higher one
			least = math.MinInt64
		}
		if most == math.MinInt64 {
			most = 0
		}
	}
	if s.kind == parquet.Types.ByteArray {
		e.Min, e.Max = s.minText, s.maxText
	} else {
		e.Signed = true
		e.Min = appendPlainNumbers(nil, []int64{least}, s.kind)
		e.Max = appendPlainNumbers(nil, []int64{most}, s.kind)
	}
	e.HasMin, e.HasMax = len(e.Min) <= maxStatisticBytes, len(e.Max) <= maxStatisticBytes
	return e
}

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
