package columnar

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/parquet/file"

	"github.com/pa-tools/pa/pkg/export"
)

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

// textsOf returns the texts of c, none of which is null; of shared texts, the rests.
func textsOf(c *arrowColumn) (texts [][]byte) {
	for i := range c.N {
		texts = append(texts, c.Data[c.Offset(i):c.Offset(i+1)])
	}
	return texts
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
		want := textsOf(plain)
		rests := textsOf(shared)
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
	if a.N != b.N || a.Nulls != b.Nulls || !bytes.Equal(a.Offsets, b.Offsets) && a.shared == nil {
		return false
	}
	for i := range a.N {
		if a.IsNull(i) != b.IsNull(i) {
			return false
		}
	}
	if a.shared == nil && !bytes.Equal(a.Data, b.Data) {
		return false
	}
	return slices.EqualFunc(a.children, b.children, sameColumn)
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
