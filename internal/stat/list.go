package stat

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/pa-tools/pa/internal/spool"
)

// The first blocks have fewer values than the others, so that a List of few values is small: firstValues, as many
// again, twice, four times and eight times as many. All others have blockValues.
const (
	firstBits   = 6
	firstValues = 1 << firstBits
	blockValues = 1 << 10
	smallBlocks = 5
)

// blockOf returns the number of the block that contains value i.
func blockOf(i int) int { return i/blockValues + bits.Len(uint(min(i, blockValues-1)>>firstBits)) }

// firstOf returns the first value of a block.
func firstOf(block int) int {
	switch {
	case block == 0:
		return 0
	case block < smallBlocks:
		return firstValues << (block - 1)
	}
	return (block - smallBlocks + 1) * blockValues
}

// valuesOf returns the number of values of a block.
func valuesOf(block int) int {
	if block < smallBlocks {
		return firstValues << max(block-1, 0)
	}
	return blockValues
}

// A Kind says which numbers the integers of a List stand for.
type Kind uint8

// The kinds.
const (
	Whole   Kind = iota // the integers themselves
	Float               // float64, as Key; none is NaN
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

// A block holds successive values.
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
func (l *List) AddFloat(v float64) { l.addOne(Key(v)) }

// Add adds values.
func (l *List) Add(values ...int64) {
	l.n += len(values)
	for len(values) > 0 {
		k := min(len(values), valuesOf(len(l.blocks))-len(l.last))
		l.last = append(l.last, values[:k]...)
		l.endBlock()
		values = values[k:]
	}
}

// addOne adds a value.
func (l *List) addOne(v int64) {
	l.n++
	l.last = append(l.last, v)
	l.endBlock()
}

// endBlock makes the values of l.last a block if they are enough.
func (l *List) endBlock() {
	if len(l.last) == valuesOf(len(l.blocks)) {
		l.pack()
		l.last = l.last[:0]
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
			binary.LittleEndian.PutUint64(packed[i*b.width:], uint64(v)-uint64(least)) // writes 8 bytes; the next value overwrites the bytes from b.width on
		}
		b.packed = l.store.blocks.Keep(packed[:len(l.last)*b.width], spareBytes)
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
	floats  []float64       // of Numbers
	cache   []unpackedBlock // cached ones, or nil before the first
}

// An unpackedBlock is a block of values.
type unpackedBlock struct {
	block  int // number of the block, from 1; 0: none
	values []int64
}

// cached is the number of blocks that a Cursor keeps unpacked.
const cached = 16

// NewCursor returns a Cursor of l.
func (l *List) NewCursor() *Cursor { return &Cursor{list: l} }

// At returns value i.
func (c *Cursor) At(i int) int64 {
	b := blockOf(i)
	return c.block(b)[i-firstOf(b)]
}

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
	b := blockOf(i)
	c.floats = c.list.kind.numbers(c.floats[:0], c.block(b))
	return firstOf(b), c.floats
}

// Append appends the values from index from to before index to to all. It is fast if
// successive calls read neighbouring places.
func (c *Cursor) Append(all []int64, from, to int) []int64 {
	for from < to {
		b := blockOf(from)
		values := c.block(b)[from-firstOf(b):]
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
		c.cache = make([]unpackedBlock, cached)
	}
	slot := &c.cache[i%cached]
	if slot.block != i+1 {
		slot.block, slot.values = i+1, c.unpack(i, slot.values[:0])
	}
	return slot.values
}

// unpack appends the values of block i to all.
func (c *Cursor) unpack(i int, all []int64) []int64 {
	b, n := &c.list.blocks[i], valuesOf(i)
	all = slices.Grow(all, n)
	if b.width == 0 {
		for range n {
			all = append(all, b.min)
		}
		return all
	}
	packed := c.list.store.blocks.Bytes(&b.packed, c.packed, spareBytes)
	if b.packed.InFile() {
		c.packed = packed
	}
	packed = packed[:len(packed)+spareBytes]
	mask := ^uint64(0) >> (64 - 8*b.width)
	for at := 0; at < n*b.width; at += b.width {
		all = append(all, b.min+int64(binary.LittleEndian.Uint64(packed[at:])&mask))
	}
	return all
}

// A Reader reads the values of a List in order. The List must not change meanwhile.
type Reader struct {
	cursor Cursor
	next   int // block
	end    int // block after the last one
	values []int64
	rest   []int64 // of values
}

// Reader returns a Reader from the first value on.
func (l *List) Reader() *Reader {
	if l == nil {
		return &Reader{}
	}
	return l.readBlocks(0, len(l.blocks)+1)
}

// readBlocks returns a Reader of blocks; the values after the last block count as one.
func (l *List) readBlocks(from, end int) *Reader {
	return &Reader{cursor: Cursor{list: l}, next: from, end: end}
}

// Next returns the next values, many at a time, and nothing after the last. A result is valid until the next call.
func (r *Reader) Next() []int64 {
	if len(r.rest) > 0 {
		rest := r.rest
		r.rest = nil
		return rest
	}
	if r.next == r.end {
		return nil
	}
	r.next++
	if l := r.cursor.list; r.next > len(l.blocks) {
		return l.last
	}
	r.values = r.cursor.unpack(r.next-1, r.values[:0])
	return r.values
}

// Read fills dst with the next values. It returns the number of values, which is less than the length of dst only
// at the end of the values. An error means that the temporary file could not be read.
func (r *Reader) Read(dst []int64) (n int, err error) {
	for n < len(dst) {
		values := r.Next()
		if len(values) == 0 {
			break
		}
		k := copy(dst[n:], values)
		r.rest = values[k:]
		n += k
	}
	return n, r.cursor.list.store.Err()
}

// numbers returns a function that returns the numbers that the integers stand for, in order, many at a time.
func (l *List) numbers() func() []float64 {
	r := l.Reader()
	var floats []float64
	return func() []float64 {
		floats = l.kind.numbers(floats[:0], r.Next())
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
			all = append(all, FromKey(v))
		}
	case Seconds:
		for _, v := range integers {
			all = append(all, float64(v)/1e9)
		}
	}
	return all
}
