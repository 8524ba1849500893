package columnar

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// typical returns a request with n server-sent events of about 230 bytes.
func typical(n int) *export.Request {
	r := &export.Request{
		ID: 1, StartNS: 1700000000000000000, SentNS: 1700000000000001000, Status: export.StatusOK, Phase: export.PhaseMeasured, HasMeta: true,
		Inputs: export.Fields{{Name: "payload", Value: export.Text(strings.Repeat(`{"prompt":"x"}`, 40))}},
	}
	for i := range n {
		text := fmt.Sprintf(`data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token%d"},"logprobs":null,"finish_reason":null}]}`+"\n\n", i)
		r.Responses = append(r.Responses, export.Response{
			RecvNS: 1700000000000000000 + uint64(i)*10_000_000 + uint64(i*i%7919), Source: export.SourceKernel, Read: uint32(i), Final: i == n-1,
			Outputs: export.Fields{{Name: "response", Value: export.Text(text)}},
		})
	}
	return r
}

func requestBytes(r *export.Request) int64 {
	return int64(fieldBytes(r.Inputs) + len(r.Responses)*(30+fieldBytes(r.Responses[0].Outputs)))
}

// BenchmarkWriter writes requests of 100 events.
func BenchmarkWriter(b *testing.B) {
	for _, f := range testFormats {
		b.Run(f.name, func(b *testing.B) {
			r := typical(100)
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
			r := typical(100)
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
