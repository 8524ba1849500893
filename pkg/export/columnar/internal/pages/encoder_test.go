package pages

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// drawRuns returns n values of width bits, many of which repeat.
func drawRuns(rng *rand.Rand, n, width int) []uint32 {
	values := make([]uint32, n)
	for i := range values {
		values[i] = uint32(rng.Uint64() & (1<<width - 1))
		if i > 0 && rng.IntN(20) > 0 {
			values[i] = values[i-1]
		}
	}
	return values
}

// appendRuns appends values in runs.
func appendRuns(values []uint32, width int) []byte {
	var runs runList
	for _, v := range values {
		runs.add(v, 1)
	}
	return runs.appendTo(nil, width)
}

// Runs that are written are read, value by value and many at once.
func TestRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for width := 1; width <= 32; width++ {
		for range 20 {
			values := drawRuns(rng, rng.IntN(300), width)
			b := appendRuns(values, width)
			one, err := newRLEDecoder(b, width)
			if err != nil {
				t.Fatal(err)
			}
			many := one
			got := make([]uint32, len(values))
			for at := 0; at < len(got); {
				n := min(1+rng.IntN(40), len(got)-at)
				same := many.repeats(n)
				if err := decodeRuns(&many, got[at:at+n]); err != nil {
					t.Fatal(err)
				}
				if same && slices.Min(got[at:at+n]) < slices.Max(got[at:at+n]) {
					t.Fatalf("width %d: values %v are said to be the same", width, got[at:at+n])
				}
				at += n
			}
			for i, want := range values {
				if v, err := one.next(); err != nil || v != want || got[i] != want {
					t.Fatalf("width %d, value %d: %d and %d, %v, want %d", width, i, v, got[i], err, want)
				}
			}
		}
	}
}

// Levels are written as runs and read like other values. Levels that change often are packed.
func TestLevelRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 5))
	var runs runList
	for _, most := range []int{1, 7, 20, 300} {
		for width := 1; width <= 3; width++ {
			for range 200 {
				runs.reset()
				var levels []uint32
				for range rng.IntN(12) {
					level, n := uint32(rng.IntN(1<<width)), rng.IntN(most+1)
					runs.add(level, n)
					levels = append(levels, slices.Repeat([]uint32{level}, n)...)
				}
				b := runs.appendTo(nil, width)
				h, err := newRLEDecoder(b, width)
				if err != nil {
					t.Fatal(err)
				}
				got := make([]uint32, len(levels))
				if err := decodeRuns(&h, got); err != nil || !slices.Equal(got, levels) || runs.n != len(levels) {
					t.Fatalf("width %d: %v, %v, %d levels, want %v", width, got, err, runs.n, levels)
				}
				if want := appendRuns(levels, width); !bytes.Equal(b, want) {
					t.Fatalf("width %d, levels %v: % x, want % x", width, levels, b, want)
				}
			}
		}
	}
}

// drawNumbers returns n numbers as they are in columns.
func drawNumbers(rng *rand.Rand, n int) []int64 {
	values := make([]int64, n)
	for i := range values {
		switch rng.IntN(4) {
		case 0:
			values[i] = int64(rng.Uint64())
		case 1:
			values[i] = int64(rng.IntN(3)) - 1
		case 2:
			values[i] = []int64{math.MinInt64, math.MaxInt64}[rng.IntN(2)]
		default:
			values[i] = 1700000000000000000 + int64(i)*1e6
		}
	}
	return values
}

// Differences that are written are read, value by value and many at once.
func TestAppendDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for range 500 {
		values := drawNumbers(rng, rng.IntN(400))
		if rng.IntN(2) == 0 { // small differences
			for i := range values {
				values[i] = 1700000000000000000 + int64(i)*1e6 + rng.Int64N(1<<rng.IntN(40))
			}
		}
		one, err := newDeltaDecoder(append(appendDelta(nil, values), "tail"...))
		if err != nil {
			t.Fatal(err)
		}
		many := one
		got := make([]uint64, len(values))
		for at := 0; at < len(got); {
			n := min(1+rng.IntN(100), len(got)-at)
			if err := many.decode(got[at : at+n]); err != nil {
				t.Fatal(err)
			}
			at += n
		}
		for i, want := range values {
			if v, err := one.next(); err != nil || v != uint64(want) || got[i] != uint64(want) {
				t.Fatalf("value %d of %d: %d and %d, %v, want %d", i, len(values), v, got[i], err, want)
			}
		}
		if err := many.decode(make([]uint64, 1)); err == nil {
			t.Fatal("a value too many")
		}
		if string(one.rest()) != "tail" || string(many.rest()) != "tail" {
			t.Fatalf("behind %d values are %q and %q", len(values), one.rest(), many.rest())
		}
	}
}

// A page that ends too soon is an error, wherever it ends.
func TestDeltaCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 3))
	values := drawNumbers(rng, 1+6*deltaMiniblock) // no zeros behind the last value
	b := appendDelta(nil, values)
	for n := range b {
		d, err := newDeltaDecoder(b[:n])
		if err == nil {
			err = d.decode(make([]uint64, len(values)))
		}
		if err == nil {
			t.Errorf("%d of %d bytes are enough", n, len(b))
		}
	}
}

// FuzzAppend holds the decoders to the encoders.
func FuzzAppend(f *testing.F) {
	f.Add([]byte{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4}, uint8(3))
	f.Add(bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 0x80}, 40), uint8(9))
	f.Fuzz(func(t *testing.T, b []byte, width uint8) {
		w := int(width)%32 + 1
		values := make([]uint32, len(b))
		for i, x := range b {
			values[i] = uint32(x) & uint32(uint64(1)<<w-1)
		}
		h, err := newRLEDecoder(appendRuns(values, w), w)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]uint32, len(values))
		if err := decodeRuns(&h, got); err != nil || !slices.Equal(got, values) {
			t.Fatalf("width %d: %v, %v, want %v", w, got, err, values)
		}
		numbers := make([]int64, len(b)/8)
		for i := range numbers {
			numbers[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
		d, err := newDeltaDecoder(appendDelta(nil, numbers))
		if err != nil {
			t.Fatal(err)
		}
		decoded := make([]uint64, len(numbers))
		if err := d.decode(decoded); err != nil {
			t.Fatal(err)
		}
		for i, v := range numbers {
			if decoded[i] != uint64(v) {
				t.Fatalf("number %d: %d, want %d", i, int64(decoded[i]), v)
			}
		}
	})
}

// repeated returns n times the text v, as the values of a column.
func repeated(v string, n int) *Values {
	c := &Values{N: n, Offsets: make([]byte, 4)}
	for range n {
		c.Data = append(c.Data, v...)
		c.Offsets = binary.LittleEndian.AppendUint32(c.Offsets, uint32(len(c.Data)))
	}
	return c
}

// The statistics of a page describe its values, also if the page has a dictionary.
func TestPageStatistics(t *testing.T) {
	e, err := NewEncoder()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []parquet.Type{parquet.Types.ByteArray, parquet.Types.Int64} {
		node, err := schema.NewPrimitiveNode("values", parquet.Repetitions.Required, kind, -1, -1)
		if err != nil {
			t.Fatal(err)
		}
		l := &Column{Desc: schema.NewColumn(node, 0, 0), Kind: kind, Dictionary: true}
		for i := range 3 { // a page each
			values := repeated(string(rune('a'+i)), 20)
			if kind == parquet.Types.Int64 {
				values = &Values{N: 20, Width: 8, Data: bytes.Repeat(binary.LittleEndian.AppendUint64(nil, uint64(i)), 20)}
			}
			l.Batches = append(l.Batches, Batch{Rows: 20, Values: values, Size: len(values.Data) + len(values.Offsets)})
		}
		p := &Part{Column: l, Batches: l.Batches}
		if !e.dictionary.build(e, p) {
			t.Fatalf("%s has no dictionary", kind)
		}
		indices := e.dictionary.indices
		for k := range 3 {
			p.Stats = Statistics{Kind: kind}
			used := e.writePage(p, l.Batches[k:k+1], indices)
			indices = indices[used:]
			want := string(rune('a' + k))
			if kind == parquet.Types.Int64 {
				want = string(binary.LittleEndian.AppendUint64(nil, uint64(k)))
			}
			if s := p.Stats.Encoded(); used != 20 || string(s.Min) != want || string(s.Max) != want || s.NullCount != 0 {
				t.Errorf("%s, page %d: %d values from %q to %q, want %q", kind, k, used, s.Min, s.Max, want)
			}
		}
	}
}
