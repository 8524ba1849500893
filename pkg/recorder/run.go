package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/internal/drive"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// runState holds the parts that the levels of a run share.
type runState struct {
	cfg      Config
	requests *drive.RequestSet
	// sequences is nil unless the model keeps state.
	sequences *drive.Sequencer
	senders   *drive.SenderPool
	yielder   *drive.Yielder // of the slots and the collector
	nextID    uint64         // ids start at 1: 0 means "not recorded"

	renewal  Renewal // of the present level
	first    int     // position in the data at which the present level begins
	firstID  uint64  // ID of the present level's first request
	sessions int     // sessions that all levels have begun
	begun    int     // sessions that the present level has begun in this rank
	talked   bool    // the present level sends sessions

	stamps   export.StampCount
	failures failureStreak
	pauses   pauseWatcher
	giveUp   error  // why the recorder ended the run
	plan     string // hash of what all ranks agree on; "" for a run of one rank
	// writeFailed says that the writer has failed; its Close then repeats the error.
	writeFailed bool
}

// Run checks the server, measures every level of cfg and writes the export.
// It returns when nothing is in flight and the writer is closed.
//
// Run returns an error of the configuration, of a server that is not ready, of the
// writer, or a *[FailedError], *[ErrorRateError] or *[BacklogError]. The result and the
// export then hold the measures before it. If the error came before the first request,
// Run writes nothing, does not close the writer and returns a nil Result.
//
// The context ends the run at once; Config.Stop ends it gracefully. Such an interruption
// is not an error (see Result.Interrupted) unless it comes before the first level; the
// error then wraps [context.Canceled].
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	r := &runState{cfg: cfg, nextID: 1, senders: drive.NewSenderPool(cfg.Backend, cfg.Clock, cfg.OpenPerSecond)}
	defer r.watchRanks()()
	if err := r.prepare(ctx); err != nil {
		if r.cfg.several() {
			r.cfg.Ranks.Barrier.End(err.Error())
		}
		return nil, r.endedByOther(err)
	}
	defer r.senders.Close()
	r.yielder = drive.NewYielder()
	defer r.yielder.Close()

	meta := cfg.Run.Meta
	if err := r.beforeFirst(ctx, meta); err != nil {
		return nil, err
	}
	meta.StartNS = r.cfg.Clock.NowNS()
	meta.Model = r.cfg.Backend.Model()
	hash := r.cfg.Hash
	if hash.DatasetSHA256 == "" {
		hash = DataHash{r.requests.SHA256(), r.requests.PromptsSHA256()}
	}
	meta.DatasetSHA256, meta.PromptsSHA256, meta.Parameters = hash.DatasetSHA256, hash.PromptsSHA256, r.requests.Parameters()
	meta.Streaming = r.requests.Streamed(meta.Streaming)
	stopWatch := r.watchClock(ctx)
	r.pauses = r.cfg.watchPauses(r.cfg.Clock.NowNS)
	if cfg.Telemetry != nil {
		cfg.Telemetry.Start()
	}
	if cfg.Begins != nil {
		cfg.Begins()
	}
	res := &Result{Hash: hash}
	err := r.measure(ctx, res)
	res.Next = r.next()
	if terr := r.endTelemetry(res, meta); terr != nil && err == nil {
		err = fmt.Errorf("write the export: %w", terr)
		r.writeFailed = true
	}
	if err == nil && r.failures.ok == 0 && r.failures.n > 0 && !res.Interrupted {
		// Too few requests to abandon the run, and none succeeded.
		err = r.failures.error()
	}
	err = r.endOfRun(ctx, meta, err)
	meta.Pauses = r.pauses.Stop()
	if s, shows := meta.Streaming, cfg.Run.ServiceKind != nil && *cfg.Run.ServiceKind == "openai"; s != nil && !*s && !shows && slices.ContainsFunc(res.Levels, func(l Level) bool { return l.Streamed }) {
		meta.Streaming = nil // not asked for, but there were several responses, whose tensors do not show a stream
	}
	meta.Warnings = append(meta.Warnings, stopWatch(meta.Pauses)...)
	meta.EndNS = r.cfg.Clock.NowNS()
	meta.Stamps = &r.stamps
	if res.Interrupted {
		meta.Interrupted = r.cfg.StopReason()
	}
	if err != nil {
		meta.Warnings = append(meta.Warnings, EndedEarly+err.Error())
	}
	if cfg.Judge != nil {
		res.Submission = cfg.Judge(res, err)
		meta.Submission = res.Submission
	}
	// The error of a failed writer's Close repeats the first one and adds the outcome.
	switch cerr := r.cfg.Writer.Close(&cfg.Run); {
	case cerr == nil:
	case r.writeFailed:
		err = fmt.Errorf("write the export: %w", cerr)
	default:
		err = errors.Join(err, fmt.Errorf("write the export: %w", cerr))
	}
	return res, err
}

// measure measures the levels in turn and appends them to res.
func (r *runState) measure(ctx context.Context, res *Result) error {
	for i := 0; ; i++ {
		level, ok := r.level(res.Levels)
		if !ok {
			return nil
		}
		if i > 0 {
			if err := r.between(ctx, i, level); err != nil {
				return err
			}
		}
		if load.IsClosed(r.cfg.Stop) || ctx.Err() != nil {
			res.Interrupted = true
			return nil
		}
		r.place(level)
		l := &levelRun{runState: r, index: i, load: level, throttle: throttle{yielder: r.yielder}}
		out, err := l.run(ctx)
		res.Levels = append(res.Levels, out)
		if r.cfg.LevelDone != nil {
			r.cfg.LevelDone(&out)
		}
		switch {
		case err != nil:
			return err
		case r.giveUp != nil:
			return r.giveUp
		case l.stopped:
			res.Interrupted = true
			return nil
		case r.cfg.StopOnUnstable && out.Unstable():
			if next, ok := r.level(res.Levels); ok {
				r.cfg.Run.Meta.Warnings = append(r.cfg.Run.Meta.Warnings, fmt.Sprintf("ended before %v, because %v was not stable", next, level))
			}
			return nil
		}
	}
}

// level returns the next level to measure.
func (r *runState) level(done []Level) (load.Level, bool) {
	if r.cfg.Plan != nil {
		return r.cfg.Plan(done)
	}
	if len(done) == len(r.cfg.Levels) {
		return nil, false
	}
	return r.cfg.Levels[len(done)], true
}

// between checks and prepares level i and calls Config.Between. A signal in the
// meantime is no error.
func (r *runState) between(ctx context.Context, i int, level load.Level) error {
	ctx, cancel := r.untilStop(ctx)
	defer cancel()
	err := r.cfg.validateLevel(level)
	if err == nil {
		err = r.sequences.Check(level)
	}
	if err == nil {
		if err = r.renew(ctx, i); err != nil {
			err = fmt.Errorf("%v: input data that could be read before: %w", level, err)
		}
	}
	if err == nil {
		err = r.senders.Open(ctx, r.cfg.initialSlots(level))
	}
	if err == nil && r.cfg.Between != nil {
		err = r.cfg.Between(ctx)
	}
	if err == nil && r.cfg.several() {
		_, err = r.meet(ctx, false)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// watchClock looks for steps of the wall clock, on which the kernel's stamps are based,
// until stop is called. stop returns a warning for each step, except for steps that a
// suspension of the machine explains.
func (r *runState) watchClock(ctx context.Context) (stop func(pauses []export.Pause) []string) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var drift rxclock.Drift
	var watching sync.WaitGroup
	watching.Go(func() { r.cfg.Clock.Watch(ctx, time.Second, &drift) })
	return func(pauses []export.Pause) []string {
		cancel()
		watching.Wait()
		var warnings []string
		for _, s := range drift.Steps() {
			if suspended(pauses, s) {
				continue
			}
			warnings = append(warnings, export.ClockStepWarning+fmt.Sprintf("%v between %v and %v after the start; answers that were on the way at that moment may have times that are wrong by the same amount",
				time.Duration(s.SizeNS).Round(time.Microsecond), time.Duration(s.AfterNS-r.cfg.Run.Meta.StartNS).Round(time.Millisecond), time.Duration(s.BeforeNS-r.cfg.Run.Meta.StartNS).Round(time.Millisecond)))
		}
		return warnings
	}
}

// suspended reports whether a suspension of the machine explains a step of the wall
// clock.
func suspended(pauses []export.Pause, s rxclock.Step) bool {
	const close = 100 * time.Millisecond // the wall clock may be corrected after it
	for _, p := range pauses {
		off := time.Duration(s.SizeNS - p.DurationNS)
		if p.Cause == export.PauseSuspended && p.StartNS <= s.BeforeNS && p.EndNS >= s.AfterNS && off.Abs() < close {
			return true
		}
	}
	return false
}

// prepare checks the server, encodes the requests and opens the connections.
func (r *runState) prepare(ctx context.Context) error {
	if err := r.check(ctx); err != nil {
		return err
	}
	if err := r.renew(ctx, 0); err != nil {
		return err
	}
	if err := r.prepareRequests(ctx); err != nil {
		return err
	}
	levels, err := r.firstLevels()
	if err != nil {
		return err
	}
	slots := 0
	for _, level := range levels {
		slots = max(slots, r.cfg.initialSlots(level))
		if err := r.sequences.Check(level); err != nil {
			return err
		}
	}
	ctx, cancel := r.untilStop(ctx)
	defer cancel()
	err = r.senders.Open(ctx, slots)
	if load.IsClosed(r.cfg.Stop) {
		err = errStopped
	}
	if err != nil {
		r.senders.Close()
	}
	return err
}

// beforeFirst meets the other ranks, if there are any. Stop ends the wait.
func (r *runState) beforeFirst(ctx context.Context, meta *export.RunMeta) error {
	ctx, cancel := r.untilStop(ctx)
	defer cancel()
	err := r.firstMeeting(ctx, meta)
	if errors.Is(err, context.Canceled) && load.IsClosed(r.cfg.Stop) {
		return errStopped
	}
	return err
}

// errStopped is the error of a run that was stopped before its first request.
var errStopped = fmt.Errorf("stopped before the first request: %w", context.Canceled)

// prepareRequests encodes every distinct request once; closing Config.Stop aborts it.
func (r *runState) prepareRequests(ctx context.Context) (err error) {
	ctx, cancel := r.untilStop(ctx)
	defer cancel()
	c := &r.cfg
	w := drive.Workload{Backend: c.Backend, Entries: c.Entries, Order: c.Order, BatchSize: c.BatchSize, KeepBytes: c.KeepBytes, Identity: c.Identity, Marker: c.Marker}
	b, ok := c.Backend.(backend.Stateful)
	stateful := ok && b.Stateful()
	if stateful && c.Streams != nil {
		w.Entries = c.Streams
	}
	if r.requests, err = drive.NewRequestSet(ctx, w); err != nil {
		return err
	}
	if stateful && c.several() {
		return fmt.Errorf("model %s keeps state: its sequences cannot be divided among several ranks; record with one", c.Backend.Model())
	}
	if stateful {
		if err = r.initSequences(ctx); err != nil {
			return err
		}
	}
	levels, err := r.firstLevels()
	plays := func(l load.Level) bool { return l.Traits().Conversations }
	if err != nil || !slices.ContainsFunc(levels, plays) {
		return err
	}
	if err := r.requests.FindSessions(ctx); err != nil {
		return err
	}
	if !slices.ContainsFunc(levels, func(l load.Level) bool { return !plays(l) }) {
		r.requests.Drop() // sessions encode their requests, with the history
	}
	for _, l := range levels {
		if n := l.Traits().Instants; plays(l) && n > 0 && n != r.requests.Sessions() {
			return fmt.Errorf("%v: expected as many sessions in the data, found %s", l, plural.Grouped(r.requests.Sessions()))
		}
	}
	return nil
}

// firstLevels returns the levels of the run, or the first one of its plan.
func (r *runState) firstLevels() ([]load.Level, error) {
	if r.cfg.Plan == nil {
		return r.cfg.Levels, nil
	}
	first, ok := r.cfg.Plan(nil)
	if !ok {
		return nil, errors.New("the plan has no level")
	}
	return []load.Level{first}, nil
}

// initSequences prepares for a model that keeps state. It refuses settings that cannot
// form sequences.
func (r *runState) initSequences(ctx context.Context) (err error) {
	c := &r.cfg
	if c.BatchSize > 1 {
		return fmt.Errorf("batch size %d: model %s keeps state, and takes a sequence's requests one by one; use -b 1", c.BatchSize, c.Backend.Model())
	}
	c.Measure.ThroughputSuffices = c.Measure.ThroughputSuffices || c.Measure.StatefulThroughputSuffices
	r.sequences, err = drive.NewSequencer(ctx, c.Sequences, r.requests, c.First)
	return err
}

// soleModel returns the model of a run that has one, "" of one with several.
func (r *runState) soleModel() string {
	if len(r.cfg.Run.Meta.Models) > 0 {
		return ""
	}
	return r.cfg.Backend.Model()
}

// untilStop returns a context that also ends when Config.Stop is closed. The caller must
// call cancel.
func (r *runState) untilStop(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(ctx)
	go func() { // ends with ctx
		select {
		case <-r.cfg.Stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
