package diff

import (
	"testing"

	"github.com/pa-tools/pa/pkg/analyze"
)

// BenchmarkRead is what a run of 2000 requests of 50 tokens costs to read, as a
// value among several and with all that a comparison of single runs needs.
func BenchmarkRead(b *testing.B) {
	m := recipe{seed: 1, requests: 2000, tokens: 50, ttft: 30, itl: 20, prompts: 100}.make()
	for name, cfg := range map[string]analyze.Config{"several": {}, "single": {Series: true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				again := &memory{run: m.run, requests: m.requests}
				if _, err := Read(b.Context(), "run", again, cfg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCompare compares two such runs.
func BenchmarkCompare(b *testing.B) {
	var runs [2]*Run
	for i := range runs {
		var err error
		m := recipe{seed: uint64(i), requests: 2000, tokens: 50, ttft: 30, itl: 20, prompts: 100}.make()
		if runs[i], err = Read(b.Context(), "run", m, analyze.Config{Series: true}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if res := Compare(runs[:1], runs[1:], Options{}); len(res.Levels) != 1 {
			b.Fatal("nothing compared")
		}
	}
}
