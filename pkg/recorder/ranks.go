package recorder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/internal/drive"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/ranks"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Ranks describes the processes that record a run together. Each of them calls [Run] with
// the same configuration, except for Rank, Writer and Clock, and sends its share of the
// load; see package ranks.
type Ranks struct {
	ranks.World
	// Barrier lets all ranks begin each level at the same instant.
	Barrier Barrier
	// Run names the run: the same text in all ranks, another one in each run.
	Run string
	// Plan is whatever else all ranks must agree on, such as the command line. The recorder adds
	// levels, order and input data to it. If Plan is a JSON object, the error of ranks with
	// different plans names the members that differ.
	Plan []byte
}

// A Barrier lets ranks meet; *[ranks.Session] and *[ranks.StartAt] are barriers. The
// methods that are not explained here are described there.
type Barrier interface {
	Meet(ctx context.Context, m ranks.Meeting) (ranks.Begin, error)
	End(reason string)
	// Ended returns a channel that is closed when a rank has ended the run; it may be nil.
	Ended() <-chan struct{}
	EndedBy() *ranks.EndedError
	Finish(ctx context.Context, clock ranks.Clock) ranks.Closing
}

var (
	_ Barrier = (*ranks.Session)(nil)
	_ Barrier = (*ranks.StartAt)(nil)
)

// several reports whether the run has several ranks.
func (c *Config) several() bool { return c.Ranks != nil && c.Ranks.Several() }

// validateRanks reports all settings that exclude a world of several ranks, joined.
func (c *Config) validateRanks() error {
	if !c.several() {
		return nil
	}
	var errs []error
	add := func(bad bool, text string) {
		if bad {
			errs = append(errs, fmt.Errorf("a run of %d ranks: %s", c.Ranks.Size, text))
		}
	}
	r := c.Ranks
	add(r.Rank < 0 || r.Rank >= r.Size, fmt.Sprintf("rank %d is not one of them", r.Rank))
	add(r.Barrier == nil, "no barrier")
	add(c.Plan != nil, "latency chooses the levels of a search, and no rank knows the latency of all; list the levels")
	add(c.MaxErrorRate != nil, "an error rate cannot end it, because no rank knows the failures of all")
	add(c.MaxOverflowRate != nil, "a rate of context overflows cannot end it, because no rank knows the overflows of all ranks")
	add(c.Starts != nil, "sessions cannot start within their recordings, because each rank would begin the measurement at another time")
	add(c.RefillWindow, "a slot without a session cannot end the measurement, because no rank knows the slots of all")
	add(c.StopOnUnstable, "stability cannot end it, because no rank knows the windows of all")
	levels := c.Levels
	if len(levels) == 0 && c.Plan == nil {
		levels = load.Closed(1)
	}
	for _, level := range levels {
		m := c.measure(level)
		add(!m.Fixed(), fmt.Sprintf("%v: give a request count or a duration; no rank knows the windows of all", level))
		traits, slots := level.Traits(), level.Slots()
		add(traits.Whole != "", fmt.Sprintf("%v: %s", level, traits.Whole))
		_, open := level.(load.Open)
		if traits.Conversations {
			add(slots < r.Size && !open, fmt.Sprintf("%v: needs at least one session at a time for each rank", level))
			add(c.Measure.Counted() && c.WarmupTime+traits.RampUp > 0, fmt.Sprintf("%v: a warm-up by time and a request count exclude each other: no rank knows how many requests of sessions are in the warm-up of all", level))
			add(c.Order.Kind == workload.Random, fmt.Sprintf("%v: conversations drawn with replacement cannot be divided; use another order", level))
		}
		add(open && slots > 0 && slots < r.Size, fmt.Sprintf("%v: a ceiling of %d in flight leaves none to some ranks", level, slots))
	}
	return errors.Join(errs...)
}

// share returns the rank's share of a level.
func (c *Config) share(level load.Level) ranks.Share {
	if !c.several() {
		return ranks.Share{}
	}
	return shareOf(c.Ranks.World, level)
}

// shareOf returns a rank's share of a level. The ranks that have no slot of a closed loop
// have no requests of it either.
func shareOf(w ranks.World, level load.Level) ranks.Share {
	if _, open := level.(load.Open); open || level.Traits().Conversations {
		return w.Share()
	}
	return w.Share().Among(level.Slots())
}

// PlannedShare returns a rank's part of a level, as far as it is known before the input
// data is read: without the number of requests where the data determines it.
func PlannedShare(w ranks.World, level load.Level, m window.Measure, warmup int, warmupTime time.Duration) export.LevelShare {
	s := export.LevelShare{Value: shareValue(w, level)}
	if m.All || level.Traits().PlaysData {
		return s // the data has the number
	}
	c := Config{Measure: m, Warmup: warmup, WarmupTime: warmupTime}
	n := c.measure(level).Requests
	if n <= 0 {
		return s
	}
	share, before := shareOf(w, level), 0
	if open, ok := c.scaled(level, 0).(load.Open); ok {
		before = max(warmup, load.ArrivalsBefore(open.Schedule(), warmupTime+level.Traits().RampUp))
	}
	n = share.Count(before+n) - share.Count(before)
	s.Requests = &n
	return s
}

// A stageShare is the part of a stage that a rank sends.
type stageShare struct {
	ranks.Share
	warmup int // least number of requests of the warm-up
	// budget is the number of requests to measure: 0 makes the stage a warm-up, < 0 is no
	// bound.
	budget int
	idle   bool // the rank has nothing to send
}

// stageShare divides a stage with a warm-up of at least warmup requests and warmupTime,
// and budget requests to measure (0: none; < 0: no bound).
func (r *runState) stageShare(level load.Level, warmup int, warmupTime time.Duration, budget int) stageShare {
	s := stageShare{Share: r.cfg.share(level), warmup: warmup, budget: budget}
	if s.Whole() {
		return s
	}
	if level.Traits().Conversations {
		s.warmup = r.requests.Turns(s.Share, r.first, warmup)
		if budget > 0 {
			s.budget = r.requests.Turns(s.Share, r.first, warmup+budget) - s.warmup
		}
	} else {
		before := warmup
		if open, ok := level.(load.Open); ok && budget > 0 && warmupTime > 0 {
			// The schedule says which request is the first to be measured.
			before = max(before, load.ArrivalsBefore(open.Schedule(), warmupTime))
		}
		s.warmup = s.Count(warmup)
		if budget > 0 {
			s.budget = s.Count(before+budget) - s.Count(before)
		}
	}
	s.idle = s.Idle() || s.budget == 0 && s.warmup == 0 && (budget == 0 || warmupTime == 0)
	return s
}

// levelShare describes the rank's part of a level that begins at beginNS on the clock of
// rank 0; nil for a run of one rank.
func (l *levelRun) levelShare() *export.LevelShare {
	if !l.cfg.several() {
		return nil
	}
	s := &export.LevelShare{Value: shareValue(l.cfg.Ranks.World, l.load), BeginNS: l.beginNS}
	if l.budgeted {
		s.Requests = &l.budget
	}
	return s
}

// shareValue returns a rank's part of a level's value, as [export.LevelShare] has it:
// slots of a closed loop, requests per second of an open one.
func shareValue(w ranks.World, level load.Level) string {
	share := shareOf(w, level)
	if _, open := level.(load.Open); open {
		return strconv.FormatFloat(level.Traits().PerSecond/float64(share.Size), 'f', -1, 64)
	}
	return strconv.Itoa(share.Slots(level.Slots()))
}

// planParts returns the parts of the plan by name: the members of Ranks.Plan, if Plan is a JSON
// object, and the input data.
func (r *runState) planParts() map[string]string {
	var members map[string]json.RawMessage
	if json.Unmarshal(r.cfg.Ranks.Plan, &members) != nil {
		members = nil
	}
	parts := map[string]string{"input data": r.requests.SHA256()}
	for name, value := range members {
		parts[name] = string(value)
	}
	return parts
}

// planHash returns the hash of everything on which all ranks must agree.
func (r *runState) planHash() string {
	h := sha256.New()
	part := func(text string) {
		fmt.Fprintf(h, "%d:%s,", len(text), text)
	}
	c := &r.cfg
	part(string(c.Ranks.Plan))
	part(c.Ranks.Run)
	part(strconv.Itoa(c.Ranks.Size))
	part(r.requests.SHA256())
	part(c.Order.Kind.String())
	part(strconv.FormatUint(c.Order.Seed, 10))
	for _, level := range c.Levels {
		part(level.Mode() + " " + level.Value() + " " + level.String())
		part(fmt.Sprintf("%+v", c.measure(level)))
		if open, ok := c.scaled(level, r.requests.Sessions()).(load.Open); ok {
			part(arrivalsText(open.Schedule()))
		}
	}
	part(fmt.Sprint(c.Warmup, c.WarmupTime, c.BatchSize, c.ContinueFailed))
	return hex.EncodeToString(h.Sum(nil))
}

// arrivalsText returns the first instants of a schedule, which differ if seeds or traces
// do.
func arrivalsText(s load.Schedule) string {
	text := ""
	for range 64 {
		due, ok := s.Next()
		if !ok {
			break
		}
		text += strconv.FormatInt(int64(due), 10) + " "
	}
	return text
}

// firstMeeting meets the other ranks before the first level. It fills in what the header
// says about this file among the shards of the run.
func (r *runState) firstMeeting(ctx context.Context, meta *export.RunMeta) error {
	if !r.cfg.several() {
		return nil
	}
	w := r.cfg.Ranks
	r.plan = r.planHash()
	// The ranks may have ended an earlier run at different positions.
	r.nextID = uint64(r.cfg.First) + 1 //nolint:gosec // not negative
	b, err := r.meet(ctx, false)
	if err != nil {
		return err
	}
	r.cfg.First, r.nextID = int(r.nextID-1), 1 //nolint:gosec // a number of requests
	by := export.DividedByRequest
	for _, level := range r.cfg.Levels {
		if level.Traits().Conversations {
			by = export.DividedByConversation
		}
	}
	meta.Shard = &export.ShardMeta{
		Rank: w.Rank, WorldSize: w.Size, Run: w.Run, PlanSHA256: r.plan, DividedBy: by, Launcher: w.Launcher,
		OffsetBefore: b.Offset,
	}
	return nil
}

// meet meets the other ranks and takes over the next ID.
func (r *runState) meet(ctx context.Context, start bool) (ranks.Begin, error) {
	b, err := r.cfg.Ranks.Barrier.Meet(ctx, ranks.Meeting{Clock: r.cfg.Clock, PlanSHA256: r.plan, Parts: r.planParts(), NextID: r.nextID, Start: start})
	if err != nil {
		return b, r.endedByOther(err)
	}
	r.nextID = b.NextID
	return b, nil
}

// endedByOther returns why another rank has ended the run, which explains err; err if none
// has, or err is nil.
func (r *runState) endedByOther(err error) error {
	if err == nil || !r.cfg.several() {
		return err
	}
	if by := r.cfg.Ranks.Barrier.EndedBy(); by != nil && by.Rank != r.cfg.Ranks.Rank {
		return by
	}
	return err
}

// lateWarning is the warning about a rank that got the instant of the start too late.
const lateWarning = "this rank began %s after the instant at which all ranks were to begin"

// start returns the instant at which a stage begins: now, or with several ranks the
// instant that all of them get. ok is false if the load must not begin.
func (l *levelRun) start(ctx context.Context) (start time.Time, ok bool) {
	if !l.cfg.several() {
		return time.Now(), true
	}
	ctx, cancel := l.untilStop(ctx)
	defer cancel()
	b, err := l.meet(ctx, true)
	if err != nil {
		l.stopped = true
		var ended *ranks.EndedError
		if ctx.Err() == nil || errors.As(err, &ended) {
			l.giveUp = err
		}
		return time.Time{}, false
	}
	if l.beginNS == 0 {
		l.beginNS = b.AtNS
		l.startNS, l.out.StartNS = b.LocalNS, b.LocalNS
	}
	start = l.cfg.Clock.Time(b.LocalNS)
	if late := time.Since(start); late > 0 {
		l.late = fmt.Sprintf(lateWarning, plural.Time(late.Round(time.Microsecond)))
	}
	return start, true
}

// endOfRun tells the other ranks that this rank has finished, or failed with err, and
// completes the metadata. It returns the error of the run.
func (r *runState) endOfRun(ctx context.Context, meta *export.RunMeta, err error) error {
	if !r.cfg.several() {
		return err
	}
	b := r.cfg.Ranks.Barrier
	var ended *ranks.EndedError
	if err != nil && !errors.As(err, &ended) {
		b.End(err.Error())
	}
	closing := b.Finish(ctx, r.cfg.Clock)
	meta.Shard.OffsetAfter = closing.Offset
	if len(closing.Lost) > 0 && err == nil {
		err = &ranks.LostError{Ranks: closing.Lost}
	}
	if by := b.EndedBy(); by != nil && err == nil && by.Rank != r.cfg.Ranks.Rank {
		return by
	}
	return err
}

// watchRanks tells the other ranks when this one is stopped, and makes Config.Stop end
// when another rank has ended the run, until the returned function is called.
func (r *runState) watchRanks() (stop func()) {
	if !r.cfg.several() {
		return func() {}
	}
	own, reason := r.cfg.Stop, r.cfg.StopReason
	b := r.cfg.Ranks.Barrier
	merged, over, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	r.cfg.Stop = merged
	r.cfg.StopReason = func() string {
		if by := b.EndedBy(); by != nil && by.Rank != r.cfg.Ranks.Rank {
			return by.Error()
		}
		return reason()
	}
	go func() { // ends with over
		defer close(ended)
		select {
		case <-own:
			close(merged) // first: it stops the load
			b.End(reason())
		case <-b.Ended():
			close(merged)
		case <-over:
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}

// numbersUsed returns how many numbers of a stage's requests are used up, when the rank
// has sent admitted requests of it.
func numbersUsed(d drive.Driver, share ranks.Share, admitted int) int {
	turns, ok := d.(interface{ TurnsBegun() int })
	switch {
	case share.Whole():
		return admitted
	case ok:
		return turns.TurnsBegun()
	case admitted == 0:
		return 0
	}
	return share.Number(admitted-1) + 1
}

// initialSlots returns how many slots the rank opens before a level begins.
func (c *Config) initialSlots(level load.Level) int {
	return drive.InitialSlots(level, c.share(level))
}
