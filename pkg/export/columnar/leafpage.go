package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/parquet"
)

// Encodings of levels and values, with their numbers in the file.
const (
	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDelta           = 5
	encodingDeltaLength     = 6
	encodingDeltaBytes      = 7
	encodingRLEDictionary   = 8
)

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
	switch l.physicalType {
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
	if l.dict != nil {
		return errors.New("the column has two")
	}
	l.dict = &vector{offsets: []int{0}}
	n := l.pages.header.values
	values, err := newPageValues(l, encodingPlain, l.pages.data, n)
	if err != nil {
		return err
	}
	for range n {
		before := len(l.dict.text)
		if err := values.append(l, l.dict, 1); err != nil {
			return err
		}
		l.dict.n++
		if err := l.limit.take(elementBytes + len(l.dict.text) - before); err != nil {
			return err
		}
	}
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
	l.values, err = newPageValues(l, l.pages.header.encoding, values, l.levelsLeft)
	return err
}
