package export

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestCrowded(t *testing.T) {
	t.Parallel()
	client := func(d time.Duration, ran, waited, n int64) *ClientMeta {
		return &ClientMeta{DurationNS: int64(d), CPU: &CPUMeta{UserNS: ran / 2, SystemNS: ran - ran/2, Cores: 2, WaitNS: waited, Waits: n}}
	}
	limited := client(time.Second, 1e8, 1.6e8, 1000)
	limited.CPU.ThrottledNS = 0.8e8
	for _, tt := range []struct {
		name string
		m    *ClientMeta
		want string
	}{
		{"no figures", nil, ""},
		{"no CPU time", &ClientMeta{DurationNS: 1e9}, ""},
		{"no waits", client(time.Second, 1e8, 0, 0), ""},
		{"at the ratio", client(time.Second, 1e8, 1.5e8, 10), ""},
		{"above the ratio", client(time.Second, 1e8, 1.6e8, 1000), "other programs kept the cores busy, and pa-record waited for a core 1.6 times as long as it ran, 160 µs at a time"},
		{"of a moment", client(time.Second-1, 1e8, 1.6e8, 1000), ""},
		{"a hundredth of the level", client(10*time.Second, 1e6, 1e8, 10), ""},
		{"more than that", client(10*time.Second, 1e6, 1.01e8, 10), "other programs kept the cores busy, and pa-record waited for a core 101.0 times as long as it ran, 10.1 ms at a time"},
		{"a limit", limited, "the CPU limit of this container (cgroup) stopped pa-record, and pa-record waited for a core 1.6 times as long as it ran, 160 µs at a time"},
		{"nothing ran", client(time.Second, 0, 1e9, 10), ""},
	} {
		if got := tt.m.Crowded(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// The thresholds are the ones of docs/trust.md.
func TestStatedCrowded(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	if crowdedFor != time.Second {
		t.Errorf("crowdedFor is %v; docs/trust.md says a second", crowdedFor)
	}
	want := fmt.Sprintf("more than %v times the CPU time and %.4g %% of a level of at least a second", crowdedRatio, 100*crowdedShare)
	if !strings.Contains(string(text), want) {
		t.Errorf("docs/trust.md lacks %q", want)
	}
}
