package extsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/pa-tools/pa/internal/quantile"
)

// blockValues is about the number of values that Sorted passes on at once. A merge sorts a
// block by digits, which is faster than comparing the heads of all runs for each value.
const blockValues = 1 << 17

// leastWindow is the least number of values that a merge reads from a run at once.
const leastWindow = 1 << 8

// A storedRun is a run in the file.
type storedRun struct {
	from, to int64   // bytes of the file
	n        int     // values
	raw      rawSize // 0 for a sorted run, which holds differences
}

// A rawSize is the number of bytes of each value of a raw run: a run of the file in the order of Add.
type rawSize int64

const (
	rawNarrow rawSize = 4
	rawWide   rawSize = 8
)

// Sorted calls f with all values in ascending order, a block at a time. f must not keep the
// block or change it. Sorted may be called again. An error means that the temporary file
// could not be read, so that values are missing.
func (s *Sorter) Sorted(f func(block []int64)) error {
	s.endRun()
	s.sorted = true
	if err := s.sortStored(); err != nil {
		return err
	}
	if len(s.runs) == 1 && len(s.stored) == 0 {
		s.memory.sort(&s.runs[0])
		s.runs[0].each(f)
		return nil
	}
	window := max(blockValues/max(len(s.runs)+len(s.stored), 1), leastWindow)
	var all []*cursor
	for i := range s.runs {
		r := &s.runs[i]
		s.memory.sort(r)
		all = append(all, &cursor{rest: *r, size: min(window, r.len())})
	}
	for _, r := range s.stored {
		all = append(all, &cursor{stored: r, size: min(window, r.n)})
	}
	blocks := make([]block, min(runtime.GOMAXPROCS(0), mostBlocks))
	for len(all) > 0 {
		n := 0
		var sorting sync.WaitGroup
		for ; n < len(blocks) && len(all) > 0; n++ {
			b := &blocks[n]
			var err error
			if all, err = s.memory.nextBlock(b, all); err != nil {
				sorting.Wait()
				return err
			}
			if b.runs > 1 {
				sorting.Go(func() { b.scratch = quantile.SortWith(b.values, b.scratch) })
			}
		}
		sorting.Wait()
		for i := range blocks[:n] {
			f(blocks[i].values)
		}
	}
	return nil
}

// each calls f with all values of the run in their order, a block at a time.
func (r *run) each(f func(block []int64)) {
	for block := range slices.Chunk(r.wide, blockValues) {
		f(block)
	}
	block := make([]int64, min(max(len(r.narrow), 1), leastWindow))
	for some := range slices.Chunk(r.narrow, len(block)) {
		for i, v := range some {
			block[i] = int64(v)
		}
		f(block[:len(some)])
	}
}

// mostBlocks is the most blocks that a merge sorts at once.
const mostBlocks = 4

// A block holds values that follow the values of the previous block.
type block struct {
	values  []int64
	runs    int // number of runs that the values come from; values are sorted if it is 1
	scratch []int64
}

// nextBlock puts the least values of the cursors into b, in any order, and returns the cursors
// that have more values.
func (m *Memory) nextBlock(b *block, all []*cursor) ([]*cursor, error) {
	// All values up to bound are in the windows, because the window of a run that has more
	// values ends at bound or later.
	bound := int64(math.MaxInt64)
	for _, c := range all {
		if err := c.fill(m.file); err != nil {
			return nil, err
		}
		if c.more() {
			bound = min(bound, c.window[len(c.window)-1])
		}
	}
	b.values, b.runs = b.values[:0], 0
	for _, c := range all {
		if k := c.upTo(bound); k > 0 {
			b.values = append(b.values, c.window[:k]...)
			c.window = c.window[k:]
			b.runs++
		}
	}
	return slices.DeleteFunc(all, func(c *cursor) bool { return len(c.window) == 0 && !c.more() }), nil
}

// A cursor reads through a run. It holds a window of values; the values after the window
// are either in memory or in the file.
type cursor struct {
	size   int     // values of a window
	window []int64 // sorted
	rest   run
	stored storedRun
	last   int64 // value before the stored run
	buf    []int64
	bytes  []byte
}

// more reports whether the run goes on after the window.
func (c *cursor) more() bool { return c.rest.len() > 0 || c.stored.n > 0 }

// upTo returns how many values of the window are at most bound.
func (c *cursor) upTo(bound int64) int {
	low, high := 0, len(c.window)
	for low < high {
		if i := (low + high) / 2; c.window[i] <= bound {
			low = i + 1
		} else {
			high = i
		}
	}
	return low
}

// fill completes a window with at most half of its values left. Windows that end at about the same
// value make large blocks.
func (c *cursor) fill(file io.ReaderAt) error {
	if len(c.window) > c.size/2 || !c.more() {
		return nil
	}
	if c.buf == nil {
		c.buf = make([]int64, c.size)
	}
	left := copy(c.buf, c.window)
	c.window = c.buf[:left]
	if c.stored.n > 0 {
		return c.fillStored(file)
	}
	n := min(c.size-left, c.rest.len())
	if r := &c.rest; len(r.narrow) > 0 {
		for _, v := range r.narrow[:n] {
			c.window = append(c.window, int64(v))
		}
		r.narrow = r.narrow[n:]
	} else {
		c.window = append(c.window, r.wide[:n]...)
		r.wide = r.wide[n:]
	}
	return nil
}

// fillStored completes the window from the file.
func (c *cursor) fillStored(file io.ReaderAt) error {
	if c.bytes == nil {
		c.bytes = make([]byte, 2*c.size+binary.MaxVarintLen64)
	}
	b := c.bytes[:min(int64(len(c.bytes)), c.stored.to-c.stored.from)]
	if err := readBack(file, b, c.stored.from); err != nil {
		return err
	}
	used := 0
	for len(c.window) < c.size && c.stored.n > 0 {
		d, k := binary.Uvarint(b[used:])
		if k <= 0 {
			break // cut: the next window begins with it
		}
		used += k
		c.last = int64(uint64(c.last) + d)
		c.window = append(c.window, c.last)
		c.stored.n--
	}
	if used == 0 {
		return errors.New("read values back from the temporary file: its content changed")
	}
	c.stored.from += int64(used)
	return nil
}

// readBack fills b from the offset of the file.
func readBack(file io.ReaderAt, b []byte, offset int64) error {
	if n, err := file.ReadAt(b, offset); n < len(b) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read values back from the temporary file: %w", err)
	}
	return nil
}
