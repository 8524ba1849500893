package columnar

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"

	"github.com/pa-tools/pa/pkg/export"
)

// The minimum and the maximum of each column of each row group, and their absence, agree
// with the values: an engine skips row groups by them.
func TestStatistics(t *testing.T) {
	s := newRandom(1, 9)
	given := &givenDerived{}
	want := requests(300)
	for i, r := range want.requests {
		*r = *s.Request()
		r.ID, r.Status, r.Phase = uint64(i), export.StatusOK, export.PhaseMeasured
		if i >= 200 {
			tokens := int64(i)
			r.Stated = &export.Stated{OutputTokens: &tokens}
		}
		d := s.derived(len(r.Responses))
		d.TPOT, d.HasTPOT = s.Float64()-0.5, s.IntN(2) == 0
		if i < 100 { // some columns of the first row groups have no value
			r.Inputs, d.Events, d.ITL, d.TTFT = nil, nil, nil, export.Int{}
		}
		given.all = append(given.all, d)
	}
	var data bytes.Buffer
	w, err := NewParquetWriter(&data, given)
	if err != nil {
		t.Fatal(err)
	}
	limitRows(w, 50)
	if err := want.write(w, nil); err != nil {
		t.Fatal(err)
	}
	r, err := file.NewParquetReader(bytes.NewReader(data.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	const none = "none"
	compared, without := map[string]int{}, 0
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		for c := range r.MetaData().Schema.NumColumns() {
			meta, err := group.MetaData().ColumnChunk(c)
			if err != nil {
				t.Fatal(err)
			}
			path := meta.PathInSchema().String()
			least, most := none, none
			column, err := group.Column(c)
			if err != nil {
				t.Fatal(err)
			}
			if values := valuesOf(t, column, int(meta.NumValues())); len(values) > 0 {
				least, most = fmt.Sprint(slices.MinFunc(values, compareAny)), fmt.Sprint(slices.MaxFunc(values, compareAny))
			}
			gotLeast, gotMost := none, none
			if stats, err := meta.Statistics(); err == nil && stats != nil && stats.HasMinMax() {
				gotLeast = fmt.Sprint(plainValue(meta.Type(), stats.EncodeMin()))
				gotMost = fmt.Sprint(plainValue(meta.Type(), stats.EncodeMax()))
			}
			if gotLeast == none && gotMost == none { // allowed, and needed where there is no value
				without++
			} else if gotLeast != least || gotMost != most {
				t.Errorf("row group %d, %s: the file says %.60q to %.60q, the values are %.60q to %.60q", g, path, gotLeast, gotMost, least, most)
			}
			if gotLeast != none {
				compared[path]++
			}
		}
	}
	for c := range r.MetaData().Schema.NumColumns() {
		if path := r.MetaData().Schema.Column(c).ColumnPath().String(); compared[path] == 0 {
			t.Errorf("%s has no minimum and maximum in any row group", path)
		}
	}
	if without == 0 {
		t.Error("every column has a minimum and a maximum, also columns without a value")
	}
}

// valuesOf returns the values of a column chunk that are not null, read by arrow. count is the
// number of all values, with the nulls.
func valuesOf(t *testing.T, column file.ColumnChunkReader, count int) (all []any) {
	t.Helper()
	defs, reps := make([]int16, count), make([]int16, count)
	var n int
	var err error
	switch r := column.(type) {
	case *file.BooleanColumnChunkReader:
		v := make([]bool, count)
		_, n, err = r.ReadBatch(int64(count), v, defs, reps)
		for _, x := range v[:n] {
			all = append(all, x)
		}
	case *file.Int32ColumnChunkReader:
		v := make([]int32, count)
		_, n, err = r.ReadBatch(int64(count), v, defs, reps)
		for _, x := range v[:n] {
			all = append(all, int64(x))
		}
	case *file.Int64ColumnChunkReader:
		v := make([]int64, count)
		_, n, err = r.ReadBatch(int64(count), v, defs, reps)
		for _, x := range v[:n] {
			all = append(all, x)
		}
	case *file.Float64ColumnChunkReader:
		v := make([]float64, count)
		_, n, err = r.ReadBatch(int64(count), v, defs, reps)
		for _, x := range v[:n] {
			all = append(all, x)
		}
	case *file.ByteArrayColumnChunkReader:
		v := make([]parquet.ByteArray, count)
		_, n, err = r.ReadBatch(int64(count), v, defs, reps)
		for _, x := range v[:n] {
			all = append(all, string(x))
		}
	default:
		t.Fatalf("a column of type %T", r)
	}
	if err != nil || count == 0 {
		t.Fatal(count, err)
	}
	return all
}

func compareAny(a, b any) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return cmp.Compare(a, b.(string))
	case bool:
		if a == b.(bool) {
			return 0
		} else if a {
			return 1
		}
		return -1
	}
	panic("a value of an unexpected type")
}

// plainValue decodes a minimum or a maximum.
func plainValue(kind parquet.Type, b []byte) any {
	switch kind {
	case parquet.Types.Boolean:
		return b[0] != 0
	case parquet.Types.Int32:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case parquet.Types.Int64:
		return int64(binary.LittleEndian.Uint64(b))
	case parquet.Types.Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return string(b)
}
