package columnar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// keptBatch keeps the requests of a batch.
type keptBatch struct {
	requests []*export.Request
}

func (b *keptBatch) Reset()              { *b = keptBatch{} }
func (b *keptBatch) Add(row *export.Row) { b.requests = append(b.requests, row.Request.Clone()) }

// keptBatches makes a Reader read keptBatches. It returns nil if the Reader cannot read so.
func keptBatches(r export.Reader) *Reader {
	x := r.(*Reader)
	if !x.Begin(export.Need{Batch: func() export.Batch { return &keptBatch{} }}) {
		return nil
	}
	return x
}

// readBatches reads all batches of r. It returns nil if r cannot read so.
func readBatches(t *testing.T, r export.Reader) *result {
	t.Helper()
	batches := keptBatches(r)
	if batches == nil {
		return nil
	}
	res := &result{run: r.Run()}
	for r.Next() {
		b := batches.Batch().(*keptBatch)
		if len(b.requests) == 0 || r.Request() != nil {
			t.Fatalf("%d requests in a batch, and one beside it: %v", len(b.requests), r.Request())
		}
		for _, q := range b.requests {
			res.requests = append(res.requests, q)
			res.level = append(res.level, r.Experiment())
		}
	}
	if batches.Batch() != nil {
		t.Error("a batch after the end")
	}
	return res
}

// Batches hold the requests that Next delivers one by one, with the same warnings and the
// same error.
func TestReadBatches(t *testing.T) {
	f := testFormats[0]
	in := 0
	runs := 60 / testenv.Stride(6)
	for seed := range uint64(runs) {
		s := newRandom(seed, 11)
		want := s.run(60).inOrder()
		var out bytes.Buffer
		w, err := NewParquetWriter(&out, nil)
		if err != nil {
			t.Fatal(err)
		}
		limitRows(w, 1+s.IntN(40))
		if err := want.write(w, nil); err != nil {
			t.Fatal(err)
		}
		data := out.Bytes()
		r := f.open(t, data)
		got := readBatches(t, r)
		if got == nil {
			continue
		}
		in++
		if d := diff(want, got); d != "" || r.Err() != nil || len(r.Warnings()) > 0 {
			t.Fatalf("seed %d: %v, warnings %v (-want +got):\n%s", seed, r.Err(), r.Warnings(), d)
		}
		// Damage anywhere has the same effect.
		for range 20 / testenv.Stride(4) {
			bad := slices.Clone(data)
			bad[s.IntN(len(bad))] ^= byte(1 + s.IntN(255))
			one, err1 := f.format.Open(context.Background(), "x", bytes.NewReader(bad), int64(len(bad)), export.Limits{})
			many, err2 := f.format.Open(context.Background(), "x", bytes.NewReader(bad), int64(len(bad)), export.Limits{})
			if fmt.Sprint(err1) != fmt.Sprint(err2) {
				t.Fatalf("seed %d: %v and %v", seed, err1, err2)
			}
			if err1 != nil {
				continue
			}
			got := readBatches(t, many)
			if got == nil {
				continue
			}
			var same *result
			same, err = read(one)
			if d := difference(same.requests, got.requests); fmt.Sprint(err) != fmt.Sprint(many.Err()) || d != "" || !cmp.Equal(one.Warnings(), many.Warnings()) {
				t.Fatalf("seed %d: errors %v and %v, warnings %v and %v; requests (-one by one +in batches):\n%s", seed, err, many.Err(), one.Warnings(), many.Warnings(), d)
			}
			if err := many.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if in < runs/2 {
		t.Errorf("%d runs were read in batches", in)
	}
}

// A file whose requests are not in the order of a Reader is not read in batches.
func TestReadBatchesOrder(t *testing.T) {
	res := requests(4)
	res.requests[1].Phase = export.PhaseWarmup // an excluded request among others
	if r := testFormats[0].open(t, res.encode(t, testFormats[0])); readBatches(t, r) != nil {
		t.Error("read in batches")
	}
	if r := testFormats[1].open(t, requests(4).encode(t, testFormats[1])); readBatches(t, r) != nil {
		t.Error("another format is read in batches")
	}
}

// Close ends the goroutines that fill batches which nobody takes.
func TestReadBatchesClose(t *testing.T) {
	var out bytes.Buffer
	w, err := NewParquetWriter(&out, nil)
	if err != nil {
		t.Fatal(err)
	}
	limitRows(w, 10)
	if err := requests(400).write(w, nil); err != nil {
		t.Fatal(err)
	}
	r := testFormats[0].open(t, out.Bytes())
	if batches := keptBatches(r); batches == nil || !r.Next() {
		t.Fatal(batches, r.Err())
	}
	if err := r.Close(); err != nil || r.Next() {
		t.Error(err)
	}
}

// batchesOf gives the requests of a result in batches of different sizes.
type batchesOf struct {
	export.Reader
	rng      *rand.Rand
	res      *result
	newBatch func() export.Batch
	batch    export.Batch
	at       int
}

func (b *batchesOf) Run() *export.Run                                          { return b.res.run }
func (b *batchesOf) Scrapes(context.Context, func(*export.Scrape) error) error { return nil }
func (b *batchesOf) Err() error                                                { return nil }
func (b *batchesOf) Request() *export.Request                                  { return nil }
func (b *batchesOf) Experiment() int                                           { return b.res.level[b.at-1] }
func (b *batchesOf) Batch() export.Batch                                       { return b.batch }
func (b *batchesOf) Preview() *export.Run                                      { return b.res.run }
func (b *batchesOf) Stored() *export.Stored                                    { return nil }
func (b *batchesOf) Row() export.Row                                           { return export.Row{} }
func (b *batchesOf) Skipped(int) (counted, excluded int)                       { return 0, 0 }
func (b *batchesOf) Begin(need export.Need) bool                               { b.newBatch = need.Batch; return true }

func (b *batchesOf) Next() bool {
	if b.at == len(b.res.requests) {
		return false
	}
	if b.batch == nil || b.rng.IntN(2) == 0 {
		b.batch = b.newBatch()
	}
	b.batch.Reset()
	level := b.res.level[b.at]
	for range 1 + b.rng.IntN(9) {
		if b.at == len(b.res.requests) || b.res.level[b.at] != level {
			break
		}
		b.batch.Add(&export.Row{Request: b.res.requests[b.at]})
		b.at++
	}
	return true
}

// forking derives nothing but the number of calls since its beginning.
type forking struct{ model string }

func (f *forking) Derive(r *export.Request) *export.Derived {
	if f.model == "" {
		f.model = fmt.Sprint(r.ID)
	}
	return &export.Derived{E2EL: export.IntOf(int64(r.ID))}
}

func (f *forking) Derivation() export.Derivation {
	return export.Derivation{Definitions: 1, Model: f.model}
}
func (f *forking) Fork() export.Deriver { return &forking{} }

// A file that is written in batches holds the same as one that is written request by request.
func TestWriteBatches(t *testing.T) {
	for seed := range 60 / uint64(testenv.Stride(15)) {
		s := newRandom(seed, 12)
		res := s.run(40)
		for i, r := range res.requests {
			r.ID = uint64(i + 7)
		}
		var files [2][]byte
		for k := range files {
			var out bytes.Buffer
			w, err := NewParquetWriter(&out, &forking{})
			if err != nil {
				t.Fatal(err)
			}
			limitRows(w, 1+s.IntN(40))
			if k == 0 {
				err = res.write(w, nil)
			} else {
				err = export.Copy(t.Context(), w, &batchesOf{rng: s.Rand, res: res})
			}
			if err != nil {
				t.Fatal(err)
			}
			files[k] = out.Bytes()
		}
		one, many := testFormats[0].open(t, files[0]), testFormats[0].open(t, files[1])
		how := export.StoredIn(one)
		if got := export.StoredIn(many); *got != *how {
			t.Fatalf("seed %d: derived as %v, want %v", seed, got, how)
		}
		want, err := read(one)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(many)
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(want, got); d != "" {
			t.Fatalf("seed %d (-one by one +in batches):\n%s", seed, d)
		}
	}
}

// A request that cannot be written is named by its place.
func TestWriteBatchesError(t *testing.T) {
	res := requests(20)
	res.requests[13].Status = 200
	w, err := NewParquetWriter(&bytes.Buffer{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = export.Copy(t.Context(), w, &batchesOf{rng: rand.New(rand.NewPCG(1, 1)), res: res})
	if err == nil || !strings.Contains(err.Error(), "experiment 0, request 13: ") {
		t.Errorf("%v", err)
	}
	if again := w.WriteBatch(w.NewBatch()); again == nil {
		t.Error("the error does not stick")
	}
}

// A run that turns out to have more load levels than it seemed is copied again.
func TestCopyPreview(t *testing.T) {
	for _, tt := range []struct {
		windows string
		changes bool
	}{{"[1,2]", false}, {`"no list"`, true}} { // a header with a warning is read again as a whole
		data := []byte(`{"experiments":[
{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1,"response_timestamps":[2]}],"window_boundaries":` + tt.windows + `},
{"experiment":{"mode":"concurrency","value":2},"requests":[{"timestamp":3,"response_timestamps":[4]}],"window_boundaries":[3,4]}],"version":"1"}`)
		want, err := read(readJSON(t, data))
		if err != nil {
			t.Fatal(err)
		}
		src := readJSON(t, data)
		var got bytes.Buffer
		copied := func() error {
			got.Reset()
			w, err := NewParquetWriter(&got, &forking{})
			if err != nil {
				t.Fatal(err)
			}
			return export.CopyPreview(t.Context(), w, src)
		}
		err = copied()
		if changed := errors.Is(err, export.ErrRunChanged); changed != tt.changes {
			t.Fatalf("%v", err)
		}
		if tt.changes {
			err = copied()
		}
		if err := errors.Join(err, src.Err()); err != nil {
			t.Fatal(err)
		}
		again, err := read(testFormats[0].open(t, got.Bytes()))
		if d := cmp.Diff(want.requests, again.requests); err != nil || d != "" || !slices.Equal(want.level, again.level) {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
		var all bytes.Buffer
		w, err := NewParquetWriter(&all, &forking{})
		if err == nil {
			err = export.Copy(t.Context(), w, readJSON(t, data))
		}
		if err != nil || !bytes.Equal(all.Bytes(), got.Bytes()) {
			t.Errorf("Copy writes another file: %v", err)
		}
	}
}
