package export_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

func TestBetween(t *testing.T) {
	stat := func(name, version string, n uint64) export.ModelStats {
		return export.ModelStats{
			Name: name, Version: version, LastInference: n, InferenceCount: 8 * n, ExecutionCount: n,
			InferenceStats: export.InferenceStats{Success: export.CountNS{Count: n, NS: 100 * n}, Queue: export.CountNS{Count: n, NS: 10 * n}},
			BatchStats:     []export.BatchStats{{BatchSize: 8, ComputeInfer: export.CountNS{Count: n, NS: 50 * n}}},
		}
	}
	begin := &export.StatsSnapshot{Stats: []export.ModelStats{stat("m", "1", 5), stat("m", "2", 7), stat("again", "1", 9), stat("unloaded", "1", 1), stat("idle", "1", 3)}}
	end := &export.StatsSnapshot{Stats: []export.ModelStats{stat("m", "1", 6), stat("m", "2", 10), stat("again", "1", 2), stat("new", "1", 1), stat("idle", "1", 3)}}
	end.Stats[0].BatchStats = append(end.Stats[0].BatchStats, export.BatchStats{BatchSize: 4, ComputeInfer: export.CountNS{Count: 2, NS: 20}})
	got, reset := export.Between(begin, end)
	one, three := stat("m", "1", 1), stat("m", "2", 3)
	one.LastInference, three.LastInference = 6, 10
	one.BatchStats = append(one.BatchStats, export.BatchStats{BatchSize: 4, ComputeInfer: export.CountNS{Count: 2, NS: 20}})
	want := []export.ModelStats{one, three, {Name: "idle", Version: "1"}}
	if !reflect.DeepEqual(got, want) || !reset {
		t.Errorf("Between = %+v, %v\nwant %+v, true", got, reset, want)
	}
	if got, reset := export.Between(begin, begin); len(got) != 5 || reset {
		t.Errorf("from a snapshot to itself: %+v, %v", got, reset)
	}
	// Counters near the end of 64 bits.
	end.Stats[0].InferenceStats.Success.NS = math.MaxUint64
	if got, _ := export.Between(begin, end); got[0].InferenceStats.Success.NS != math.MaxUint64-500 {
		t.Errorf("%+v", got[0])
	}
}

func TestServerStatsWindow(t *testing.T) {
	s := export.ServerStats{Snapshots: []export.StatsSnapshot{
		{Edge: export.EdgeLevel, StartNS: 1},
		{Edge: export.EdgeMeasure, StartNS: 2},
		{Edge: export.EdgeWindow, StartNS: 3},
		{Edge: export.EdgeWindow, Window: 2, StartNS: 5},
		{Edge: export.EdgeEnd, StartNS: 6},
	}}
	ns := func(x *export.StatsSnapshot) uint64 {
		if x == nil {
			return 0
		}
		return x.StartNS
	}
	for i, want := range [][2]uint64{{2, 3}, {3, 0}, {0, 5}, {5, 0}} {
		begin, end := s.Window(i)
		if got := [2]uint64{ns(begin), ns(end)}; got != want {
			t.Errorf("window %d: %v, want %v", i, got, want)
		}
	}
}

func TestSeriesString(t *testing.T) {
	for want, s := range map[string]export.Series{
		"up":                       {Name: "up"},
		`up{a="b",c="\"d\\\n"}`:    {Name: "up", Labels: []export.Label{{Name: "a", Value: "b"}, {Name: "c", Value: "\"d\\\n"}}},
		`vllm:x_bucket{le="+Inf"}`: {Name: "vllm:x_bucket", Labels: []export.Label{{Name: "le", Value: "+Inf"}}},
	} {
		if got := s.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCountNSMean(t *testing.T) {
	if ns, ok := (export.CountNS{Count: 4, NS: 10}).MeanNS(); ns != 2.5 || !ok {
		t.Errorf("%v, %v", ns, ok)
	}
	if _, ok := (export.CountNS{NS: 10}).MeanNS(); ok {
		t.Error("the mean of nothing")
	}
}
