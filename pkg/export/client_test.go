package export

import (
	"math"
	"strings"
	"testing"
)

func TestPossibleClient(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want string
		m    ClientMeta
	}{
		{"", ClientMeta{DurationNS: 5, AchievedPerSecond: 3, CPU: &CPUMeta{Cores: 1, Share: 1.001}, FDs: &FDMeta{Limit: math.MaxUint64}, Turnaround: &LatencySummary{P99NS: 7, MaxNS: 6}}},
		{"cpu.cores is 0", ClientMeta{CPU: &CPUMeta{Share: 0.5}}},
		{"cpu.share is NaN", ClientMeta{CPU: &CPUMeta{Cores: 1, Share: math.NaN()}}},
		{"cpu.share is 1e+308", ClientMeta{CPU: &CPUMeta{Cores: 1, Share: 1e308}}},
		{"cpu is 9223372036854775807 ns and 1 ns", ClientMeta{CPU: &CPUMeta{Cores: 1, UserNS: math.MaxInt64, SystemNS: 1}}},
		{"", ClientMeta{CPU: &CPUMeta{Cores: 1, WaitNS: 5e9, Waits: 3}}},
		{"cpu.wait_ns is -1 in 3 waits", ClientMeta{CPU: &CPUMeta{Cores: 1, WaitNS: -1, Waits: 3}}},
		{"cpu.wait_ns is 9223372036854775807 in 3 waits", ClientMeta{CPU: &CPUMeta{Cores: 1, WaitNS: math.MaxInt64, Waits: 3}}},
		{"cpu.throttled_ns is -1", ClientMeta{CPU: &CPUMeta{Cores: 1, WaitNS: 5, Waits: 3, ThrottledNS: -1}}},
		{"cpu.throttled_ns is 9223372036854775807", ClientMeta{CPU: &CPUMeta{Cores: 1, ThrottledNS: math.MaxInt64}}},
		{"cpu.wait_ns is 5 in -3 waits", ClientMeta{CPU: &CPUMeta{Cores: 1, WaitNS: 5, Waits: -3}}},
		{"held_back is -3; compressed is -1", ClientMeta{HeldBack: -3, Compressed: -1}},
		{"duration_ns is -1", ClientMeta{DurationNS: -1}},
		{"offered_requests_per_s is +Inf", ClientMeta{OfferedPerSecond: math.Inf(1)}},
		{"held_back is -3", ClientMeta{HeldBack: -3}},
		{"compressed is -1", ClientMeta{Compressed: -1}},
		{"lateness is -9223372036854775808", ClientMeta{Lateness: &LatencySummary{P50NS: math.MinInt64}}},
		{"turnaround is 9223372036854775807", ClientMeta{Turnaround: &LatencySummary{MaxNS: math.MaxInt64}}},
		{"gc is -1 cycles, 0 ns in all, 0 ns at most", ClientMeta{GC: &GCMeta{Cycles: -1}}},
		{"max_rss_bytes is -5", ClientMeta{MaxRSSBytes: -5}},
		{"fds.open is -1", ClientMeta{FDs: &FDMeta{Open: -1}}},
		{"reads is 4 merged of 3", ClientMeta{Reads: &ReadMeta{Responses: 3, Merged: 4}}},
		{"stamps is 9 waited of 2", ClientMeta{Stamps: &StampCount{User: 2, Waited: 9}}},
	} {
		got, wrong := tt.m.Possible()
		if text := strings.Join(wrong, "; "); text != tt.want {
			t.Errorf("%q, want %q", text, tt.want)
		}
		if tt.want == "" && got != &tt.m {
			t.Error("a copy of figures that can be true")
		}
		if again, wrong := got.Possible(); again != got || wrong != nil {
			t.Errorf("%s: the rest cannot be true either: %q", tt.want, wrong)
		}
	}
	var none *ClientMeta
	if got, wrong := none.Possible(); got != nil || wrong != nil {
		t.Errorf("%v, %q of nothing", got, wrong)
	}
}

func TestPossibleCalibration(t *testing.T) {
	t.Parallel()
	c := &Calibration{Services: []CalibratedService{{Service: "openai", Recordings: []CalibratedRecording{
		{Stamps: "kernel", Receive: &ClockError{MedianNS: -5, P99NS: 9}, Start: &ClockError{P99NS: -1}},
	}}}}
	got, wrong := c.Possible()
	if r := got.Services[0].Recordings[0]; r.Receive == nil || r.Start != nil || len(wrong) != 1 || wrong[0] != "the p99 error of openai with kernel stamps is -1 ns" {
		t.Errorf("%+v, %q", r, wrong)
	}
	if c.Services[0].Recordings[0].Start == nil {
		t.Error("the calibration of the file changed")
	}
	if again, wrong := got.Possible(); again != got || wrong != nil {
		t.Errorf("%q again", wrong)
	}
}
