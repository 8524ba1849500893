package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
)

// A pageValues decodes the values of a column, page by page.
type pageValues struct {
	physicalType parquet.Type
	signed       bool    // integers of 32 bits are extended by their sign
	dict         *Vector // nil without a dictionary

	encoding int
	b        []byte
	bit      uint64     // position in b of the next plain bool
	index    rleDecoder // indices into the dictionary, or bools
	delta    deltaDecoder
	lengths  []int  // lengths of the next texts
	prefixes []int  // for each next text, the bytes that it shares with the previous text
	last     []byte // the previous text

	lengthMemory, prefixMemory []int // of lengths and prefixes
}

func (p *pageValues) isText() bool { return p.physicalType == parquet.Types.ByteArray }

// reset forgets the page and the dictionary, and keeps memory.
func (p *pageValues) reset() {
	*p = pageValues{physicalType: p.physicalType, signed: p.signed, lengthMemory: p.lengthMemory, prefixMemory: p.prefixMemory}
}

// start starts a page of n values with the content b. limit bounds the memory.
func (p *pageValues) start(encoding int, b []byte, n int, limit *Budget) (err error) {
	dict, last := p.dict, p.last[:0]
	p.reset()
	p.dict, p.last, p.encoding, p.b = dict, last, encoding, b
	number := p.physicalType == parquet.Types.Int32 || p.physicalType == parquet.Types.Int64
	switch {
	case encoding == encodingPlain:
	case encoding == encodingPlainDictionary || encoding == encodingRLEDictionary:
		p.encoding = encodingRLEDictionary
		switch {
		case p.dict == nil:
			return errors.New("the dictionary is missing")
		case len(b) > 0:
			p.index, err = newRLEDecoder(b[1:], int(b[0]))
		}
	case encoding == encodingRLE && p.physicalType == parquet.Types.Boolean:
		if len(b) < 4 {
			return errPage
		}
		p.index, err = newRLEDecoder(b[4:], 1)
	case encoding == encodingDelta && number:
		if len(b) > 0 { // a page of nulls may hold nothing
			p.delta, err = newDeltaDecoder(b)
		}
	case (encoding == encodingDeltaLength || encoding == encodingDeltaBytes) && p.isText():
		if len(b) == 0 {
			break
		}
		if encoding == encodingDeltaBytes {
			if p.prefixMemory, p.b, err = deltaLengths(p.prefixMemory[:0], p.b, n, limit); err != nil {
				return err
			}
			p.prefixes = p.prefixMemory
		}
		p.lengthMemory, p.b, err = deltaLengths(p.lengthMemory[:0], p.b, n, limit)
		p.lengths = p.lengthMemory
	default:
		return fmt.Errorf("values of type %s are encoded as %s, which is not supported; rewrite the file with PLAIN", p.physicalType, parquet.Encoding(encoding))
	}
	return err
}

// deltaLengths appends up to n lengths at the start of b to memory, and returns the rest of b.
func deltaLengths(memory []int, b []byte, n int, limit *Budget) (lengths []int, rest []byte, err error) {
	d, err := newDeltaDecoder(b)
	if err != nil {
		return nil, nil, err
	}
	if d.left > uint64(limit.left/elementBytes) {
		return nil, nil, &TooLargeError{-1, limit.max}
	}
	lengths, err = d.lengths(memory, n)
	return lengths, d.rest(), err
}

// append appends the next n values to v, but does not change v.N.
func (p *pageValues) append(v *Vector, n int) error {
	if p.isText() {
		return p.appendTexts(v, n)
	}
	v.Signed = p.signed
	at := len(v.Nums)
	v.Nums = slices.Grow(v.Nums, n)[:at+n]
	nums := v.Nums[at:]
	switch p.encoding {
	case encodingRLEDictionary:
		return p.decodeIndexed(nums)
	case encodingRLE:
		return decodeRuns(&p.index, nums)
	case encodingDelta:
		err := p.delta.decode(nums)
		if p.physicalType == parquet.Types.Int32 {
			for i, x := range nums {
				nums[i] = p.extend(x)
			}
		}
		return err
	}
	return p.decodePlain(nums)
}

// decodeIndexed fills nums with the next numbers of a page with a dictionary.
func (p *pageValues) decodeIndexed(nums []uint64) error {
	var block [256]uint32
	for len(nums) > 0 {
		run, err := p.index.run(len(nums))
		if err != nil {
			return err
		}
		if !p.index.packed {
			if err := p.checkIndex(p.index.value); err != nil {
				return err
			}
			fill(nums[:run], p.dict.Nums[p.index.value])
			p.index.left -= uint64(run)
			nums = nums[run:]
			continue
		}
		indices := block[:min(run, len(block))]
		if err := p.decodeIndices(indices); err != nil {
			return err
		}
		for k, i := range indices {
			nums[k] = p.dict.Nums[i]
		}
		nums = nums[len(indices):]
	}
	return nil
}

// decodeIndices fills indices with the next indices into the dictionary.
func (p *pageValues) decodeIndices(indices []uint32) error {
	if err := decodeRuns(&p.index, indices); err != nil {
		return err
	}
	return p.checkIndex(slices.Max(indices))
}

// checkIndex returns an error if the dictionary has no value at index i.
func (p *pageValues) checkIndex(i uint32) error {
	if int64(i) >= int64(p.dict.N) {
		return fmt.Errorf("index %d in a dictionary of %d values", i, p.dict.N)
	}
	return nil
}

// decodePlain fills nums with the next numbers or bools of a page in the encoding PLAIN.
func (p *pageValues) decodePlain(nums []uint64) error {
	n, size := len(nums), 8
	switch p.physicalType {
	case parquet.Types.Boolean:
		if (p.bit+uint64(n)+7)/8 > uint64(len(p.b)) {
			return errPage
		}
		for i := range nums {
			nums[i] = uint64(p.b[p.bit/8] >> (p.bit % 8) & 1)
			p.bit++
		}
		return nil
	case parquet.Types.Int32, parquet.Types.Float:
		size = 4
	}
	if n > len(p.b)/size {
		return errPage
	}
	if size == 8 {
		for i := range nums {
			nums[i] = binary.LittleEndian.Uint64(p.b[8*i:])
		}
	} else {
		for i := range nums {
			nums[i] = p.extend(uint64(binary.LittleEndian.Uint32(p.b[4*i:])))
		}
	}
	p.b = p.b[n*size:]
	return nil
}

// extend returns x, a value of 32 or 64 bits, as 64 bits.
func (p *pageValues) extend(x uint64) uint64 {
	switch {
	case p.physicalType != parquet.Types.Int32:
		return x
	case p.signed:
		return uint64(int32(x))
	}
	return uint64(uint32(x))
}

// appendTexts appends the next n texts to v.
func (p *pageValues) appendTexts(v *Vector, n int) error {
	next := p.nextDelta
	switch p.encoding {
	case encodingRLEDictionary:
		return p.appendIndexed(v, n)
	case encodingPlain:
		next = p.nextPlain
	}
	for range n {
		text, err := next()
		if err != nil {
			return err
		}
		v.appendText(text)
	}
	return nil
}

// appendIndexed appends the next n texts of a page with a dictionary.
func (p *pageValues) appendIndexed(v *Vector, n int) error {
	var block [256]uint32
	for n > 0 {
		indices := block[:min(n, len(block))]
		n -= len(indices)
		if err := p.decodeIndices(indices); err != nil {
			return err
		}
		for _, i := range indices {
			v.appendText(p.dict.Bytes(int(i)))
		}
	}
	return nil
}

// nextPlain returns the next text of a page in the encoding PLAIN.
func (p *pageValues) nextPlain() ([]byte, error) {
	if len(p.b) < 4 {
		return nil, errPage
	}
	n := uint64(binary.LittleEndian.Uint32(p.b))
	if p.b = p.b[4:]; n > uint64(len(p.b)) {
		return nil, errPage
	}
	text := p.b[:n]
	p.b = p.b[n:]
	return text, nil
}

// nextDelta returns the next text of a page in a DELTA encoding. It is valid until the next call.
func (p *pageValues) nextDelta() ([]byte, error) {
	if len(p.lengths) == 0 || p.lengths[0] > len(p.b) {
		return nil, errPage
	}
	n := p.lengths[0]
	p.lengths = p.lengths[1:]
	suffix := p.b[:n]
	p.b = p.b[n:]
	if p.encoding == encodingDeltaLength {
		return suffix, nil
	}
	if len(p.prefixes) == 0 || p.prefixes[0] > len(p.last) {
		return nil, errPage
	}
	p.last = append(p.last[:p.prefixes[0]], suffix...)
	p.prefixes = p.prefixes[1:]
	return p.last, nil
}
