package profilejson

import (
	"context"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// A synthetic file is a head, then period over and over, then a tail; nothing
// of it is in memory twice.
type synthetic struct {
	head, period, tail string
	repeat             int64
	read               atomic.Int64 // bytes asked for
}

func (s *synthetic) size() int64 {
	return int64(len(s.head)) + s.repeat*int64(len(s.period)) + int64(len(s.tail))
}

func (s *synthetic) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at := off + int64(n)
		middle := at - int64(len(s.head))
		switch {
		case at >= s.size():
			return n, io.EOF
		case middle < 0:
			n += copy(p[n:], s.head[at:])
		case middle < s.repeat*int64(len(s.period)):
			n += copy(p[n:], s.period[middle%int64(len(s.period)):])
		default:
			n += copy(p[n:], s.tail[middle-s.repeat*int64(len(s.period)):])
		}
	}
	s.read.Add(int64(n))
	return n, nil
}

// peak calls step until it returns false and returns the largest heap seen.
func peak(step func(i int) bool) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // little garbage in the figure
	// Nor what a collector that comes late on a busy machine leaves: above this
	// it works harder, and what is in use grows on all the same.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(40 << 20))
	runtime.GC()
	var m runtime.MemStats
	most := uint64(0)
	for i := 0; step(i); i++ {
		if i%1000 == 0 {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
	}
	runtime.ReadMemStats(&m)
	return max(most, m.HeapInuse)
}

// Memory does not grow with the file: a file of 42 MB, in make test-long 500 MB, takes less than
// 32 MB, whichever way the header is found.
func TestReaderMemory(t *testing.T) {
	testenv.NoRace(t)
	request := string(appendGenerated(nil, 1, 100)) + ","
	last := string(appendGenerated(nil, 2, 100))
	const usual = `{"experiments":[{"experiment":{"mode":"concurrency","value":8},"requests":[`
	for _, tt := range []struct{ name, head, request string }{
		{"usual", usual, request},
		{"whole file", strings.Replace(usual, `"r`, `"\u0072`, 1), request},
		{"blanks", usual, strings.Replace(request, ",{", ", {", 1) + " "},
		{"another order", usual, strings.Replace(request, `{"timestamp"`, `{ "timestamp"`, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			request := tt.request
			src := &synthetic{head: tt.head, period: request, tail: last + generatedTail}
			src.repeat = 500e6 / int64(testenv.Stride(12)) / int64(len(request))
			r, err := NewReader(context.Background(), "big.json", src, src.size(), export.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Run().Experiments[0].WindowBoundaries) != 2 || *r.Run().Endpoint == "" {
				t.Error("the header is not complete before the first request")
			}
			n := int64(0)
			most := peak(func(int) bool {
				if !r.Next() {
					return false
				}
				n++
				return true
			})
			if r.Err() != nil || n != src.repeat+1 {
				t.Errorf("%d requests, want %d, err = %v", n, src.repeat+1, r.Err())
			}
			if most > 32<<20 { // a window, the arena, and what the tests hold
				t.Errorf("the heap grew to %d MB", most>>20)
			}
		})
	}
}

// A value of 5 or 10 MB, in make test-long 100 MB or 10 GB, is refused after the limit, without
// reading the rest of it while reading requests, and the requests before it are delivered.
func TestReaderHugeValue(t *testing.T) {
	testenv.NoRace(t)
	const limit = 1 << 20
	good := `{"timestamp":1,"response_timestamps":[2]},`
	for _, tt := range []struct {
		name, head, period, tail string
		requests                 int
		want                     string
	}{
		{
			"output", `{"experiments":[{"requests":[` + good + good + `{"timestamp":3,"response_timestamps":[4],"response_outputs":[{"text_output":"`, strings.Repeat("x", 1<<20), `"}]}]}]}`,
			2, "big.json: byte 113: experiment 0, request 2: the request is larger than 1048576 bytes; if the file is sound, raise the limit with --max-value",
		},
		{"list", `{"experiments":[{"requests":[` + good + `{"timestamp":3,"response_timestamps":[`, strings.Repeat("1700000000123456789,", 1<<16), `1]}]}]}`, 1, "request 1: the request is larger than"},
		{"list of short numbers", `{"experiments":[{"requests":[` + good + `{"timestamp":3,"response_timestamps":[`, strings.Repeat("1,", 1<<19), `1]}]}]}`, 1, "request 1: the decoded request is larger than 4194304 bytes"},
		{"list of empty outputs", `{"experiments":[{"requests":[` + good + `{"timestamp":3,"response_outputs":[`, strings.Repeat("{},", 1<<18), `{}]}]}]}`, 1, "request 1: the decoded request is larger than"},
		{"unknown members of a request", `{"experiments":[{"requests":[` + good + `{"timestamp":3`, strings.Repeat(`,"":1`, 1<<18), `}]}]}`, 1, "request 1: the decoded request is larger than"},
		{"no JSON at all", `{"experiments":[{"requests":[` + good, strings.Repeat(`[`, 1<<20), ``, 1, "request 1: arrays and objects nest deeper than 512"},
		{"version", `{"version":"`, strings.Repeat("x", 1<<20), `","experiments":[]}`, 0, `byte 11: "version" is larger than 1048576 bytes`},
		{"unknown member behind", `{"experiments":[{"requests":[` + good + `{"timestamp":3}]}],"x":"`, strings.Repeat("x", 1<<20), `"}`, 2, `member "x" is larger than 1048576 bytes`},
		{"windows", `{"experiments":[{"window_boundaries":[`, strings.Repeat("1234567,", 1<<17), `1],"requests":[{"timestamp":3}]}]}`, 0, `"window_boundaries" is larger than`},
		{"name of a member", `{"experiments":[{"requests":[` + good + `{"`, strings.Repeat("x", 1<<20), `":1}]}]}`, 1, "the request is larger than"},
		{"many unknown members", `{"experiments":[{"requests":[{"timestamp":3}]`, strings.Repeat(`,"a":"bcdefghijk"`, 1<<16), `}]}`, 1, "all that is not requests is larger than"},
		{"many experiments", `{"experiments":[{}`, strings.Repeat(`,{}`, 1<<18), `]}`, 0, "all that is not requests is larger than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := &synthetic{head: tt.head, period: tt.period, tail: tt.tail}
			src.repeat = 100e6 / int64(testenv.Stride(20)*len(tt.period))
			if tt.name == "output" {
				src.repeat = 10e9 / int64(testenv.Stride(1000)*len(tt.period))
			}
			var r *Reader
			var err error
			n := 0
			most := peak(func(i int) bool {
				if i == 0 {
					r, err = NewReader(context.Background(), "big.json", src, src.size(), export.Limits{MaxValueBytes: limit})
					if err == nil {
						src.read.Store(0)
					}
					return err == nil
				}
				if r.Next() {
					n++
					return true
				}
				err = r.Err()
				return false
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want %q in it", err, tt.want)
			}
			if n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
			if read := src.read.Load(); r != nil && read > 4*limit {
				t.Errorf("%d MB were read for the requests", read>>20)
			}
			if most > 64<<20 {
				t.Errorf("the heap grew to %d MB", most>>20)
			}
		})
	}
}

// A request with more times than fit is refused by the number of its commas, before
// they are decoded.
func TestReaderManyTimes(t *testing.T) { // not parallel: it looks at what is allocated
	const limit = 4 << 20
	src := &synthetic{head: `{"experiments":[{"requests":[{"timestamp":3,"response_timestamps":[`, period: "1,", tail: `1]}]}]}`, repeat: 2 << 20}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := NewReader(context.Background(), "big.json", src, src.size(), export.Limits{MaxValueBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	if r.Next() || r.Err() == nil || !strings.Contains(r.Err().Error(), "the decoded request is larger than 16777216 bytes") {
		t.Errorf("err = %v, want that the request is too large", r.Err())
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 48 {
		t.Errorf("%d MB were allocated in all for 4 MB of times", n)
	}
}

// A value of exactly the limit is fine, one byte more is not.
func TestReaderLimitBoundary(t *testing.T) {
	request := `{"timestamp":1,"response_timestamps":[2]}`
	for _, chunk := range []int{1, 16, jsonscan.DefaultChunk} {
		for limit, ok := range map[int]bool{len(request): true, len(request) - 1: false} {
			res, err := readAll([]byte(one(request)), chunk, export.Limits{MaxValueBytes: int64(limit)})
			if err != nil {
				t.Fatal(err)
			}
			if (res.err == "") != ok || (len(res.requests) == 1) != ok {
				t.Errorf("limit %d of %d, chunks of %d: %d requests, err = %q", limit, len(request), chunk, len(res.requests), res.err)
			}
		}
	}
}

// Requests of the same shape as earlier requests cost no allocation.
func TestReaderAllocs(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // no workers
	data := string(generate(400, 50))
	r, err := NewReader(context.Background(), "x.json", strings.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		r.Next()
	}
	if n := testing.AllocsPerRun(200, func() { r.Next() }); n > 0.5 {
		t.Errorf("%v allocations per request", n)
	}
	if r.Request() == nil {
		t.Error("the file is too short for this test")
	}
}
