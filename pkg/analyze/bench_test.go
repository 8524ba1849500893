package analyze

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// chatsExport returns a file of streamed chats of 100 tokens each.
func chatsExport(b *testing.B, chats int) []byte {
	b.Helper()
	const start, tokens = 1_700_000_000_000_000_000, 100
	var file bytes.Buffer
	w := profilejson.NewWriter(&file)
	err := w.BeginExperiment(export.ModeConcurrency, "8")
	for i := range chats {
		at := uint64(start + i*50e6)
		r := openaiRequest(role)
		for k := range tokens {
			r.Responses = append(r.Responses, openaiRequest(delta(fmt.Sprintf(" word%d", i+k))).Responses...)
		}
		r.StartNS = at
		for k := range r.Responses {
			r.Responses[k].RecvNS = at + 80e6 + uint64(k)*11e6
		}
		if err == nil {
			err = w.WriteRequest(&r)
		}
	}
	if err == nil {
		err = w.EndExperiment(&export.Experiment{})
	}
	kind, endpoint := "openai", "v1/chat/completions"
	if err == nil {
		err = w.Close(&export.Run{ServiceKind: &kind, Endpoint: &endpoint})
	}
	if err != nil {
		b.Fatal(err)
	}
	return file.Bytes()
}

// Run reads and analyzes an export, from its bytes to the report.
func BenchmarkRun(b *testing.B) {
	const chats = 200
	file := chatsExport(b, chats)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := profilejson.NewReader(b.Context(), "run.json", bytes.NewReader(file), int64(len(file)), export.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		rep, err := Run(b.Context(), r, Config{})
		if err != nil || rep.Experiments[0].OK != chats || rep.Experiments[0].Metric(answer.ITL).N != chats*99 {
			b.Fatalf("%+v, %v", rep.Experiments, err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSample adds a value for each request and describes the sample.
func BenchmarkSample(b *testing.B) {
	const n = 100_000
	rng := rand.New(rand.NewPCG(1, 2))
	ints, floats := make([]int64, n), make([]float64, n)
	for i := range n {
		ints[i], floats[i] = rng.Int64N(1e9), rng.Float64()
	}
	b.Run("int64", func(b *testing.B) { benchmarkSample(b, ints) })
	b.Run("float64", func(b *testing.B) { benchmarkSample(b, floats) })
}

func benchmarkSample[T int64 | float64](b *testing.B, values []T) {
	b.SetBytes(8 * int64(len(values)))
	b.ReportAllocs()
	for b.Loop() {
		var s summary.Sample[T]
		for _, v := range values {
			s.AddOne(v)
		}
		if d := s.Summary(); d.N != len(values) {
			b.Fatal(d.N)
		}
	}
}
