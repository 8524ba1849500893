package plural

import "testing"

func TestOf(t *testing.T) {
	for n, want := range map[int]string{0: "0 requests", 1: "1 request", 2: "2 requests", 11: "11 requests", -1: "-1 requests"} {
		if got := Of(n, "request"); got != want {
			t.Errorf("Of(%d) = %q, want %q", n, got, want)
		}
	}
}
