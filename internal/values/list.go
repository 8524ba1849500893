package values

import (
	"encoding/binary"
	"math/bits"

	"github.com/pa-tools/pa/internal/quantile"
	"github.com/pa-tools/pa/internal/spool"
)

// blockValues is the number of values of a block.
const blockValues = 1 << 10

// A Kind says which numbers the integers of a List stand for.
type Kind uint8

// The kinds.
const (
	Whole   Kind = iota // the integers themselves
	Float               // float64, as quantile.Key; none is NaN
	Seconds             // times in nanoseconds, whose statistics are in seconds
)

// A List holds integers, or numbers that integers stand for, in the order of Add.
type List struct {
	store    *Store
	kind     Kind
	n        int
	min, max int64 // of the blocks
	last     []int64
	blocks   []block
}

// A block holds blockValues values.
type block struct {
	min    int64
	width  int // bytes of a value
	packed spool.Block
}

// spareBytes is the room after the bytes of a block, so that a whole integer can be read at each value.
const spareBytes = 8

// Beside returns a List without values of the same Store.
func (l *List) Beside(kind Kind) *List { return l.store.NewList(kind) }

// Len returns the number of values.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return l.n
}

// AddFloat adds a value to a List of the kind Float.
func (l *List) AddFloat(v float64) { l.Add(quantile.Key(v)) }

// Add adds values.
func (l *List) Add(values ...int64) {
	l.n += len(values)
	for len(values) > 0 {
		k := min(len(values), blockValues-len(l.last))
		l.last = append(l.last, values[:k]...)
		values = values[k:]
		if len(l.last) == blockValues {
			l.pack()
			l.last = l.last[:0]
		}
	}
}

// Release drops all values.
func (l *List) Release() {
	for i := range l.blocks {
		l.store.blocks.Release(&l.blocks[i].packed)
	}
	*l = List{store: l.store, kind: l.kind}
}

// pack makes the values of l.last a block.
func (l *List) pack() {
	least, most := l.last[0], l.last[0]
	for _, v := range l.last {
		least, most = min(least, v), max(most, v)
	}
	if len(l.blocks) == 0 {
		l.min, l.max = least, most
	}
	l.min, l.max = min(l.min, least), max(l.max, most)
	b := block{min: least, width: (bits.Len64(uint64(most)-uint64(least)) + 7) / 8}
	if b.width > 0 {
		var packed [8*blockValues + spareBytes]byte
		for i, v := range l.last {
			binary.LittleEndian.PutUint64(packed[i*b.width:], uint64(v)-uint64(least)) // the next value overwrites what is too much
		}
		b.packed = l.store.blocks.Keep(packed[:blockValues*b.width], spareBytes)
	}
	l.blocks = append(l.blocks, b)
}

// A Cursor reads a List, which must not change meanwhile.
type Cursor struct {
	list   *List
	packed []byte
	// Number uses these.
	number  [1]int64
	numbers [1]float64
	floats  []float64  // of Numbers
	cache   []unpacked // cached ones, or nil before the first
}

// An unpacked is a block of values.
type unpacked struct {
	block  int // number of the block, from 1; 0: none
	values []int64
}

// cached is the number of blocks that a Cursor keeps unpacked.
const cached = 16

// NewCursor returns a Cursor of l.
func (l *List) NewCursor() *Cursor { return &Cursor{list: l} }

// At returns value i.
func (c *Cursor) At(i int) int64 { return c.block(i / blockValues)[i%blockValues] }

// Number returns the number that value i stands for.
func (c *Cursor) Number(i int) float64 {
	c.number[0] = c.At(i)
	return c.list.kind.numbers(c.numbers[:0], c.number[:])[0]
}

// Len returns the number of values.
func (c *Cursor) Len() int { return c.list.Len() }

// Numbers returns successive numbers that values stand for, the number of value i among them, and the index
// of the first one. They are valid until the next call.
func (c *Cursor) Numbers(i int) (from int, numbers []float64) {
	c.floats = c.list.kind.numbers(c.floats[:0], c.block(i/blockValues))
	return i / blockValues * blockValues, c.floats
}

// Append appends the values from index from to before index to to all. It is fast if
// successive calls read neighbouring places.
func (c *Cursor) Append(all []int64, from, to int) []int64 {
	for from < to {
		values := c.block(from / blockValues)[from%blockValues:]
		k := min(to-from, len(values))
		all = append(all, values[:k]...)
		from += k
	}
	return all
}

// block returns the values of block i, or the values after the last block.
func (c *Cursor) block(i int) []int64 {
	if i == len(c.list.blocks) {
		return c.list.last
	}
	if c.cache == nil {
		c.cache = make([]unpacked, cached)
	}
	slot := &c.cache[i%cached]
	if slot.block != i+1 {
		slot.block, slot.values = i+1, c.unpack(&c.list.blocks[i], slot.values[:0])
	}
	return slot.values
}

// unpack appends the values of a block to all.
func (c *Cursor) unpack(b *block, all []int64) []int64 {
	if b.width == 0 {
		for range blockValues {
			all = append(all, b.min)
		}
		return all
	}
	packed := c.list.store.blocks.Bytes(&b.packed, c.packed, spareBytes)
	n := len(packed)
	if b.packed.InFile() {
		c.packed = packed
	}
	packed = packed[:n+spareBytes]
	mask := ^uint64(0) >> (64 - 8*b.width)
	for at := 0; at < n; at += b.width {
		all = append(all, b.min+int64(binary.LittleEndian.Uint64(packed[at:])&mask))
	}
	return all
}

// Open returns a function that returns the values in order, some at a time, and nothing
// after the last. A result is valid until the next call. The List must not change meanwhile.
func (l *List) Open() func() []int64 {
	if l.Len() == 0 {
		return func() []int64 { return nil }
	}
	c, next := Cursor{list: l}, 0
	var values []int64
	return func() []int64 {
		next++
		switch i := next - 1; {
		case i < len(l.blocks):
			values = c.unpack(&l.blocks[i], values[:0])
			return values
		case i == len(l.blocks):
			return l.last
		}
		return nil
	}
}

// numbers is Open for the numbers that the integers stand for.
func (l *List) numbers() func() []float64 {
	next := l.Open()
	var floats []float64
	return func() []float64 {
		floats = l.kind.numbers(floats[:0], next())
		return floats
	}
}

// numbers appends the numbers that integers stand for to all.
func (k Kind) numbers(all []float64, integers []int64) []float64 {
	switch k {
	case Whole:
		for _, v := range integers {
			all = append(all, float64(v))
		}
	case Float:
		for _, v := range integers {
			all = append(all, quantile.Float(v))
		}
	case Seconds:
		for _, v := range integers {
			all = append(all, float64(v)/1e9)
		}
	}
	return all
}
