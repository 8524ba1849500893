package shards_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// offset is the clock of rank 0 minus the clock of rank 1 in a pair of shards.
const offset = 5000

// pair returns the shards of two ranks with one level of concurrency 4 and a request each. All
// times of rank 1 are on its own clock.
func pair() [2]*memrun.Reader {
	var all [2]*memrun.Reader
	for rank := range all {
		own := func(ns uint64) uint64 { return ns - uint64(rank)*offset }
		s := &export.ShardMeta{Rank: rank, WorldSize: 2, Run: "r", PlanSHA256: "p", DividedBy: export.DividedByRequest}
		if rank == 1 {
			s.OffsetBefore = &export.ClockOffset{OffsetNS: offset, BoundNS: 10, Exchanges: 1}
		}
		all[rank] = &memrun.Reader{
			Header: export.Run{ServiceKind: new("openai"), Meta: &export.RunMeta{
				Schema: export.Schema, Shard: s, Host: &export.HostMeta{Name: string(rune('a' + rank))},
			}, Experiments: []export.Experiment{{
				Mode: export.ModeConcurrency, Value: "4",
				Meta: &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 1}, Share: &export.LevelShare{Value: "2"}},
			}}},
			Requests: [][]export.Request{{{
				ID: uint64(rank + 1), StartNS: own(1_000_000), HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured, Rank: rank,
				Responses: []export.Response{{RecvNS: own(1_000_400)}},
			}}},
		}
	}
	return all
}

// level returns the only level of a shard of pair.
func level(r *memrun.Reader) *export.Experiment { return &r.Header.Experiments[0] }

// merge returns the run of both shards.
func merge(t *testing.T, all [2]*memrun.Reader) *shards.Reader {
	t.Helper()
	m, err := shards.Merge(inMemory(all[:]))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// leftOut reports whether the merged run says that it lacks something for a reason.
func leftOut(m *shards.Reader, text string) bool {
	return slices.ContainsFunc(m.Run().Meta.Merged.LeftOut, func(s string) bool { return strings.Contains(s, text) })
}

func TestJoinedClients(t *testing.T) {
	clients := func() (a, b *export.ClientMeta) {
		a = &export.ClientMeta{
			DurationNS: 10e9, OfferedPerSecond: 10, AchievedPerSecond: 9, HeldBack: 1, Compressed: 4, MaxRSSBytes: 100,
			GC: &export.GCMeta{Cycles: 2, PauseTotalNS: 10, PauseMaxNS: 7}, CPU: &export.CPUMeta{UserNS: 3e9, SystemNS: 1e9, Cores: 2, Share: 0.2, WaitNS: 300, Waits: 4, ThrottledNS: 90},
			Reads: &export.ReadMeta{Responses: 10, Merged: 1}, Stamps: &export.StampCount{Kernel: 9, User: 1, Waited: 1},
		}
		b = &export.ClientMeta{
			DurationNS: 8e9, OfferedPerSecond: 30, AchievedPerSecond: 28, HeldBack: 2, MaxRSSBytes: 200,
			GC: &export.GCMeta{Cycles: 3, PauseTotalNS: 5, PauseMaxNS: 4}, CPU: &export.CPUMeta{UserNS: 2e9, SystemNS: 2e9, Cores: 4, Share: 0.125, WaitNS: 50, Waits: 6, ThrottledNS: 20},
			Reads: &export.ReadMeta{Responses: 20, Merged: 4}, Stamps: &export.StampCount{Kernel: 20},
		}
		return a, b
	}
	// By hand: 8 s of CPU time in 10 s on 2 + 4 cores of two machines, or on the 4 cores of one.
	sum := export.ClientMeta{
		DurationNS: 10e9, OfferedPerSecond: 40, AchievedPerSecond: 37, HeldBack: 3, Compressed: 4, MaxRSSBytes: 300,
		GC: &export.GCMeta{Cycles: 5, PauseTotalNS: 15, PauseMaxNS: 7}, CPU: &export.CPUMeta{UserNS: 5e9, SystemNS: 3e9, Cores: 6, Share: 8. / 60, WaitNS: 350, Waits: 10, ThrottledNS: 110},
		Reads: &export.ReadMeta{Responses: 30, Merged: 5}, Stamps: &export.StampCount{Kernel: 29, User: 1, Waited: 1},
	}
	for _, tt := range []struct {
		name   string
		change func(a, b *export.ClientMeta, all [2]*memrun.Reader)
		want   func(sum *export.ClientMeta)
		reason string
	}{
		{"two machines", func(_, _ *export.ClientMeta, _ [2]*memrun.Reader) {}, func(*export.ClientMeta) {}, ""},
		{
			"one machine", func(_, _ *export.ClientMeta, all [2]*memrun.Reader) { all[1].Header.Meta.Host.Name = "a" },
			func(s *export.ClientMeta) { s.CPU.Cores, s.CPU.Share, s.CPU.ThrottledNS = 4, 0.2, 90 }, "",
		},
		{"a rank without CPU time", func(_, b *export.ClientMeta, _ [2]*memrun.Reader) { b.CPU = nil }, func(s *export.ClientMeta) { s.CPU = nil }, ""},
		{"a rank without its waits", func(a, _ *export.ClientMeta, _ [2]*memrun.Reader) { a.CPU.WaitNS, a.CPU.Waits = 0, 0 }, func(s *export.ClientMeta) { s.CPU.WaitNS, s.CPU.Waits = 0, 0 }, ""},
		{"a rank without its memory", func(a, _ *export.ClientMeta, _ [2]*memrun.Reader) { a.MaxRSSBytes = 0 }, func(s *export.ClientMeta) { s.MaxRSSBytes = 0 }, ""},
		{"a rank without a rate", func(a, _ *export.ClientMeta, _ [2]*memrun.Reader) { a.AchievedPerSecond = 0 }, func(s *export.ClientMeta) { s.AchievedPerSecond = 0 }, ""},
		{"percentiles", func(a, _ *export.ClientMeta, _ [2]*memrun.Reader) { a.Lateness = &export.LatencySummary{N: 1} }, func(*export.ClientMeta) {}, "percentiles of several ranks cannot be combined"},
		{"file descriptors", func(_, b *export.ClientMeta, _ [2]*memrun.Reader) { b.FDs = &export.FDMeta{} }, func(*export.ClientMeta) {}, "each process has a limit of its own"},
		{"a rank without figures", func(_, _ *export.ClientMeta, all [2]*memrun.Reader) { level(all[1]).Meta.Client = nil }, nil, "some ranks have none"},
	} {
		all := pair()
		a, b := clients()
		level(all[0]).Meta.Client, level(all[1]).Meta.Client = a, b
		tt.change(a, b, all)
		m := merge(t, all)
		got := m.Run().Experiments[0].Meta.Client
		if tt.want == nil {
			if got != nil {
				t.Errorf("%s: %+v", tt.name, got)
			}
		} else {
			want := sum
			cpu := *sum.CPU
			want.CPU = &cpu
			if tt.want(&want); got == nil || !reflect.DeepEqual(*got, want) {
				t.Errorf("%s: got %+v, want %+v", tt.name, got, want)
			}
		}
		if tt.reason != "" && !leftOut(m, tt.reason) || tt.reason == "" && len(m.Run().Meta.Merged.LeftOut) > 0 {
			t.Errorf("%s: left out %q, want %q", tt.name, m.Run().Meta.Merged.LeftOut, tt.reason)
		}
	}
}

// The warnings of ranks that may be the limit keep their kind and name the ranks.
func TestJoinedSaturation(t *testing.T) {
	busy, slow := export.SaturationWarning+"97 % of the CPU time was used", export.SaturationWarning+"requests were late"
	all := pair()
	level(all[0]).Meta.Warnings = []string{busy, slow}
	level(all[1]).Meta.Warnings = []string{slow}
	m := merge(t, all)
	want := []string{busy + " (rank 0)", slow + " (both ranks)"}
	if got := m.Run().Experiments[0].Meta.Warnings; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	rep, err := analyze.Run(t.Context(), m, analyze.Config{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, w := range rep.Experiments[0].Warnings {
		if x := analyze.AsWarning(w); x.Kind == analyze.KindClient {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d warnings about the client, want 2: %v", n, rep.Experiments[0].Warnings)
	}
}

// A server whose metrics both ranks read is kept once; a tool of each machine is kept twice.
func TestJoinedTelemetry(t *testing.T) {
	const server, tool = "http://s:8000/metrics", "nvidia-smi"
	set := func(r *memrun.Reader, host string, failed int, values map[string]float64) {
		for _, name := range []string{server, tool} {
			where := "s"
			if name == tool {
				where = host
			}
			x := export.TelemetrySource{Source: name, Host: where, Scrapes: 1, Series: 1}
			scrape := export.Scrape{Source: name, StartNS: 2000, EndNS: 2010, Samples: []export.Sample{{Series: &export.Series{Source: name, Name: "load"}, Value: values[name]}}}
			if name == server && failed > 0 {
				x.Failed, scrape.Samples, scrape.Error = 1, nil, "refused"
			}
			r.Header.Meta.Telemetry = append(r.Header.Meta.Telemetry, x)
			r.Telemetry = append(r.Telemetry, scrape)
		}
	}
	type value struct {
		source string
		start  uint64
		load   float64
	}
	for _, tt := range []struct {
		name   string
		failed int // scrapes of the server by rank 0
		want   []value
	}{
		{"both read the server", 0, []value{{server, 2000, 1}, {tool + " on a", 2000, 2}, {tool + " on b", 2000 + offset, 20}}},
		{"only rank 1 could read it", 1, []value{{tool + " on a", 2000, 2}, {server, 2000 + offset, 10}, {tool + " on b", 2000 + offset, 20}}},
	} {
		all := pair()
		set(all[0], "a", tt.failed, map[string]float64{server: 1, tool: 2})
		set(all[1], "b", 0, map[string]float64{server: 10, tool: 20})
		m := merge(t, all)
		var got []value
		err := m.Scrapes(t.Context(), func(s *export.Scrape) error {
			if s.EndNS != s.StartNS+10 || s.Samples[0].Series.Source != s.Source {
				t.Errorf("%s: scrape %+v", tt.name, s)
			}
			got = append(got, value{s.Source, s.StartNS, s.Samples[0].Value})
			return nil
		})
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, %v, want %v", tt.name, got, err, tt.want)
		}
		if n := len(m.Run().Meta.Telemetry); n != len(tt.want) || !leftOut(m, "metrics of "+server+" that further ranks read") {
			t.Errorf("%s: %d sources, left out %q", tt.name, n, m.Run().Meta.Merged.LeftOut)
		}
	}
}

// The pauses of all ranks are on rank 0's clock, in the order of time.
func TestJoinedPauses(t *testing.T) {
	all := pair()
	all[0].Header.Meta.Pauses = []export.Pause{{StartNS: 9000, EndNS: 9500, DurationNS: 500, Cause: export.PauseStopped}}
	all[1].Header.Meta.Pauses = []export.Pause{{StartNS: 1000, EndNS: 1200, DurationNS: 200, Cause: export.PauseSuspended}}
	want := []export.Pause{
		{StartNS: 6000, EndNS: 6200, DurationNS: 200, Cause: export.PauseSuspended, Rank: 1},
		{StartNS: 9000, EndNS: 9500, DurationNS: 500, Cause: export.PauseStopped},
	}
	if got := merge(t, all).Run().Meta.Pauses; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The windows of ranks are joined where they are the same ones; the counters of the server
// belong to them.
func TestJoinedWindows(t *testing.T) {
	const t0 = 1_000_000
	stats := &export.ServerStats{Snapshots: []export.StatsSnapshot{{StartNS: t0, EndNS: t0 + 1}}}
	for _, tt := range []struct {
		name    string
		a, b    []uint64 // on rank 0's clock
		want    []uint64
		windows string // reason why the windows are left out; "" if they are joined
		stats   bool   // the counters are kept
	}{
		{"the same", []uint64{t0, t0 + 1000, t0 + 2000}, []uint64{t0, t0 + 1000, t0 + 2000}, []uint64{t0, t0 + 1000, t0 + 2000}, "", true},
		{"less than 1 % of the shortest apart", []uint64{t0, t0 + 1000, t0 + 2000}, []uint64{t0 + 4, t0 + 996, t0 + 2009}, []uint64{t0, t0 + 1000, t0 + 2009}, "", true},
		{"more than 1 % apart", []uint64{t0, t0 + 1000, t0 + 2000}, []uint64{t0 - 11, t0 + 1000, t0 + 2000}, []uint64{t0 - 11, t0 + 2000}, "the ranks have different ones", false},
		{"another number", []uint64{t0, t0 + 1000}, []uint64{t0, t0 + 500, t0 + 1500}, []uint64{t0, t0 + 1500}, "the ranks have different ones", false},
		{"one window each", []uint64{t0, t0 + 1000}, []uint64{t0 + 300, t0 + 1700}, []uint64{t0, t0 + 1700}, "", true},
		{"a rank without", []uint64{t0, t0 + 1000}, nil, nil, "rank 1 has none", false},
	} {
		all := pair()
		for rank, bounds := range [][]uint64{tt.a, tt.b} {
			for _, ns := range bounds {
				level(all[rank]).WindowBoundaries = append(level(all[rank]).WindowBoundaries, ns-uint64(rank)*offset)
			}
			s := *stats
			s.Protocol = string(rune('a' + rank))
			level(all[rank]).Meta.ServerStats = &s
		}
		m := merge(t, all)
		e := &m.Run().Experiments[0]
		if !slices.Equal(e.WindowBoundaries, tt.want) {
			t.Errorf("%s: windows %v, want %v", tt.name, e.WindowBoundaries, tt.want)
		}
		if tt.windows != "" && !leftOut(m, tt.windows) || leftOut(m, "the measurement windows of") != (tt.windows != "") {
			t.Errorf("%s: left out %q", tt.name, m.Run().Meta.Merged.LeftOut)
		}
		switch got := e.Meta.ServerStats; {
		case tt.stats && (got == nil || got.Protocol != "a" || got.Snapshots[0].StartNS != t0 || !leftOut(m, "rank 0 read them too, and a server counts the requests of all ranks")):
			t.Errorf("%s: counters %+v, left out %q", tt.name, got, m.Run().Meta.Merged.LeftOut)
		case !tt.stats && (got != nil || !leftOut(m, "the measurement windows to which they belong were not joined")):
			t.Errorf("%s: counters %+v, left out %q", tt.name, got, m.Run().Meta.Merged.LeftOut)
		}
	}
	// Counters that only rank 1 has are on rank 0's clock.
	all := pair()
	level(all[1]).Meta.ServerStats = stats
	if got := merge(t, all).Run().Experiments[0].Meta.ServerStats; got == nil || got.Snapshots[0].StartNS != t0+offset || stats.Snapshots[0].StartNS != t0 {
		t.Errorf("counters of rank 1: %+v", got)
	}
}

// A part that is shorter than the bound of the clocks is n/a, with the reason.
func TestBelowTheBound(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bound  int64
		cfg    analyze.Config
		rates  bool   // requests per second are known
		reason string // of the problem of the level, or of rates that are n/a
	}{
		{"above", 399, analyze.Config{}, true, ""},
		{"a level", 401, analyze.Config{}, false, "the level of 0.0000004s is n/a: the clocks of the ranks agree only within 0.000000401s"},
		{"a window", 201, analyze.Config{Windows: analyze.Windows{Every: 200}}, false, "a window of 0.0000002s is n/a: the clocks of the ranks agree only within 0.000000201s"},
		{"a window at the bound", 200, analyze.Config{Windows: analyze.Windows{Every: 200}}, true, ""},
		{"a part", 301, analyze.Config{Selection: analyze.Selection{Window: &analyze.Interval{To: 300}}}, false, "a part of 0.0000003s is n/a"},
		{"not compared", -1, analyze.Config{Windows: analyze.Windows{Every: 200}}, false, "a window is n/a: the clocks of the ranks were not compared"},
	} {
		all := pair()
		all[1].Header.Meta.Shard.OffsetBefore.BoundNS = tt.bound
		if tt.bound < 0 {
			all[1].Header.Meta.Shard.OffsetBefore = nil
			all[1].Requests[0][0].StartNS += offset
			all[1].Requests[0][0].Responses[0].RecvNS += offset
		}
		rep, err := analyze.Run(t.Context(), merge(t, all), tt.cfg)
		if err != nil {
			t.Fatal(err)
		}
		e := &rep.Experiments[0]
		why := ""
		if e.Problem != nil {
			why = e.Problem.Error()
		}
		for _, u := range e.Unavailable {
			if u.Key == "throughput" {
				why += u.Why
			}
		}
		// By hand: 2 requests in 400 ns.
		if got := e.Throughput.Requests; got.OK != tt.rates || got.OK && math.Abs(got.PerSecond-2/400e-9) > 1 {
			t.Errorf("%s: requests per second %+v", tt.name, got)
		}
		if tt.reason == "" && why != "" || !strings.Contains(why, tt.reason) {
			t.Errorf("%s: reason %q, want %q", tt.name, why, tt.reason)
		}
	}
}
