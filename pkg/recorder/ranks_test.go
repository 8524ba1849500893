package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/ranks"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A worldWriter also keeps the experiment of each request.
type worldWriter struct {
	memWriter
	experimentOf []int
	closed       int
}

func (w *worldWriter) WriteRequest(r *export.Request) error {
	w.experimentOf = append(w.experimentOf, len(w.experiments)-1)
	return w.memWriter.WriteRequest(r)
}

func (w *worldWriter) Close(run *export.Run) error {
	w.closed++
	return w.memWriter.Close(run)
}

// A rankRun is the outcome of one rank of recordWorld.
type rankRun struct {
	w     *worldWriter
	res   *Result
	err   error
	ahead time.Duration // of the rank's clock
}

// worldOptions changes what recordWorld does.
type worldOptions struct {
	timeout time.Duration
	absent  int                                           // rank that never comes; 0: none
	each    func(rank int, cfg *Config, fake *fakeServer) // changes the configuration of a rank
}

// recordWorld records a run of size ranks in this process, whose clocks differ by
// seconds. The configurations are equal to the last bit. With size 1 it records alone.
func recordWorld(t *testing.T, size int, cfg func() Config, o worldOptions) []rankRun {
	t.Helper()
	first := make(chan *ranks.Session, 1)
	runs := make([]rankRun, size)
	var running sync.WaitGroup
	for rank := range size {
		if rank == o.absent && rank > 0 {
			continue
		}
		r := &runs[rank]
		r.ahead = time.Duration(rank*rank) * 1234567891 * time.Nanosecond
		running.Go(func() {
			c := cfg()
			r.w = &worldWriter{}
			c.Clock = rxclock.NewAhead(r.ahead)
			fake := &fakeServer{answer: ok(2 * time.Millisecond), clock: c.Clock}
			c.Backend = &fakeTalker{fakeServer: fake}
			c.Writer, c.Run = r.w, export.Run{Meta: &export.RunMeta{Schema: export.Schema}}
			if size > 1 {
				bc := ranks.Config{World: ranks.World{Rank: rank, Size: size, Launcher: "flags"}, Addr: "127.0.0.1:0", Timeout: cmp.Or(o.timeout, 20*time.Second)}
				if rank > 0 {
					s := <-first
					first <- s
					bc.Addr = s.Addr()
				}
				s, err := ranks.Join(t.Context(), bc)
				if err != nil {
					r.err = err
					return
				}
				defer s.Close()
				if rank == 0 {
					first <- s
				}
				c.Ranks = &Ranks{World: bc.World, Barrier: s, Run: s.ID(), Plan: []byte("plan")}
			}
			if o.each != nil {
				o.each(rank, &c, fake)
			}
			r.res, r.err = Run(t.Context(), c)
		})
	}
	running.Wait()
	return runs
}

// request is what must be equal in the union of the ranks' exports and in the export of
// one process.
type request struct {
	id      uint64
	input   string
	phase   export.Phase
	session string
	turn    int
	due     time.Duration // after the first request of its level; 0 without a schedule
}

// union returns the requests of all runs, by their ids. Instants of different ranks count
// from the begin that they share.
func union(runs []rankRun) (all []request) {
	for _, r := range runs {
		for i := range r.w.requests {
			q := &r.w.requests[i]
			one := request{id: q.ID, input: string(q.Inputs[0].Value.Data), phase: q.Phase, session: q.SessionID, turn: q.Turn}
			if q.ScheduledNS != 0 && q.SessionID == "" {
				one.due = time.Duration(q.ScheduledNS - r.w.experiments[r.w.experimentOf[i]].Meta.StartNS)
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b request) int { return int(a.id) - int(b.id) })
	if len(all) > 0 {
		for i, first := range slices.Backward(all) { // the first one last
			all[i].due = first.due - all[0].due
		}
	}
	return all
}

// Four ranks together send what one process sends: the same ids with the same contents,
// of the same phases, at the same instants of a schedule.
func TestRanksSendWhatOneProcessSends(t *testing.T) {
	t.Parallel()
	const entries = 23
	list := func() workload.List {
		var l workload.List
		for i := range entries {
			l = append(l, workload.Entry{Step: i})
		}
		return l
	}
	var offsets []time.Duration
	for i := range entries {
		offsets = append(offsets, time.Duration(i*i)*300*time.Microsecond)
	}
	shuffled := workload.Order{Kind: workload.Shuffled, Seed: 3}
	for _, tt := range []struct {
		name string
		cfg  Config
		// serial runs one process with one slot: its requests are numbered by conversation.
		serial bool
	}{
		{name: "concurrency", cfg: Config{Levels: load.Closed(16), Measure: window.Measure{Requests: 101}}},
		{name: "concurrency, two levels, warm-up", cfg: Config{Levels: load.Closed(6, 9), Warmup: 7, Measure: window.Measure{Times: 5}}},
		{name: "fewer slots than ranks", cfg: Config{Levels: load.Closed(3, 1, 5), Warmup: 2, Measure: window.Measure{Requests: 20}}},
		{name: "fewer requests than ranks", cfg: Config{Levels: load.Closed(8), Measure: window.Measure{Requests: 2}}},
		{name: "shuffled", cfg: Config{Levels: load.Closed(8), Order: shuffled, Measure: window.Measure{Requests: 60}}},
		{name: "drawn, encoded again", cfg: Config{Levels: load.Closed(8), Order: workload.Order{Kind: workload.Random, Seed: 5}, KeepBytes: 1, Measure: window.Measure{Requests: 60}}},
		{name: "all entries", cfg: Config{Levels: load.Closed(4), Measure: window.Measure{All: true}}},
		{name: "Poisson rate", cfg: Config{Levels: []load.Level{load.Rate{PerSecond: 400, Arrivals: load.Poisson, Seed: 11}}, Measure: window.Measure{Requests: 101}}},
		{name: "rate, warm-up by requests and time", cfg: Config{Levels: []load.Level{load.Rate{PerSecond: 300, Ceiling: 400}}, Warmup: 3, WarmupTime: 51 * time.Millisecond, Measure: window.Measure{Requests: 50}}},
		{name: "rate with a ramp", cfg: Config{Levels: []load.Level{load.Rate{PerSecond: 300, RampUp: 100 * time.Millisecond}}, Measure: window.Measure{Requests: 50}}},
		{name: "intervals", cfg: Config{Levels: []load.Level{load.Intervals{Gaps: []time.Duration{time.Millisecond, 5 * time.Millisecond, 0}}}, Measure: window.Measure{Requests: 50}}},
		{name: "timetable", cfg: Config{Levels: []load.Level{load.Timetable{Offsets: offsets}}, Warmup: 2}},
		{name: "conversations", cfg: Config{Levels: []load.Level{load.Sessions{N: 5}}, Entries: turns("abcabdaaefghijkklmnnncd"), Order: shuffled}, serial: true},
		{name: "conversations with a warm-up", cfg: Config{Levels: []load.Level{load.Sessions{N: 4}}, Entries: turns("aabbccddeeffgghh"), Warmup: 5}, serial: true},
		{name: "conversations, a request count within the second round", cfg: Config{Levels: []load.Level{load.Sessions{N: 4}}, Entries: turns("abcabdaaefgg"), Measure: window.Measure{Requests: 19}}, serial: true},
		{name: "requests of conversations", cfg: Config{Levels: []load.Level{load.SessionRequests{N: 5}}, Entries: turns("abcabdaaefghijkklmnnncd"), Order: shuffled}, serial: true},
		{name: "requests of conversations, a request count and a warm-up", cfg: Config{Levels: []load.Level{load.SessionRequests{N: 5}}, Entries: turns("abcabdaaefghijkklmnnncd"), Warmup: 4, Measure: window.Measure{Requests: 13}}, serial: true},
		{name: "a rate of conversations", cfg: Config{Levels: []load.Level{load.SessionRate{Rate: load.Rate{PerSecond: 300, Arrivals: load.Poisson, Seed: 3}}}, Entries: turns("abcabdaaefghijkklmnnncd"), Measure: window.Measure{Requests: 31}}, serial: true},
		{name: "a schedule of conversations", cfg: Config{Levels: []load.Level{load.SessionTimetable{Timetable: load.Timetable{Offsets: offsets[:7]}}}, Entries: turns("abcabdaaefggg")}, serial: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := func() Config {
				c := tt.cfg
				if c.Entries == nil {
					c.Entries = list()
				}
				return c
			}
			alone := cfg()
			if tt.serial {
				alone.Levels = []load.Level{load.Sessions{N: 1}}
			}
			want := union(recordWorld(t, 1, func() Config { return alone }, worldOptions{}))
			runs := recordWorld(t, 4, cfg, worldOptions{})
			for rank, r := range runs {
				if r.err != nil {
					t.Fatalf("rank %d: %v", rank, r.err)
				}
			}
			got := union(runs)
			if tt.serial { // one process at a time warms up with other turns than several
				for i := range got {
					got[i].phase = export.PhaseMeasured
				}
				for i := range want {
					want[i].phase = export.PhaseMeasured
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("the union has %d requests\n%v\none process %d\n%v", len(got), got, len(want), want)
			}
			checkShares(t, runs, cfg())
		})
	}
}

// checkShares checks what the exports of a world say about their places in it.
func checkShares(t *testing.T, runs []rankRun, cfg Config) {
	t.Helper()
	measured := make([]int, len(runs[0].w.experiments))
	for rank, r := range runs {
		s := r.w.run.Meta.Shard
		if s == nil || s.Rank != rank || s.WorldSize != len(runs) || s.PlanSHA256 != runs[0].w.run.Meta.Shard.PlanSHA256 || s.Run != runs[0].w.run.Meta.Shard.Run {
			t.Fatalf("rank %d: shard %+v", rank, s)
		}
		if rank == 0 {
			if s.OffsetBefore != nil || s.OffsetAfter != nil {
				t.Errorf("rank 0 has offsets %+v and %+v", s.OffsetBefore, s.OffsetAfter)
			}
		} else {
			for _, o := range []*export.ClockOffset{s.OffsetBefore, s.OffsetAfter} {
				if o == nil {
					t.Fatalf("rank %d: an offset is missing", rank)
				}
				// The bound holds always, however busy the machine is.
				if off := time.Duration(o.OffsetNS) + r.ahead; off.Abs() > time.Duration(o.BoundNS)+clocksDiffer {
					t.Errorf("rank %d: offset %v of a clock that is %v ahead: off by %v, beyond the bound of %v", rank, time.Duration(o.OffsetNS), r.ahead, off, time.Duration(o.BoundNS))
				}
			}
		}
		for i, e := range r.w.experiments {
			share, level := e.Meta.Share, cfg.Levels[i]
			if e.Mode != level.Mode() || e.Value != level.Value() {
				t.Errorf("rank %d: experiment %s %s, want the whole level %v", rank, e.Mode, e.Value, level)
			}
			if share == nil || share.Requests == nil {
				t.Fatalf("rank %d, %v: share %+v", rank, level, share)
			}
			if share.BeginNS != runs[0].w.experiments[i].Meta.Share.BeginNS || share.BeginNS == 0 {
				t.Errorf("rank %d, %v: begins at %d, rank 0 at %d", rank, level, share.BeginNS, runs[0].w.experiments[i].Meta.Share.BeginNS)
			}
			if *share.Requests != e.Meta.Measured {
				t.Errorf("rank %d, %v: %d measured, its share is %d", rank, level, e.Meta.Measured, *share.Requests)
			}
			measured[i] += *share.Requests
		}
	}
	for i, n := range measured {
		m := cfg.measure(cfg.Levels[i])
		if n != m.Requests {
			t.Errorf("%v: the shares have %d requests, want %d", cfg.Levels[i], n, m.Requests)
		}
	}
}

// clocksDiffer is how much two clocks of this process may differ besides the requested
// offset: each clock anchors itself to the wall clock.
const clocksDiffer = 50 * time.Microsecond

// Ranks begin at the instant that they agreed on: in true time, though their clocks are
// seconds apart, none before it.
func TestRanksBeginTogether(t *testing.T) {
	t.Parallel()
	runs := recordWorld(t, 4, func() Config {
		return Config{Entries: workload.List{{Step: 1}}, Levels: load.Closed(4, 8), Measure: window.Measure{Duration: 100 * time.Millisecond}}
	}, worldOptions{})
	for level := range 2 {
		for rank, r := range runs {
			if r.err != nil {
				t.Fatalf("rank %d: %v", rank, r.err)
			}
			begin := r.w.experiments[level].Meta.Share.BeginNS
			first := uint64(0)
			for i := range r.w.requests {
				// Instants on the clock of rank 0.
				if at := r.w.requests[i].StartNS - uint64(r.ahead); r.w.experimentOf[i] == level && (first == 0 || at < first) {
					first = at
				}
			}
			bound := clocksDiffer
			if o := r.w.run.Meta.Shard.OffsetBefore; o != nil {
				bound += time.Duration(o.BoundNS) + time.Duration(r.w.run.Meta.Shard.OffsetAfter.BoundNS)
			}
			after := time.Duration(first - begin)
			t.Logf("level %d, rank %d: first request %v after the begin, bound %v", level, rank, after, bound)
			if after < -bound {
				t.Errorf("level %d, rank %d: first request %v before the begin, bound %v", level, rank, -after, bound)
			}
		}
	}
	// Requests of a level without a count have ids of their own, too.
	all := union(runs)
	for i := 1; i < len(all); i++ {
		if all[i].id == all[i-1].id {
			t.Fatalf("id %d stands twice", all[i].id)
		}
	}
}

// The barrier names the rank that does not come, and all ranks end without a request.
func TestRankThatNeverComes(t *testing.T) {
	t.Parallel()
	runs := recordWorld(t, 4, func() Config {
		return Config{Entries: workload.List{{Step: 1}}, Levels: load.Closed(4), Measure: window.Measure{Requests: 8}}
	}, worldOptions{timeout: 300 * time.Millisecond, absent: 2})
	for rank, r := range runs {
		if rank == 2 {
			continue
		}
		if r.err == nil || !strings.Contains(r.err.Error(), "rank 2 did not come to the barrier within 300ms") || r.res != nil {
			t.Errorf("rank %d: %v", rank, r.err)
		}
	}
	var missing *ranks.MissingError
	if !errors.As(runs[0].err, &missing) || !slices.Equal(missing.Ranks, []int{2}) {
		t.Errorf("rank 0: %#v", runs[0].err)
	}
}

// A rank with other settings is refused by name.
func TestRankWithAnotherPlan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		names string // of the parts that differ
		each  func(rank int, cfg *Config, f *fakeServer)
	}{
		{"entries", "(input data)", func(rank int, cfg *Config, _ *fakeServer) {
			if rank == 1 {
				cfg.Entries = workload.List{{Step: 2}}
			}
		}},
		{"count", "", func(rank int, cfg *Config, _ *fakeServer) {
			if rank == 1 {
				cfg.Measure.Requests++
			}
		}},
		{"setting", "(request_count)", func(rank int, cfg *Config, _ *fakeServer) {
			cfg.Ranks.Plan = fmt.Appendf(nil, `{"request_count":%d,"seed":1}`, rank)
		}},
		{"seed", "", func(rank int, cfg *Config, _ *fakeServer) {
			cfg.Levels = []load.Level{load.Rate{PerSecond: 100, Arrivals: load.Poisson, Seed: uint64(rank)}}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			runs := recordWorld(t, 2, func() Config {
				return Config{Entries: workload.List{{Step: 1}}, Levels: load.Closed(4), Measure: window.Measure{Requests: 8}}
			}, worldOptions{each: tt.each})
			for rank, r := range runs {
				if r.err == nil || !strings.Contains(r.err.Error(), "rank 1 has other settings or input data than rank 0") || !strings.Contains(r.err.Error(), tt.names) {
					t.Errorf("rank %d: %v", rank, r.err)
				}
			}
		})
	}
}

// When one rank is stopped, all end and say who was.
func TestStopOfOneRankEndsAll(t *testing.T) {
	t.Parallel()
	runs := recordWorld(t, 3, func() Config {
		return Config{Entries: workload.List{{Step: 1}}, Levels: load.Closed(6, 7), Measure: window.Measure{Duration: time.Hour}}
	}, worldOptions{each: func(rank int, cfg *Config, _ *fakeServer) {
		if rank == 1 {
			stop := make(chan struct{})
			cfg.Stop, cfg.StopReason = stop, func() string { return "SIGINT" }
			var once sync.Once
			cfg.Progress = func(p Progress) {
				if p.Done > 5 {
					once.Do(func() { close(stop) })
				}
			}
		}
	}})
	for rank, r := range runs {
		if r.res == nil || !r.res.Interrupted || len(r.res.Levels) != 1 {
			t.Fatalf("rank %d: %+v, error %v", rank, r.res, r.err)
		}
		if rank == 1 {
			if r.err != nil || r.w.run.Meta.Interrupted != "SIGINT" {
				t.Errorf("the stopped rank: error %v, interrupted %q", r.err, r.w.run.Meta.Interrupted)
			}
			continue
		}
		const want = "rank 1 ended the run: SIGINT"
		if r.err == nil || r.err.Error() != want || r.w.run.Meta.Interrupted != want {
			t.Errorf("rank %d: error %v, interrupted %q, want %q", rank, r.err, r.w.run.Meta.Interrupted, want)
		}
	}
}

// A rank that fails before the first level ends the others, which say why.
func TestRankFailsBeforeTheLoad(t *testing.T) {
	t.Parallel()
	runs := recordWorld(t, 3, func() Config {
		return Config{Entries: workload.List{{Step: 1}}, Levels: load.Closed(6), Measure: window.Measure{Requests: 9}}
	}, worldOptions{each: func(rank int, _ *Config, f *fakeServer) {
		if rank == 2 {
			f.check = errors.New("connection refused")
		}
	}})
	for rank, r := range runs {
		if r.err == nil || !strings.Contains(r.err.Error(), "connection refused") || r.res != nil {
			t.Errorf("rank %d: %v", rank, r.err)
		}
		if rank != 2 && !strings.HasPrefix(r.err.Error(), "rank 2 ended the run: ") {
			t.Errorf("rank %d: %v", rank, r.err)
		}
	}
}

// A failure of one rank during the load ends all gracefully.
func TestRankFailsDuringTheLoad(t *testing.T) {
	t.Parallel()
	runs := recordWorld(t, 2, func() Config {
		return Config{Entries: workload.List{{Step: 1}}, Levels: load.Closed(2), Measure: window.Measure{Duration: time.Hour}}
	}, worldOptions{each: func(rank int, _ *Config, f *fakeServer) {
		if rank == 1 {
			f.answer = func(uint64) answer {
				return answer{after: time.Millisecond, status: export.StatusHTTPError, msg: "no such model"}
			}
		}
	}})
	var failed *FailedError
	if !errors.As(runs[1].err, &failed) {
		t.Errorf("rank 1: %v", runs[1].err)
	}
	if err := runs[0].err; err == nil || !strings.HasPrefix(err.Error(), "rank 1 ended the run: ") || !strings.Contains(err.Error(), "no such model") {
		t.Errorf("rank 0: %v", err)
	}
	if runs[0].w.count("") == 0 || runs[0].w.closed != 1 {
		t.Errorf("rank 0 has %d requests and closed its export %d times", runs[0].w.count(""), runs[0].w.closed)
	}
}

// Settings that no rank can decide by itself are refused, with the reason.
func TestRanksRefuse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{Levels: load.Closed(4)}, "concurrency 4: give a request count or a duration"},
		{Config{}, "concurrency 1: give a request count or a duration"},
		{Config{Plan: LinearSearch(func(int) (load.Level, bool) { return load.Concurrency{N: 1}, true })}, "latency chooses the levels"},
		{Config{MaxErrorRate: new(float64), Measure: window.Measure{Requests: 1}}, "an error rate cannot end it"},
		{Config{StopOnUnstable: true, Measure: window.Measure{Requests: 1}}, "stability cannot end it"},
		{Config{Levels: []load.Level{load.Periodic{Start: 1, End: 2, Step: 1, Period: 1}}}, "the steps follow the responses of all requests"},
		{Config{Levels: []load.Level{load.Sessions{N: 3}}}, "at least one session at a time for each rank"},
		{Config{Levels: []load.Level{load.Sessions{N: 4}}, Order: workload.Order{Kind: workload.Random}}, "drawn with replacement"},
		{Config{Levels: []load.Level{load.SessionRequests{N: 3}}}, "at least one session at a time for each rank"},
		{Config{Levels: []load.Level{load.Sessions{N: 4}}, WarmupTime: time.Second, Measure: window.Measure{Requests: 1}}, "a warm-up by time and a request count exclude each other"},
		{Config{Levels: []load.Level{load.SessionRate{Rate: load.Rate{PerSecond: 1, Ceiling: 3}}}}, "a ceiling of 3 in flight leaves none to some ranks"},
		{Config{MaxOverflowRate: new(float64), Measure: window.Measure{Requests: 1}}, "a rate of context overflows cannot end it"},
		{Config{Starts: &workload.Starts{}, Levels: []load.Level{load.Sessions{N: 2}}, Measure: window.Measure{Duration: 1}}, "sessions cannot start within their recordings"},
		{Config{RefillWindow: true, Levels: []load.Level{load.Sessions{N: 2}}}, "a slot without a session cannot end the measurement"},
		{Config{Levels: []load.Level{load.Rate{PerSecond: 1, Ceiling: 3}}, Measure: window.Measure{Requests: 1}}, "leaves none to some ranks"},
	} {
		c := tt.cfg
		c.Entries = workload.List{{Step: 1, Session: "a"}}
		c.Backend, c.Writer, c.Run = &fakeTalker{fakeServer: &fakeServer{}}, &memWriter{}, export.Run{Meta: &export.RunMeta{}}
		c.Ranks = &Ranks{World: ranks.World{Rank: 1, Size: 4}, Barrier: &ranks.StartAt{}}
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", c.Levels, err, tt.want)
		}
	}
}

// Ranks that are not connected begin at an instant that they know.
func TestStartAt(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(300 * time.Millisecond)
	var got []request
	for rank := range 2 {
		w := &worldWriter{}
		clock := rxclock.New()
		_, err := Run(t.Context(), Config{
			Backend: &fakeServer{clock: clock, answer: ok(time.Millisecond)}, Clock: clock,
			Entries: workload.List{{Step: 1}, {Step: 2}, {Step: 3}}, Levels: load.Closed(4), Measure: window.Measure{Requests: 7},
			Writer: w, Run: export.Run{Meta: &export.RunMeta{Schema: export.Schema}},
			Ranks: &Ranks{World: ranks.World{Rank: rank, Size: 2}, Barrier: &ranks.StartAt{At: at.Add(time.Duration(rank) * 200 * time.Millisecond)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range w.requests {
			if start := w.requests[i].StartNS; start < uint64(at.UnixNano()) {
				t.Errorf("rank %d: a request began %v before the start", rank, time.Duration(uint64(at.UnixNano())-start))
			}
		}
		got = append(got, union([]rankRun{{w: w}})...)
	}
	if len(got) != 7 {
		t.Errorf("%d requests, want 7: %v", len(got), got)
	}
	clock := rxclock.New()
	_, err := Run(context.Background(), Config{
		Backend: &fakeServer{clock: clock, answer: ok(time.Millisecond)}, Clock: clock, Entries: workload.List{{Step: 1}}, Levels: load.Closed(4), Measure: window.Measure{Requests: 7},
		Writer: &memWriter{}, Run: export.Run{Meta: &export.RunMeta{}}, Ranks: &Ranks{World: ranks.World{Rank: 1, Size: 2}, Barrier: &ranks.StartAt{At: at}},
	})
	if err == nil || !strings.Contains(err.Error(), "passed") {
		t.Errorf("a start in the past: %v", err)
	}
}

var _ backend.Conversational = (*fakeTalker)(nil)
