//go:build !race

package tokenizer

import (
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// TestLongRunsGrowLinearly checks that eight times the text takes less than 24 times as
// long, with every kind of tokenizer; a quadratic step would take 64 times. It compares
// durations within one goroutine, so there is nothing for the race detector to find.
func TestLongRunsGrowLinearly(t *testing.T) {
	const most, attempts = 24, 100
	small := 1 << 13 / testenv.Stride(8)
	large := 8 * small
	for _, v := range readConformance(t).Tokenizers {
		tok, err := Parse("tokenizer.json", v.Tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		for _, unit := range []string{"a", " "} {
			took := func(size int) time.Duration {
				text := strings.Repeat(unit, size)
				start := time.Now()
				tok.Count(text)
				return time.Since(start)
			}
			took(small) // makes room
			var a, b time.Duration
			for range attempts { // one undisturbed attempt is enough
				if a, b = took(small), took(large); b <= most*a {
					break
				}
			}
			if b > most*a {
				t.Errorf("%s, %q: %d bytes take %v, %d take %v", v.Name, unit, small, a, large, b)
			}
		}
	}
}
