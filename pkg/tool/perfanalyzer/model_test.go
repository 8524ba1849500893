package perfanalyzer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

// snapshot has n requests of each model so far, which took n µs each in all parts.
func snapshot(edge export.StatsEdge, window int, counts map[[2]string]uint64) export.StatsSnapshot {
	s := export.StatsSnapshot{Edge: edge, Window: window}
	for _, id := range [][2]string{{"b", "1"}, {"top", "1"}, {"top", "2"}, {"a", "1"}} {
		n, ok := counts[id]
		if !ok {
			continue
		}
		s.Stats = append(s.Stats, export.ModelStats{Name: id[0], Version: id[1], InferenceCount: n, ExecutionCount: n, InferenceStats: all(n).InferenceStats})
	}
	return s
}

func all(n uint64) Stats {
	c := export.CountNS{Count: n, NS: n * 1000}
	return Stats{n, n, export.InferenceStats{Success: c, Queue: c, ComputeInput: c, ComputeInfer: c, ComputeOutput: c}}
}

func TestModelsOf(t *testing.T) {
	one, two, b, a := [2]string{"top", "1"}, [2]string{"top", "2"}, [2]string{"b", "1"}, [2]string{"a", "1"}
	pipeline := []export.ServerModel{
		{Name: "top", Platform: "ensemble", Composing: []int{1, 2}}, {Name: "b", Version: "1", ResponseCache: true}, {Name: "a", Version: "1"},
	}
	edges := []export.StatsSnapshot{
		snapshot(export.EdgeLevel, 0, map[[2]string]uint64{one: 1}),
		snapshot(export.EdgeMeasure, 0, map[[2]string]uint64{one: 10, two: 0, a: 5, b: 6}),
		snapshot(export.EdgeWindow, 0, map[[2]string]uint64{one: 20, two: 0, a: 15, b: 16}),
		snapshot(export.EdgeWindow, 1, map[[2]string]uint64{one: 30, two: 0, a: 25, b: 26}),
		snapshot(export.EdgeWindow, 2, map[[2]string]uint64{one: 40, two: 0, a: 35, b: 36}),
		snapshot(export.EdgeWindow, 3, map[[2]string]uint64{one: 55, two: 0, a: 45, b: 47}),
		snapshot(export.EdgeEnd, 0, map[[2]string]uint64{one: 99}),
	}
	looped := []export.ServerModel{{Name: "top", Composing: []int{0, 7}}}
	for _, tt := range []struct {
		name    string
		stats   *export.ServerStats
		windows int
		want    []Model
		err     string
	}{
		{name: "nobody asked", windows: 3},
		{name: "no model", stats: &export.ServerStats{}, windows: 3},
		{
			name: "the only window", stats: &export.ServerStats{Models: pipeline[2:], Snapshots: edges}, windows: 1,
			want: []Model{{Name: "a", Version: "1", Stats: all(10)}},
		},
		{
			name: "the last three of four windows; of two versions the one that is used; composing models by name", stats: &export.ServerStats{Models: pipeline, Snapshots: edges}, windows: 4,
			want: []Model{{Name: "top", Version: "1", Stats: all(35), ResponseCache: true, Composing: []Model{
				{Name: "a", Version: "1", Stats: all(30)}, {Name: "b", Version: "1", Stats: all(31)},
			}}},
		},
		{
			name: "two models that were asked, one of which is part of the other", windows: 1,
			stats: &export.ServerStats{Snapshots: edges, Models: []export.ServerModel{pipeline[0], {Name: "b", Version: "1", Asked: true}, pipeline[2]}},
			want: []Model{
				{Name: "top", Version: "1", Stats: all(10), Composing: []Model{{Name: "a", Version: "1", Stats: all(10)}, {Name: "b", Version: "1", Stats: all(10)}}},
				{Name: "b", Version: "1", Stats: all(10)},
			},
		},
		{name: "an edge is missing", stats: &export.ServerStats{Models: pipeline, Snapshots: edges[:5], Errors: []string{"no route"}}, windows: 4, err: "edges of all windows: no route"},
		{name: "restarted", stats: &export.ServerStats{Models: pipeline, Snapshots: []export.StatsSnapshot{edges[2], edges[1]}}, windows: 1, err: "edges"},
		{
			name: "counters went back", windows: 1, err: "reset",
			stats: &export.ServerStats{Models: pipeline, Snapshots: []export.StatsSnapshot{edges[1], snapshot(export.EdgeWindow, 0, map[[2]string]uint64{one: 3})}},
		},
		{name: "another model", stats: &export.ServerStats{Models: []export.ServerModel{{Name: "x"}}, Snapshots: edges}, windows: 1, err: `no statistics of the model "x"`},
		{name: "no windows", stats: &export.ServerStats{Models: pipeline, Snapshots: edges}, windows: 0, err: "edges"},
		{name: "a file in which a model is its own part", stats: &export.ServerStats{Models: looped, Snapshots: edges}, windows: 1, want: []Model{{
			Name: "top", Version: "1", Stats: all(10), Composing: []Model{{Name: "top", Version: "1", Stats: all(10)}},
		}}},
	} {
		if tt.name == "restarted" {
			tt.stats.Snapshots = tt.stats.Snapshots[:1]
		}
		got, err := ModelsOf(tt.stats, tt.windows)
		if err == nil != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if Decoupled(nil) || Decoupled(&export.ServerStats{}) || !Decoupled(&export.ServerStats{Models: []export.ServerModel{{Decoupled: true}}}) {
		t.Error("a decoupled model is not known by the statistics")
	}
}
