package resultfile

import (
	"strings"
	"testing"
)

// countText counts a pattern that lies in two pieces of the file, too.
func TestCountText(t *testing.T) {
	for _, size := range []int{0, 1, 2, 1 << 10, 1<<20 - 1, 1 << 20, 1<<20 + 3} {
		text := strings.Repeat("abc", size/3+1)[:size]
		f := &File{ctx: t.Context(), Name: "x", Src: strings.NewReader(text), size: int64(len(text))}
		if n, err := f.CountText("bca"); err != nil || int(n) != strings.Count(text, "bca") {
			t.Errorf("%d bytes: %d, %v, want %d", size, n, err, strings.Count(text, "bca"))
		}
	}
}
