package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow/go/v15/parquet"
)

// This file decodes and encodes the levels and values of Parquet pages (Encodings.md of the
// format specification). The decoders of Arrow v15 are not used: they panic on
// DELTA_BINARY_PACKED with nulls (apache/arrow#43276), in goroutines where recover cannot
// help, and loop forever on some broken pages.

var errPage = errors.New("a page ends before its values do")

// An rleDecoder decodes the run-length and bit-packing hybrid:
//
//	run := varint(count<<1) value(⌈width/8⌉ bytes) | varint(groups<<1|1) groups·8 values of width bits
type rleDecoder struct {
	b      []byte
	width  int
	left   uint64 // values left in the run
	value  uint32 // the value of a repeated run
	packed bool   // the run is bit-packed; its next value starts at bit number bit of b
	bit    uint64
}

func newRLEDecoder(b []byte, width int) (rleDecoder, error) {
	if width < 0 || width > 32 {
		return rleDecoder{}, fmt.Errorf("values of %d bits", width)
	}
	return rleDecoder{b: b, width: width}, nil
}

// repeats reports whether the next n values are one repeated run. The run's value is h.value
// then.
func (h *rleDecoder) repeats(n int) bool {
	if h.left == 0 {
		before := *h
		if h.nextRun() != nil {
			*h = before // who decodes the values meets the error
			return false
		}
	}
	return !h.packed && h.left >= uint64(n)
}

// run returns how many of the next n values are in one run; at least 1.
func (h *rleDecoder) run(n int) (int, error) {
	for h.left == 0 {
		if err := h.nextRun(); err != nil {
			return 0, err
		}
	}
	return int(min(h.left, uint64(n))), nil
}

// decodeRuns fills to with the next values.
func decodeRuns[T uint8 | uint32 | uint64](h *rleDecoder, to []T) error {
	for len(to) > 0 {
		for h.left == 0 {
			if err := h.nextRun(); err != nil {
				return err
			}
		}
		n := int(min(h.left, uint64(len(to))))
		part := to[:n]
		to = to[n:]
		h.left -= uint64(n)
		if !h.packed {
			fill(part, T(h.value))
			continue
		}
		unpackAll(part, h.b, h.bit, h.width)
		h.bit += uint64(n) * uint64(h.width)
		if h.left == 0 {
			h.b = h.b[h.bit/8:] // groups end at whole bytes
			h.bit = 0
		}
	}
	return nil
}

// fill sets all elements of to to v.
func fill[T any](to []T, v T) {
	if len(to) == 0 {
		return
	}
	to[0] = v
	for n := 1; n < len(to); n *= 2 {
		copy(to[n:], to[:n])
	}
}

// unpackAll fills to with values of width bits that start at bit number bit of b. b must hold
// them.
func unpackAll[T uint8 | uint32 | uint64](to []T, b []byte, bit uint64, width int) {
	mask := uint64(1)<<width - 1
	if width <= 8 && bit%8 == 0 {
		// 8 values take width bytes.
		for at := bit / 8; len(to) >= 8 && at+8 <= uint64(len(b)); at += uint64(width) {
			x := binary.LittleEndian.Uint64(b[at:])
			group := to[:8]
			for i := range group {
				group[i] = T(x & mask)
				x >>= width
			}
			to = to[8:]
			bit += 8 * uint64(width)
		}
	}
	for i := range to {
		to[i] = T(unpack(b, bit, width))
		bit += uint64(width)
	}
}

// nextRun starts the next run, which takes at least one byte.
func (h *rleDecoder) nextRun() error {
	head, n := binary.Uvarint(h.b)
	if n <= 0 {
		return errPage
	}
	h.b = h.b[n:]
	h.packed = head&1 == 1
	if !h.packed {
		size := (h.width + 7) / 8
		if size > len(h.b) {
			return errPage
		}
		h.value = 0
		for i := range size {
			h.value |= uint32(h.b[i]) << (8 * i)
		}
		if h.value>>h.width > 0 {
			return fmt.Errorf("a value of %d in %d bits", h.value, h.width)
		}
		h.b = h.b[size:]
		h.left = head >> 1
		return nil
	}
	groups := head >> 1
	if h.width == 0 {
		h.packed, h.value, h.left = false, 0, min(groups, math.MaxUint32)*8
		return nil
	}
	// A writer may leave out the end of the last group.
	most := uint64(len(h.b)) * 8 / uint64(h.width)
	h.left = min(groups, math.MaxUint32) * 8
	h.bit = 0
	if h.left > most {
		h.left = most
		if most == 0 {
			return errPage
		}
	}
	return nil
}

// unpack returns width bits of b that start at bit number bit, the lowest bit first. b must
// hold these bits.
func unpack(b []byte, bit uint64, width int) uint64 {
	i, shift := bit/8, bit%8
	if i+16 <= uint64(len(b)) {
		v := binary.LittleEndian.Uint64(b[i:]) >> shift
		if shift > 0 {
			v |= binary.LittleEndian.Uint64(b[i+8:]) << (64 - shift)
		}
		return v & (1<<width - 1)
	}
	v := uint64(0)
	for k := range width {
		at := bit + uint64(k)
		v |= uint64(b[at/8]>>(at%8)&1) << k
	}
	return v
}

// A deltaDecoder decodes DELTA_BINARY_PACKED:
//
//	header: varint(values per block) varint(miniblocks per block) varint(count) zigzag(first)
//	block:  zigzag(least delta) width(1) per miniblock, then the miniblocks
type deltaDecoder struct {
	b               []byte
	left            uint64 // values
	miniblockValues uint64 // values per miniblock
	blockMiniblocks int    // miniblocks per block

	last     uint64
	first    bool   // last is the first value, which is not decoded yet
	minDelta uint64 // least difference of the block
	widths   []byte // widths of the miniblocks left in the block
	width    int
	n        uint64 // values left in the miniblock
	bit      uint64
}

// newDeltaDecoder reads the header at the start of b.
func newDeltaDecoder(b []byte) (deltaDecoder, error) {
	var d deltaDecoder
	var head [3]uint64
	for i := range head {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return d, errPage
		}
		head[i], b = v, b[n:]
	}
	first, n := binary.Varint(b)
	if n <= 0 {
		return d, errPage
	}
	d.b, d.left, d.last, d.first = b[n:], head[2], uint64(first), true
	if head[1] == 0 || head[0]%head[1] != 0 || head[1] > 1<<16 || head[0] > 1<<24 || head[0]/head[1]%8 != 0 || head[0] == 0 {
		return d, fmt.Errorf("blocks of %d values in %d parts", head[0], head[1])
	}
	d.miniblockValues, d.blockMiniblocks = head[0]/head[1], int(head[1])
	return d, nil
}

// decode fills to with the next values.
func (d *deltaDecoder) decode(to []uint64) error {
	if uint64(len(to)) > d.left {
		return errPage
	}
	if d.first && len(to) > 0 {
		d.first = false
		d.left--
		to[0], to = d.last, to[1:]
	}
	for len(to) > 0 {
		if d.n == 0 {
			if err := d.nextMiniblock(); err != nil {
				return err
			}
		}
		n := int(min(d.n, uint64(len(to))))
		if err := d.decodeMiniblock(to[:n]); err != nil {
			return err
		}
		to = to[n:]
	}
	return nil
}

// decodeMiniblock fills to with the next values of the miniblock, which has as many.
func (d *deltaDecoder) decodeMiniblock(to []uint64) error {
	n, width := uint64(len(to)), uint64(d.width)
	if (d.bit+n*width+7)/8 > uint64(len(d.b)) {
		return errPage
	}
	d.n -= n
	d.left -= n
	last, bit, mask := d.last, d.bit, uint64(1)<<width-1
	d.bit += n * width
	// The bits of a value lie within the 8 bytes from its first one.
	for ; len(to) > 0 && width <= 57 && bit/8+8 <= uint64(len(d.b)); to = to[1:] {
		last += d.minDelta + binary.LittleEndian.Uint64(d.b[bit/8:])>>(bit%8)&mask
		to[0] = last
		bit += width
	}
	for i := range to {
		last += d.minDelta + unpack(d.b, bit, int(width))
		to[i] = last
		bit += width
	}
	d.last = last
	return nil
}

// nextMiniblock starts the next miniblock.
func (d *deltaDecoder) nextMiniblock() error {
	d.skipMiniblock()
	if len(d.widths) == 0 {
		least, n := binary.Varint(d.b)
		if n <= 0 || len(d.b)-n < d.blockMiniblocks {
			return errPage
		}
		d.minDelta = uint64(least)
		d.widths = d.b[n : n+d.blockMiniblocks]
		d.b = d.b[n+d.blockMiniblocks:]
	}
	d.width = int(d.widths[0])
	d.widths = d.widths[1:]
	if d.width > 64 {
		return fmt.Errorf("differences of %d bits", d.width)
	}
	d.n, d.bit = d.miniblockValues, 0
	return nil
}

// skipMiniblock skips the bytes of the miniblock. The file pads the last miniblock to its
// full size.
func (d *deltaDecoder) skipMiniblock() {
	size := d.miniblockValues * uint64(d.width) / 8
	d.b = d.b[min(size, uint64(len(d.b))):]
	d.width = 0
}

// rest returns the bytes after the last value.
func (d *deltaDecoder) rest() []byte {
	d.skipMiniblock()
	return d.b
}

// lengths appends all values as lengths to out. It returns an error for more than max lengths.
func (d *deltaDecoder) lengths(out []int, max int) ([]int, error) {
	if d.left > uint64(max) {
		return nil, fmt.Errorf("%d lengths for %d values", d.left, max)
	}
	out = slices.Grow(out, int(min(d.left, 1<<16)))
	var block [deltaBlock]uint64
	for d.left > 0 {
		values := block[:min(d.left, deltaBlock)]
		if err := d.decode(values); err != nil {
			return nil, err
		}
		for _, v := range values {
			if v > math.MaxInt32 {
				return nil, fmt.Errorf("a length of %d", int64(v))
			}
			out = append(out, int(v))
		}
	}
	return out, nil
}

// widthOf returns the number of bits that hold the numbers from 0 to n.
func widthOf(n int) int { return bits.Len(uint(n)) }

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

// leastRun is the length from which equal values are one repeated run.
const leastRun = 8

// appendRepeated appends a run of n times v.
func appendRepeated(b []byte, n int, v uint32, width int) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<1)
	for i := 0; i < width; i += 8 {
		b = append(b, byte(v>>i))
	}
	return b
}

// appendPacked appends values of width bits in groups of 8, the lowest bit first.
func appendPacked(b []byte, values []uint32, width int) []byte {
	for len(values) > 0 {
		group := values[:min(leastRun, len(values))]
		values = values[len(group):]
		pending, n := uint64(0), 0
		size := len(b) + width
		for _, v := range group {
			pending |= uint64(v) << n
			for n += width; n >= 8; n -= 8 {
				b = append(b, byte(pending))
				pending >>= 8
			}
		}
		for ; len(b) < size; pending >>= 8 {
			b = append(b, byte(pending))
		}
	}
	return b
}

// A runList holds levels, or indices into a dictionary; most of them repeat many times.
type runList struct {
	runs  []run
	n     int // number of values
	group []uint32
}

// A run is a value that repeats n times.
type run struct{ value, n uint32 }

// reset removes all values and keeps the memory.
func (l *runList) reset() { l.runs, l.n = l.runs[:0], 0 }

// add appends v n times.
func (l *runList) add(v uint32, n int) {
	if n == 0 {
		return
	}
	l.n += n
	if last := len(l.runs) - 1; last >= 0 && l.runs[last].value == v {
		l.runs[last].n += uint32(n)
		return
	}
	l.runs = append(l.runs, run{v, uint32(n)})
}

// valueLevels are the levels of the values of a page.
type valueLevels struct{ defs, reps runList }

// appendTo appends the values in the run-length and bit-packing hybrid that rleDecoder reads. Each
// value has width bits.
func (l *runList) appendTo(b []byte, width int) []byte {
	runs := l.runs
	if len(runs) == 0 {
		return b
	}
	left := int(runs[0].n) // of the first run
	for {
		if left >= leastRun || len(runs) == 1 {
			b = appendRepeated(b, left, runs[0].value, width)
		} else {
			// Whole groups of 8 values up to the next run of at least as many; the last group of the
			// page is filled with zeros.
			group := l.group[:0]
			for len(runs) > 0 && (left < leastRun || len(group)%leastRun > 0) {
				n := min(left, leastRun-len(group)%leastRun)
				for range n {
					group = append(group, runs[0].value)
				}
				if left -= n; left == 0 {
					if runs = runs[1:]; len(runs) > 0 {
						left = int(runs[0].n)
					}
				}
			}
			l.group = group
			b = binary.AppendUvarint(b, uint64((len(group)+leastRun-1)/leastRun)<<1|1)
			b = appendPacked(b, group, width)
			if len(runs) == 0 {
				return b
			}
			continue
		}
		if runs = runs[1:]; len(runs) == 0 {
			return b
		}
		left = int(runs[0].n)
	}
}

// Sizes of DELTA_BINARY_PACKED.
const (
	deltaBlock      = 128
	deltaMiniblocks = 4
	deltaMiniblock  = deltaBlock / deltaMiniblocks
)

// appendDelta appends values as DELTA_BINARY_PACKED, which deltaDecoder reads.
func appendDelta(b []byte, values []int64) []byte {
	if len(values) == 0 {
		return appendDeltaHeader(b, 0, 0)
	}
	return appendDeltaBlocks(appendDeltaHeader(b, len(values), values[0]), values[0], values[1:])
}

// appendDeltaHeader appends the header of n values. The blocks of the values after the first
// one follow it.
func appendDeltaHeader(b []byte, n int, first int64) []byte {
	b = binary.AppendUvarint(b, deltaBlock)
	b = binary.AppendUvarint(b, deltaMiniblocks)
	b = binary.AppendUvarint(b, uint64(n))
	return binary.AppendVarint(b, first)
}

// appendDeltaBlocks appends the blocks of values that follow the value last. The number of
// values is a multiple of deltaBlock unless they are the last ones.
func appendDeltaBlocks(b []byte, last int64, values []int64) []byte {
	var deltas [deltaBlock]uint64
	for len(values) > 0 {
		n := min(len(values), deltaBlock)
		least := values[0] - last
		for i, v := range values[:n] {
			d := v - last
			last = v
			deltas[i] = uint64(d)
			least = min(least, d)
		}
		values = values[n:]
		b = appendDeltaBlock(b, &deltas, n, least)
	}
	return b
}

// appendDeltaBlock appends a block of n differences; least is the smallest of them.
func appendDeltaBlock(b []byte, deltas *[deltaBlock]uint64, n int, least int64) []byte {
	for i := range n {
		deltas[i] -= uint64(least)
	}
	clear(deltas[n:])
	b = binary.AppendVarint(b, least)
	widths := len(b)
	b = append(b, 0, 0, 0, 0)
	for m := 0; m*deltaMiniblock < n; m++ {
		part := (*[deltaMiniblock]uint64)(deltas[m*deltaMiniblock:])
		all := uint64(0)
		for _, d := range part {
			all |= d
		}
		width := bits.Len64(all)
		b[widths+m] = byte(width)
		b = appendMiniblock(b, part, width)
	}
	return b
}

// appendMiniblock appends the 32 values of a miniblock with width bits each.
func appendMiniblock(b []byte, values *[deltaMiniblock]uint64, width int) []byte {
	pending, n := uint64(0), 0
	for _, v := range values {
		pending |= v << n
		if n += width; n >= 64 {
			b = binary.LittleEndian.AppendUint64(b, pending)
			n -= 64
			pending = v >> (width - n) // 0 for a shift of 64
		}
	}
	for ; n > 0; n -= 8 { // 32 values fill whole bytes
		b = append(b, byte(pending))
		pending >>= 8
	}
	return b
}

// appendPlainTexts appends texts as PLAIN.
func appendPlainTexts(b []byte, texts [][]byte) []byte {
	for _, s := range texts {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	return b
}

// appendPlainNumbers appends numbers as PLAIN.
func appendPlainNumbers(b []byte, numbers []int64, kind parquet.Type) []byte {
	switch kind {
	case parquet.Types.Boolean:
		for len(numbers) > 0 {
			bits := byte(0)
			n := min(8, len(numbers))
			for i, v := range numbers[:n] {
				bits |= byte(v&1) << i
			}
			b = append(b, bits)
			numbers = numbers[n:]
		}
	case parquet.Types.Int32:
		for _, v := range numbers {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	default:
		for _, v := range numbers {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
	}
	return b
}
