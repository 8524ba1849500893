package columnar

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// sample is a run with several kinds of everything.
func sample() *result {
	s := newRandom(9, 9)
	res := requests(0)
	for range 12 {
		res.requests = append(res.requests, s.Request())
		res.level = append(res.level, 0)
	}
	return res
}

// readDamaged reads data that may be anything. It fails the test on a panic,
// and by its time limit when reading does not end.
func readDamaged(t *testing.T, f testFormat, data []byte) (requests int, err error) {
	t.Helper()
	r, err := f.format.Open(context.Background(), "x", bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		return 0, err
	}
	for r.Next() {
		if r.Request() == nil || r.Experiment() >= len(r.Run().Experiments) {
			t.Fatalf("request %d of experiment %d of %d", requests, r.Experiment(), len(r.Run().Experiments))
		}
		requests++
	}
	return requests, errors.Join(r.Err(), r.Close())
}

// A file that is cut anywhere is an error, and says so.
func TestFileCut(t *testing.T) {
	for _, f := range testFormats[:2] {
		data := sample().encode(t, f)
		for n := 1; n < len(data); n += testenv.Stride(1 + len(data)/500) {
			_, err := readDamaged(t, f, data[:n])
			var cut *export.CutError
			if !errors.As(err, &cut) {
				t.Errorf("%s cut at %d of %d: %v", f.name, n, len(data), err)
			}
		}
	}
}

// Damage never panics and always ends. Parquet and Arrow files hold no
// checksums, so that a wrong value can go unnoticed.
func TestFileDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, f := range testFormats[:2] {
		data := sample().encode(t, f)
		failed := 0
		for range 3000 / testenv.Stride(30) {
			bad := bytes.Clone(data)
			for range 1 + rng.IntN(4) {
				i := rng.IntN(len(bad))
				if rng.IntN(3) == 0 { // the footer has the most that can go wrong
					i = len(bad) - 1 - rng.IntN(min(len(bad), 4000))
				}
				switch rng.IntN(3) {
				case 0:
					bad[i] ^= 1 << rng.IntN(8)
				case 1:
					bad[i] = 0xFF
				default:
					bad[i] = byte(rng.Uint32())
				}
			}
			if _, err := readDamaged(t, f, bad); err != nil {
				failed++
			}
		}
		if failed == 0 {
			t.Errorf("%s: nothing was found", f.name)
		}
	}
}

// Files that are something else, or not ours, are refused in words.
func TestOpenErrors(t *testing.T) {
	for _, tt := range []struct {
		f          testFormat
		data, want string
	}{
		{testFormats[0], "PAR1", "cut short at byte 4, inside the footer of the Parquet file"},
		{testFormats[0], "PAR1" + strings.Repeat("x", 20) + "PARE", "is encrypted"},
		{testFormats[0], "PAR1" + strings.Repeat("\xff", 20) + "PAR1", "x: "},
		{testFormats[1], "ARROW1\x00\x00", "cut short at byte 8, inside the footer of the Arrow file"},
		{testFormats[1], "ARROW1" + strings.Repeat("\xff", 40) + "ARROW1", "x: "},
	} {
		_, err := readDamaged(t, tt.f, []byte(tt.data))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.10q: %v, want %q", tt.data, err, tt.want)
		}
	}
}

// Memory does not grow with the length of a run, whichever way it goes.
func TestMemory(t *testing.T) {
	testenv.NoRace(t)
	n := 12_000 / testenv.Stride(4)
	most := uint64(n) * 2000 // half of the inputs
	for _, f := range testFormats {
		data := new(bytes.Buffer)
		w, err := f.writer(data)
		if err != nil {
			t.Fatal(err)
		}
		limitRows(w, n/48)
		template := requests(1).requests[0]
		template.Inputs = export.Fields{{Name: "payload", Value: export.Text(strings.Repeat("x", 4000))}}
		if err := w.BeginExperiment("concurrency", "1"); err != nil {
			t.Fatal(err)
		}
		grown := peak(func(i int) bool {
			template.ID = uint64(i)
			if err := w.WriteRequest(template); err != nil {
				t.Fatal(err)
			}
			if s, ok := w.(export.BatchWriter); ok {
				s.Stop() // what the encoder takes meanwhile does not depend on the length
			}
			return i < n
		}, func() uint64 { return uint64(data.Cap()) })
		if grown > most {
			t.Errorf("%s: writing took %d MB", f.name, grown>>20)
		}
		if err := errors.Join(w.EndExperiment(&export.Experiment{}), w.Close(nil)); err != nil {
			t.Fatal(err)
		}
		r := f.open(t, data.Bytes())
		rows := 0
		grown = peak(func(int) bool {
			if !r.Next() {
				return false
			}
			rows++
			return true
		}, func() uint64 { return 0 })
		if grown > most {
			t.Errorf("%s: reading took %d MB", f.name, grown>>20)
		}
		if r.Err() != nil || rows != n+1 {
			t.Errorf("%s: %d requests, %v", f.name, rows, r.Err())
		}
	}
}

// peak calls step until it returns false and returns by how much the live heap
// grew at most beyond what other returns.
func peak(step func(i int) bool, other func() uint64) uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	start, most := m.HeapAlloc-other(), uint64(0)
	for i := 0; step(i); i++ {
		if i%1000 == 999 {
			runtime.GC()
			runtime.ReadMemStats(&m)
			if now := m.HeapAlloc - other(); now > start {
				most = max(most, now-start)
			}
		}
	}
	return most
}
