package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// A session is the state that the levels of one run share.
type session struct {
	cfg   Config
	stock *stock
	// sequences is nil unless the model keeps state.
	sequences *sequencer
	fleet     fleet
	nextID    uint64 // ids start at 1: 0 means "not recorded"
	stamps    export.StampCount
	failures  failureRun
	pauses    pauseWatcher
	giveUp    error // why the recorder ended the run by itself
	// writeFailed says that the writer has failed. Its Close repeats the error.
	writeFailed bool
}

// Run checks the server, measures every level of cfg and writes the export.
// It returns when nothing is in flight and the writer is closed.
//
// The error is that of the configuration, of the server's readiness, of the
// writer, or a *[FailedError], *[ErrorRateError] or *[BacklogError]; the result and the export hold what was
// measured before. An interruption is not an error, see Result.Interrupted, unless
// it comes before the first level: then the error wraps [context.Canceled].
// The context ends the run at once; Config.Stop ends it gracefully. The writer
// is closed in every case but one: when the error came before the first
// request, nothing is written and Result is nil.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &session{cfg: cfg.withDefaults(), nextID: 1, fleet: fleet{backend: cfg.Backend}}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	defer r.fleet.close()

	meta := cfg.Run.Meta
	meta.StartNS = r.cfg.Clock.NowNS()
	meta.Model = r.cfg.Backend.Model()
	meta.DatasetSHA256 = r.stock.hash
	meta.Streaming = r.stock.streamed.record(meta.Streaming)
	stopWatch := r.watchClock(ctx)
	r.pauses = r.cfg.watchPauses(r.cfg.Clock.NowNS)
	if cfg.Telemetry != nil {
		cfg.Telemetry.Start()
	}
	res := &Result{}
	err := r.measure(ctx, res)
	if terr := r.endTelemetry(res, meta); terr != nil && err == nil {
		err = fmt.Errorf("write the export: %w", terr)
		r.writeFailed = true
	}
	if err == nil && r.failures.ok == 0 && r.failures.row > 0 && !res.Interrupted {
		// Fewer requests than it takes to give up, and none was good.
		err = r.failures.error()
	}
	meta.Pauses = r.pauses.Stop()
	if s := meta.Streaming; s != nil && !*s && slices.ContainsFunc(res.Levels, func(l Level) bool { return l.Streamed }) {
		meta.Streaming = nil // nobody asked, and yet answers had several responses
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
	// A writer that failed tells that again, and what became of the rest.
	switch cerr := r.cfg.Writer.Close(&cfg.Run); {
	case cerr == nil:
	case r.writeFailed:
		err = fmt.Errorf("write the export: %w", cerr)
	default:
		err = errors.Join(err, fmt.Errorf("write the export: %w", cerr))
	}
	return res, err
}

// measure measures the levels, one after the other, into res.
func (r *session) measure(ctx context.Context, res *Result) error {
	for i := 0; ; i++ {
		level, ok := r.level(res.Levels)
		if !ok {
			return nil
		}
		if i > 0 {
			if err := r.between(ctx, level); err != nil {
				return err
			}
		}
		select {
		case <-r.cfg.Stop:
			res.Interrupted = true
		case <-ctx.Done():
			res.Interrupted = true
		default:
		}
		if res.Interrupted {
			return nil
		}
		l := &levelRun{session: r, index: i, load: level}
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

// level returns the level to be measured after those that are done.
func (r *session) level(done []Level) (load.Level, bool) {
	if r.cfg.Plan != nil {
		return r.cfg.Plan(done)
	}
	if len(done) == len(r.cfg.Levels) {
		return nil, false
	}
	return r.cfg.Levels[len(done)], true
}

// between does what is to be done before another level. A signal in the meantime
// is no error.
func (r *session) between(ctx context.Context, level load.Level) error {
	ctx, cancel := r.untilStop(ctx)
	defer cancel()
	err := r.cfg.validateLevel(level)
	if err == nil {
		err = r.sequences.fits(level)
	}
	if err == nil {
		err = r.fleet.grow(ctx, slotsFor(level))
	}
	if err == nil && r.cfg.Between != nil {
		err = r.cfg.Between(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// watchClock looks for steps of the wall clock, which the kernel's stamps are
// times of, until stop is called. stop returns a warning for each, but for those
// that a suspension of the machine explains: the wall clock went on meanwhile.
func (r *session) watchClock(ctx context.Context) (stop func(pauses []export.Pause) []string) {
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
			warnings = append(warnings, export.ClockStepWarning+fmt.Sprintf("%v between %v and %v after the start; times of answers that were on the way then may be off by that",
				time.Duration(s.SizeNS), time.Duration(s.AfterNS-r.cfg.Run.Meta.StartNS).Round(time.Millisecond), time.Duration(s.BeforeNS-r.cfg.Run.Meta.StartNS).Round(time.Millisecond)))
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

// prepare gets everything ready that need not happen under load.
func (r *session) prepare(ctx context.Context) error {
	if err := r.check(ctx); err != nil {
		return err
	}
	if err := r.lay(ctx); err != nil {
		return err
	}
	levels := r.cfg.Levels
	if r.cfg.Plan != nil {
		first, ok := r.cfg.Plan(nil)
		if !ok {
			return errors.New("the plan has no level")
		}
		levels = []load.Level{first}
	}
	slots := 0
	for _, level := range levels {
		slots = max(slots, slotsFor(level))
		if err := r.sequences.fits(level); err != nil {
			return err
		}
	}
	ctx, cancel := r.untilStop(ctx)
	defer cancel()
	err := r.fleet.grow(ctx, slots)
	if closed(r.cfg.Stop) {
		err = errStopped
	}
	if err != nil {
		r.fleet.close()
	}
	return err
}

// errStopped is the error of a run that was stopped before its first request.
var errStopped = fmt.Errorf("stopped before the first request: %w", context.Canceled)

// slotsFor is how many slots are to be open before a level begins. A schedule has
// more opened when it needs them.
func slotsFor(level load.Level) int {
	n := level.Slots()
	if _, ok := level.(load.Open); !ok {
		return n
	}
	if n == 0 {
		return reserve(0)
	}
	return min(n, reserve(0))
}

// lay lays in the stock. Stop ends it.
func (r *session) lay(ctx context.Context) (err error) {
	ctx, cancel := r.untilStop(ctx)
	defer cancel()
	if r.stock, err = newStock(ctx, &r.cfg); err != nil {
		return err
	}
	if err = r.sequential(ctx); err != nil {
		return err
	}
	for _, level := range r.cfg.Levels {
		if _, ok := level.(load.Sessions); ok && r.stock.dialogues == nil {
			if r.stock.dialogues, err = dialogues(ctx, r.cfg.Entries, r.cfg.Backend.(backend.Talker)); err != nil {
				return err
			}
		}
	}
	return nil
}

// untilStop returns a context that Stop ends too. cancel frees it.
func (r *session) untilStop(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
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
