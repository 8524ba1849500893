package profilejson

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// generate returns an export of n requests with about chunks server-sent
// events each, of the size and with the escapes of an OpenAI server's. It is a
// function of its arguments.
func generate(n, chunks int) []byte {
	b := []byte(`{"experiments":[{"experiment":{"mode":"concurrency","value":8},"requests":[`)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendGenerated(b, i, chunks)
	}
	return append(b, generatedTail...)
}

const generatedTail = `],"window_boundaries":[1700000000000000000,1700000009000000000]}],` +
	`"version":"2.60.0","service_kind":"openai","endpoint":"v1/chat/completions"}`

func appendGenerated(b []byte, i, chunks int) []byte {
	rng := rand.New(rand.NewPCG(1, uint64(i)))
	words := []string{"the", " quick", " brown", " fox", "\n", " “jumps”", ",", " over", " \"the\"", " lazy", " dog", "."}
	at := 1700000000000000000 + uint64(i)*1000003
	b = append(b, `{"timestamp":`...)
	b = strconv.AppendUint(b, at, 10)
	b = append(b, `,"request_inputs":{"payload":`...)
	b = appendText(b, fmt.Appendf(nil, `{"model":"llama","messages":[{"role":"user","content":"Tell me about number %d."}],"max_tokens":%d,"stream":true}`, i, chunks))
	b = append(b, `},"response_timestamps":[`...)
	n := chunks/2 + rng.IntN(chunks+1)
	for k := range n {
		if k > 0 {
			b = append(b, ',')
		}
		at += uint64(8_000_000 + rng.IntN(4_000_000))
		b = strconv.AppendUint(b, at, 10)
	}
	b = append(b, `],"response_outputs":[`...)
	for k := range n {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"response":`...)
		b = appendText(b, fmt.Appendf(nil, "data: {\"id\":\"chatcmpl-%016x\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"llama\","+
			"\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"logprobs\":null,\"finish_reason\":null}]}\n\n", rng.Uint64(), words[rng.IntN(len(words))]))
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

// generateTimes returns an export as perf_analyzer 23.09 wrote it, without
// inputs and outputs.
func generateTimes(n, chunks int) []byte {
	b := []byte(`{"experiments":[{"experiment":{"mode":"concurrency","value":8},"requests":[`)
	at := uint64(1700000000000000000)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendUint(append(b, `{"timestamp":`...), at, 10), `,"response_timestamps":[`...)
		for k := range chunks {
			if k > 0 {
				b = append(b, ',')
			}
			at += uint64(k) * 1234567
			b = strconv.AppendUint(b, at, 10)
		}
		b = append(b, `]}`...)
	}
	return append(b, `],"window_boundaries":[1,2]}],"version":"2.38.0"}`...)
}

func BenchmarkReader(b *testing.B) {
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"openai", generate(1000, 100)},
		{"times", generateTimes(20000, 100)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			requests := 0
			for b.Loop() {
				r, err := NewReader(context.Background(), "bench.json", bytes.NewReader(c.data), int64(len(c.data)), export.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				requests = 0
				for r.Next() {
					requests++
				}
				if r.Err() != nil || requests == 0 {
					b.Fatal(requests, r.Err())
				}
			}
			b.ReportMetric(float64(requests), "requests/op")
		})
	}
}

func BenchmarkHeader(b *testing.B) {
	data := generate(1000, 100)
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"one experiment", data},
		{"whole file", bytes.Replace(data, []byte(`"requests"`), []byte(`"\u0072equests"`), 1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			for b.Loop() {
				if _, err := NewReader(context.Background(), "bench.json", bytes.NewReader(c.data), int64(len(c.data)), export.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWriter(b *testing.B) {
	data := generate(200, 100)
	r, err := NewReader(context.Background(), "bench.json", bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	var requests []*export.Request
	for r.Next() {
		requests = append(requests, r.Request().Clone())
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		w := NewWriter(io.Discard)
		if err := w.BeginExperiment("concurrency", "8"); err != nil {
			b.Fatal(err)
		}
		for _, x := range requests {
			if err := w.WriteRequest(x); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.EndExperiment(&r.Run().Experiments[0]); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(r.Run()); err != nil {
			b.Fatal(err)
		}
	}
}
