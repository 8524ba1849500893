package columnar

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// A random makes runs with hostile strings.
type random struct{ memrun.Random }

func newRandom(seed1, seed2 uint64) random { return random{memrun.NewRandom(seed1, seed2)} }

// A result is all that a file holds.
type result struct {
	run      *export.Run
	requests []*export.Request
	level    []int
}

// run returns a random run with up to most requests. The requests are in the order of the file.
func (s random) run(most int) *result {
	res := &result{run: &export.Run{Experiments: make([]export.Experiment, s.IntN(4))}}
	run := res.run
	if s.IntN(2) == 0 {
		run.Version, run.ServiceKind, run.Endpoint = new(s.Text()), new(s.Text()), new(s.Text())
		run.Meta = &export.RunMeta{Schema: export.Schema, Tool: "t", StartNS: s.Uint(), Pauses: []export.Pause{{StartNS: s.Uint(), EndNS: s.Uint(), DurationNS: 7, Cause: export.PauseStopped}}, Warnings: []string{"<é>"}, Stamps: &export.StampCount{Kernel: 1}, Repeat: &export.RepeatMeta{Label: "a-b_c.d", Index: 2, Of: 5, Group: "é"}, Calibration: &export.Calibration{
			Schema: export.CalibrationSchema, Services: []export.CalibratedService{{
				Service: "openai", TokensPerSecond: 0.1, Recordings: []export.CalibratedRecording{{Stamps: "user", Receive: &export.ClockError{MedianNS: -1, MaxNS: 1 << 62}}},
			}}, Limits: []string{"<é>"},
		}, Config: json.RawMessage(`{"a":1}`)}
	}
	if s.IntN(4) == 0 {
		run.Extra = export.Fields{{Name: "x" + s.Text(), Value: s.Value()}}
	}
	for i := range run.Experiments {
		e := &run.Experiments[i]
		e.Mode, e.Value = s.Text(), []string{"8", "7.50", "10.0", ""}[s.IntN(4)]
		if s.IntN(2) == 0 {
			e.WindowBoundaries = []uint64{s.Uint(), s.Uint()}
		}
		if s.IntN(2) == 0 {
			e.Meta = &export.ExperimentMeta{
				Stable: new(true), StartNS: s.Uint(),
				RequestCounts: export.RequestCounts{Measured: 3, OutputsDropped: s.IntN(2), Resent: s.IntN(2)},
				Client:        &export.ClientMeta{AchievedPerSecond: 0.1, Turnaround: &export.LatencySummary{N: 1, MaxNS: int64(s.IntN(9))}, FDs: &export.FDMeta{Limit: s.Uint()}},
			}
		}
		if s.IntN(4) == 0 {
			e.Extra = export.Fields{{Name: "x" + s.Text(), Value: s.Value()}}
		}
		for range s.IntN(most) {
			res.requests = append(res.requests, s.Request())
			res.level = append(res.level, i)
		}
	}
	if len(run.Experiments) == 0 {
		run.Experiments = nil
	}
	return res
}

// inOrder is res with the requests in the order in which a Reader delivers them.
func (res *result) inOrder() *result {
	out := &result{run: res.run}
	for i := range res.run.Experiments {
		for _, excluded := range []bool{false, true} {
			for k, r := range res.requests {
				if res.level[k] == i && (r.Excluded() != export.NotExcluded) == excluded {
					out.requests = append(out.requests, r)
					out.level = append(out.level, i)
				}
			}
		}
	}
	return out
}

// write writes res to w. after is called after each request.
func (res *result) write(w export.Writer, after func(i int) error) error {
	k := 0
	for i := range res.run.Experiments {
		e := &res.run.Experiments[i]
		if err := w.BeginExperiment(e.Mode, e.Value); err != nil {
			return err
		}
		for ; k < len(res.requests) && res.level[k] == i; k++ {
			if err := w.WriteRequest(res.requests[k]); err != nil {
				return err
			}
			if after != nil {
				if err := after(k); err != nil {
					return err
				}
			}
		}
		if err := w.EndExperiment(e); err != nil {
			return err
		}
	}
	return w.Close(res.run)
}

func (res *result) encode(t testing.TB, f testFormat) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := f.writer(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.write(w, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read reads all that r delivers.
func read(r export.Reader) (*result, error) {
	res := &result{run: r.Run()}
	for r.Next() {
		res.requests = append(res.requests, r.Request().Clone())
		res.level = append(res.level, r.Experiment())
	}
	return res, errors.Join(r.Err(), r.Close())
}

// readBytes opens and reads data.
func readBytes(f testFormat, data []byte, lim export.Limits) (*result, error) {
	r, err := f.format.Open(context.Background(), "x", bytes.NewReader(data), int64(len(data)), lim)
	if err != nil {
		return nil, err
	}
	return read(r)
}

func diff(want, got *result) string {
	return difference(want, got, cmp.AllowUnexported(result{}))
}

// difference is cmp.Diff, which takes a hundred times as long as reflect.DeepEqual for equal
// values.
func difference(want, got any, opts ...cmp.Option) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, opts...)
}

// Reading what was written gives what was given, and the same JSON as without
// the detour.
func TestRoundTrip(t *testing.T) {
	for _, f := range testFormats {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(200) / uint64(testenv.Stride(16)) {
				want := newRandom(seed, 2).run(6)
				data := want.encode(t, f)
				r := f.open(t, data)
				got, err := read(r)
				if err != nil || len(r.Warnings()) > 0 {
					t.Fatalf("seed %d: %v, warnings %v", seed, err, r.Warnings())
				}
				if d := diff(want.inOrder(), got); d != "" {
					t.Fatalf("seed %d (-want +got):\n%s", seed, d)
				}
				var direct bytes.Buffer
				if err := want.write(profilejson.NewWriter(&direct), nil); err != nil {
					t.Fatal(err)
				}
				if again := toJSON(t, f.open(t, data)); !bytes.Equal(again, direct.Bytes()) {
					t.Fatalf("seed %d: JSON: %s", seed, golden.FirstDifference(again, direct.Bytes()))
				}
				back := toJSON(t, f.open(t, f.encode(t, readJSON(t, direct.Bytes()))))
				if !bytes.Equal(back, direct.Bytes()) {
					t.Fatalf("seed %d: JSON and back: %s", seed, golden.FirstDifference(back, direct.Bytes()))
				}
			}
		})
	}
}

// Many batches, each of several kinds of requests.
func TestRoundTripLarge(t *testing.T) {
	s := newRandom(3, 3)
	want := s.run(2)
	for len(want.run.Experiments) < 2 {
		want = s.run(2)
	}
	want.requests, want.level = nil, nil
	const maxRows = 100
	n := 12*maxRows/testenv.Stride(6) + 77
	for i := range n {
		r := s.Request()
		r.ID = uint64(i)
		want.requests = append(want.requests, r)
		want.level = append(want.level, min(len(want.run.Experiments)-1, i*len(want.run.Experiments)/n))
	}
	in := want.inOrder()
	for _, f := range testFormats {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			w, err := f.writer(&out)
			if err != nil {
				t.Fatal(err)
			}
			limitRows(w, maxRows)
			if err := want.write(w, nil); err != nil {
				t.Fatal(err)
			}
			r := f.open(t, out.Bytes())
			if n := r.(*Reader).src.batches(); n < 12/testenv.Stride(6)+1 {
				t.Errorf("%d batches", n)
			}
			got, err := read(r)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.level, in.level) {
				t.Fatal("experiments differ")
			}
			for i := range in.requests {
				if d := difference(in.requests[i], got.requests[i]); d != "" {
					t.Fatalf("request %d (-want +got):\n%s", i, d)
				}
			}
		})
	}
}

// limitRows makes w write batches or row groups of at most n requests.
func limitRows(w export.Writer, n int) {
	switch w := w.(type) {
	case *ParquetWriter:
		w.batch.maxRows, w.parquet.maxRows = n, n
	case *Writer:
		w.batch.maxRows = n
	}
}

// limitBytes makes w write batches or row groups of about n bytes, and returns the former limit.
func limitBytes(w export.Writer, n int) (usual int) {
	var limit *int
	switch w := w.(type) {
	case *ParquetWriter:
		limit = &w.parquet.maxBytes
	case *Writer:
		limit = &w.batch.maxBytes
	}
	usual, *limit = *limit, n
	return usual
}

// waiting returns the requests and the bytes that wait to be written as one batch or row group.
func waiting(w export.Writer) (rows, size int) {
	if w, ok := w.(*ParquetWriter); ok {
		return max(w.parquet.groupRows, w.batch.rows), w.parquet.groupSize + w.batch.size()
	}
	b := w.(*Writer).batch
	return b.rows, b.size()
}

// Values that are hard to keep, each by its name.
func TestRoundTripEdges(t *testing.T) {
	ok := func(r export.Request) export.Request {
		r.Status, r.Phase = export.StatusOK, export.PhaseMeasured
		return r
	}
	one := func(f export.Fields) []export.Response { return []export.Response{{RecvNS: 1, Outputs: f}} }
	for _, tt := range []struct {
		name string
		r    export.Request
	}{
		{"nothing", export.Request{}},
		{"largest times", ok(export.Request{StartNS: 1<<64 - 1, SentNS: 1 << 63, HasMeta: true, Responses: []export.Response{{RecvNS: 1<<64 - 1, Outputs: export.Fields{}}, {Outputs: export.Fields{}}}})},
		{"inputs absent", ok(export.Request{Inputs: nil})},
		{"inputs empty", ok(export.Request{Inputs: export.Fields{}})},
		{"no response_outputs", ok(export.Request{NoOutputs: true, Responses: one(nil)})},
		{"no response_outputs and no responses", ok(export.Request{NoOutputs: true})},
		{"outputs null, empty, one, null", ok(export.Request{Responses: []export.Response{{}, {Outputs: export.Fields{}}, {Outputs: export.Fields{{Name: "a", Value: export.Text("")}}}, {}}})},
		{"output called nothing", ok(export.Request{Responses: one(export.Fields{{Name: "", Value: export.JSON("null")}})})},
		{"output null", ok(export.Request{Responses: one(export.Fields{{Name: "a", Value: export.JSON("null")}})})},
		{"the same name twice, in order", ok(export.Request{Inputs: export.Fields{{Name: "b", Value: export.JSON("1")}, {Name: "a", Value: export.JSON("2")}, {Name: "b", Value: export.JSON("3")}}})},
		{"not UTF-8", ok(export.Request{Inputs: export.Fields{{Name: "\xff", Value: export.Text("a\xffb")}, {Name: "x", Value: export.JSON("\"\xfe\"")}}})},
		{"like an escape", ok(export.Request{SessionID: "base64:", Message: "base64:!", HasMeta: true, Inputs: export.Fields{{Name: "base64:YQ==", Value: export.Text("base64:YQ==")}}})},
		{"number text", ok(export.Request{Inputs: export.Fields{{Name: "a", Value: export.JSON("1.50e+00")}, {Name: "b", Value: export.Text("1.50")}}})},
		{"text null", ok(export.Request{Inputs: export.Fields{{Name: "a", Value: export.Text("null")}}})},
		{"unknown status", export.Request{Phase: export.PhaseMeasured, HasMeta: true}},
		{"excluded without additions", export.Request{Status: export.StatusTimeout}},
		{"additions of responses without additions of the request", ok(export.Request{Responses: []export.Response{{Final: true, Outputs: export.Fields{}}}})},
		{"negative numbers", ok(export.Request{HasMeta: true, Turn: -1, Code: -1 << 63, DNS: -5})},
	} {
		for _, f := range testFormats {
			want := &result{run: &export.Run{Experiments: []export.Experiment{{Mode: "m", Value: "1"}}}, requests: []*export.Request{&tt.r}, level: []int{0}}
			got, err := readBytes(f, want.encode(t, f), export.Limits{})
			if err != nil {
				t.Fatalf("%s: %s: %v", tt.name, f.name, err)
			}
			if d := diff(want, got); d != "" {
				t.Errorf("%s: %s (-want +got):\n%s", tt.name, f.name, d)
			}
		}
	}
}

// Headers with members that are missing, empty, or not UTF-8.
func TestHeader(t *testing.T) {
	for _, run := range []*export.Run{
		{},
		{Version: new("")},
		{Version: new("\xff"), Endpoint: new("v1/chat")},
		{Experiments: []export.Experiment{{}, {Mode: "\xfe", Value: "1e3", WindowBoundaries: []uint64{}}, {WindowBoundaries: []uint64{0, 1<<64 - 1}}}},
		{Extra: export.Fields{{Name: "requests", Value: export.JSON(`[{"timestamp":1,"response_timestamps":[]}]`)}}},
	} {
		for _, f := range testFormats {
			want := &result{run: run}
			got, err := readBytes(f, want.encode(t, f), export.Limits{})
			if err != nil {
				t.Fatalf("%s: %v", f.name, err)
			}
			if d := diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", f.name, d)
			}
		}
	}
}

func requests(n int) *result {
	res := &result{run: &export.Run{Experiments: []export.Experiment{{Mode: "concurrency", Value: "1"}}}}
	for i := range n {
		res.requests = append(res.requests, &export.Request{
			ID: uint64(i), StartNS: uint64(i) * 1000, Status: export.StatusOK, Phase: export.PhaseMeasured, HasMeta: true,
			Inputs:    export.Fields{{Name: "payload", Value: export.Text(fmt.Sprint("prompt ", i))}},
			Responses: []export.Response{{RecvNS: uint64(i)*1000 + 1, Outputs: export.Fields{{Name: "response", Value: export.Text("data: é\n\n")}}}, {RecvNS: uint64(i)*1000 + 2, Read: 1, Final: true, Outputs: export.Fields{}}},
		})
		res.level = append(res.level, 0)
	}
	return res
}
