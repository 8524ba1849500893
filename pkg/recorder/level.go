package recorder

import (
	"context"
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/internal/drive"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// progressEvery is the period of Progress calls and of flushes of the writer.
const progressEvery = 250 * time.Millisecond

// flusher is implemented by writers that can write out their buffers, so that a killed
// run leaves a readable prefix.
type flusher interface{ Flush() error }

// levelRun is the collector of one load level. Its fields belong to the goroutine that
// calls run.
type levelRun struct {
	*runState
	index int
	load  load.Level
	// forecast is of this level, and later the time of the levels after it; both are only for Config.Progress.
	forecast Forecast
	later    Figure
	// pacedDone is how many requests had ended in the latest progress that had more of them, at pacedNS.
	pacedDone int
	pacedNS   uint64

	completed *drive.Queue
	spare     []*backend.Exchange
	scratch   *backend.Scratch // for the answer that is decoded
	// held are exchanges that ended after the deadline of a time window that is
	// still open.
	held  []*backend.Exchange
	meter *window.Meter // nil while warming up

	client *clientStats // nil while warming up
	rate   errorRate
	recent window.Sliding
	// arrivals counts the responses of the level as they arrive; nil without Config.Progress.
	arrivals *drive.Arrivals
	// latencies holds the latencies of the measured requests.
	latencies window.Latencies
	// dropped counts the requests that lost their outputs to a slow disk.
	dropped int

	edged int // windows whose ends were reported to telemetry

	// These belong to the present stage.
	sent      int // requests that all ranks have sent in the stages before
	admission *drive.Admission
	driver    drive.Driver
	cancel    context.CancelFunc // ends the requests in flight
	returned  int                // exchanges taken from the queue
	warmed    int                // exchanges of the warm-up among them

	startNS  uint64
	beginNS  uint64 // when all ranks began, on the clock of rank 0; 0 with one rank
	stated   int    // measured requests whose answers state times of the server
	late     string // warning about a late start; "" for none
	budget   int    // requests that this process measures, if budgeted
	budgeted bool
	throttle throttle
	// flushedNS is when the writer was last flushed.
	flushedNS uint64
	stopped   bool            // by the user
	endNow    <-chan struct{} // closed: the run must end at once
	out       Level
	err       error
}

// run executes the level: warm-up, measurement, export.
func (l *levelRun) run(ctx context.Context) (Level, error) {
	l.completed, l.scratch = drive.NewQueue(), &backend.Scratch{}
	if l.cfg.Progress != nil {
		l.arrivals = &drive.Arrivals{}
		l.forecast, l.later = l.cfg.Forecast(l.load), l.laterLevels(l.index)
		l.recent.Streamed = l.cfg.Run.Meta.Streaming != nil && *l.cfg.Run.Meta.Streaming
	}
	l.startNS = l.cfg.Clock.NowNS()
	l.out.Load, l.out.StartNS = l.load, l.startNS
	l.endNow = ctx.Done()
	l.flushedNS = l.startNS
	l.wrote(l.cfg.Writer.BeginExperiment(l.load.Mode(), l.load.Value()))
	if l.err != nil {
		return l.out, l.err
	}
	l.edgeAtRest(export.EdgeLevel)
	warmup := l.cfg.Warmup
	if n := l.load.Traits().WarmupSlots; n > 0 && warmup > 0 {
		// All slots begin the measurement together, as in perf_analyzer.
		l.runStage(ctx, load.Concurrency{N: min(warmup, n)}, warmup, 0, 0)
		l.sent, warmup = warmup, 0
	}
	if l.err == nil && !l.stopped {
		budget := -1
		if m := l.cfg.measure(l.load); m.Requests > 0 {
			budget = m.Requests
		}
		l.runStage(ctx, l.load, warmup, l.cfg.WarmupTime+l.load.Traits().RampUp, budget)
	}
	if l.meter != nil {
		l.meter.Finish(l.cfg.Clock.NowNS())
		l.edges()
		l.out.Windows = l.meter.Windows()
		l.out.Reported, l.out.Times = l.meter.Reported()
		l.out.OverLimit = l.meter.OverLimit(l.out.Reported)
		if l.cfg.Objective != nil && !l.cfg.Objective() {
			l.out.OverLimit = true
		}
		if v := l.meter.Verdict(); v != nil {
			l.out.Stable = &v.Stable
		}
	}
	l.edge(export.EdgeEnd, 0)
	for _, p := range l.pauses.Pauses() {
		if p.EndNS >= l.startNS {
			l.out.Pauses = append(l.out.Pauses, p)
		}
	}
	if l.cfg.ServerStats != nil {
		l.out.ServerStats = l.cfg.ServerStats.Level()
	}
	if limit := l.cfg.MaxErrorRate; limit != nil && !l.stopped && l.rate.above(*limit) {
		l.abandon(l.rate.error(l.load, *limit))
	}
	if limit := l.cfg.MaxOverflowRate; limit != nil && !l.stopped && l.rate.overflows(*limit) {
		l.abandon(l.rate.overflowError(l.load, *limit))
	}
	if !l.writeFailed {
		l.wrote(l.cfg.Writer.EndExperiment(l.experiment()))
	}
	return l.out, l.err
}

// wrote keeps the first error of the writer.
func (l *levelRun) wrote(err error) {
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("write the export: %w", err)
		l.writeFailed = true
	}
}

// runStage sends the load of a level and collects the exchanges: a warm-up of at least
// warmup requests and warmupTime, then budget requests (0: the whole stage is warm-up;
// < 0: until the meter is done).
func (l *levelRun) runStage(ctx context.Context, level load.Level, warmup int, warmupTime time.Duration, budget int) {
	level = l.cfg.scaled(level, l.requests.Sessions()) // before the start: it takes time
	most := 0                                          // requests of sessions that the stage has; 0: no bound
	if level.Traits().Conversations && l.cfg.Measure.Counted() && warmupTime == 0 && l.cfg.Starts == nil {
		most = warmup + budget
	}
	share := l.stageShare(level, warmup, warmupTime, budget)
	warmup, budget = share.warmup, share.budget
	l.budget, l.budgeted = max(budget, 0), budget >= 0
	if share.idle {
		l.start(ctx) // the others count on it
		return
	}
	flight, cancel := context.WithCancel(ctx)
	defer cancel()
	l.cancel = cancel
	l.returned, l.warmed = 0, 0
	var requests *drive.Prefetcher // sessions and sequences do without
	if !level.Traits().Conversations && l.sequences == nil {
		// A slot without a request must not keep the others waiting.
		requests = l.requests.Prefetch(l.stageFirst(l.sent), share.Share, func() { l.admission.Close() })
		defer requests.Stop()
		defer context.AfterFunc(flight, requests.Stop)()
	}
	atOnce := warmup == 0 && warmupTime == 0 && l.cfg.Starts == nil // the measurement begins with the first request
	if atOnce {
		l.edgeAtRest(export.EdgeMeasure)
	}
	start, ok := l.start(ctx)
	if !ok {
		return
	}
	warmUntilNS := uint64(0)
	if warmupTime > 0 {
		warmUntilNS = l.cfg.Clock.NS(start.Add(warmupTime))
	}
	measure := l.cfg.measure(l.load)
	l.admission = drive.NewAdmission(drive.Limits{Held: l.cfg.Starts != nil, Warmup: warmup, WarmUntilNS: warmUntilNS, Measured: budget, Longest: measure.Longest()})
	stage := drive.Stage{
		Admission: l.admission, Set: l.requests, Requests: requests, Sequences: l.sequences, Senders: l.senders, Completed: l.completed,
		Timeout: l.cfg.RequestTimeout, FirstID: l.nextID, Model: l.soleModel(), Repeat: l.cfg.repeats(level), Most: most, ContinueFailed: l.cfg.ContinueFailed,
		Starts: l.cfg.Starts, Refill: l.cfg.RefillWindow,
		Clock: l.cfg.Clock, Start: start, Wait: l.cfg.wait, Share: share.Share, First: l.first, Arrivals: l.arrivals,
		Yielder: l.yielder,
	}
	if atOnce {
		l.admission.Measure(l.cfg.Clock.NS(start))
		l.beginMeter()
	}
	l.driver = drive.New(level, stage)
	idle := make(chan struct{})
	go func() { // ends with the driver
		l.driver.Run(flight)
		close(idle)
	}()
	go l.admission.CloseWhen(l.cfg.Stop, ctx.Done(), idle) // ends with the driver
	l.loop(ctx, idle)
	if err := l.driver.Err(); err != nil {
		l.abandon(err)
	}
	l.nextID += uint64(numbersUsed(l.driver, share.Share, l.admission.Admitted()))
	l.passed(l.driver)
}

// measure begins the measurement, if it has not begun.
func (l *levelRun) measure() {
	if l.meter == nil {
		l.beginMeter()
		l.edge(export.EdgeMeasure, 0)
	}
}

func (l *levelRun) beginMeter() {
	m := l.cfg.measure(l.load)
	if m.Requests > 0 {
		m.Requests = l.budget // of this process
	}
	l.meter = window.NewMeter(m, l.admission.BeganNS())
	l.client = startClientStats()
}

// loop is the collector. It returns when all slots have ended and all their exchanges
// are written.
func (l *levelRun) loop(ctx context.Context, idle <-chan struct{}) {
	stop, hardStop := l.cfg.Stop, ctx.Done()
	windowEnd, grace, warm := stoppedTimer(), stoppedTimer(), stoppedTimer()
	defer windowEnd.Stop()
	defer grace.Stop()
	defer warm.Stop()
	if ns := l.admission.WarmUntilNS; ns > 0 {
		warm.Reset(time.Duration(ns) - time.Duration(l.cfg.Clock.NowNS()))
	}
	measuring := l.admission.Measuring()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	draining := false
	for {
		if !draining && (l.err != nil || l.stopped || l.meter != nil && l.meter.Done()) {
			// Send nothing more, and give requests in flight their grace.
			draining = true
			l.admission.Close()
			l.release()
			if l.err != nil || l.cfg.Grace < 0 {
				l.cancel()
			} else {
				grace.Reset(l.cfg.Grace)
			}
		}
		l.edges()
		if l.meter != nil {
			if ns, ok := l.meter.Deadline(); ok && !l.stopped {
				windowEnd.Reset(time.Duration(ns) - time.Duration(l.cfg.Clock.NowNS()))
			}
		}
		select {
		case <-l.completed.Ready():
			l.collect()
		case <-warm.C:
			l.admission.Measure(l.admission.WarmUntilNS)
		case <-measuring:
			measuring = nil
			l.measure()
		case <-windowEnd.C:
			l.collect()
			l.closeWindows()
		case <-tick.C:
			if l.client != nil {
				l.client.Look()
			}
			l.flush()
			l.report()
		case <-grace.C:
			l.cancel()
		case <-stop:
			stop = nil
			l.stopped = true
		case <-hardStop:
			hardStop = nil
			l.stopped = l.stopped || !draining
			l.admission.Close()
		case <-idle:
			// The slots may have noticed a dead context before this loop did.
			l.stopped = l.stopped || !draining && (ctx.Err() != nil || load.IsClosed(stop))
			l.collect()
			if l.meter != nil {
				if l.admission.TimeUp() {
					l.closeWindows() // end at the deadline, not at the last request
				}
				l.meter.Finish(l.cfg.Clock.NowNS())
			}
			l.release()
			l.report()
			return
		}
	}
}

// stoppedTimer returns a timer that fires only after Reset.
func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// collect settles the exchanges in the queue. When that takes long, it flushes in
// between, so that a kill loses no more than usual.
func (l *levelRun) collect() {
	if l.cfg.RefillWindow && l.meter != nil && l.admission.OverNS() > 0 {
		l.meter.EndAt(l.admission.OverNS()) // before requests that ended later are taken
	}
	items := l.completed.Take(l.spare)
	l.throttle.begin()
	for i, x := range items {
		l.cutShort(x)
		l.throttle.step(time.Duration(l.cfg.Clock.NowNS() - x.Request.FailedNS))
		l.returned++
		if x.Request.Phase == export.PhaseWarmup {
			l.warmed++
		} else {
			l.measure() // it may arrive before the signal of the admission
		}
		l.decode(x)
		l.admit(x)
		items[i] = nil // its memory is no longer counted
		if l.cfg.Clock.NowNS()-l.flushedNS >= uint64(progressEvery) {
			l.flush()
		}
	}
	l.throttle.end()
	l.spare = items
}

// mostEventsAtEnd is the number of events of an answer that are decoded when the run
// must end at once.
const mostEventsAtEnd = 1000

// cutShort drops most of a long answer when the run must end at once, because
// decoding and writing a million events takes seconds. Whether the answer of a
// successful request followed the protocol is then unknown.
func (l *levelRun) cutShort(x *backend.Exchange) {
	if len(x.Request.Responses) <= mostEventsAtEnd || !load.IsClosed(l.endNow) {
		return
	}
	if r := &x.Request; r.Status == export.StatusOK {
		r.Status, r.Message = export.StatusCancelled, "the run was stopped before the answer was decoded"
	}
	l.completed.Cut(x)
}

// admit settles x, or keeps it in held when it ended in a window that has not begun.
func (l *levelRun) admit(x *backend.Exchange) {
	if l.meter != nil && !l.stopped {
		end, _, ended := l.end(&x.Request)
		if deadline, ok := l.meter.Deadline(); ok && ended && end > deadline {
			l.held = append(l.held, x)
			l.scratch = &backend.Scratch{} // x keeps the old one
			return
		}
	}
	l.settle(x)
}

// closeWindows ends all time windows whose deadline has passed.
func (l *levelRun) closeWindows() {
	for {
		deadline, ok := l.meter.Deadline()
		if !ok || deadline > l.cfg.Clock.NowNS() {
			return
		}
		l.meter.Tick()
		l.release()
	}
}

// release admits the exchanges in held.
func (l *levelRun) release() {
	held := l.held
	l.held = nil
	for _, x := range held {
		l.admit(x)
	}
}

// decode decodes the responses of x. A violation of the protocol changes its status.
func (l *levelRun) decode(x *backend.Exchange) {
	r := &x.Request
	sent := r.Status
	backend.PutInOrder(r)
	x.Unpack(l.scratch)
	if err := l.cfg.Backend.Decode(x); err != nil && r.Status == export.StatusOK {
		r.Status, r.Message = export.StatusProtocolError, err.Error()
	}
	if sent == export.StatusOK {
		l.driver.Decoded(r.Worker, r.Status == export.StatusOK)
	}
	if r.Status == export.StatusOK {
		r.FailedNS = 0
	}
}

// settle classifies, counts and writes a decoded exchange.
func (l *levelRun) settle(x *backend.Exchange) {
	r := &x.Request
	stamps := countStamps(x)
	l.stamps.Merge(stamps)
	if r.Phase != export.PhaseWarmup {
		l.client.Add(x, stamps)
	}
	end, responses, ended := l.end(r)
	if r.Phase == export.PhaseMeasured && l.meter.Done() && end > l.meter.EndNS() {
		r.Phase = export.PhaseCooldown
	}
	l.count(r)
	if x.Tokens.ServerTimes && r.Excluded() == export.NotExcluded {
		l.stated++
	}
	if ended && r.Excluded() == export.NotExcluded {
		latency := time.Duration(end - r.StartNS)
		l.latencies.Add(latency)
		l.out.Streamed = l.out.Streamed || len(r.Responses) > 1
		l.out.Sequences = l.out.Sequences || r.SequenceID != 0
		got := window.Sample{
			EndNS: end, Latency: latency, Responses: responses, Sequence: x.Sequence.End, Delayed: pawindow.Delayed(r),
		}
		got.Times.Add(r)
		l.meter.Add(got)
	}
	if r.Resent {
		l.out.Resent++
	}
	if l.cfg.Progress != nil && r.Status == export.StatusOK {
		l.addRecent(x, end, ended)
	}
	if l.err == nil { // else the writer is broken
		l.limitBacklog(r)
		l.wrote(l.cfg.Writer.WriteRequest(r))
	}
	l.completed.Done(x)
	x.Release()
}

// end returns when r ended by perf_analyzer's rule, so that an export yields the same
// windows, and how many responses it had by then. ok is false for a request without
// latency; ns is then the time of its last response or of its failure.
func (l *levelRun) end(r *export.Request) (ns uint64, responses int, ok bool) {
	kind := l.cfg.Run.ServiceKind
	ns, responses, ok = pawindow.End(r, pawindow.NullLast(r, kind != nil && *kind == "openai"))
	if ok {
		return ns, responses, true
	}
	if ns, ok = r.FinalResponseNS(); !ok {
		ns = r.FailedNS
	}
	return ns, 0, false
}

func (l *levelRun) flush() {
	l.flushedNS = l.cfg.Clock.NowNS()
	if l.err == nil {
		l.wrote(l.writeScrapes())
	}
	if f, ok := l.cfg.Writer.(flusher); ok && l.err == nil {
		l.wrote(f.Flush())
	}
}
