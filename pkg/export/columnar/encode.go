package columnar

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow/go/v15/parquet"
)

// This file encodes the levels and values of Parquet pages. It is the inverse of
// encoding.go.

// leastRun is the length from which equal values are one repeated run.
const leastRun = 8

// appendRuns appends values in the run-length and bit-packing hybrid that rleDecoder reads.
// Each value has width bits.
func appendRuns(b []byte, values []uint32, width int) []byte {
	for len(values) > 0 {
		if n := runLength(values); n >= leastRun || n == len(values) {
			b = appendRepeated(b, n, values[0], width)
			values = values[n:]
			continue
		}
		// Whole groups of 8 values up to the next repeated run; the last group of the page is
		// filled with zeros.
		n := leastRun
		for n < len(values) && runLength(values[n:min(n+leastRun, len(values))]) < leastRun {
			n += leastRun
		}
		b = binary.AppendUvarint(b, uint64(n/leastRun)<<1|1)
		n = min(n, len(values))
		b = appendPacked(b, values[:n], width)
		values = values[n:]
	}
	return b
}

// appendRepeated appends a run of n times v.
func appendRepeated(b []byte, n int, v uint32, width int) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<1)
	for i := 0; i < width; i += 8 {
		b = append(b, byte(v>>i))
	}
	return b
}

// runLength returns how many values at the start of values are equal.
func runLength(values []uint32) int {
	v := values[0]
	for i, x := range values {
		if x != v {
			return i
		}
	}
	return len(values)
}

// appendPacked appends values of width bits in groups of 8, the lowest bit first.
func appendPacked[T uint8 | uint32](b []byte, values []T, width int) []byte {
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

// levelRuns are definition or repetition levels, of which most repeat many times.
type levelRuns struct {
	runs  []levelRun
	n     int // number of levels
	group []uint8
}

// A levelRun is a level that repeats n times.
type levelRun struct {
	level uint8
	n     int
}

// reset removes all levels and keeps the memory.
func (l *levelRuns) reset() { l.runs, l.n = l.runs[:0], 0 }

// add appends level n times.
func (l *levelRuns) add(level uint8, n int) {
	if n == 0 {
		return
	}
	l.n += n
	if last := len(l.runs) - 1; last >= 0 && l.runs[last].level == level {
		l.runs[last].n += n
		return
	}
	l.runs = append(l.runs, levelRun{level, n})
}

// valueLevels are the levels of the values of a page.
type valueLevels struct{ defs, reps levelRuns }

// appendTo appends the levels in the hybrid of appendRuns. Each level has width bits.
func (l *levelRuns) appendTo(b []byte, width int) []byte {
	runs := l.runs
	if len(runs) == 0 {
		return b
	}
	left := runs[0].n // of the first run
	for {
		if left >= leastRun || len(runs) == 1 {
			b = appendRepeated(b, left, uint32(runs[0].level), width)
		} else {
			// Whole groups of 8 levels up to the next run of at least as many; the last group of the
			// page is filled with zeros.
			group := l.group[:0]
			for len(runs) > 0 && (left < leastRun || len(group)%leastRun > 0) {
				n := min(left, leastRun-len(group)%leastRun)
				for range n {
					group = append(group, runs[0].level)
				}
				if left -= n; left == 0 {
					if runs = runs[1:]; len(runs) > 0 {
						left = runs[0].n
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
		left = runs[0].n
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

// commonPrefix returns the number of bytes at the start of a and b that are equal.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
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
