package recorder

import (
	"runtime"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

func TestParseSchedstat(t *testing.T) {
	for _, tt := range []struct {
		text string
		want coreWait
		ok   bool
	}{
		{"41199400 44335654 77\n", coreWait{44335654, 77}, true},
		{"0 0 0\n", coreWait{}, true},
		{"", coreWait{}, false},
		{"1 2", coreWait{}, false},
		{"1 2 3 4", coreWait{}, false},
		{"1 two 3", coreWait{}, false},
		{"1 -2 3", coreWait{}, false},
		{"1 2 -3", coreWait{}, false},
		{"1 99999999999999999999 3", coreWait{}, false},
	} {
		if got, ok := parseSchedstat([]byte(tt.text)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q: %v, %v, want %v, %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzParseSchedstat(f *testing.F) {
	f.Add([]byte("41199400 44335654 77\n"))
	f.Add([]byte("1 -2 3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if w, ok := parseSchedstat(text); ok && (w.ns < 0 || w.n < 0) {
			t.Errorf("%q: %v", text, w)
		}
	})
}

// A thread that began counts in full, one that ended does not count, and neither does a lower number of one that
// another thread has taken.
func TestAddCoreWaits(t *testing.T) {
	before := map[string]coreWait{"1": {100, 10}, "2": {50, 5}, "3": {70, 7}}
	now := map[string]coreWait{"1": {130, 14}, "3": {4, 2}, "4": {5, 1}}
	var got export.CPUMeta
	addCoreWaits(&got, before, now)
	if got.WaitNS != 30+4+5 || got.Waits != 4+2+1 {
		t.Errorf("%d ns in %d waits, want 39 ns in 7", got.WaitNS, got.Waits)
	}
}

func TestReadCoreWaits(t *testing.T) {
	all := readCoreWaits()
	if runtime.GOOS != "linux" && len(all) > 0 {
		t.Errorf("%v: where do they come from?", all)
	}
	for name := range all {
		if !strings.HasPrefix(name, "/proc/self/task/") {
			t.Errorf("%q is no thread of this process", name)
		}
	}
}

// Other programs that kept the cores busy are the cause of tokens that arrived together, and no warning without them.
func TestSaturationCrowded(t *testing.T) {
	m := export.ClientMeta{
		DurationNS: 2e9, CPU: &export.CPUMeta{UserNS: 1e8, Cores: 2, Share: 0.025, WaitNS: 4.8e8, Waits: 1000},
		Reads: &export.ReadMeta{Responses: 2000, Merged: 600},
	}
	const want = "600 of 2,000 tokens arrived together with the previous one, so their gaps are unknown; other programs kept the cores busy, so that pa-record read late: measure from another machine, or give pa-record cores of its own (taskset, or a cpuset)"
	if got := saturation(&m, 0); len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	m.Reads.Merged = 0
	if got := saturation(&m, 0); got != nil {
		t.Errorf("no merged tokens: %q", got)
	}
}
