package plural

import "testing"

func TestOf(t *testing.T) {
	for n, want := range map[int]string{0: "0 requests", 1: "1 request", 2: "2 requests", 11: "11 requests", 12345: "12345 requests", -1: "-1 requests"} {
		if got := Of(n, "request"); got != want {
			t.Errorf("Of(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestGroupedOf(t *testing.T) {
	for n, want := range map[int64]string{0: "0 requests", 1: "1 request", 999: "999 requests", 12345: "12,345 requests", -1: "-1 requests"} {
		if got := GroupedOf(n, "request"); got != want {
			t.Errorf("GroupedOf(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := Grouped(n); got != want {
			t.Errorf("Grouped(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestThem(t *testing.T) {
	for n, want := range map[int]string{1: "it", 2: "them"} {
		if got := Them(n); got != want {
			t.Errorf("Them(%d) = %q, want %q", n, got, want)
		}
	}
}
