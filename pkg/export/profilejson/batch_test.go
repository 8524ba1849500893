package profilejson_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// reportOf returns all figures and warnings of an analysis as text.
func reportOf(r export.Reader, cfg analyze.Config) string {
	rep, err := analyze.Run(context.Background(), r, cfg)
	var b strings.Builder
	fmt.Fprintln(&b, err)
	if err := report.JSON(report.Input{Name: "x", Report: rep})(&b); err != nil {
		fmt.Fprintln(&b, err)
	}
	for i := range rep.Experiments {
		e := &rep.Experiments[i]
		for _, m := range e.Metrics {
			fmt.Fprintf(&b, "%s %s\n", m.Definition.Key(), figures(m.Summary))
		}
		for k := range e.Series {
			fmt.Fprintf(&b, "%+v\n", e.Series[k])
		}
		fmt.Fprintln(&b, figures(e.Quality))
		fmt.Fprintf(&b, "%+v %+v %v %d\n", e.Stamps, e.Starts, e.Warnings, e.Unreadable)
	}
	fmt.Fprintf(&b, "%s %d %d %v %v %v\n", rep.Model, rep.Requests, rep.FirstNS, rep.ByRecorder, rep.Stamps, rep.Warnings)
	return b.String()
}

// figures returns all numbers in x, to the last digit.
func figures(x any) string {
	b, err := json.Marshal(x)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// oneByOne hides that a Reader can read batches.
type oneByOne struct{ export.Reader }

// configs are the ways to analyze that measure requests differently.
func configs() []analyze.Config {
	streaming, quality := true, quality.Default()
	return []analyze.Config{
		{},
		{Counter: memrun.Words{}},
		{Series: true, Counter: memrun.Words{}},
		{Streaming: &streaming, IncludeWarmup: true},
		{Quality: &quality, Certified: true},
	}
}

// sameReports compares the report from requests that are read one by one with the reports from
// batches, with spans of those sizes, for each of configs.
func sameReports(t *testing.T, data []byte, configs []analyze.Config, spans ...int64) {
	t.Helper()
	for i, cfg := range configs {
		plain, wantErr := profilejson.NewPlainReader(context.Background(), bytes.NewReader(data), int64(len(data)))
		want := ""
		if wantErr == nil {
			want = reportOf(oneByOne{plain}, cfg)
		}
		for _, span := range spans {
			r, err := profilejson.NewSpanReader(context.Background(), bytes.NewReader(data), int64(len(data)), span)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%v, want %v\n%s", err, wantErr, data)
			}
			if err != nil {
				continue
			}
			got := reportOf(r, cfg)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Fatalf("config %d, spans of %d bytes (-one by one +batches):\n%s\n%s", i, span, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")), data)
			}
		}
	}
}

func twoCores(t testing.TB) {
	if runtime.GOMAXPROCS(0) == 1 {
		before := runtime.GOMAXPROCS(2)
		t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	}
}

// The report of a file is the same to the last digit, whether its requests are measured one by
// one or in batches, in whole texts or in envelopes, and after a guess of its layout or none.
func TestBatchReports(t *testing.T) {
	twoCores(t)
	for seed := range 1_000 / uint64(testenv.Stride(80)) {
		data := randomFile(rand.New(rand.NewPCG(seed, 1)))
		all := configs()
		i := int(seed) % len(all)
		sameReports(t, data, all[i:i+1], 1, 300, 3000, 1<<40)
	}
}

func TestBatchReportsGolden(t *testing.T) {
	twoCores(t)
	files, _ := golden.ProfileExports(t)
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if i%testenv.Stride(16) == 0 {
			t.Run(name, func(t *testing.T) { sameReports(t, files[name], configs(), 1000, 20_000, 1<<40) })
		}
	}
}

func FuzzBatchReports(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomFile(rand.New(rand.NewPCG(seed, 2))), uint16(seed*100))
	}
	f.Fuzz(func(t *testing.T, data []byte, span uint16) { sameReports(t, data, configs(), int64(span)+1, 1<<40) })
}

// joiningBatch keeps copies of its requests, without envelopes.
type joiningBatch struct {
	requests  []*export.Request
	envelopes int
}

func (b *joiningBatch) Reset() { *b = joiningBatch{} }

func (b *joiningBatch) Add(row *export.Row) {
	c := row.Request.Clone()
	for i := range c.Responses {
		if f := c.Responses[i].Outputs; len(f) > 0 && f[0].Value.Envelope != nil {
			b.envelopes++
		}
		c.Responses[i].Outputs = c.Responses[i].Outputs.Joined()
	}
	b.requests = append(b.requests, c)
}

// A reading is everything that a Reader says about a file.
type reading struct {
	Requests []*export.Request
	Levels   []int
	Run      *export.Run
	Warnings []export.Warning
	Err      string
	Skipped  [][2]int
}

// end completes the reading when Next has returned false.
func (x *reading) end(t *testing.T, r *profilejson.Reader) {
	t.Helper()
	x.Run, x.Warnings, x.Err = r.Run(), r.Warnings(), fmt.Sprint(r.Err())
	for i := range x.Run.Experiments {
		counted, excluded := r.Skipped(i)
		x.Skipped = append(x.Skipped, [2]int{counted, excluded})
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// batchCounts counts what happened while batches were read.
type batchCounts struct{ envelopes, several, again int }

// sameBatches compares the requests that Next gives, warnings, errors and the run with what
// batches give, with several sizes of spans.
func sameBatches(t *testing.T, data []byte, n *batchCounts) {
	t.Helper()
	r, err := profilejson.NewPlainReader(t.Context(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return
	}
	var want reading
	for r.Next() {
		want.Requests, want.Levels = append(want.Requests, r.Request().Clone()), append(want.Levels, r.Experiment())
	}
	want.end(t, r)
	for _, span := range []int64{1, 500, 4000, 1 << 40} {
		r, err := profilejson.NewSpanReader(t.Context(), bytes.NewReader(data), int64(len(data)), span)
		if err != nil {
			t.Fatal(err)
		}
		var got reading
		for {
			if !r.Begin(export.Need{Batch: func() export.Batch { return &joiningBatch{} }}) {
				t.Fatal("no batches")
			}
			for r.Next() {
				b := r.Batch().(*joiningBatch)
				if r.Request() != nil || len(b.requests) == 0 {
					t.Fatalf("a request beside the batch of %d", len(b.requests))
				}
				if len(b.requests) > 1 {
					n.several++
				}
				n.envelopes += b.envelopes
				for _, q := range b.requests {
					got.Requests, got.Levels = append(got.Requests, q), append(got.Levels, r.Experiment())
				}
			}
			if !errors.Is(r.Err(), export.ErrRunChanged) {
				break
			}
			n.again++
			got = reading{}
		}
		got.end(t, r)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("spans of %d bytes (-one by one +batches):\n%s\n%s", span, cmp.Diff(want, got), data)
		}
	}
}

// Batches hold the requests that Next gives, in their order, and warnings, errors and the run
// are the same in the end.
func TestBatches(t *testing.T) {
	twoCores(t)
	var n batchCounts
	files := 1_000 / testenv.Stride(40)
	for seed := range uint64(files) {
		sameBatches(t, randomFile(rand.New(rand.NewPCG(seed, 3))), &n)
	}
	if n.envelopes < 10*files || n.several < files {
		t.Errorf("%+v", n)
	}
}

// Single requests have envelopes only where they are allowed, and are the same without them.
func TestEnvelopesAllowed(t *testing.T) {
	twoCores(t)
	files, sum := 200/testenv.Stride(10), 0
	for seed := range uint64(files) {
		data := randomFile(rand.New(rand.NewPCG(seed, 5)))
		read := func(allow bool) (all reading, envelopes int) {
			t.Helper()
			r, err := profilejson.NewSpanReader(t.Context(), bytes.NewReader(data), int64(len(data)), 500)
			if err != nil {
				t.Fatal(err)
			}
			r.Begin(export.Need{Envelopes: allow})
			var b joiningBatch
			for r.Next() {
				row := r.Row()
				b.Add(&row)
				all.Levels = append(all.Levels, r.Experiment())
			}
			all.Requests = b.requests
			all.end(t, r)
			return all, b.envelopes
		}
		want, none := read(false)
		got, some := read(true)
		if sum += some; none != 0 {
			t.Errorf("seed %d: %d envelopes that are not allowed", seed, none)
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("seed %d (-joined +envelopes):\n%s", seed, cmp.Diff(want, got))
		}
	}
	if sum < files {
		t.Errorf("%d envelopes in %d files", sum, files)
	}
}

// A file whose load levels are not laid out as recorders do is read again from the beginning,
// with the header from the whole file.
func TestBatchesOfUnusualLayouts(t *testing.T) {
	twoCores(t)
	const req = `{"timestamp":1,"response_timestamps":[2],"response_outputs":[{"response":"data: {}\n\n"}]}`
	level := func(requests string) string {
		return `{"experiment":{"mode":"concurrency","value":1},"requests":[` + requests + `],"window_boundaries":[1,2]}`
	}
	many := strings.Repeat(req+",", 20) + req
	for _, tt := range []struct {
		name, doc string
		again     bool
	}{
		{"one level", `{"experiments":[` + level(many) + `],"version":"1"}`, false},
		{"three levels", `{"experiments":[` + level(many) + `,` + level(many) + `,` + level(req) + `],"version":"1","service_kind":"openai"}`, false},
		{"an empty level", `{"experiments":[` + level("") + `,` + level(many) + `],"version":"1"}`, false},
		{"requests twice in the first level", `{"experiments":[` + strings.Replace(level(many), `"requests"`, `"requests":[`+req+`],"requests"`, 1) + `,` + level(many) + `],"version":"1"}`, true},
		{"a member between levels that the end does not show", `{"experiments":[` + level(many) + `],"service_kind":"openai","x":[{"requests":[` + many + `],"window_boundaries":[1]}],"version":"1"}`, true},
		{"experiments twice", `{"experiments":[` + level(many) + `],"endpoint":"e","experiments":[` + level(req) + `],"version":"1"}`, true},
		{"a later level of the wrong type", `{"experiments":[` + level(many) + `,7,` + level(many) + `],"version":"1"}`, true},
		{"an escaped name", `{"experiments":[` + level(many) + `,` + strings.Replace(level(many), `"requests"`, `"\u0072equests"`, 1) + `],"version":"1"}`, false},
		{"the array of another member at the end", `{"experiments":[` + strings.Replace(level(many), `,"window`, `,"more":[`+req+`],"window`, 1) + `],"version":"1"}`, false},
		{"damage in the first of two levels", `{"experiments":[` + level(many+`,{"timestamp":1,}`) + `,` + level(many) + `],"version":"1"}`, true},
		{"damage in the only level", `{"experiments":[` + level(many+`,{"timestamp":1,}`) + `],"version":"1"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var n batchCounts
			sameBatches(t, []byte(tt.doc), &n)
			if (n.again > 0) != tt.again {
				t.Errorf("read again %d times, want some: %v", n.again, tt.again)
			}
			sameReports(t, []byte(tt.doc), configs(), 1, 300, 1<<40)
		})
	}
}
