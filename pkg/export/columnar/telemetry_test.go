package columnar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// telemetry returns n scrapes of one source, of which every third fails.
func telemetry(n int) []export.Scrape {
	var series []*export.Series
	for i := range 40 {
		series = append(series, &export.Series{Source: "http://h/metrics", Name: fmt.Sprintf("m%d", i), Type: "gauge", Labels: []export.Label{{Name: "a", Value: "é\n"}}})
	}
	var all []export.Scrape
	for i := range n {
		s := export.Scrape{Source: "http://h/metrics", StartNS: uint64(i) + 1, EndNS: uint64(i) + 2, LeftOut: i % 2}
		if i%3 == 2 {
			s.Error = "refused"
		}
		for k := 0; s.Error == "" && k < len(series); k++ {
			if (i+k)%7 > 0 {
				s.Samples = append(s.Samples, export.Sample{Series: series[k], Value: float64(i*k) / 3})
			}
		}
		all = append(all, s)
	}
	return all
}

func text(s *export.Scrape) string {
	b := fmt.Sprintf("%s %d %d %q %d", s.Source, s.StartNS, s.EndNS, s.Error, s.LeftOut)
	for _, x := range s.Samples {
		b += fmt.Sprintf(" %s/%v[%s]=%v", x.Series.Source, x.Series, x.Series.Type, x.Value)
	}
	return b
}

func scrapes(t *testing.T, r export.Reader) (all []string) {
	t.Helper()
	err := r.Scrapes(t.Context(), func(s *export.Scrape) error { all = append(all, text(s)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func open(t *testing.T, f export.Format, data []byte) export.Reader {
	t.Helper()
	r, err := f.Open(t.Context(), "x", bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// Telemetry comes back from each format, before, among and after the requests.
func TestTelemetry(t *testing.T) {
	all := telemetry(500)
	var want []string
	for i := range all {
		want = append(want, text(&all[i]))
	}
	for _, tt := range []struct {
		format export.Format
		create func(w io.Writer) (export.Writer, error)
	}{
		{Parquet(), func(w io.Writer) (export.Writer, error) { return NewParquetWriter(w, nil) }},
		{Arrow(), func(w io.Writer) (export.Writer, error) { return NewArrowWriter(w, nil) }},
	} {
		t.Run(tt.format.Name(), func(t *testing.T) {
			var b bytes.Buffer
			w, err := tt.create(&b)
			if err != nil {
				t.Fatal(err)
			}
			errs := []error{w.WriteScrape(&all[0]), w.BeginExperiment("concurrency", "1")}
			for i := 1; i < len(all)-1; i++ {
				errs = append(errs, w.WriteScrape(&all[i]), w.WriteRequest(&export.Request{StartNS: uint64(i)}))
			}
			errs = append(errs, w.EndExperiment(&export.Experiment{}), w.WriteScrape(&all[len(all)-1]), w.Close(nil))
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if w.WriteScrape(&all[0]) == nil {
				t.Error("a scrape is taken after Close")
			}
			r := open(t, tt.format, b.Bytes())
			// While requests are read, and again.
			n := 0
			for r.Next() {
				if n++; n == 100 && !slices.Equal(scrapes(t, r), want) {
					t.Error("the telemetry is another one after 100 requests")
				}
				if r.Request().StartNS != uint64(n) {
					t.Fatalf("request %d starts at %d", n, r.Request().StartNS)
				}
			}
			if n != len(all)-2 || r.Err() != nil || !slices.Equal(scrapes(t, r), want) || len(r.Warnings()) > 0 {
				t.Errorf("%d requests, %v, %v", n, r.Err(), r.Warnings())
			}
			stop := errors.New("stop")
			if err := r.Scrapes(t.Context(), func(*export.Scrape) error { return stop }); !errors.Is(err, stop) {
				t.Errorf("Scrapes = %v, want what the callback returned", err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(stop)
			if err := r.Scrapes(ctx, func(*export.Scrape) error { return nil }); !errors.Is(err, stop) {
				t.Errorf("Scrapes = %v, want why the context ended", err)
			}
		})
	}
}

// Damaged telemetry is a warning, not the end of the requests.
func TestTelemetryDamaged(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*fileMetadata)
		want string
	}{
		{"no base64", func(m *fileMetadata) { m.add(pieceKey(0), "!") }, "metadata pa.samples.0: illegal base64"},
		{"no zstd", func(m *fileMetadata) { m.add(pieceKey(0), "AAAA") }, "what follows is left out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			w, err := NewParquetWriter(&b, nil)
			if err != nil {
				t.Fatal(err)
			}
			var m fileMetadata
			tt.edit(&m)
			sink := w.sink.(*parquetSink)
			if err := errors.Join(sink.meta.AppendKeyValueMetadata(m.keys[0], m.values[0]), w.BeginExperiment("concurrency", "1"),
				w.WriteRequest(&export.Request{StartNS: 1}), w.EndExperiment(&export.Experiment{}), w.Close(nil)); err != nil {
				t.Fatal(err)
			}
			r := open(t, Parquet(), b.Bytes())
			if got := scrapes(t, r); len(got) > 0 || !r.Next() {
				t.Errorf("scrapes %q", got)
			}
			if got := fmt.Sprint(r.Warnings()); !strings.Contains(got, tt.want) {
				t.Errorf("warnings %s, want %q", got, tt.want)
			}
		})
	}
}
