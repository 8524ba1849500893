package columnar

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"

	"github.com/pa-tools/pa/pkg/export"
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

// Runs that are written are read, value by value and many at once.
func TestRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for width := 1; width <= 32; width++ {
		for range 20 {
			values := drawRuns(rng, rng.IntN(300), width)
			b := appendRuns(nil, values, width)
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
				if same && runLength(got[at:at+n]) < n {
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
	var runs levelRuns
	for _, most := range []int{1, 7, 20, 300} {
		for width := 1; width <= 3; width++ {
			for range 200 {
				runs.reset()
				var levels []uint8
				for range rng.IntN(12) {
					level, n := uint8(rng.IntN(1<<width)), rng.IntN(most+1)
					runs.add(level, n)
					levels = append(levels, slices.Repeat([]uint8{level}, n)...)
				}
				b := runs.appendTo(nil, width)
				h, err := newRLEDecoder(b, width)
				if err != nil {
					t.Fatal(err)
				}
				got := make([]uint8, len(levels))
				if err := decodeRuns(&h, got); err != nil || !slices.Equal(got, levels) || runs.n != len(levels) {
					t.Fatalf("width %d: %v, %v, %d levels, want %v", width, got, err, runs.n, levels)
				}
				values := make([]uint32, len(levels))
				for i, level := range levels {
					values[i] = uint32(level)
				}
				if want := appendRuns(nil, values, width); !bytes.Equal(b, want) {
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
		h, err := newRLEDecoder(appendRuns(nil, values, w), w)
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

// drawTexts returns texts that share starts and ends, some of them in envelopes, some not UTF-8.
func drawTexts(rng *rand.Rand, n int) []export.Value {
	envelopes := []*export.Envelope{
		{Front: []byte(`data: {"content":"`), Back: []byte(`"}` + "\n\n")},
		{Front: []byte(`data: {"é":"`), Back: []byte(`é"}` + "\n\n")},
		{Front: []byte("base64:"), Back: []byte("x")},
		{Front: []byte("base"), Back: []byte("")},
	}
	parts := []string{"", "a", "ab", "é", "è", "\xc3", "\xa9", "😀", "64:", "content", "yyyyyyyyyyyyyyyyyyyy"}
	var all []export.Value
	for range n {
		v := export.Text(parts[rng.IntN(len(parts))] + parts[rng.IntN(len(parts))])
		if rng.IntN(3) > 0 {
			v.Envelope = envelopes[rng.IntN(len(envelopes))]
		}
		all = append(all, v)
	}
	return all
}

// Shared texts are the texts that other columns hold, with the same minimum and maximum.
func TestSharedTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	for range 300 {
		values := drawTexts(rng, rng.IntN(30))
		plain := newArrowColumn(newSchema(fileMetadata{}, false).Field(colReason)) // reason
		shared, second := newArrowColumn(plain.field), newArrowColumn(plain.field)
		shared.field.Nullable = true
		shared.shared, second.shared = &sharedTexts{}, &sharedTexts{}
		half := rng.IntN(len(values) + 1)
		for i := range values {
			plain.appendValue(&values[i])
			to := shared
			if i >= half {
				to = second
			}
			to.appendValue(&values[i])
		}
		shared.appendColumn(second)
		want := plain.appendTexts(nil)
		rests := shared.appendTexts(nil)
		var last []byte
		for i, rest := range rests {
			last = append(last[:shared.shared.prefixes[i]:shared.shared.prefixes[i]], rest...)
			if !bytes.Equal(last, want[i]) {
				t.Fatalf("text %d of %d is %q, want %q", i, len(values), last, want[i])
			}
		}
		if len(values) == 0 {
			continue
		}
		s := shared.shared
		if least, most := slices.MinFunc(want, bytes.Compare), slices.MaxFunc(want, bytes.Compare); !bytes.Equal(s.least.text, least) || !bytes.Equal(s.most.text, most) {
			t.Fatalf("minimum %q, maximum %q, want %q and %q", s.least.text, s.most.text, least, most)
		}
	}
}

// A batch that was appended to another holds the same rows.
func TestAppendAll(t *testing.T) {
	for seed := range uint64(60) {
		s := newRandom(seed, 9)
		var sink *parquetSink
		var err error
		if sink, err = newParquetSink(&bytes.Buffer{}, nil); err != nil {
			t.Fatal(err)
		}
		whole, first, second := sink.newBatch(), sink.newBatch(), sink.newBatch()
		n := s.IntN(20)
		for i := range n {
			r := s.Request()
			to := first
			if i >= n/2 {
				to = second
			}
			for _, b := range []*batch{whole, to} {
				if err := b.add(r); err != nil {
					t.Fatal(err)
				}
				b.setLevel(i/7, &export.Experiment{Mode: s.Text(), Value: "1"})
			}
		}
		first.appendAll(second)
		for i := range whole.cols {
			// The mode is drawn twice.
			if i != colMode && !sameColumn(whole.cols[i], first.cols[i]) {
				t.Fatalf("seed %d: column %s differs", seed, schemaColumns[i].name)
			}
		}
	}
}

// sameColumn reports whether a and b hold the same values.
func sameColumn(a, b *arrowColumn) bool {
	if a.n != b.n || a.nulls != b.nulls || !bytes.Equal(a.offsets, b.offsets) && a.shared == nil {
		return false
	}
	for i := range a.n {
		if a.isNull(i) != b.isNull(i) {
			return false
		}
	}
	if a.shared == nil && !bytes.Equal(a.data, b.data) {
		return false
	}
	return slices.EqualFunc(a.children, b.children, sameColumn)
}

// The statistics of a page describe its values, also if the page has a dictionary.
func TestPageStatistics(t *testing.T) {
	w, err := NewParquetWriter(&bytes.Buffer{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newPageEncoder()
	if err != nil {
		t.Fatal(err)
	}
	var batches []*batch
	for i := range 3 { // a page each
		b := w.parquet.newBatch()
		r := &export.Request{StartNS: 1, HasMeta: true, Model: string(rune('a' + i)), Worker: i}
		for range 20 {
			if err := b.add(r); err != nil {
				t.Fatal(err)
			}
		}
		b.setLevel(i, &export.Experiment{})
		batches = append(batches, b)
	}
	leaves := leavesOf(batches, w.parquet.schema)
	for i := range leaves {
		l := &leaves[i]
		if path := l.desc.Path(); path != "model" && path != "worker" {
			continue
		}
		p := &pagePart{leaf: l, batches: l.batches}
		if !e.dictionary.build(e, p) {
			t.Fatalf("%s has no dictionary", l.desc.Path())
		}
		indices := e.dictionary.indices
		for k := range 3 {
			p.stats = pageStatistics{kind: l.kind}
			used := e.writePage(p, l.batches[k:k+1], indices)
			indices = indices[used:]
			want := string(rune('a' + k))
			if l.kind == parquet.Types.Int64 {
				want = string(binary.LittleEndian.AppendUint64(nil, uint64(k)))
			}
			if s := p.stats.encoded(); used != 20 || string(s.Min) != want || string(s.Max) != want || s.NullCount != 0 {
				t.Errorf("%s, page %d: %d values from %q to %q, want %q", l.desc.Path(), k, used, s.Min, s.Max, want)
			}
		}
	}
}

// Arrow reads the headers of pages as they are meant.
func TestPageHeaders(t *testing.T) {
	want := requests(30)
	r, err := file.NewParquetReader(bytes.NewReader(want.encode(t, testFormats[0])))
	if err != nil {
		t.Fatal(err)
	}
	dictionaries := 0
	for i := range r.MetaData().Schema.NumColumns() {
		meta, err := r.RowGroup(0).MetaData().ColumnChunk(i)
		if err != nil {
			t.Fatal(err)
		}
		pages, err := r.RowGroup(0).GetColumnPageReader(i)
		if err != nil {
			t.Fatal(err)
		}
		values := int64(0)
		for pages.Next() {
			switch p := pages.Page().(type) {
			case *file.DataPageV1:
				values += int64(p.NumValues())
				stats := p.Statistics()
				whole, err := meta.Statistics()
				if err != nil || whole == nil || stats.NullCount != whole.NullCount() || len(stats.Min) > 0 && whole.HasMinMax() != stats.HasMin || // arrow takes an empty minimum for none
					whole.HasMinMax() && (!bytes.Equal(stats.Min, whole.EncodeMin()) || !bytes.Equal(stats.Max, whole.EncodeMax())) {
					t.Errorf("%s: the page says %+v, the column %v, %v", meta.PathInSchema(), stats, whole, err)
				}
			case *file.DictionaryPage:
				dictionaries++
			}
		}
		if values != meta.NumValues() || pages.Err() != nil {
			t.Errorf("%s: %d values, want %d; %v", meta.PathInSchema(), values, meta.NumValues(), pages.Err())
		}
	}
	if dictionaries == 0 {
		t.Error("no column has a dictionary")
	}
}
