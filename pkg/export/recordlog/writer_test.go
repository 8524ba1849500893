package recordlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// A counter counts the buffers that it takes, and fails after most bytes.
type counter struct{ buffers, bytes, most int }

func (c *counter) Write(b []byte) (int, error) {
	if c.buffers++; c.bytes+len(b) > c.most {
		return 0, testenv.ErrFull
	}
	c.bytes += len(b)
	return len(b), nil
}

// A Writer hands over headers at once, its buffer when it is full, and with Flush what waits; after
// that nothing waits, and a log that goes on can be read.
func TestFlush(t *testing.T) {
	var out bytes.Buffer
	c := counter{most: 1 << 30}
	w, err := NewWriter(To(io.MultiWriter(&out, &c)), nil)
	err = errors.Join(err, w.BeginExperiment("m", "1"), w.Flush(), w.Flush())
	if err != nil || c.buffers != 2 || w.Buffered() != 0 {
		t.Fatalf("%d buffers for the start of a run and a level, and a flush of nothing, %d bytes wait, %v", c.buffers, w.Buffered(), err)
	}
	r := ok(export.Request{Inputs: export.Fields{{Name: "a", Value: export.Text(strings.Repeat("x", bufferBytes/4))}}})
	for i := range 9 {
		if err := w.WriteRequest(r); err != nil {
			t.Fatal(err)
		}
		if want := 2 + (i+1)/4; c.buffers != want || (w.Buffered() == 0) != ((i+1)%4 == 0) {
			t.Errorf("after %d requests %d buffers were written, want %d; %d bytes wait", i+1, c.buffers, want, w.Buffered())
		}
	}
	if got, err := readBytes(t, out.Bytes()); got == nil || len(got.requests) != 8 {
		t.Errorf("%+v, %v; want 8 requests of a log that goes on", got, err)
	}
	if err := errors.Join(w.EndExperiment(&export.Experiment{}), w.Close(nil), w.Close(nil), w.Flush()); err != nil {
		t.Error(err)
	}
	if got, err := readBytes(t, out.Bytes()); err != nil || len(got.requests) != 9 {
		t.Errorf("%d requests, %v; want 9", len(got.requests), err)
	}
}

// An error of the file is an error of the Writer, wherever it happens, and sticks.
func TestFullDisk(t *testing.T) {
	res := randomRun(3, 6)
	whole := len(res.encode(t))
	for most := range whole {
		w, err := NewWriter(To(&counter{most: most}), nil)
		if err == nil {
			err = errors.Join(w.Flush(), res.write(w))
		}
		if !errors.Is(err, testenv.ErrFull) || !errors.Is(w.Close(nil), testenv.ErrFull) {
			t.Fatalf("full after %d of %d bytes: %v", most, whole, err)
		}
	}
}

// A request that cannot be written takes no request before it along.
func TestErrorKeepsRequests(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(To(&out), nil)
	if err := errors.Join(err, w.BeginExperiment("m", "1"), w.WriteRequest(memrun.Typical(3))); err != nil {
		t.Fatal(err)
	}
	err = w.WriteRequest(&export.Request{Status: 99})
	if got, _ := readBytes(t, out.Bytes()); err == nil || w.Close(nil) == nil || got == nil || len(got.requests) != 1 {
		t.Errorf("%v; the log holds %+v, want the request before the error", err, got)
	}
}

// The order of calls and the values are checked, and the first error sticks.
func TestWriterErrors(t *testing.T) {
	begun := func(do func(w *Writer) error) func(w *Writer) error {
		return func(w *Writer) error { return errors.Join(w.BeginExperiment("", ""), do(w)) }
	}
	notJSON := export.Fields{{Name: "a", Value: export.JSON("{")}}
	for _, tt := range []struct {
		name string
		do   func(w *Writer) error
		want string
	}{
		{"request first", func(w *Writer) error { return w.WriteRequest(&export.Request{}) }, "write journal: WriteRequest outside an experiment"},
		{"end first", func(w *Writer) error { return w.EndExperiment(&export.Experiment{}) }, "EndExperiment outside an experiment"},
		{"begin twice", begun(func(w *Writer) error { return w.BeginExperiment("", "") }), "BeginExperiment within an experiment"},
		{"close in between", begun(func(w *Writer) error { return w.Close(nil) }), "Close within an experiment"},
		{"begin after close", func(w *Writer) error { return errors.Join(w.Close(nil), w.BeginExperiment("", "")) }, "BeginExperiment after Close"},
		{"scrape after close", func(w *Writer) error { return errors.Join(w.Close(nil), w.WriteScrape(&export.Scrape{})) }, "WriteScrape after Close"},
		{"value", func(w *Writer) error { return w.BeginExperiment("m", "fast") }, `experiment 0: the value "fast" is not a JSON number`},
		{"status", begun(func(w *Writer) error { return w.WriteRequest(&export.Request{Status: 99}) }), `experiment 0, request 0: unknown status "invalid(99)"`},
		{"phase", begun(func(w *Writer) error { return w.WriteRequest(&export.Request{Phase: 99}) }), `unknown phase "invalid(99)"`},
		{"source", begun(func(w *Writer) error {
			return w.WriteRequest(&export.Request{Responses: []export.Response{{Source: 3}}})
		}), `response 0: unknown source "invalid(3)" of its time`},
		{"extra of an experiment", begun(func(w *Writer) error { return w.EndExperiment(&export.Experiment{Extra: notJSON}) }), `experiment 0: `},
		{"extra of the run", func(w *Writer) error { return w.Close(&export.Run{Extra: notJSON}) }, `the value of "a" is not JSON`},
	} {
		w, err := NewWriter(To(io.Discard), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := tt.do(w); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if !strings.Contains(tt.name, "after close") && w.Close(nil) == nil {
			t.Errorf("%s: the error does not stick", tt.name)
		}
	}
}

// Telemetry comes in its order, wherever it was written, as often as it is asked for, and while
// requests are read; a scrape that cannot be read is a warning.
func TestScrapes(t *testing.T) {
	series := []*export.Series{{Source: "s", Name: "a"}, {Source: "s", Name: "b", Type: "gauge", Labels: []export.Label{{Name: "x", Value: "é\n"}}}}
	var out bytes.Buffer
	w, err := NewWriter(To(&out), nil)
	scrape := func(n uint64, samples ...export.Sample) error {
		return w.WriteScrape(&export.Scrape{Source: "s", StartNS: n, EndNS: n + 1, Samples: samples})
	}
	err = errors.Join(err,
		scrape(1, export.Sample{Series: series[0], Value: 0.5}), w.BeginExperiment("m", "1"), w.WriteRequest(memrun.Typical(3)),
		scrape(2, export.Sample{Series: series[0], Value: 1}, export.Sample{Series: series[1], Value: -2}), w.WriteRequest(memrun.Typical(3)), w.EndExperiment(&export.Experiment{}),
		w.WriteScrape(&export.Scrape{Source: "s", StartNS: 3, Error: "refused"}), w.Close(nil))
	if err != nil {
		t.Fatal(err)
	}
	r, err := openBytes(t, out.Bytes(), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	read := func(r export.Reader) (all []string) {
		t.Helper()
		if err := r.Scrapes(t.Context(), func(s *export.Scrape) error {
			text := fmt.Sprint(s.StartNS, s.Error)
			for _, x := range s.Samples {
				text += fmt.Sprintf(" %v %s=%v", x.Series, x.Series.Type, x.Value)
			}
			all = append(all, text)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := []string{"1 a =0.5", "2 a =1 b{x=\"é\\n\"} gauge=-2", "3refused"}
	for r.Next() {
		before := r.Request().Clone()
		if got := read(r); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		requireEqual(t, "the request after reading telemetry", before, r.Request().Clone())
	}
	stop := errors.New("stop")
	if err := r.Scrapes(t.Context(), func(*export.Scrape) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v, want the error of the caller", err)
	}
	bad := payload(KindScrape, "nonsense\n")(payload(KindRun, `{"experiments":[]}`)(fileHead()))
	bad = payload(KindScrape, `{"source":"s","start_ns":7,"end_ns":8}`)(bad)
	new(Prefix).Add(bad, nil)
	if r, err = openBytes(t, bad, export.Limits{}); err != nil {
		t.Fatal(err)
	}
	if got := read(r); !slices.Equal(got, []string{"7"}) || len(r.Warnings()) != 1 || !strings.Contains(r.Warnings()[0].Msg, "telemetry: ") {
		t.Errorf("%q, warnings %v", got, r.Warnings())
	}
}

// A Reader begins again, and reads a level twice for requests that do not count.
func TestBegin(t *testing.T) {
	late := *ok(export.Request{ID: 2})
	late.Phase = export.PhaseCooldown
	res := one(ok(export.Request{ID: 1}), &late, ok(export.Request{ID: 3}))
	r, err := openBytes(t, res.encode(t), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		rows := export.Read(r, export.Need{Derived: export.DerivedBrief})
		var ids []uint64
		for rows.Next() {
			ids = append(ids, rows.Row().Request.ID)
		}
		if !slices.Equal(ids, []uint64{1, 3, 2}) || rows.Err() != nil {
			t.Errorf("requests %v, %v; want those that count first", ids, rows.Err())
		}
	}
	if err := r.Close(); err != nil || r.Next() || r.Request() != nil {
		t.Error("a closed Reader has requests")
	}
}
