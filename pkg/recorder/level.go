package recorder

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// progressEvery is the period of Progress calls and of flushes of the writer.
const progressEvery = 250 * time.Millisecond

// flusher is what a writer offers that can push out what it has buffered, so
// that a killed run leaves a readable prefix.
type flusher interface{ Flush() error }

// A levelRun is the collector of one load level: everything in it belongs to
// the goroutine that calls run.
type levelRun struct {
	*session
	index       int
	concurrency int

	box   *mailbox
	spare []*backend.Exchange
	// held are exchanges that ended after the deadline of a time window whose
	// tick is still to come.
	held  []*backend.Exchange
	meter *meter // nil while warming up

	client *clientView // nil while warming up
	rate   errorRate
	recent rolling
	// latencies are those of the measured requests.
	latencies latencies
	// dropped counts the requests that lost their outputs to a slow disk.
	dropped int

	gate     *gate
	budget   int                // of the present stage; < 0 is none
	slots    []*slot            // of the present stage
	cancel   context.CancelFunc // ends what is in flight
	returned int                // exchanges of the present stage taken from the slots
	startNS  uint64
	pace     pace
	// flushedNS is when the writer was told to flush last.
	flushedNS uint64
	stopped   bool // by the user
	out       Level
	err       error
}

// run executes the level: warm-up, measurement, export.
func (l *levelRun) run(ctx context.Context) (Level, error) {
	l.box = newMailbox()
	l.out.Concurrency = l.concurrency
	l.startNS = l.cfg.Clock.NowNS()
	l.flushedNS = l.startNS
	l.wrote(l.cfg.Writer.BeginExperiment(export.ModeConcurrency, strconv.Itoa(l.concurrency)))
	if l.err != nil {
		return l.out, l.err
	}
	if n := l.cfg.Warmup; n > 0 {
		l.stage(ctx, min(n, l.concurrency), n, export.PhaseWarmup)
	}
	if l.err == nil && !l.stopped {
		budget := -1
		if n := l.cfg.Measure.Requests; n > 0 {
			budget = n
		}
		l.meter = newMeter(l.cfg.Measure, l.cfg.Clock.NowNS())
		l.client = newClientView(l.concurrency)
		l.stage(ctx, l.concurrency, budget, export.PhaseMeasured)
		l.meter.finish(l.cfg.Clock.NowNS())
		l.out.Windows, l.out.Stable = l.meter.windows, l.meter.stable
	}
	if limit := l.cfg.MaxErrorRate; limit != nil && !l.stopped && l.rate.above(*limit) {
		l.abandon(l.rate.error(l.concurrency, *limit))
	}
	if !l.writeFailed {
		l.wrote(l.cfg.Writer.EndExperiment(l.experiment()))
	}
	return l.out, l.err
}

// wrote takes the result of a call of the writer.
func (l *levelRun) wrote(err error) {
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("write the export: %w", err)
		l.writeFailed = true
	}
}

// stage runs slots slots until budget requests are sent (budget < 0: until the
// meter says enough), and collects what they return.
func (l *levelRun) stage(ctx context.Context, slots, budget int, phase export.Phase) {
	flight, cancel := context.WithCancel(ctx)
	defer cancel()
	l.cancel = cancel
	l.gate, l.budget = &gate{budget: budget}, budget
	l.returned = 0
	l.slots = nil
	supply := l.stock.supply()
	defer supply.end()
	defer context.AfterFunc(flight, supply.end)()
	var wg sync.WaitGroup
	for i := range slots {
		s := &slot{
			worker: i, sender: l.senders[i], supply: supply, timeout: l.cfg.RequestTimeout,
			firstID: l.nextID, clock: l.cfg.Clock, phase: phase, out: l.box,
		}
		l.slots = append(l.slots, s)
		wg.Go(func() { s.run(flight, l.gate) })
	}
	idle := make(chan struct{})
	go func() { // ends with the last slot
		wg.Wait()
		close(idle)
	}()
	l.loop(ctx, idle)
	if err := supply.failure(); err != nil {
		l.abandon(err)
	}
	l.nextID += uint64(l.gate.count())
}

// loop is the collector's: it returns when all slots have ended and all they
// put is written.
func (l *levelRun) loop(ctx context.Context, idle <-chan struct{}) {
	stop, hardStop := l.cfg.Stop, ctx.Done()
	window, grace := newAlarm(), newAlarm()
	defer window.stop()
	defer grace.stop()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	draining := false
	for {
		if !draining && (l.err != nil || l.stopped || l.meter != nil && l.meter.done) {
			// Enough: send nothing more, give what is in flight its time.
			draining = true
			l.gate.close()
			l.release()
			if l.err != nil || l.cfg.Grace < 0 {
				l.cancel()
			} else {
				grace.set(l.cfg.Grace)
			}
		}
		if l.meter != nil {
			if ns, ok := l.meter.deadline(); ok && !l.stopped {
				window.set(time.Duration(ns) - time.Duration(l.cfg.Clock.NowNS()))
			}
		}
		select {
		case <-l.box.ready:
			l.collect()
		case <-window.c():
			l.collect()
			l.closeWindows()
		case <-tick.C:
			if l.client != nil {
				l.client.watch.Look()
			}
			l.flush()
			l.report()
		case <-grace.c():
			l.cancel()
		case <-stop:
			stop = nil
			l.stopped = true
		case <-hardStop:
			hardStop = nil
			l.stopped = l.stopped || !draining
			l.gate.close()
		case <-idle:
			// The slots may have noticed a dead context before this loop did.
			l.stopped = l.stopped || ctx.Err() != nil && !draining
			l.collect()
			if l.meter != nil {
				l.meter.finish(l.cfg.Clock.NowNS())
			}
			l.release()
			l.report()
			return
		}
	}
}

// collect takes what the slots have put. When that takes long it flushes in
// between, so that a kill loses no more than it would otherwise.
func (l *levelRun) collect() {
	items := l.box.take(l.spare)
	l.pace.begin()
	for i, x := range items {
		l.pace.step(time.Duration(l.cfg.Clock.NowNS() - x.Request.EndedNS))
		l.returned++
		l.admit(x)
		items[i] = nil // its memory is accounted for no longer
		if l.cfg.Clock.NowNS()-l.flushedNS >= uint64(progressEvery) {
			l.flush()
		}
	}
	l.pace.end()
	l.spare = items
}

// admit handles x, or holds it back when it ended in a window that has not
// begun yet.
func (l *levelRun) admit(x *backend.Exchange) {
	if l.meter != nil && !l.stopped {
		end, _ := x.Request.EndNS()
		if deadline, ok := l.meter.deadline(); ok && end > deadline {
			l.held = append(l.held, x)
			return
		}
	}
	l.handle(x)
}

// closeWindows ends all time windows whose deadline has passed.
func (l *levelRun) closeWindows() {
	for {
		deadline, ok := l.meter.deadline()
		if !ok || deadline > l.cfg.Clock.NowNS() {
			return
		}
		l.meter.tick()
		l.release()
	}
}

// release admits what was held back.
func (l *levelRun) release() {
	held := l.held
	l.held = nil
	for _, x := range held {
		l.admit(x)
	}
}

// handle decodes, classifies, counts and writes one exchange.
func (l *levelRun) handle(x *backend.Exchange) {
	r := &x.Request
	sent := r.Status
	backend.PutInOrder(r)
	if err := l.cfg.Backend.Decode(x); err != nil && r.Status == export.StatusOK {
		r.Status, r.Message = export.StatusProtocolError, err.Error()
	}
	if sent == export.StatusOK {
		l.slots[r.Worker].decoded(r.Status == export.StatusOK)
	}
	if r.Status == export.StatusOK {
		r.EndedNS = 0
	}
	for _, s := range l.cfg.Secrets {
		if s != "" {
			r.Message = strings.ReplaceAll(r.Message, s, "[redacted]")
		}
	}
	stamps := stampsOf(r)
	l.stamps.Merge(stamps)
	if r.Phase != export.PhaseWarmup {
		l.client.add(x, stamps)
	}
	end, ended := r.EndNS()
	if r.Phase == export.PhaseMeasured && l.meter.done && (!ended || end > l.meter.endNS()) {
		r.Phase = export.PhaseCooldown
	}
	l.count(r, end)
	if r.Resent {
		l.out.Resent++
	}
	if t := &x.Tokens; t.N > 0 && r.Status == export.StatusOK {
		l.recent.add(end, t.N, time.Duration(r.Responses[t.First].RecvNS-r.StartNS))
	}
	if l.err == nil { // else the writer is broken
		l.relieve(r)
		l.wrote(l.cfg.Writer.WriteRequest(r))
	}
	l.box.done(x)
}

func stampsOf(r *export.Request) (c export.StampCount) {
	for i := range r.Responses {
		c.Add(r.Responses[i].Source)
	}
	return c
}

// count sorts r into the level's counters and the window's, and gives up when
// nothing but failures comes back, or more of them than the user allows.
func (l *levelRun) count(r *export.Request, endNS uint64) {
	l.rate.add(r)
	if limit := l.cfg.MaxErrorRate; limit != nil && l.rate.ended >= fewestEnded && l.rate.above(*limit) {
		l.abandon(l.rate.error(l.concurrency, *limit))
	}
	if r.Status == export.StatusOK {
		l.failures.reset()
	}
	switch r.Excluded() {
	case "":
		latency := time.Duration(endNS - r.StartNS)
		l.out.OK++
		l.latencies.add(latency)
		l.out.Responses += len(r.Responses)
		l.meter.add(endNS, latency)
	case "warmup":
		l.out.Warmup++
		if r.Status != export.StatusOK && r.Status != export.StatusCancelled {
			l.fail(r)
		}
	case "late":
		l.out.Late++
	case "cancelled":
		l.out.Cancelled++
	default:
		l.out.Failed++
		l.fail(r)
	}
}

func (l *levelRun) fail(r *export.Request) {
	if !l.failures.add(r, l.concurrency, l.cfg.Clock.NowNS()) {
		return
	}
	if limit := l.cfg.MaxErrorRate; limit != nil && l.rate.above(*limit) {
		l.abandon(l.rate.error(l.concurrency, *limit))
		return
	}
	l.abandon(l.failures.error())
}

// abandon ends the run because of err, unless something else has ended it: what
// is in flight is cancelled, what is recorded is kept.
func (l *levelRun) abandon(err error) {
	if l.giveUp != nil {
		return
	}
	l.giveUp = err
	l.stopped = true
	l.gate.close()
	l.cancel()
}

func (l *levelRun) flush() {
	l.flushedNS = l.cfg.Clock.NowNS()
	if f, ok := l.cfg.Writer.(flusher); ok && l.err == nil {
		l.wrote(f.Flush())
	}
}

func (l *levelRun) report() {
	p := Progress{
		Level: l.index, Levels: len(l.cfg.Levels), Concurrency: l.concurrency, Warmup: l.meter == nil,
		OK: l.out.OK, Failed: l.out.Failed, InFlight: l.gate.count() - l.returned,
		Done: l.returned, Target: max(l.budget, 0),
	}
	now := l.cfg.Clock.NowNS()
	p.Elapsed = time.Duration(now - l.startNS)
	p.TTFT, p.TokensPerSecond = l.recent.now(now, l.startNS)
	switch {
	case l.meter != nil:
		p.Windows = len(l.meter.windows)
		p.Fraction, p.AtMost = l.meter.fraction(now, l.returned)
		p.Left = left(time.Duration(now-l.meter.startNS), p.Fraction)
	case l.budget > 0:
		p.Fraction = float64(l.returned) / float64(l.budget)
	}
	l.cfg.Progress(p)
}

// left estimates how long the rest takes when the fraction done took elapsed; 0
// when nothing is known.
func left(elapsed time.Duration, done float64) time.Duration {
	if done <= 0 {
		return 0
	}
	return time.Duration(float64(elapsed) * (1 - done) / done)
}

// experiment is the level as the export shows it.
func (l *levelRun) experiment() *export.Experiment {
	e := &export.Experiment{Meta: &export.ExperimentMeta{
		StartNS: l.startNS, EndNS: l.cfg.Clock.NowNS(), Stable: l.out.Stable,
		Measured: l.out.OK, Failed: l.out.Failed, Warmup: l.out.Warmup, Late: l.out.Late, Cancelled: l.out.Cancelled,
		Interrupted: l.stopped, Resent: l.out.Resent, OutputsDropped: l.dropped,
	}}
	if l.out.Stable != nil && !*l.out.Stable {
		e.Meta.Warnings = append(e.Meta.Warnings, fmt.Sprintf("not stable within %d windows", len(l.out.Windows)))
	}
	if l.dropped > 0 {
		e.Meta.Warnings = append(e.Meta.Warnings, fmt.Sprintf("the disk did not keep up: the outputs of %d requests are lost, their times are kept", l.dropped))
	}
	if l.client != nil {
		e.Meta.Client = l.client.finish()
		l.out.Latency = l.latencies.summary()
		l.out.Saturated = saturation(e.Meta.Client, l.out.Latency.Percentiles[50])
		e.Meta.Warnings = append(e.Meta.Warnings, l.out.Saturated...)
	}
	l.out.OutputsDropped = l.dropped
	for i, w := range l.out.Windows {
		if i == 0 {
			e.WindowBoundaries = append(e.WindowBoundaries, w.StartNS)
		}
		e.WindowBoundaries = append(e.WindowBoundaries, w.EndNS)
	}
	return e
}

// An alarm is a timer that may be unset: its channel then blocks for ever.
type alarm struct{ t *time.Timer }

func newAlarm() *alarm { return &alarm{} }

func (a *alarm) set(d time.Duration) {
	if a.t == nil {
		a.t = time.NewTimer(d)
		return
	}
	a.t.Reset(d)
}

func (a *alarm) c() <-chan time.Time {
	if a.t == nil {
		return nil
	}
	return a.t.C
}

func (a *alarm) stop() {
	if a.t != nil {
		a.t.Stop()
	}
}
