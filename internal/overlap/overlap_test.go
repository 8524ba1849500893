package overlap_test

import (
	"bytes"
	"testing"

	"github.com/pa-tools/pa/internal/overlap"
)

func FuzzOverlap(f *testing.F) {
	for _, s := range [][2]string{{"", ""}, {"a", ""}, {"same", "same"}, {"data: {\"t\":1}\n\n", "data: {\"t\":23}\n\n"}, {"0123456789abcdef", "0123456789abcdeX"}, {"X123456789abcdef", "0123456789abcdef"}} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		n := min(len(a), len(b))
		p, s := overlap.Prefix(a, b), overlap.Suffix(a, b)
		if p > n || !bytes.Equal(a[:p], b[:p]) || p < n && a[p] == b[p] {
			t.Errorf("prefix of %q and %q: %d", a, b, p)
		}
		if s > n || !bytes.Equal(a[len(a)-s:], b[len(b)-s:]) || s < n && a[len(a)-s-1] == b[len(b)-s-1] {
			t.Errorf("suffix of %q and %q: %d", a, b, s)
		}
	})
}
