package heap

import "testing"

func TestAvailableBytes(t *testing.T) {
	for _, tt := range []struct {
		text string
		want uint64
		ok   bool
	}{
		{"MemTotal:       24576 kB\nMemFree:        1 kB\nMemAvailable:   16384 kB\nBuffers: 2 kB\n", 16 << 20, true},
		{"MemTotal:       24576 kB\nMemFree:        1 kB\n", 0, false}, // before Linux 3.14
		{"MemAvailable:\n", 0, false},
		{"MemAvailable:   99999999999999999999 kB\n", 0, false},
		{"MemAvailable:   -7 kB\n", 0, false},
		{"", 0, false},
	} {
		if n, ok := availableBytes([]byte(tt.text)); ok != tt.ok || ok && n != tt.want {
			t.Errorf("%q: got %d, %t, want %d, %t", tt.text, n, ok, tt.want, tt.ok)
		}
	}
	if n, ok := FreeBytes(); !ok || n < 1<<20 || n > 1<<50 {
		t.Errorf("this machine: %d bytes, %t", n, ok)
	}
}
