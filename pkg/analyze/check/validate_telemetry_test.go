package check

import (
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
)

// found are the violations of a file, after a change to it.
func found(t *testing.T, change func(*memrun.Reader)) (got []string) {
	t.Helper()
	r := memrun.New("", []export.Request{memrun.At(1000, 1010)})
	r.Header.Meta = &export.RunMeta{}
	r.Header.Experiments[0].Meta = &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 1}}
	change(r)
	if _, err := Validate(t.Context(), r, ValidateConfig{}, func(v Violation) { got = append(got, v.String()) }); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestValidateTelemetry(t *testing.T) {
	typed := func(kind, name string) *export.Series { return &export.Series{Source: "s", Type: kind, Name: name} }
	a, b, gauge, mean := typed("counter", "a"), typed("counter", "b"), typed("gauge", "g"), typed("counter", "llamacpp:n_busy_slots_per_decode")
	bucket, sum, started := typed("histogram", "h_bucket"), typed("histogram", "h_sum"), typed("gauge", export.ProcessStartMetric)
	foreign := &export.Series{Source: "other", Name: "f"}
	at := func(ns uint64, samples ...export.Sample) export.Scrape {
		return export.Scrape{Source: "s", StartNS: ns, EndNS: ns + 5, Samples: samples}
	}
	is := func(s *export.Series, v float64) export.Sample { return export.Sample{Series: s, Value: v} }
	left := func(s export.Scrape, n int) export.Scrape {
		s.LeftOut = n
		return s
	}
	for _, tt := range []struct {
		name    string
		scrapes []export.Scrape
		sources []export.TelemetrySource
		want    []string
	}{
		{"nothing wrong", []export.Scrape{at(10, is(a, 1), is(gauge, 5)), at(15, is(a, 1), is(gauge, 2)), at(30, is(a, 7))}, []export.TelemetrySource{{Source: "s", Scrapes: 3, Series: 2}}, nil},
		{
			"scrapes of which nothing or not all was kept",
			[]export.Scrape{left(at(10, is(a, 1)), 2), left(at(20), 3), at(30)},
			[]export.TelemetrySource{{Source: "s", Scrapes: 3, Series: 1, LeftOut: 5, Emptied: 1}},
			nil,
		},
		{
			"scrapes that lack other than the file says",
			[]export.Scrape{left(at(10, is(a, 1)), 2), left(at(20), 3)},
			[]export.TelemetrySource{{Source: "s", Scrapes: 2, Series: 2, LeftOut: 4, Emptied: 1}},
			[]string{
				"the file states 4 samples of s as left out, all of 1 scrape, and its scrapes state 5, all of 1",
				"the file's metadata counts 2 series of s, but the file holds 1",
			},
		},
		{"answered before it was asked for", []export.Scrape{{Source: "s", StartNS: 10, EndNS: 9}}, nil, []string{"scrape 0 of s was answered at 9, 1 ns before it was asked for"}},
		{"out of order", []export.Scrape{at(20), at(10)}, nil, []string{"scrape 1 of s at 10 is 15 ns before the end of the previous scrape"}},
		{"sources have an order each", []export.Scrape{at(20), {Source: "o", StartNS: 10, EndNS: 30}, at(25)}, nil, nil},
		{"a counter that falls", []export.Scrape{at(10, is(a, 5), is(b, 5)), at(20, is(a, 4), is(b, 6))}, nil, []string{"scrape 1 of s: counter a fell from 5 to 4, though the source was not started again; counters that went on: 1"}},
		{"a histogram's bucket that falls", []export.Scrape{at(10, is(bucket, 5), is(b, 5)), at(20, is(bucket, 4), is(b, 5))}, nil, []string{"scrape 1 of s: counter h_bucket fell from 5 to 4, though the source was not started again; counters that went on: 1"}},
		{"a histogram's sum may fall", []export.Scrape{at(10, is(sum, 5), is(b, 5)), at(20, is(sum, 4), is(b, 5))}, nil, nil},
		{"all begin anew: started again", []export.Scrape{at(10, is(a, 5), is(b, 5)), at(20, is(a, 1), is(b, 0))}, nil, nil},
		{"it says that it was started again", []export.Scrape{at(10, is(a, 5), is(b, 5), is(started, 1)), at(20, is(a, 1), is(b, 9), is(started, 2))}, nil, nil},
		{"it says that it was not", []export.Scrape{at(10, is(a, 5), is(b, 5), is(started, 1)), at(20, is(a, 1), is(b, 9), is(started, 1))}, nil, []string{"scrape 1 of s: counter a fell from 5 to 1, though the source was not started again; counters that went on: 1"}},
		{"what llama.cpp calls a counter", []export.Scrape{at(10, is(mean, 5), is(b, 5)), at(20, is(mean, 1), is(b, 9))}, nil, nil},
		{"an unknown type", []export.Scrape{at(10, is(typed("countre", "x"), 1))}, nil, []string{`scrape 0 of s: series x has the unknown type "countre"`}},
		{"a series of another source", []export.Scrape{at(10, is(foreign, 1))}, nil, []string{"scrape 0 of s: series f is of another source, other"}},
		{"twice", []export.Scrape{at(10, is(gauge, 1), is(gauge, 2))}, nil, []string{"scrape 0 of s has two values of g"}},
		{"failed with samples", []export.Scrape{{Source: "s", StartNS: 1, EndNS: 2, Error: "x", Samples: []export.Sample{is(gauge, 1)}}}, nil, []string{"scrape 0 of s failed and has 1 sample"}},
		{
			"counts of sources",
			[]export.Scrape{at(10), {Source: "o", StartNS: 10, EndNS: 30}},
			[]export.TelemetrySource{{Source: "s", Scrapes: 1, Failed: 1}, {Source: "p", Scrapes: 2}},
			[]string{
				"the file's metadata counts 1 scrape of s (1 failed), but the file holds 1 (0 failed)", "the file's metadata counts 2 scrapes of p (0 failed), but the file holds 0 (0 failed)",
				"there are scrapes of o, which is not a telemetry source of the run",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := found(t, func(r *memrun.Reader) { r.Telemetry, r.Header.Meta.Telemetry = tt.scrapes, tt.sources })
			if !slices.Equal(got, tt.want) {
				t.Errorf("violations\n%q, want\n%q", got, tt.want)
			}
		})
	}
}

func TestValidateServerStats(t *testing.T) {
	snap := func(edge export.StatsEdge, window int, ns, inferences, failed uint64) export.StatsSnapshot {
		return export.StatsSnapshot{Edge: edge, Window: window, StartNS: ns, EndNS: ns + 5, Stats: []export.ModelStats{{
			Name: "m", Version: "1", InferenceCount: inferences, InferenceStats: export.InferenceStats{Fail: export.CountNS{Count: failed}},
		}}}
	}
	for _, tt := range []struct {
		name string
		s    export.ServerStats
		want []string
	}{
		{"nothing wrong", export.ServerStats{Models: []export.ServerModel{{Name: "m", Composing: []int{0}}}, Snapshots: []export.StatsSnapshot{
			snap(export.EdgeLevel, 0, 10, 1, 0), snap(export.EdgeMeasure, 0, 20, 1, 1), snap(export.EdgeWindow, 0, 30, 4, 1), snap(export.EdgeEnd, 0, 40, 4, 1),
		}}, nil},
		{"out of order", export.ServerStats{Snapshots: []export.StatsSnapshot{snap(export.EdgeLevel, 0, 20, 1, 0), snap(export.EdgeMeasure, 0, 10, 1, 1)}}, []string{`experiment 0: statistics at the edge "measure" at 10 are 10 ns before the statistics at the edge "level"`}},
		{"answered before", export.ServerStats{Snapshots: []export.StatsSnapshot{{Edge: export.EdgeLevel, StartNS: 5, EndNS: 4}}}, []string{`experiment 0: statistics at the edge "level" were there at 4, 1 ns before they were asked for`}},
		{"a counter that falls", export.ServerStats{Snapshots: []export.StatsSnapshot{snap(export.EdgeLevel, 0, 10, 5, 3), snap(export.EdgeMeasure, 0, 20, 4, 3)}}, []string{`experiment 0: statistics at the edge "measure": inference_count fell from 5 to 4 of model "m" version 1, though the model was not loaded again; counters that went on: 1`}},
		{"a model that was loaded again", export.ServerStats{Snapshots: []export.StatsSnapshot{snap(export.EdgeLevel, 0, 10, 5, 3), snap(export.EdgeMeasure, 0, 20, 1, 0)}}, nil},
		{"an edge and a window that there are not", export.ServerStats{Snapshots: []export.StatsSnapshot{snap("dawn", 0, 10, 0, 0), snap(export.EdgeWindow, 1, 20, 0, 0)}}, []string{`experiment 0: statistics at an unknown edge "dawn"`, `experiment 0: statistics at the edge "window" 1: the level has 1 window`}},
		{"composed of nothing", export.ServerStats{Models: []export.ServerModel{{Name: "m", Composing: []int{1}}}}, []string{`experiment 0: model "m" is composed of model 1 of 1`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := found(t, func(r *memrun.Reader) {
				r.Header.Experiments[0].WindowBoundaries = []uint64{0, 2000}
				r.Header.Experiments[0].Meta.ServerStats = &tt.s
			})
			if !slices.Equal(got, tt.want) {
				t.Errorf("violations\n%q, want\n%q", got, tt.want)
			}
		})
	}
}
