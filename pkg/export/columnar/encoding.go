package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// This file decodes the values of Parquet pages (Encodings.md of the format
// specification). Arrow v15 finds and decompresses the pages. Its decoders of values are
// not used: they panic on DELTA_BINARY_PACKED with nulls (apache/arrow#43276), in
// goroutines where recover cannot help, and loop forever on some broken pages.

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

// next returns the next value.
func (h *rleDecoder) next() (uint32, error) {
	for h.left == 0 {
		if err := h.nextRun(); err != nil {
			return 0, err
		}
	}
	h.left--
	if !h.packed {
		return h.value, nil
	}
	v := unpack(h.b, h.bit, h.width)
	h.bit += uint64(h.width)
	if h.left == 0 {
		h.b = h.b[h.bit/8:] // groups end at whole bytes
		h.bit = 0
	}
	return uint32(v), nil
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
func decodeRuns[T uint8 | uint32](h *rleDecoder, to []T) error {
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
func unpackAll[T uint8 | uint32](to []T, b []byte, bit uint64, width int) {
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
	first    bool   // last is the first value, which next has not returned yet
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

// next returns the next value.
func (d *deltaDecoder) next() (uint64, error) {
	if d.left == 0 {
		return 0, errPage
	}
	d.left--
	if d.first {
		d.first = false
		return d.last, nil
	}
	if d.n == 0 {
		if err := d.nextMiniblock(); err != nil {
			return 0, err
		}
	}
	d.n--
	v := d.minDelta
	if d.width > 0 {
		if (d.bit+uint64(d.width)+7)/8 > uint64(len(d.b)) {
			return 0, errPage
		}
		v += unpack(d.b, d.bit, d.width)
		d.bit += uint64(d.width)
	}
	d.last += v
	return d.last, nil
}

// decode fills to with the next values.
func (d *deltaDecoder) decode(to []uint64) error {
	for len(to) > 0 && (d.first || d.left == 0) {
		v, err := d.next()
		if err != nil {
			return err
		}
		to[0], to = v, to[1:]
	}
	for len(to) > 0 {
		if d.left == 0 {
			return errPage
		}
		if d.n == 0 {
			if err := d.nextMiniblock(); err != nil {
				return err
			}
		}
		n := int(min(d.n, d.left, uint64(len(to))))
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
	for d.left > 0 {
		v, err := d.next()
		if err != nil {
			return nil, err
		}
		if v > math.MaxInt32 {
			return nil, fmt.Errorf("a length of %d", int64(v))
		}
		out = append(out, int(v))
	}
	return out, nil
}

// widthOf returns the number of bits that hold the numbers from 0 to n.
func widthOf(n int) int { return bits.Len(uint(n)) }
