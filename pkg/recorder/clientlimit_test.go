package recorder

import (
	"testing"
	"testing/fstest"

	"github.com/pa-tools/pa/pkg/export"
)

func TestReadThrottled(t *testing.T) {
	const v2 = "usage_usec 900\nnr_periods 7\nnr_throttled 3\nthrottled_usec 250\nnr_bursts 0\n"
	const v1 = "nr_periods 7\nnr_throttled 3\nthrottled_time 881680339\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no cgroups", nil, 0},
		{"version 2 in a container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.stat": v2}, 250_000},
		{"version 2, the limit is above", map[string]string{"proc/self/cgroup": "0::/bench.slice/run-1.scope\n", "sys/fs/cgroup/bench.slice/cpu.stat": v2, "sys/fs/cgroup/bench.slice/run-1.scope/cpu.stat": "usage_usec 9\nthrottled_usec 0\n"}, 250_000},
		{"version 1", map[string]string{"proc/self/cgroup": "9:name=systemd:/\n2:cpuacct:/x\n1:cpu:/docker/a:b\n0::/\n", "sys/fs/cgroup/cpu/docker/a:b/cpu.stat": v1, "sys/fs/cgroup/cpuacct/x/cpu.stat": "throttled_time 99999999999\n"}, 881_680_339},
		{"version 1 in a container", map[string]string{"proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n", "sys/fs/cgroup/cpu,cpuacct/cpu.stat": v1}, 881_680_339},
		{"cores are not CPU time", map[string]string{"proc/self/cgroup": "4:cpuset:/\n", "sys/fs/cgroup/cpuset/cpu.stat": v1}, 0},
		{"no limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.stat": "usage_usec 900\n"}, 0},
		{"outside of the file system", map[string]string{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/x/cpu.stat": v2}, 250_000},
	} {
		root := fstest.MapFS{}
		for name, text := range tt.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := readThrottledNS(root); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func FuzzParseThrottled(f *testing.F) {
	f.Add([]byte("nr_periods 7\nthrottled_usec 250\n"))
	f.Add([]byte("throttled_time 881680339"))
	f.Add([]byte("throttled_usec -1\nthrottled_usec 9223372036854775807\nthrottled_usec\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if ns := parseThrottledNS(text); ns < 0 {
			t.Errorf("%q: %d", text, ns)
		}
	})
}

// A CPU limit is named as the cause where it made for half of the waiting.
func TestSaturationLimited(t *testing.T) {
	m := export.ClientMeta{
		DurationNS: 2e9, CPU: &export.CPUMeta{UserNS: 1e8, Cores: 2, Share: 0.025, WaitNS: 4.8e8, Waits: 1000, ThrottledNS: 2.4e8},
		Reads: &export.ReadMeta{Responses: 2000, Merged: 600},
	}
	const want = "600 of 2,000 tokens arrived together with the previous one, so their gaps are unknown; the CPU limit of this container (cgroup) stopped pa-record, so that it read late: raise the limit, or measure from another machine"
	if got := saturation(&m, 0); len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	m.CPU.ThrottledNS--
	if got := saturation(&m, 0); len(got) != 1 || got[0] == want {
		t.Errorf("less than half: %q", got)
	}
}
