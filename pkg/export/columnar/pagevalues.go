package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
)

// A pageValues decodes the values of one page.
type pageValues struct {
	encoding int
	b        []byte
	bit      uint64     // position in b of the next plain bool
	index    rleDecoder // indices into the dictionary, or bools
	delta    deltaDecoder
	lengths  []int  // lengths of the next texts
	prefixes []int  // for each next text, the bytes that it shares with the previous text
	last     []byte // the previous text
}

// newPageValues returns a decoder of a page of n values with the content b.
func newPageValues(l *leaf, encoding int, b []byte, n int) (pageValues, error) {
	p := pageValues{encoding: encoding, b: b}
	text := l.physicalType == parquet.Types.ByteArray
	number := l.physicalType == parquet.Types.Int32 || l.physicalType == parquet.Types.Int64
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
	case encoding == encodingRLE && l.physicalType == parquet.Types.Boolean:
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
			if p.prefixes, b, err = deltaLengths(l, b, n, &l.prefixMemory); err != nil {
				return p, err
			}
		}
		p.last = l.values.last[:0]
		p.lengths, p.b, err = deltaLengths(l, b, n, &l.lengthMemory)
	default:
		return p, fmt.Errorf("values of type %s are encoded as %s, which is not supported; rewrite the file with PLAIN", l.physicalType, parquet.Encoding(encoding))
	}
	return p, err
}

// deltaLengths decodes up to n lengths at the start of b into memory, and returns the rest of b.
func deltaLengths(l *leaf, b []byte, n int, memory *[]int) ([]int, []byte, error) {
	d, err := newDeltaDecoder(b)
	if err != nil {
		return nil, nil, err
	}
	if d.left > uint64(l.limit.left/elementBytes) {
		return nil, nil, &tooLargeError{-1, l.limit.max}
	}
	*memory, err = d.lengths((*memory)[:0], n)
	return *memory, d.rest(), err
}

// append appends the next n values to v, but does not change v.n.
func (p *pageValues) append(l *leaf, v *vector, n int) error {
	switch p.encoding {
	case encodingRLEDictionary:
		return p.appendFromDictionary(l, v, n)
	case encodingPlain:
		return p.appendPlain(l, v, n)
	}
	if p.encoding == encodingDelta {
		at := len(v.nums)
		v.nums = slices.Grow(v.nums, n)[:at+n]
		nums := v.nums[at:]
		if err := p.delta.decode(nums); err != nil {
			return err
		}
		if l.physicalType == parquet.Types.Int32 {
			for i, x := range nums {
				nums[i] = l.extend(x)
			}
		}
		return nil
	}
	for range n {
		if err := p.next(v); err != nil {
			return err
		}
	}
	return nil
}

// appendFromDictionary appends the next n values of a page with a dictionary.
func (p *pageValues) appendFromDictionary(l *leaf, v *vector, n int) error {
	if l.physicalType == parquet.Types.ByteArray {
		return p.appendTexts(l, v, n)
	}
	at := len(v.nums)
	v.nums = slices.Grow(v.nums, n)[:at+n]
	nums := v.nums[at:]
	var block [256]uint32
	for len(nums) > 0 {
		run, err := p.index.run(len(nums))
		if err != nil {
			return err
		}
		if !p.index.packed {
			if err := l.checkIndex(p.index.value); err != nil {
				return err
			}
			fill(nums[:run], l.dict.nums[p.index.value])
			p.index.left -= uint64(run)
			nums = nums[run:]
			continue
		}
		indices := block[:min(run, len(block))]
		if err := decodeRuns(&p.index, indices); err != nil {
			return err
		}
		if err := l.checkIndex(slices.Max(indices)); err != nil {
			return err
		}
		for k, i := range indices {
			nums[k] = l.dict.nums[i]
		}
		nums = nums[len(indices):]
	}
	return nil
}

// checkIndex returns an error if the dictionary has no value at index i.
func (l *leaf) checkIndex(i uint32) error {
	if int64(i) >= int64(l.dict.n) {
		return fmt.Errorf("index %d in a dictionary of %d values", i, l.dict.n)
	}
	return nil
}

// appendTexts appends the next n texts of a page with a dictionary.
func (p *pageValues) appendTexts(l *leaf, v *vector, n int) error {
	var block [256]uint32
	for n > 0 {
		indices := block[:min(n, len(block))]
		n -= len(indices)
		if err := decodeRuns(&p.index, indices); err != nil {
			return err
		}
		if err := l.checkIndex(slices.Max(indices)); err != nil {
			return err
		}
		for _, i := range indices {
			v.appendText(l.dict.bytes(int(i)))
		}
	}
	return nil
}

// appendPlain appends the next n values of a page in the encoding PLAIN.
func (p *pageValues) appendPlain(l *leaf, v *vector, n int) error {
	size := 0
	switch l.physicalType {
	case parquet.Types.Int32, parquet.Types.Float:
		size = 4
	case parquet.Types.Int64, parquet.Types.Double:
		size = 8
	case parquet.Types.Boolean:
		return p.appendPlainBools(v, n)
	default:
		for range n {
			if err := p.nextPlainText(v); err != nil {
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

// next appends the next value to v, but does not change v.n.
func (p *pageValues) next(v *vector) error {
	switch p.encoding {
	case encodingRLE:
		i, err := p.index.next()
		if err != nil {
			return err
		}
		v.nums = append(v.nums, uint64(i))
	case encodingDeltaLength, encodingDeltaBytes:
		return p.nextDeltaText(v)
	default:
		return fmt.Errorf("values are encoded as %d", p.encoding)
	}
	return nil
}

func (v *vector) appendText(b []byte) {
	v.text = append(v.text, b...)
	v.offsets = append(v.offsets, len(v.text))
}

// extend returns x, a value of 32 or 64 bits, as 64 bits.
func (l *leaf) extend(x uint64) uint64 {
	switch {
	case l.physicalType != parquet.Types.Int32:
		return x
	case l.signed:
		return uint64(int32(x))
	}
	return uint64(uint32(x))
}

// appendPlainBools appends the next n bools.
func (p *pageValues) appendPlainBools(v *vector, n int) error {
	if (p.bit+uint64(n)+7)/8 > uint64(len(p.b)) {
		return errPage
	}
	at := len(v.nums)
	v.nums = slices.Grow(v.nums, n)[:at+n]
	for i := range v.nums[at:] {
		v.nums[at+i] = uint64(p.b[p.bit/8] >> (p.bit % 8) & 1)
		p.bit++
	}
	return nil
}

// nextPlainText appends the next text.
func (p *pageValues) nextPlainText(v *vector) error {
	if len(p.b) < 4 {
		return errPage
	}
	n := uint64(binary.LittleEndian.Uint32(p.b))
	if p.b = p.b[4:]; n > uint64(len(p.b)) {
		return errPage
	}
	v.appendText(p.b[:n])
	p.b = p.b[n:]
	return nil
}

// nextDeltaText appends the next text of a page in a DELTA encoding.
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
	p.last = append(p.last[:p.prefixes[0]], suffix...)
	p.prefixes = p.prefixes[1:]
	v.appendText(p.last)
	return nil
}
