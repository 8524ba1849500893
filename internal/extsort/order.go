package extsort

import (
	"encoding/binary"
	"slices"
)

// readBytes is the size of a read of a raw run.
const readBytes = 1 << 16

// A Reader reads the values of a Sorter in the order of Add. It is valid until the next Add.
type Reader struct {
	memory *Memory
	stored []storedRun // not yet read
	runs   []run
	narrow []uint32 // the next values; they are in wide if narrow is empty
	wide   []int64
	buffer rawBuffer
}

// InOrder returns a Reader from the first value on. It panics after Sorted, and after a Pick that
// had to sort: the order is lost then.
func (s *Sorter) InOrder() *Reader {
	if s.sorted {
		panic("extsort: the values are sorted")
	}
	return &Reader{memory: s.memory, stored: slices.Clone(s.stored), runs: append(slices.Clip(s.runs), s.last)}
}

// Read fills dst with the next values. It returns the number of values, which is less than the
// length of dst only at the end of the values. An error means that the temporary file could not be read.
func (r *Reader) Read(dst []int64) (n int, err error) {
	for n < len(dst) {
		if k := min(len(r.narrow), len(dst)-n); k > 0 {
			to := dst[n : n+k]
			for i, v := range r.narrow[:k] {
				to[i] = int64(v)
			}
			r.narrow = r.narrow[k:]
			n += k
			continue
		}
		if k := copy(dst[n:], r.wide); k > 0 {
			r.wide = r.wide[k:]
			n += k
			continue
		}
		switch {
		case len(r.stored) > 0:
			if err := r.fill(); err != nil {
				return n, err
			}
		case len(r.runs) > 0:
			r.narrow, r.wide, r.runs = r.runs[0].narrow, r.runs[0].wide, r.runs[1:]
		default:
			return n, nil
		}
	}
	return n, nil
}

// fill reads the next values of the first stored run.
func (r *Reader) fill() error {
	part, rest := r.stored[0].split(int(readBytes / r.stored[0].raw))
	if err := r.memory.readRaw(part, &r.buffer); err != nil {
		return err
	}
	r.narrow, r.wide = r.buffer.values.narrow, r.buffer.values.wide
	if r.stored[0] = rest; rest.n == 0 {
		r.stored = r.stored[1:]
	}
	return nil
}

// split divides a raw run: the first part has at most n values.
func (s storedRun) split(n int) (first, rest storedRun) {
	first, rest = s, s
	first.n = min(s.n, n)
	rest.n -= first.n
	first.to = s.from + int64(first.n)*int64(s.raw)
	rest.from = first.to
	return first, rest
}

// A rawBuffer holds values of a raw run.
type rawBuffer struct {
	values run
	bytes  []byte
}

// readRaw reads the values of a raw run into b.
func (m *Memory) readRaw(s storedRun, b *rawBuffer) error {
	b.bytes = slices.Grow(b.bytes[:0], int(s.to-s.from))[:s.to-s.from]
	if err := readBack(m.file, b.bytes, s.from); err != nil {
		return err
	}
	b.values = run{narrow: b.values.narrow[:0], wide: b.values.wide[:0]}
	if s.raw == rawNarrow {
		b.values.narrow = slices.Grow(b.values.narrow, s.n)[:s.n]
		for i := range b.values.narrow {
			b.values.narrow[i] = binary.LittleEndian.Uint32(b.bytes[4*i:])
		}
	} else {
		b.values.wide = slices.Grow(b.values.wide, s.n)[:s.n]
		for i := range b.values.wide {
			b.values.wide[i] = int64(binary.LittleEndian.Uint64(b.bytes[8*i:]))
		}
	}
	return nil
}
