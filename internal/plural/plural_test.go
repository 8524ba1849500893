package plural

import (
	"math"
	"testing"
	"time"
)

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

func TestForm(t *testing.T) {
	for n, want := range map[int64]string{0: "were", 1: "was", 2: "were", -1: "were"} {
		if got := Form(n, "was", "were"); got != want {
			t.Errorf("Form(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestAll(t *testing.T) {
	for n, want := range map[int]string{2: "both", 3: "all 3", 1200: "all 1,200"} {
		if got := All(n); got != want {
			t.Errorf("All(%d) = %q, want %q", n, got, want)
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

func TestTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 48200 * time.Microsecond: "48.2 ms", -1500 * time.Millisecond: "-1.5 s", 14050: "14.05 µs", 1: "1 ns",
		90 * time.Second: "1m30s", time.Minute: "1m0s", math.MinInt64: "-2562047h47m16.854775808s",
	} {
		if got := Time(d); got != want {
			t.Errorf("Time(%d) = %q, want %q", d, got, want)
		}
	}
}
