package columnar

import (
	"bytes"
	"io"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

func requestBytes(r *export.Request) int64 {
	return int64(fieldBytes(r.Inputs) + len(r.Responses)*(30+fieldBytes(r.Responses[0].Outputs)))
}

// BenchmarkWriter writes requests of 100 events.
func BenchmarkWriter(b *testing.B) {
	for _, f := range testFormats {
		b.Run(f.name, func(b *testing.B) {
			r := memrun.Typical(100)
			w, err := f.writer(io.Discard)
			if err != nil {
				b.Fatal(err)
			}
			if err := w.BeginExperiment("concurrency", "1"); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(requestBytes(r))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				r.ID++
				if err := w.WriteRequest(r); err != nil {
					b.Fatal(err)
				}
				n++
			}
			if err := w.EndExperiment(&export.Experiment{}); err != nil {
				b.Fatal(err)
			}
			if err := w.Close(nil); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// BenchmarkReader reads 2000 requests of 100 events.
func BenchmarkReader(b *testing.B) {
	const n = 2000
	for _, f := range testFormats {
		b.Run(f.name, func(b *testing.B) {
			r := memrun.Typical(100)
			res := &result{run: &export.Run{Experiments: []export.Experiment{{Mode: "concurrency", Value: "1"}}}}
			for range n {
				res.requests = append(res.requests, r)
				res.level = append(res.level, 0)
			}
			var out bytes.Buffer
			w, err := f.writer(&out)
			if err != nil {
				b.Fatal(err)
			}
			if err := res.write(w, nil); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(n * requestBytes(r))
			b.ReportAllocs()
			for b.Loop() {
				src := f.open(b, out.Bytes())
				rows := 0
				for src.Next() {
					rows++
				}
				if src.Err() != nil || rows != n {
					b.Fatal(rows, src.Err())
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			b.ReportMetric(float64(out.Len())/n, "B/request")
		})
	}
}
