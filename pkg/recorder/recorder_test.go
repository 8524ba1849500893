package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An answer is what the fake server does with one request.
type answer struct {
	after  time.Duration
	status export.Status
	msg    string
	hidden bool // an error that only decoding shows
	resent bool
	// responses come evenly over the time; 0 means one at its end.
	responses int
	decode    time.Duration
}

// fakeServer is a backend without a network: it answers by a function of the
// request's number.
type fakeServer struct {
	clock  *rxclock.Clock
	answer func(id uint64) answer
	check  error
	busy   int           // checks that fail before the server is ready
	silent time.Duration // of each check before the answer
}

type fakePayload string

func (p fakePayload) Inputs() export.Fields {
	return export.Fields{{Name: "payload", Value: export.Text(string(p))}}
}

func (f *fakeServer) Check(context.Context) error {
	time.Sleep(f.silent)
	if f.busy > 0 {
		f.busy--
		return errors.New("loading")
	}
	return f.check
}

func (f *fakeServer) Model() string { return "fake" }

func (f *fakeServer) Prepare(e *workload.Entry) (backend.Payload, error) {
	return fakePayload(fmt.Sprint("entry ", e.Step)), nil
}

func (f *fakeServer) Open(context.Context, int, *rxclock.Clock) (backend.Sender, error) {
	return f, nil
}

func (f *fakeServer) Decode(x *backend.Exchange) error {
	a := f.answer(x.Request.ID)
	if a.hidden {
		x.Request.Status = export.StatusRPCError
	}
	time.Sleep(a.decode)
	for i := range x.Request.Responses {
		x.Request.Responses[i].Outputs = export.Fields{{Name: "response", Value: export.Text("x")}}
		x.Tokens.Add(i)
	}
	return nil
}

func (f *fakeServer) Close() error { return nil }

func (f *fakeServer) Send(ctx context.Context, _ backend.Payload, x *backend.Exchange) {
	a := f.answer(x.Request.ID)
	x.Request.StartNS = f.clock.NowNS()
	for range a.responses {
		time.Sleep(a.after / time.Duration(a.responses))
		x.Respond(export.Response{RecvNS: f.clock.NowNS(), Source: export.SourceUser}, nil)
	}
	if a.responses > 0 {
		x.Request.Status = a.status
		return
	}
	select {
	case <-time.After(a.after):
		x.Request.Status, x.Request.Message, x.Request.Resent = a.status, a.msg, a.resent
		if a.status == export.StatusOK {
			x.Respond(export.Response{RecvNS: f.clock.NowNS(), Source: export.SourceUser}, nil)
		}
	case <-ctx.Done():
		x.Request.Status = export.StatusCancelled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			x.Request.Status = export.StatusTimeout
		}
	}
}

// memWriter keeps what it is given, and fails from request number failAt on.
type memWriter struct {
	experiments []export.Experiment
	requests    []export.Request
	run         *export.Run
	failAt      int
	flushed     []time.Time
	scrapes     []export.Scrape
}

func (w *memWriter) WriteScrape(s *export.Scrape) error {
	w.scrapes = append(w.scrapes, *s)
	return nil
}

func (w *memWriter) BeginExperiment(mode, value string) error {
	w.experiments = append(w.experiments, export.Experiment{Mode: mode, Value: value})
	return nil
}

func (w *memWriter) WriteRequest(r *export.Request) error {
	if w.failAt > 0 && len(w.requests) >= w.failAt {
		return errors.New("no space left on device")
	}
	kept := *r
	kept.Responses = slices.Clone(r.Responses) // the recorder uses the memory again
	w.requests = append(w.requests, kept)
	return nil
}

func (w *memWriter) EndExperiment(e *export.Experiment) error {
	last := &w.experiments[len(w.experiments)-1]
	last.WindowBoundaries, last.Meta = e.WindowBoundaries, e.Meta
	return nil
}

func (w *memWriter) Close(run *export.Run) error {
	w.run = run
	if w.failAt > 0 {
		return errors.New("no space left on device") // as a writer whose error sticks
	}
	return nil
}

func (w *memWriter) Flush() error {
	w.flushed = append(w.flushed, time.Now())
	return nil
}

// count returns how many requests have that Excluded reason.
func (w *memWriter) count(reason export.Exclusion) int {
	n := 0
	for _, r := range w.requests {
		if r.Excluded() == reason {
			n++
		}
	}
	return n
}

func ok(after time.Duration) func(uint64) answer {
	return func(uint64) answer { return answer{after: after, status: export.StatusOK} }
}

// record runs cfg against a fake server inside a bubble of fake time. after,
// if set, is called in a goroutine of its own once the run has started.
func record(t *testing.T, answers func(uint64) answer, cfg Config, after func(stop chan struct{}, cancel context.CancelFunc)) (w *memWriter, res *Result, took time.Duration, err error) {
	t.Helper()
	if cfg.Writer == nil {
		cfg.Writer = &memWriter{}
	}
	res, took, err = recordTo(t, cfg.Writer, answers, cfg, after)
	return cfg.Writer.(*memWriter), res, took, err
}

// recordTo is record with a writer of any kind.
func recordTo(t *testing.T, w export.Writer, answers func(uint64) answer, cfg Config, after func(stop chan struct{}, cancel context.CancelFunc)) (res *Result, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		clock := rxclock.New()
		cfg.Writer = w
		fake := &fakeServer{clock: clock, answer: answers}
		switch b := cfg.Backend.(type) {
		case nil:
			cfg.Backend = fake
		case *fakeTalker:
			b.fakeServer = fake
		case *sequenceServer:
			b.fakeServer = fake
		case talkative:
			cfg.Backend = talkative{fake}
		}
		cfg.Clock, cfg.wait, cfg.watchPauses = clock, waitTimer, watchByTicks
		if cfg.Run.Meta == nil {
			cfg.Run.Meta = &export.RunMeta{}
		}
		if cfg.Entries == nil {
			cfg.Entries = workload.List{{Step: 0}, {Step: 1}, {Step: 2}}
		}
		if after != nil {
			stop := make(chan struct{})
			cfg.Stop = stop
			go after(stop, cancel)
		}
		start := time.Now()
		res, err = Run(ctx, cfg)
		took = time.Since(start)
	})
	return res, took, err
}

func TestRequestCount(t *testing.T) {
	w, res, took, err := record(t, ok(100*time.Millisecond), Config{Levels: load.Closed(2), Measure: window.Measure{Requests: 7}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.count(""); n != 7 || len(w.requests) != 7 || res.Levels[0].OK != 7 {
		t.Errorf("%d of %d requests measured, result says %d; want 7", n, len(w.requests), res.Levels[0].OK)
	}
	if took != 400*time.Millisecond {
		t.Errorf("took %v, want 400ms: seven requests of 100ms, two at a time", took)
	}
	for i, r := range w.requests {
		if want := fmt.Sprint("entry ", (r.ID-1)%3); string(r.Inputs[0].Value.Data) != want {
			t.Errorf("request %d (id %d) sent %q, want %q", i, r.ID, r.Inputs[0].Value.Data, want)
		}
	}
	ids := make([]uint64, 0, 7)
	for _, r := range w.requests {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []uint64{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("ids %v, want 1 to 7", ids)
	}
	e := w.experiments[0]
	if e.Mode != "concurrency" || e.Value != "2" || len(e.WindowBoundaries) != 2 {
		t.Errorf("experiment %+v, want concurrency 2 with one window", e)
	}
	if d := e.WindowBoundaries[1] - e.WindowBoundaries[0]; d != uint64(400*time.Millisecond) {
		t.Errorf("window of %v, want from the start to the last response, 400ms", time.Duration(d))
	}
	if len(w.run.Meta.DatasetSHA256) != 64 || w.run.Meta.Stamps.User != 7 {
		t.Errorf("meta %+v, want a hash and 7 user stamps", w.run.Meta)
	}
}

// Each entry is sent once a level, also by fewer slots than there are.
func TestAllEntries(t *testing.T) {
	w, res, _, err := record(t, ok(100*time.Millisecond), Config{Levels: load.Closed(1, 8), Measure: window.Measure{All: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, l := range res.Levels {
		if l.OK != 3 {
			t.Errorf("level %v: %d requests, want one for each of 3 entries", l.Load, l.OK)
		}
		var sent []string
		for _, r := range w.requests[3*k : 3*k+3] {
			sent = append(sent, string(r.Inputs[0].Value.Data))
		}
		slices.Sort(sent)
		if !slices.Equal(sent, []string{"entry 0", "entry 1", "entry 2"}) {
			t.Errorf("level %v sent %q", l.Load, sent)
		}
	}
	if w.experiments[1].Value != "8" {
		t.Errorf("level %s, want 8", w.experiments[1].Value)
	}
	if err := (&Config{Measure: window.Measure{All: true, Requests: 3}}).Validate(); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("all entries and a count: %v", err)
	}
}

func TestCountWindows(t *testing.T) {
	// 10 requests a window, 3 at a time: when the third window closes at the
	// 30th request, those sent since are late.
	w, res, _, err := record(t, ok(50*time.Millisecond), Config{
		Levels: load.Closed(3), Measure: window.Measure{Mode: window.ByCount, WindowRequests: 10, Stability: 9.99},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := res.Levels[0]
	if len(l.Windows) != 3 || l.Stable == nil || !*l.Stable {
		t.Fatalf("windows %+v, stable %v; want three stable ones", l.Windows, l.Stable)
	}
	total := 0
	for i, win := range l.Windows {
		total += win.Requests
		if win.Requests < 10 {
			t.Errorf("window %d holds %d requests, want at least 10", i, win.Requests)
		}
	}
	if total != w.count("") || w.count("late") == 0 || l.Late != w.count("late") {
		t.Errorf("%d requests in windows, %d measured, %d late; want all measured ones in windows and the last ones late", total, w.count(""), w.count("late"))
	}
	b := w.experiments[0].WindowBoundaries
	if len(b) != 4 || !slices.IsSorted(b) {
		t.Errorf("boundaries %v, want 4 in order", b)
	}
	for _, r := range w.requests {
		end, _ := r.FinalResponseNS()
		if measured := r.Excluded() == export.NotExcluded; measured != (end <= b[3]) {
			t.Errorf("request %d ended %v after the last boundary, excluded %q", r.ID, time.Duration(end-b[3]), r.Excluded())
		}
	}
}

func TestTimeWindows(t *testing.T) {
	w, res, took, err := record(t, ok(110*time.Millisecond), Config{
		Levels: load.Closed(4), Measure: window.Measure{Interval: time.Second, Stability: 0.1, MaxTrials: 5},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := res.Levels[0]
	if len(l.Windows) != 3 || l.Stable == nil || !*l.Stable {
		t.Fatalf("windows %+v, stable %v; want three stable ones", l.Windows, l.Stable)
	}
	for i, win := range l.Windows {
		if d := time.Duration(win.EndNS - win.StartNS); d != time.Second {
			t.Errorf("window %d lasts %v, want 1s exactly", i, d)
		}
	}
	// 4 slots × 9.09/s: ends at 110 ms, 220 ms, …; 27 rounds end within 3 s.
	if w.count("") != 4*27 || w.count("late") != 4 {
		t.Errorf("%d measured, %d late; want 108 and 4", w.count(""), w.count("late"))
	}
	if want := 28 * 110 * time.Millisecond; took != want {
		t.Errorf("took %v, want %v: until the last late request ended", took, want)
	}
}

func TestUnstable(t *testing.T) {
	slower := func(id uint64) answer {
		return answer{after: time.Duration(id) * 20 * time.Millisecond, status: export.StatusOK}
	}
	w, res, _, err := record(t, slower, Config{Measure: window.Measure{Mode: window.ByCount, WindowRequests: 4, Stability: 0.05, MaxTrials: 4}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := res.Levels[0]
	if len(l.Windows) != 4 || l.Stable == nil || *l.Stable {
		t.Errorf("windows %d, stable %v; want 4 unstable ones", len(l.Windows), l.Stable)
	}
	if m := w.experiments[0].Meta; !slices.Contains(m.Warnings, "not stable within 4 windows") {
		t.Errorf("warnings %q, want one about stability", m.Warnings)
	}
}

func TestDuration(t *testing.T) {
	w, res, _, err := record(t, ok(30*time.Millisecond), Config{Measure: window.Measure{Duration: time.Second}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Levels[0].Windows) != 1 || w.count("") != 33 || w.count("late") != 1 || res.Levels[0].Stable != nil {
		t.Errorf("%d windows, %d measured, %d late, stable %v; want 1, 33, 1, nil", len(res.Levels[0].Windows), w.count(""), w.count("late"), res.Levels[0].Stable)
	}
}

func TestSweep(t *testing.T) {
	w, res, _, err := record(t, ok(10*time.Millisecond), Config{Levels: load.Closed(1, 4, 2), Measure: window.Measure{Requests: 8}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, e := range w.experiments {
		values = append(values, e.Value)
	}
	if !slices.Equal(values, []string{"1", "4", "2"}) || len(res.Levels) != 3 || w.count("") != 24 {
		t.Errorf("levels %v, %d requests; want 1 4 2 and 24", values, w.count(""))
	}
}

func TestFailuresAreRows(t *testing.T) {
	third := func(id uint64) answer {
		if id%3 == 0 {
			return answer{after: 5 * time.Millisecond, status: export.StatusHTTPError, msg: "internal error"}
		}
		return answer{after: 5 * time.Millisecond, status: export.StatusOK}
	}
	w, res, _, err := record(t, third, Config{Levels: load.Closed(2), Measure: window.Measure{Requests: 30}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.count("") != 20 || w.count("failed") != 10 || res.Levels[0].Failed != 10 {
		t.Errorf("%d ok, %d failed, result %+v; want 20 and 10", w.count(""), w.count("failed"), res.Levels[0])
	}
	for _, r := range w.requests {
		if failed := r.Status != export.StatusOK; failed != (r.FailedNS > r.StartNS) {
			t.Errorf("request %d, %v: started %d, ended %d; want an end for failures only", r.ID, r.Status, r.StartNS, r.FailedNS)
		}
	}
}

func TestAllFail(t *testing.T) {
	bad := func(uint64) answer {
		return answer{after: time.Millisecond, status: export.StatusHTTPError, msg: "no such model"}
	}
	for _, tt := range []struct {
		name   string
		levels []load.Level
		m      window.Measure
		want   int // failures in the message
	}{
		{"windows", load.Closed(1), window.Measure{}, 5},
		{"many slots", load.Closed(16), window.Measure{}, 16},
		{"fewer requests than it takes", load.Closed(1), window.Measure{Requests: 2}, 2},
		{"the second level is not tried", load.Closed(1, 2), window.Measure{Requests: 20}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, res, took, err := record(t, bad, Config{Levels: tt.levels, Measure: tt.m}, nil)
			var fe *FailedError
			if !errors.As(err, &fe) || fe.Failures != tt.want || !strings.Contains(err.Error(), "no such model") {
				t.Fatalf("error %v, want %d failures with the server's text", err, tt.want)
			}
			if res == nil || w.run == nil || w.count("failed") < tt.want || len(w.experiments) != 1 {
				t.Errorf("result %v, %d rows, %d levels; want the rows of one level written and the export closed", res, w.count("failed"), len(w.experiments))
			}
			if took > 5*time.Second {
				t.Errorf("took %v to notice", took)
			}
		})
	}
}

// Slots that fail at once do not end a run in which others still wait for their
// first answer.
func TestSomeFail(t *testing.T) {
	odd := func(id uint64) answer {
		if id > 4 {
			return answer{status: export.StatusConnectError, msg: "too many open files"}
		}
		return answer{after: 5 * time.Second, status: export.StatusOK}
	}
	w, _, _, err := record(t, odd, Config{Levels: load.Closed(16), Measure: window.Measure{Requests: 150}}, nil)
	if err != nil || w.count("") != 4 || w.count("failed") != 146 {
		t.Errorf("error %v, %d good, %d failed; want 4 and 146", err, w.count(""), w.count("failed"))
	}
	// When nobody hears anything for long it is over all the same.
	odd2 := func(id uint64) answer {
		a := odd(id)
		if a.status == export.StatusOK {
			a.after = time.Hour
		}
		return a
	}
	_, _, took, err := record(t, odd2, Config{Levels: load.Closed(16), Measure: window.Measure{Requests: 1500}}, nil)
	var fe *FailedError
	if !errors.As(err, &fe) || took < goneAfter || took > 2*goneAfter {
		t.Errorf("error %v after %v, want a FailedError within 10 to 20 s", err, took)
	}
}

// A slot without a file descriptor waits after each failure, so that it does not use up the
// requests of the level, and the message of the request says so.
func TestSlotsWithoutFilesWait(t *testing.T) {
	const limit = "u: too many open files; raise ulimit -n"
	odd := func(id uint64) answer {
		if id > 4 {
			return answer{status: export.StatusConnectError, msg: limit}
		}
		return answer{after: 5 * time.Second, status: export.StatusOK}
	}
	w, _, _, err := record(t, odd, Config{Levels: load.Closed(16), Measure: window.Measure{Duration: 4 * time.Second}}, nil)
	if n := w.count("failed"); err != nil || n < 12*2 || n > 12*6 {
		t.Errorf("error %v, %d failed; want 2 to 6 for each of 12 slots in 4 s", err, n)
	}
	for _, r := range w.requests {
		if r.Status == export.StatusConnectError && r.Message != limit+"; the slot waits before its next request" {
			t.Fatalf("message %q", r.Message)
		}
	}
}

func TestServerGone(t *testing.T) {
	gone := func(id uint64) answer {
		if id > 50 {
			return answer{after: 0, status: export.StatusConnectError, msg: "connection refused"}
		}
		return answer{after: 10 * time.Millisecond, status: export.StatusOK}
	}
	w, _, took, err := record(t, gone, Config{Levels: load.Closed(2), Measure: window.Measure{Requests: 100000}}, nil)
	var fe *FailedError
	if !errors.As(err, &fe) || fe.OK != 50 {
		t.Fatalf("error %v, want a FailedError after 50 good requests", err)
	}
	if w.count("") != 50 || took < goneAfter || took > 2*goneAfter {
		t.Errorf("%d measured, noticed after %v; want 50 and 10 to 20 s", w.count(""), took)
	}
	if n := w.count("failed"); n > 100 {
		t.Errorf("%d failed rows in %v; a dead server must not be asked that often", n, took)
	}
}

func TestTimeout(t *testing.T) {
	hang := func(id uint64) answer {
		if id == 2 {
			return answer{after: time.Hour}
		}
		return answer{after: 10 * time.Millisecond, status: export.StatusOK}
	}
	w, _, _, err := record(t, hang, Config{Measure: window.Measure{Requests: 4}, RequestTimeout: time.Second}, nil)
	if err != nil || w.count("") != 3 || w.requests[1].Status != export.StatusTimeout {
		t.Errorf("error %v, %d measured, second %v; want 3 measured and a timeout", err, w.count(""), w.requests[1].Status)
	}
}

func TestStop(t *testing.T) {
	stopAt := func(d time.Duration) func(chan struct{}, context.CancelFunc) {
		return func(stop chan struct{}, _ context.CancelFunc) {
			time.Sleep(d)
			close(stop)
		}
	}
	for _, tt := range []struct {
		name      string
		answer    func(uint64) answer
		cfg       Config
		after     func(chan struct{}, context.CancelFunc)
		took      time.Duration
		measured  int
		cancelled int
	}{
		// Requests in flight when the user stops still end and count.
		{"count", ok(300 * time.Millisecond), Config{Measure: window.Measure{Requests: 100}}, stopAt(time.Second), 1200 * time.Millisecond, 4, 0},
		{"time windows", ok(300 * time.Millisecond), Config{Measure: window.Measure{Interval: time.Minute}}, stopAt(time.Second), 1200 * time.Millisecond, 4, 0},
		{"grace runs out", ok(time.Hour), Config{Measure: window.Measure{Requests: 100}, Levels: load.Closed(3), RequestTimeout: -1, Grace: 5 * time.Second}, stopAt(time.Second), 6 * time.Second, 0, 3},
		{"no grace", ok(time.Hour), Config{Measure: window.Measure{Requests: 100}, Grace: -1}, stopAt(time.Second), time.Second, 0, 1},
		{
			"cancel", ok(300 * time.Millisecond),
			Config{Measure: window.Measure{Requests: 100}},
			func(_ chan struct{}, cancel context.CancelFunc) { time.Sleep(time.Second); cancel() },
			time.Second, 3, 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, res, took, err := record(t, tt.answer, tt.cfg, tt.after)
			if err != nil || !res.Interrupted || w.run == nil || w.run.Meta.Interrupted != "stopped" {
				t.Fatalf("error %v, result %+v; want an interrupted run with its export", err, res)
			}
			if took != tt.took || w.count("") != tt.measured || w.count("cancelled") != tt.cancelled {
				t.Errorf("took %v, %d measured, %d cancelled; want %v, %d, %d", took, w.count(""), w.count("cancelled"), tt.took, tt.measured, tt.cancelled)
			}
			if b := w.experiments[0].WindowBoundaries; len(b) != 2 || b[1] < b[0] {
				t.Errorf("boundaries %v, want one window", b)
			}
		})
	}
}

func TestLateAreCancelledAfterGrace(t *testing.T) {
	// The second request never ends; the level is over after one second.
	hang := func(id uint64) answer {
		if id == 2 {
			return answer{after: time.Hour}
		}
		return answer{after: 100 * time.Millisecond, status: export.StatusOK}
	}
	w, res, took, err := record(t, hang, Config{Levels: load.Closed(2), Measure: window.Measure{Duration: time.Second}, Grace: 3 * time.Second}, nil)
	if err != nil || res.Interrupted {
		t.Fatalf("error %v, result %+v", err, res)
	}
	if took != 4*time.Second || w.count("cancelled") != 1 {
		t.Errorf("took %v, %d cancelled; want 4s and 1", took, w.count("cancelled"))
	}
}

// A server that answers with an error event under status 200 is not asked as
// fast as it can answer either, and its failures have an end.
func TestHiddenFailures(t *testing.T) {
	broken := func(id uint64) answer {
		return answer{after: time.Millisecond, status: export.StatusOK, hidden: id > 10}
	}
	w, _, took, err := record(t, broken, Config{Measure: window.Measure{Duration: 5 * time.Second}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.count("failed"); n == 0 || n > 30 || took < 5*time.Second {
		t.Errorf("%d failed rows in %v; want some, and pauses between them", n, took)
	}
	for _, r := range w.requests {
		if (r.Status != export.StatusOK) != (r.FailedNS > 0) {
			t.Errorf("request %d: %v, ended_ns %d; want an end for failures only", r.ID, r.Status, r.FailedNS)
		}
	}
}

// A stop between two levels ends the run before the second one; a stop before the
// first one is an error, and nothing is written.
func TestStopBetweenLevels(t *testing.T) {
	for _, done := range []int{0, 1} { // levels
		synctest.Test(t, func(t *testing.T) {
			stop := make(chan struct{})
			if done == 0 {
				close(stop)
			}
			w := &memWriter{}
			clock := rxclock.New()
			res, err := Run(t.Context(), Config{
				watchPauses: watchByTicks,
				Backend:     &fakeServer{clock: clock, answer: ok(time.Second)}, Writer: w, Clock: clock, Entries: workload.List{{}},
				Run: export.Run{Meta: &export.RunMeta{}}, Stop: stop, Levels: load.Closed(1, 2), Measure: window.Measure{Requests: 3},
				LevelDone: func(*Level) { close(stop) },
			})
			switch {
			case done == 0 && (!errors.Is(err, context.Canceled) || res != nil || w.run != nil):
				t.Errorf("stopped at once: error %v, result %+v, written %v; want an error and nothing", err, res, w.run)
			case done == 1 && (err != nil || !res.Interrupted || len(w.requests) != 3 || len(w.experiments) != 1 || w.run == nil):
				t.Errorf("error %v, result %+v, %d requests; want an interrupted run of one level", err, res, len(w.requests))
			}
		})
	}
}

// Requests that were sent again are counted, warm-up and failures included.
func TestResentAreCounted(t *testing.T) {
	w, res, _, err := record(t, func(id uint64) answer {
		a := answer{after: time.Second, status: export.StatusOK, resent: id%3 == 0}
		if id == 6 {
			a.status = export.StatusTruncated
		}
		return a
	}, Config{Levels: load.Closed(2, 1), Warmup: 3, Measure: window.Measure{Requests: 4}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{2, 2} { // 3 and 6; 9 and 12
		if got, meta := res.Levels[i].Resent, w.experiments[i].Meta.Resent; got != want || meta != want {
			t.Errorf("level %d: %d sent again, the export says %d; want %d", i, got, meta, want)
		}
	}
}

func TestWarmup(t *testing.T) {
	w, res, _, err := record(t, ok(20*time.Millisecond), Config{Levels: load.Closed(4), Warmup: 3, Measure: window.Measure{Requests: 5}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.count("warmup") != 3 || w.count("") != 5 || res.Levels[0].Warmup != 3 {
		t.Errorf("%d warm-up, %d measured; want 3 and 5", w.count("warmup"), w.count(""))
	}
	b := w.experiments[0].WindowBoundaries
	for _, r := range w.requests {
		if r.Phase == export.PhaseWarmup && r.StartNS >= b[0] {
			t.Errorf("warm-up request %d started after the first window", r.ID)
		}
	}
}

func TestWriterFails(t *testing.T) {
	w, _, _, err := record(t, ok(10*time.Millisecond), Config{Levels: load.Closed(2), Measure: window.Measure{Requests: 1000}, Writer: &memWriter{failAt: 5}}, nil)
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("error %v, want the writer's", err)
	}
	if n := strings.Count(err.Error(), "no space left"); n != 1 {
		t.Errorf("the error is told %d times: %v", n, err)
	}
	if len(w.requests) != 5 || w.run == nil {
		t.Errorf("%d rows, closed %v; want 5 rows and Close called", len(w.requests), w.run != nil)
	}
}

// Answers that take long to decode do not keep the writer from being flushed.
func TestFlushWhileBusy(t *testing.T) {
	slow := func(uint64) answer {
		return answer{after: time.Second, status: export.StatusOK, decode: 100 * time.Millisecond}
	}
	w, _, _, err := record(t, slow, Config{Levels: load.Closed(50), Measure: window.Measure{Requests: 100}}, nil)
	if err != nil || len(w.flushed) < 2 {
		t.Fatalf("error %v, %d flushes", err, len(w.flushed))
	}
	for i := 1; i < len(w.flushed); i++ {
		if d := w.flushed[i].Sub(w.flushed[i-1]); d > 400*time.Millisecond {
			t.Errorf("%v between two flushes", d)
		}
	}
}

func TestBatchesRefused(t *testing.T) {
	err := (&Config{Backend: &fakeServer{}, BatchSize: 2}).Validate()
	if err == nil || !strings.Contains(err.Error(), "batch size 2: requests of this service are not batched") {
		t.Errorf("a backend without batches: %v", err)
	}
}

func TestNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &memWriter{}
		_, err := Run(t.Context(), Config{
			watchPauses: watchByTicks,
			Backend:     &fakeServer{check: errors.New("localhost:8001: connection refused")}, Writer: w,
			Entries: workload.List{{}}, Run: export.Run{Meta: &export.RunMeta{}},
		})
		if err == nil || w.run != nil || len(w.experiments) != 0 {
			t.Errorf("error %v, writer touched: %v; want the error and nothing written", err, w.run != nil)
		}
	})
}

func TestWaitReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			wait time.Duration
			ok   bool
		}{{0, false}, {time.Second, false}, {3 * time.Second, true}} {
			w := &memWriter{}
			clock := rxclock.New()
			b := &fakeServer{clock: clock, busy: 8, answer: ok(time.Millisecond)}
			start := time.Now()
			_, err := Run(t.Context(), Config{
				watchPauses: watchByTicks,
				Backend:     b, Writer: w, Clock: clock, Entries: workload.List{{}}, Run: export.Run{Meta: &export.RunMeta{}},
				Measure: window.Measure{Requests: 1}, WaitReady: tt.wait,
			})
			if (err == nil) != tt.ok || time.Since(start) > tt.wait+time.Second {
				t.Errorf("wait %v: error %v after %v, want ok %v", tt.wait, err, time.Since(start), tt.ok)
			}
			if tt.ok && w.run.Meta.Model != "fake" {
				t.Errorf("model %q in the export, want the backend's", w.run.Meta.Model)
			}
		}
	})
}

// A user who waits for a server for more than two seconds gets one message, with the server's
// answers so far.
func TestWaiting(t *testing.T) {
	for _, tt := range []struct {
		name   string
		busy   int           // answers that it is not ready, one every 250 ms
		silent time.Duration // before the first answer
		want   string        // of the calls
	}{
		{"ready at once", 0, 0, "[]"},
		{"ready within two seconds", 7, 0, "[]"},
		{"not ready", 10, 0, "[2s: loading]"},
		{"no answer", 0, 20 * time.Second, "[2s: <nil>]"},
		{"an answer in time", 0, 1900 * time.Millisecond, "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := rxclock.New()
				calls := []string{}
				start := time.Now()
				_, err := Run(t.Context(), Config{
					watchPauses: watchByTicks,
					Backend:     &fakeServer{clock: clock, busy: tt.busy, silent: tt.silent, answer: ok(time.Millisecond)},
					Writer:      &memWriter{}, Clock: clock, Entries: workload.List{{}}, Run: export.Run{Meta: &export.RunMeta{}},
					Measure: window.Measure{Duration: time.Second}, WaitReady: 5 * time.Second,
					Waiting: func(err error) { calls = append(calls, fmt.Sprintf("%v: %v", time.Since(start), err)) },
				})
				if got := fmt.Sprint(calls); err != nil || got != tt.want {
					t.Errorf("%v, told %s, want %s", err, got, tt.want)
				}
			})
		})
	}
}

func TestValidate(t *testing.T) {
	err := (&Config{Entries: workload.List{}, Levels: load.Closed(0, 9), Measure: window.Measure{Requests: 5, Duration: 1, Percentile: 100}, Warmup: -1}).Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"no backend", "no writer", "no run metadata", "no workload", "concurrency 0", "exclude each other", "percentile 100", "warm-up request count -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

// watchByTicks is startPauseWatch in a bubble's time.
func watchByTicks(nowNS func() uint64) pauseWatcher {
	return newPauseWatch(pauseSources{nowNS: nowNS, asleep: machineAsleep, continued: continued, wake: newTickWaker(pauseWakeEvery)})
}

// waitTimer is load.Wait in a bubble's time, in which nothing is late.
func waitTimer(until time.Time, done <-chan struct{}, near func()) bool {
	const ahead = 50 * time.Microsecond
	if !load.WaitTimer(until.Add(-ahead), done) {
		return false
	}
	if near != nil {
		near()
	}
	return load.WaitTimer(until, done)
}
