//go:build unix

package journal

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// BenchmarkWriteRequest records requests of 100 events into a file, with a flush after every 200 of
// them. cpu-ns/op is the time of all goroutines.
func BenchmarkWriteRequest(b *testing.B) {
	w, err := newTestWriter(filepath.Join(b.TempDir(), "x.json"), false)
	if err != nil {
		b.Fatal(err)
	}
	if err := w.Open(b.Context(), &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}); err != nil {
		b.Fatal(err)
	}
	defer w.Discard()
	r := &export.Request{HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured, StartNS: 1.7e18}
	for i := range 100 {
		text := fmt.Sprintf(`data: {"id":"chatcmpl-0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token%d"},"logprobs":null,"finish_reason":null}]}`+"\n\n", i)
		r.Responses = append(r.Responses, export.Response{RecvNS: r.StartNS + uint64(i)*1e7, Source: export.SourceKernel, Read: uint32(i), Outputs: export.Fields{{Name: "response", Value: export.Text(text)}}})
	}
	if err := w.BeginExperiment("concurrency", "1"); err != nil {
		b.Fatal(err)
	}
	cpu := func() int64 {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return u.Utime.Nano() + u.Stime.Nano()
	}
	b.ReportAllocs()
	before, n := cpu(), 0
	for b.Loop() {
		r.ID++
		if err := w.WriteRequest(r); err != nil {
			b.Fatal(err)
		}
		if n++; n%200 == 0 {
			if err := w.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(n), "cpu-ns/op")
}
