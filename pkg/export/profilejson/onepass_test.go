package profilejson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// countedReads counts the bytes that are read.
type countedReads struct {
	io.ReaderAt
	n atomic.Int64
}

func (c *countedReads) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
}

// discardBatch takes requests and keeps nothing.
type discardBatch struct{}

func (discardBatch) Reset() {}

func (discardBatch) Add(*export.Row) {}

// No part of a file is read again for each load level, request or member: a file of twice the size takes
// twice the reading, one by one and in batches.
func TestOnePass(t *testing.T) {
	const request = `{"timestamp":100,"response_timestamps":[110,120],"pa":{"id":1,"session_id":"s"}}`
	list := func(n int, element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	level := func(requests, excluded, windows string) string {
		return `{"experiment":{"mode":"concurrency","value":1},"requests":` + requests + `,"window_boundaries":` + windows +
			`,"pa":{"measured":1,"warnings":["w"],"excluded_requests":` + excluded + `}}`
	}
	document := func(levels, samples string) string {
		return `{"experiments":` + levels + `,"version":"2","service_kind":"openai","endpoint":"","pa":{"schema":"pa-export/1","tool":"t","warnings":` +
			list(200, `"a warning of the run"`) + `,"samples":` + samples + `}}`
	}
	one := list(1, request)
	base := 300
	if testenv.IsLong() {
		base = 5000
	}
	for name, of := range map[string]func(n int) string{
		"levels":                 func(n int) string { return document(list(n, level(list(3, request), "[]", "[1,2]")), "[]") },
		"levels with excluded":   func(n int) string { return document(list(n, level(one, list(3, request), "[1,2]")), "[]") },
		"levels without windows": func(n int) string { return document(list(n, `{"requests":`+list(3, request)+`}`), "[]") },
		"empty levels":           func(n int) string { return document(list(n, level("[]", "[]", "[1,2]")), "[]") },
		"levels and telemetry": func(n int) string {
			return document(list(n, level(one, "[]", "[1,2]")), list(n, `{"source":"http://h/metrics","start_ns":1,"end_ns":2}`))
		},
		"requests": func(n int) string { return document(list(1, level(list(10*n, request), "[]", "[1,2]")), "[]") },
		"excluded": func(n int) string { return document(list(1, level(one, list(10*n, request), "[1,2]")), "[]") },
		"windows":  func(n int) string { return document(list(1, level(one, "[]", list(50*n, "123456"))), "[]") },
		"telemetry": func(n int) string {
			return document(list(1, level(one, "[]", "[1,2]")), list(10*n, `{"source":"http://h/metrics","start_ns":1,"end_ns":2}`))
		},
		"a level in two":  func(n int) string { return document(list(n, `{"requests":`+one+`},`+level(one, "[]", "[1,2]")), "[]") },
		"a repeated name": func(n int) string { return document(list(n, `{"requests":`+one+`,"requests":`+one+`}`), "[]") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, batches := range []bool{false, true} {
				var read [2]int64
				for k := range read {
					text := of(base << k)
					src := &countedReads{ReaderAt: bytes.NewReader([]byte(text))}
					r, err := newReader(t.Context(), "x.json", src, int64(len(text)), export.Limits{}, 4096)
					if err != nil {
						t.Fatal(err)
					}
					r.spanBytes = math.MaxInt64 / leastSpans // workers would search ahead in windows larger than these levels
					for again := true; again; again = errors.Is(r.Err(), export.ErrRunChanged) {
						if batches {
							r.Begin(export.Need{Batch: func() export.Batch { return discardBatch{} }})
						}
						for r.Next() {
						}
					}
					err = r.Scrapes(t.Context(), func(*export.Scrape) error { return nil })
					if err := errors.Join(err, r.Err(), r.Close()); err != nil {
						t.Fatal(err)
					}
					if read[k] = src.n.Load(); read[k] > 8*int64(len(text))+1<<20 {
						t.Errorf("batches %v: %d bytes are read of a file of %d", batches, read[k], len(text))
					}
				}
				// Buffers double, so that a file is read between 1.7 and 2.6 times, at any size.
				if float64(read[1]) > 3.2*float64(read[0])+64<<10 {
					t.Errorf("batches %v: %s: %d bytes are read, and %d of a file of twice the size", batches, name, read[0], read[1])
				}
			}
		})
	}
}

// A Run grows while batches are read, and what it says in the end is what a Reader says that looks for all
// levels first.
func TestGrowingRun(t *testing.T) {
	for _, rest := range []string{
		`"window_boundaries":[1,2],"pa":{"measured":1,"warnings":["w%[1]d"],"excluded_requests":[{"timestamp":1,"response_timestamps":[2]}]}`,
		`"window_boundaries":[%[1]d,2]`, `"own":%[1]d,"window_boundaries":[1]`, `"pa":null,"window_boundaries":[3]`,
		`"window_boundaries":[1],"experiment":{"mode":"request_rate","value":%[1]d}`, `"window_boundaries":[1],"requests":null`,
		`"window_boundaries":[1],"window_boundaries":[2]`, `"window_boundaries":7`,
	} {
		for _, head := range []string{`"experiment":{"mode":"concurrency","value":%d},`, ``, `"pa":{"measured":%d},`, `"first":%d,`, `"window_boundaries":[%d,9],`} {
			text := `{"experiments":[`
			for i := range 5 {
				if i > 0 {
					text += ","
				}
				if i == 3 {
					text += `{"experiment":{"mode":"none","value":3}},`
				}
				text += "{"
				if strings.Contains(head, "%d") {
					text += fmt.Sprintf(head, i)
				}
				text += `"requests":[{"timestamp":1,"response_timestamps":[2]}],`
				if strings.Contains(rest, "%[1]d") {
					text += fmt.Sprintf(rest, i)
				} else {
					text += rest
				}
				text += "}"
			}
			text += `],"version":"2","pa":{"schema":"pa-export/1","tool":"t"}}`
			read := func(batches bool) string {
				r, err := newReader(t.Context(), "x.json", strings.NewReader(text), int64(len(text)), export.Limits{}, 4096)
				if err != nil {
					return err.Error()
				}
				defer r.Close()
				need := export.Need{Batch: func() export.Batch { return discardBatch{} }}
				if batches {
					r.Begin(need)
				}
				n := 0
				for r.Next() {
					n++
				}
				if errors.Is(r.Err(), export.ErrRunChanged) {
					r.Begin(need)
					for n = 0; r.Next(); n++ {
					}
				}
				run, err := json.Marshal(r.Run())
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprintf("%d requests, %s, %v, %v", n, run, r.Warnings(), r.Err())
			}
			if plain, batches := read(false), read(true); plain != batches {
				t.Errorf("%s\nfirst %s\nthen  %s", text, plain, batches)
			}
		}
	}
}
