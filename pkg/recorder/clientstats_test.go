package recorder

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// exchange returns an exchange of slot worker, issued, started and ended at the given
// milliseconds.
func exchange(worker int, issued, start, end uint64) *backend.Exchange {
	return &backend.Exchange{
		Request: export.Request{
			Worker: worker, IssuedNS: issued * ms, StartNS: start * ms, FailedNS: end*ms + 7, Status: export.StatusOK, Reused: true,
			Responses: []export.Response{{RecvNS: end * ms, Source: export.SourceKernel}},
		},
	}
}

func TestClientStats(t *testing.T) {
	v := startClientStats()
	add := func(x *backend.Exchange) { v.Add(x, countStamps(x)) }
	add(exchange(0, 1, 2, 10))
	packed := exchange(1, 1, 4, 20)
	packed.Compressed = true
	add(packed)
	add(exchange(0, 11, 15, 30)) // 5 after the end of the slot's last
	failed := exchange(0, 31, 32, 40)
	failed.Request.Status = export.StatusTruncated
	add(failed)                  // 2 after
	add(exchange(0, 90, 91, 99)) // after a failure the slot waits: no turnaround
	fresh := exchange(0, 100, 150, 160)
	fresh.Request.Reused = false
	fresh.Request.DNS, fresh.Request.Connect, fresh.Request.TLS = 1e6, 20e6, 24e6
	add(fresh) // 51 after, 45 of them to connect
	ahead := exchange(0, 161, 162, 170)
	ahead.Request.Reused, ahead.Request.Connect = false, 20e6
	add(ahead) // connected before it was issued: 2 after
	never := exchange(1, 21, 0, 0)
	never.Request.Status, never.Request.Responses, never.Request.StartNS = export.StatusConnectError, nil, 0
	add(never)
	got := v.Finish(nil)
	want := &export.ClientMeta{
		Turnaround:        &export.LatencySummary{N: 4, P50NS: 2e6, P99NS: 6e6, MaxNS: 6e6},
		IssueToStart:      &export.LatencySummary{N: 7, P50NS: 1e6, P99NS: 5e6, MaxNS: 5e6},
		AchievedPerSecond: 7 / 0.168, Compressed: 1,
		Reads: &export.ReadMeta{}, Stamps: &export.StampCount{Kernel: 7},
	}
	near := cmp.Comparer(func(a, b int64) bool { return a >= b && a <= b+b/64 || b >= a && b <= a+a/64 })
	got.DurationNS, got.GC, got.SchedLatencyP99NS, got.CPU, got.MaxRSSBytes, got.FDs = 0, nil, 0, nil, 0, nil
	if d := cmp.Diff(want, got, near); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// The requests that close sequences when a schedule is over do not add to its rate.
func TestClosingRequestsAreNoRate(t *testing.T) {
	const ms = 1_000_000
	v := startClientStats()
	for i := range uint64(4) {
		x := exchange(int(i), 100*i, 100*i+100, 100*i+110)
		x.Request.ScheduledNS = (100*i + 100) * ms
		v.Add(x, countStamps(x))
		closing := exchange(int(i), 401, 420+i, 430+i)
		v.Add(closing, countStamps(closing))
	}
	if m := v.Finish(&load.Offered{Requests: 4, FromNS: 100 * ms, UntilNS: 400 * ms}); m.AchievedPerSecond != 10 || m.OfferedPerSecond != 10 {
		t.Errorf("%v of %v requests/s, want 10 of 10", m.AchievedPerSecond, m.OfferedPerSecond)
	}
}

// A role before the first token and what is behind the last may come with it.
func TestStatsReads(t *testing.T) {
	for _, tt := range []struct {
		name        string
		reads       []uint32
		first, last int // token
		want        export.ReadMeta
	}{
		{"each its own", []uint32{0, 1, 2, 3}, 0, 3, export.ReadMeta{Responses: 4}},
		{"a role and the end with tokens", []uint32{0, 0, 1, 2, 2, 2}, 1, 3, export.ReadMeta{Responses: 3}},
		{"two tokens", []uint32{0, 1, 1, 2}, 0, 3, export.ReadMeta{Responses: 4, Merged: 1}},
		{"all at once", []uint32{0, 0, 0}, 0, 2, export.ReadMeta{Responses: 3, Merged: 2}},
	} {
		v := &clientStats{process: startProcessWatch(), ends: make([]uint64, 1)}
		x := exchange(0, 1, 2, 3)
		x.Request.Responses = nil
		for i, n := range tt.reads {
			x.Request.Responses = append(x.Request.Responses, export.Response{Read: n})
			if tt.first <= i && i <= tt.last {
				x.Tokens.Add(i)
			}
		}
		v.Add(x, countStamps(x))
		if v.reads != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, v.reads, tt.want)
		}
	}
}

func TestSaturation(t *testing.T) {
	second := int64(time.Second)
	for _, tt := range []struct {
		name   string
		m      export.ClientMeta
		median time.Duration
		want   []string
	}{
		{"nothing known", export.ClientMeta{}, 0, nil},
		{"idle", export.ClientMeta{
			DurationNS: second, CPU: &export.CPUMeta{Cores: 2, Share: 0.89}, Turnaround: &export.LatencySummary{N: 100, P99NS: 10e6},
			Reads: &export.ReadMeta{Responses: 100, Merged: 1}, GC: &export.GCMeta{PauseMaxNS: 10e6}, FDs: &export.FDMeta{Open: 89, Limit: 100},
		}, 0, nil},
		{"CPU", export.ClientMeta{DurationNS: second, CPU: &export.CPUMeta{Cores: 2, Share: 0.9}}, 0, []string{"it used 90% of the time of its 2 cores; give it more cores, or send less load"}},
		{"CPU of a moment", export.ClientMeta{DurationNS: second - 1, CPU: &export.CPUMeta{Cores: 2, Share: 1}}, 0, nil},
		{"turnaround", export.ClientMeta{Turnaround: &export.LatencySummary{N: 100, P99NS: 10_100_000}}, 0, []string{"1 in 100 requests was sent more than 10.1 ms after the previous request had ended (at most 10 ms is expected)"}},
		{"the same, of long requests", export.ClientMeta{Turnaround: &export.LatencySummary{N: 100, P99NS: 10_100_000}}, 2 * time.Second, nil},
		{"the same, of few", export.ClientMeta{Turnaround: &export.LatencySummary{N: 99, P99NS: 10_100_000}}, 0, nil},
		{"reads of few", export.ClientMeta{Reads: &export.ReadMeta{Responses: 99, Merged: 19}}, 0, nil},
		{"a hundredth of the reads", export.ClientMeta{Reads: &export.ReadMeta{Responses: 2000, Merged: 20}}, 0, nil},
		{"lateness", export.ClientMeta{Lateness: &export.LatencySummary{N: 100, P99NS: 1_210_000}}, 0, []string{"1 in 100 requests was sent more than 1.2 ms after it was due (at most 1 ms is expected)"}},
		{"lateness of few", export.ClientMeta{Lateness: &export.LatencySummary{N: 99, P99NS: 1_210_000}}, 0, nil},
		{"pause", export.ClientMeta{GC: &export.GCMeta{PauseMaxNS: 12_340_000}}, 0, []string{"a garbage collection stopped it for 12.3 ms"}},
		{"descriptors", export.ClientMeta{FDs: &export.FDMeta{Open: 90, Limit: 100}}, 0, []string{"90 of 100 file descriptors are open; raise ulimit -n"}},
	} {
		var got []string
		for _, s := range saturation(&tt.m, tt.median) {
			rest, ok := strings.CutPrefix(s, "the client may be the limit: ")
			if !ok {
				t.Errorf("%s: %q does not say whom it is about", tt.name, s)
			}
			got = append(got, rest)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Limited is true for the reasons that concern the client, from the first moment on.
func TestLimited(t *testing.T) {
	add := func(v *clientStats, turnaround uint64) {
		for i := range uint64(101) {
			x := exchange(0, 0, i*1000+turnaround, i*1000+1000)
			v.Add(x, countStamps(x))
		}
	}
	quick, slow := startClientStats(), startClientStats()
	add(quick, 3)
	add(slow, 30)
	if quick.Limited(0) {
		t.Error("a turnaround of 3 ms limits the client")
	}
	if !slow.Limited(0) {
		t.Error("a turnaround of 30 ms does not limit the client")
	}
	if slow.Limited(4 * time.Second) {
		t.Error("a turnaround of 30 ms limits the client, though requests take 4 s")
	}
	merged := startClientStats()
	merged.reads = export.ReadMeta{Responses: 1000, Merged: 500} // perhaps by the server
	if merged.Limited(0) {
		t.Error("merged reads limit the client")
	}
}

// A schedule that was not met gives a warning with the reason. With few requests, the last one
// alone decides.
func TestSaturationShortfall(t *testing.T) {
	const of = "98.9 of the 100 requests per second that were asked for were sent"
	for _, tt := range []struct {
		name     string
		achieved float64
		n        int
		heldBack int
		want     string
	}{
		{"enough", 99, 1000, 0, ""},
		{"the client", 98.9, 100, 0, export.SaturationWarning + of + "; give it more cores, or lower the rate"},
		{"few", 98.9, 99, 0, ""},
		{"the ceiling", 98.9, 4, 7, of + ": 7 had to wait, because the most requests allowed were in flight"},
		{"the ceiling, caught up with", 99.5, 1000, 7, ""},
	} {
		m := &export.ClientMeta{OfferedPerSecond: 100, AchievedPerSecond: tt.achieved, HeldBack: tt.heldBack, Lateness: &export.LatencySummary{N: tt.n}}
		if got := strings.Join(saturation(m, 0), "; "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// When responses share a read, the client cannot know whether the server or the client was late.
func TestSaturationReads(t *testing.T) {
	const want = "21 of 2,000 tokens arrived together with the previous one, so their gaps are unknown; either the server sends them together or this machine is overloaded: try a lower load"
	got := saturation(&export.ClientMeta{Reads: &export.ReadMeta{Responses: 2000, Merged: 21}}, 0)
	if !slices.Equal(got, []string{want}) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Compression can hold tokens back, and nobody asked for it.
func TestSaturationCompressed(t *testing.T) {
	const want = "1,200 answers came compressed, which pa-record does not ask for; compression can hold tokens back: switch it off in the server or the proxy"
	if got := saturation(&export.ClientMeta{Compressed: 1200}, 0); !slices.Equal(got, []string{want}) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Responses that waited for a missing packet are no fault of the client, and not silent.
func TestSaturationWaited(t *testing.T) {
	const want = "2 of 12,800 responses waited for a lost or reordered packet; their times are when pa-record read them"
	x := &backend.Exchange{Waited: 2, Request: export.Request{Responses: []export.Response{{Source: export.SourceUser}, {Source: export.SourceUser}, {Source: export.SourceKernel}}}}
	stamps := countStamps(x)
	if want := (export.StampCount{Kernel: 1, User: 2, Waited: 2}); stamps != want {
		t.Errorf("stamps %+v, want %+v", stamps, want)
	}
	stamps.Merge(export.StampCount{Kernel: 12_797})
	if got := saturation(&export.ClientMeta{Stamps: &stamps}, 0); !slices.Equal(got, []string{want}) {
		t.Errorf("%q, want %q", got, want)
	}
}
