package export

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestPossibleRun(t *testing.T) {
	t.Parallel()
	const start = 1_796_021_544_000_000_000
	bound, below := int64(5), int64(-5)
	level := func(mode, value string, m *ExperimentMeta) *Run {
		return &Run{Experiments: []Experiment{{Mode: ModeConcurrency, Value: "1"}, {Mode: mode, Value: value, Meta: m}}}
	}
	merged := func(m MergedMeta) *Run { return &Run{Meta: &RunMeta{Merged: &m}} }
	for _, tt := range []struct {
		want string
		run  *Run
	}{
		{"", &Run{}},
		{"", &Run{Meta: &RunMeta{StartNS: start}}},
		{"", &Run{Meta: &RunMeta{StartNS: start, EndNS: start + 9}}},
		{"pa.start_ns is 1796021544000000000 and pa.end_ns is 1796021543999999999", &Run{Meta: &RunMeta{StartNS: start, EndNS: start - 1}}},
		{"pa.start_ns is 9223372036854775807 and pa.end_ns is 0", &Run{Meta: &RunMeta{StartNS: math.MaxInt64}}},
		{"pa.start_ns is 1 and pa.end_ns is 1796021544000000000", &Run{Meta: &RunMeta{StartNS: 1, EndNS: start}}},
		{"", merged(MergedMeta{WorldSize: 3, Shards: []MergedShard{{}, {Rank: 2}}, ClockBoundNS: &bound})},
		{"pa.merged.world_size is -4", merged(MergedMeta{WorldSize: -4, Shards: []MergedShard{{}}})},
		{"pa.merged.world_size is 1", merged(MergedMeta{WorldSize: 1, Shards: []MergedShard{{}, {Rank: 1}}})},
		{"pa.merged.shards[1].rank is -1", merged(MergedMeta{WorldSize: 2, Shards: []MergedShard{{}, {Rank: -1}}})},
		{"pa.merged.shards[0].bound_ns is -5", merged(MergedMeta{WorldSize: 2, Shards: []MergedShard{{BoundNS: &below}}})},
		{"pa.merged.clock_bound_ns is -5", merged(MergedMeta{WorldSize: 2, Shards: []MergedShard{{}}, ClockBoundNS: &below})},
		{"", level(ModeRequestRate, "7.5", &ExperimentMeta{StartNS: start, EndNS: start + 1, RequestCounts: RequestCounts{Measured: 3}})},
		{"", level("custom", "-7", nil)},
		{"", level(ModeConcurrency, "many", nil)},
		{"experiment 1: concurrency is -7", level(ModeConcurrency, "-7", nil)},
		{"experiment 1: concurrency is 1e300", level(ModeConcurrency, "1e300", nil)},
		{"experiment 1: request_rate is 1e300", level(ModeRequestRate, "1e300", nil)},
		{"experiment 1: request_rate is 1e999", level(ModeRequestRate, "1e999", nil)},
		{"experiment 1: request_rate is nan", level(ModeRequestRate, "nan", nil)},
		{"experiment 1: pa.measured is 9223372036854775807; experiment 1: pa.late is -1", level(ModeRequestRate, "7", &ExperimentMeta{RequestCounts: RequestCounts{Measured: math.MaxInt64, Late: -1}})},
		{"experiment 1: pa.start_ns is 9 and pa.end_ns is 8", level(ModeRequestRate, "7", &ExperimentMeta{StartNS: 9, EndNS: 8})},
	} {
		got, wrong := tt.run.Possible()
		if text := strings.Join(wrong, "; "); text != tt.want {
			t.Errorf("%q, want %q", text, tt.want)
		}
		if (got == tt.run) != (tt.want == "") || tt.want != "" && reflect.DeepEqual(got, tt.run) {
			t.Errorf("%q: the run is the same: %t", tt.want, got == tt.run)
		}
		if again, wrong := got.Possible(); again != got || wrong != nil {
			t.Errorf("%s: the rest cannot be true either: %q", tt.want, wrong)
		}
	}
}

func TestPossibleCalibrationLoad(t *testing.T) {
	t.Parallel()
	c := &Calibration{Services: []CalibratedService{{Service: "a", Streams: -7}, {Service: "b", Streams: 2}, {Service: "c", TokensPerSecond: 1e300}}}
	got, wrong := c.Possible()
	if len(wrong) != 2 || wrong[0] != "the load of a is -7 streams of 0 tokens/s, 0 tokens a request, 0 rounds" || len(got.Services) != 1 || got.Services[0].Service != "b" {
		t.Errorf("%+v, %q", got.Services, wrong)
	}
	if len(c.Services) != 3 || c.Services[0].Service != "a" {
		t.Error("the calibration of the file changed")
	}
}
