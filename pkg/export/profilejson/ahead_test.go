package profilejson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// readAhead reads data with spans of that size; 0: without workers. It returns how many
// requests came from the workers.
func readAhead(t *testing.T, src io.ReaderAt, size, spanBytes int64) (res result, decoded int) {
	t.Helper()
	r, err := newReader(context.Background(), "x.json", src, size, export.Limits{MaxValueBytes: 1 << 16}, 4096)
	if err != nil {
		return result{err: err.Error()}, 0
	}
	if r.spanBytes = spanBytes; spanBytes == 0 {
		r.spanBytes = math.MaxInt64 / leastSpans
	}
	defer r.Close()
	for r.Next() {
		if r.span != nil {
			decoded++
		}
		res.requests, res.level = append(res.requests, r.Request().Clone()), append(res.level, r.Experiment())
	}
	for _, w := range r.Warnings() {
		res.warnings = append(res.warnings, w.String())
	}
	if res.run = r.Run(); r.Err() != nil {
		res.err = r.Err().Error()
	}
	return res, decoded
}

// Requests, warnings and errors are the same with and without workers, whatever the file holds.
func TestAhead(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	}
	odd := []string{
		`{"timestamp":"x","response_timestamps":[1]}`, `{"response_timestamps":[1]}`, `7`, `{"timestamp":1,"response_timestamps":[1,2],"response_outputs":[{}]}`,
		`{"timestamp":1,"timestamp":2,"response_timestamps":[3]}`, `{"timestamp":1,"response_timestamps":[3],"response_outputs":["plain"]}`,
		`{"timestamp":1,"response_timestamps":[3],"request_inputs":7}`, `{"timestamp":5,"extra":[{"a":1},{"timestamp":6},{"timestamp":7}],"response_timestamps":[8]}`,
		`{"timestamp":5,"extra":[{"a":1},{"timestamp":6,"response_timestamps":[1]},{"timestamp":7}],"response_timestamps":[8]}`,
		`{"timestamp":1,"response_timestamps":[2],"pa":{"id":3,"final":[9]}}`, `{"timestamp":1,"request_inputs":{"a":"` + strings.Repeat("x", 1<<16) + `"},"response_timestamps":[2]}`,
		`{"timestamp":1,"x":"\u00e9","response_timestamps":[2]} `, "\n {\"timestamp\" : 1, \"response_timestamps\":[ 2 ]}", `{"timestamp":1,`,
	}
	rng := rand.New(rand.NewPCG(3, 4))
	total := 0
	rounds := 1_000 / testenv.Stride(40)
	for round := range rounds {
		b := []byte(`{"experiments":[{"experiment":{"mode":"concurrency","value":8},"requests":[`)
		for i := range 40 {
			if i > 0 {
				b = append(b, ',')
			}
			if rng.IntN(12) == 0 && round > 3 {
				b = append(b, odd[rng.IntN(len(odd))]...)
			} else {
				b = appendGenerated(b, i, 1+rng.IntN(8))
			}
		}
		b = append(b, generatedTail...)
		if round%7 == 6 {
			b = b[:rng.IntN(len(b))]
		}
		want, _ := readAhead(t, bytes.NewReader(b), int64(len(b)), 0)
		for _, span := range []int64{1, 300, 2000, 9000} {
			got, n := readAhead(t, bytes.NewReader(b), int64(len(b)), span)
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("round %d, spans of %d bytes (-one by one +ahead):\n%s", round, span, cmp.Diff(want, got, cmp.AllowUnexported(result{})))
			}
			total += n
		}
	}
	if total < 10*rounds {
		t.Errorf("%d requests came from workers", total)
	}
}

// A Reader that is closed early leaves no goroutine behind, and a file that becomes shorter or
// cannot be read ends with its error. (The package's TestMain looks for goroutines.)
func TestAheadEnds(t *testing.T) {
	b := generate(200, 20)
	r, err := newReader(t.Context(), "x.json", bytes.NewReader(b), int64(len(b)), export.Limits{}, 4096)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		r.Next()
	}
	if err := r.Close(); err != nil || r.Next() || r.Request() != nil {
		t.Errorf("after Close: %v", err)
	}
	broken := &failsAt{bytes.NewReader(b), int64(len(b) / 2), false}
	r, err = newReader(t.Context(), "x.json", broken, int64(len(b)), export.Limits{}, 4096)
	if err != nil {
		t.Fatal(err)
	}
	broken.on = true
	n := 0
	for r.Next() {
		n++
	}
	if n < 50 || n > 150 || r.Err() == nil || !strings.Contains(r.Err().Error(), "no disk") {
		t.Errorf("%d requests, %v", n, r.Err())
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// failsAt fails to read what lies behind an offset, once it is on.
type failsAt struct {
	*bytes.Reader
	off int64
	on  bool
}

func (f *failsAt) ReadAt(p []byte, off int64) (int, error) {
	if f.on && off+int64(len(p)) > f.off {
		return 0, errors.New("no disk")
	}
	return f.Reader.ReadAt(p, off)
}

func BenchmarkReaderAhead(b *testing.B) {
	data := generate(4000, 100)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("cores=%d", workers), func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers))
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := NewReader(b.Context(), "x.json", bytes.NewReader(data), int64(len(data)), export.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				for r.Next() {
				}
				if err := errors.Join(r.Err(), r.Close()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
