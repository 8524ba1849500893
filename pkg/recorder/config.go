package recorder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Config describes a run. Fields without a stated default are required.
type Config struct {
	Backend backend.Backend
	// Entries is the input data, which is sent in Order; nil means [workload.Builtin]. Each
	// level, warm-up included, goes on where the level before ended. After the last entry the
	// data begins again. So a server that caches prompts answers no level from its cache until
	// all entries are sent. The entries of a load.Timetable always begin with the first one.
	Entries workload.Source
	// First is the position, in the order of the data, at which the first level begins: the
	// Result.Next of an earlier run.
	First int
	// Restart makes each stage of each level begin with the first entry.
	Restart bool
	// Renew, if set, is called before each level, 0 for the first, and may change the
	// entries of Entries and Streams to others of the same number. Its ctx ends when Stop is
	// closed or the context of Run ends.
	Renew func(ctx context.Context, level int) (Renewal, error)
	// Identity, if set, returns what the entries are made from, such as the hashes of files and the settings that change their
	// content. If Entries is Sessions, not all requests are encoded before the load, and their hash is made of this. It is called
	// after Renew.
	Identity func() string
	// Hash, if set, replaces the hashes of the data in the header of the export. Runs of a
	// series that make up their entries get Result.Hash of the first run, so that all headers
	// describe the same data.
	Hash DataHash
	// Streams, if set, replaces Entries for a model that keeps state. Entries with the
	// same Stream are the requests of one sequence.
	Streams workload.Source
	// Sequences configures the sequences sent to a model that keeps state. Other models
	// ignore it.
	Sequences load.Sequences
	// Order is sequential by default. A batch holds consecutive entries in any order.
	Order workload.Order
	// KeepBytes bounds the memory of encoded requests; 0 means 256 MiB. Requests beyond
	// it are encoded again during the load.
	KeepBytes int64
	// BatchSize is the number of consecutive entries in one request; 0 means 1.
	// More than one needs a backend with a method PrepareBatch.
	BatchSize int
	// Levels are the load levels to measure, in order; none means a concurrency
	// of 1.
	Levels []load.Level
	// Plan, if set, chooses the levels instead of Levels. Either all of its levels play sessions, or none.
	Plan Plan
	// OpenPerSecond bounds how many senders Run opens in a second before a level begins,
	// for backends that connect in Open; 0 means no bound. Senders that a schedule needs
	// during a level are opened at once.
	OpenPerSecond float64
	// StopOnUnstable ends the run, without an error, after a level that was not stable;
	// see Level.Unstable.
	StopOnUnstable bool
	// Between, if set, is called before each level except the first. An error ends the
	// run. Its ctx ends when Stop is closed or the context of Run ends.
	Between func(ctx context.Context) error
	// Measure decides when the measurement of a level is over.
	Measure window.Measure
	// Objective, if set, is called when the requests of a level are written, and says whether
	// the level met an objective. If it did not, Level.OverLimit is set.
	Objective func() bool
	// Warmup and WarmupTime are the least number of requests and the least time of a
	// level's warm-up, to which the level's ramp is added. The export marks these
	// requests as excluded. In a closed loop the requests of Warmup end before the rest
	// of the level begins; otherwise the load goes on.
	Warmup     int
	WarmupTime time.Duration
	// WaitReady is how long Run waits for the server to become ready; 0 checks once.
	WaitReady time.Duration
	// Waiting, if set, is called once when the server is not ready after two seconds.
	// err is the reason, nil as long as the server has not answered. It must not block.
	Waiting func(err error)
	// CheckWarnings, if set, is called before the load with the warnings of the
	// backend's Check, if there are any. The export also holds their texts.
	CheckWarnings func([]backend.Warning)
	// ServerDetails says that the requests ask for export.ServerDetails: a level with answers that lack them has a warning.
	ServerDetails bool
	// RequestTimeout ends a request that takes longer, with status timeout; 0 means
	// DefaultRequestTimeout, < 0 none.
	RequestTimeout time.Duration
	// Grace is how long a level waits at its end for the requests in flight before it
	// cancels them; 0 means DefaultGrace, < 0 not at all.
	Grace time.Duration

	// Starts lets the first session of each slot of load.Sessions begin within its recording; nil: at its beginning. What is sent before
	// the measurement is marked as warm-up.
	Starts *workload.Starts
	// Marker marks the requests of each play of a session; nil: nothing does.
	Marker *workload.Marker
	// RefillWindow ends the measurement of load.Sessions when a slot finds no session left in the data, so that all of it has all slots
	// full.
	RefillWindow bool
	// ContinueFailed lets a session go on after a request that failed: what waits for it begins, and a turn that continues it is
	// sent without that answer. By default a failed request ends its session. A context overflow always ends it, see
	// export.StatusContextOverflow.
	ContinueFailed bool
	// MaxOverflowRate ends the run as MaxErrorRate does, with an *[OverflowRateError], when more than this fraction of a level's
	// requests are longer than the context of the model. Those requests are failures, too.
	MaxOverflowRate *float64
	// MaxErrorRate ends the run with an *[ErrorRateError] when more than this fraction
	// of a level's requests fail (0: none may; 1: all may). The recorder compares when
	// a request ends, from the twentieth request of the level on, and at the level's
	// end. Warm-up counts, cancelled requests do not. nil sets no limit.
	MaxErrorRate *float64

	// Writer receives the requests. If it has a method Flush() error, Run calls it a few
	// times a second. If it has a method Backlog() (waiting, room int64), Run bounds the
	// bytes that wait to be written: it drops outputs at three quarters of room, and
	// ends with a *[BacklogError] at all of it. Run calls all methods, also Close.
	Writer export.Writer
	// Run is the header to write. Run.Meta must not be nil. If it lists several Models,
	// each request names its model. The recorder sets start, model and dataset hash
	// before the first call of Writer, and the rest (end, stamp counts, interruption)
	// before Writer.Close.
	Run export.Run
	// Telemetry, if set, collects metrics of servers and GPUs during the run. The
	// recorder writes them to the export.
	Telemetry Telemetry
	// ServerStats, if set, reads the server's counters at the edges of each level. The
	// recorder puts them into the level's metadata.
	ServerStats ServerStats
	// Clock is the clock of the run, which Run hands to the senders of the backend. Whoever
	// else takes times of the run needs it, such as Telemetry; nil means a new one.
	Clock *rxclock.Clock

	// Ranks describes the other processes that record this run; nil means that this one
	// records alone.
	Ranks *Ranks

	// Stop, when closed, ends the run gracefully: no request is sent any more, requests
	// in flight have Grace to end, and everything is written. nil is never closed. (The
	// context of Run, when done, ends the run without grace.)
	Stop <-chan struct{}
	// StopReason returns the text for Meta.Interrupted ("SIGINT"). Run calls it after
	// Stop was closed or the context ended; nil means "stopped".
	StopReason func() string
	// Begins, if set, is called when the server is ready, the requests are encoded and the
	// connections open, right before the first level. It must not block.
	Begins func()
	// Progress, if set, is called a few times a second from one goroutine and must not
	// block.
	Progress func(Progress)
	// Judge, if set, says at the end of the run whether it follows the rules of a scenario, for the export and Result.Submission. err is
	// the error of the run.
	Judge func(res *Result, err error) *export.Submission
	// LevelDone, if set, is called with each level that has ended, before the next one
	// begins, from the goroutine of Run.
	LevelDone func(*Level)

	// wait is load.Wait; tests without real time replace it.
	wait func(until time.Time, done <-chan struct{}, near func()) bool
	// watchPauses is startPauseWatch; tests replace it.
	watchPauses func(nowNS func() uint64) pauseWatcher
}

// A pauseWatcher is a pauseWatch or its replacement in tests.
type pauseWatcher interface {
	Pauses() []export.Pause
	Stop() []export.Pause
}

// Defaults of Config.
const (
	defaultKeepBytes      = 256 << 20
	DefaultRequestTimeout = 10 * time.Minute
	DefaultGrace          = 30 * time.Second
)

// Validate reports all mistakes of c at once.
func (c *Config) Validate() error {
	if c.Entries == nil {
		whole := *c
		whole.Entries = workload.Builtin()
		return whole.Validate()
	}
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(c.Backend == nil, "no backend")
	add(c.Writer == nil, "no writer")
	add(c.Run.Meta == nil, "no run metadata")
	add(c.Entries.Len() == 0, "no workload entries")
	errs = append(errs, c.Sequences.Validate())
	add(c.First < 0, "first position %d: must not be negative", c.First)
	add(c.KeepBytes < 0, "%d bytes of requests: must not be negative", c.KeepBytes)
	_, batches := c.Backend.(backend.Batcher)
	add(c.BatchSize < 0, "batch size %d: must be at least 1", c.BatchSize)
	add(c.BatchSize > 1 && c.Backend != nil && !batches, "batch size %d: requests of this service are not batched", c.BatchSize)
	for _, level := range c.Levels {
		errs = append(errs, c.validateLevel(level))
	}
	if c.Starts != nil {
		errs = append(errs, c.Starts.Validate())
		add(c.Warmup > 0 || c.WarmupTime > 0, "sessions that start within their recordings have a warm-up of their own; drop the other")
	}
	add(c.RefillWindow && c.Measure.Fixed(), "a measurement that ends when a slot finds no session left, and a request count or a duration, exclude each other; drop one")
	add(len(c.Levels) > 0 && c.Plan != nil, "levels and a plan exclude each other; drop one")
	if r := c.MaxErrorRate; r != nil {
		add(!(*r >= 0 && *r <= 1), "max error rate %v: must be 0 to 1", *r)
	}
	if r := c.MaxOverflowRate; r != nil {
		add(!(*r >= 0 && *r <= 1), "max overflow rate %v: must be 0 to 1", *r)
	}
	add(c.Warmup < 0, "warm-up request count %d: must not be negative", c.Warmup)
	add(c.WarmupTime < 0, "warm-up of %v: must not be negative", c.WarmupTime)
	errs = append(errs, c.Measure.Validate(), c.validateRanks())
	return errors.Join(errs...)
}

// validateLevel reports a mistake of the level, or a setting that excludes it.
func (c *Config) validateLevel(level load.Level) error {
	if err := level.Validate(); err != nil {
		return err
	}
	if !level.Traits().Midway && (c.Starts != nil || c.RefillWindow) {
		return fmt.Errorf("%v: only a number of sessions at a time can start within recordings, or end its measurement when a slot finds no session left", level)
	}
	_, talks := c.Backend.(backend.Conversational)
	by := load.Settings{
		Entries: c.Entries.Len(), Batched: c.BatchSize > 1, Counted: c.Measure.Counted(), Times: c.Measure.Times > 0, Timed: c.Measure.Duration > 0,
		Warmup: c.Warmup, WarmupByTime: c.WarmupTime > 0, NoChat: c.Backend != nil && !talks,
	}
	if all, ok := c.Entries.(workload.Sessions); ok {
		by.Sessions = all.Sessions()
	}
	if c.Order.Kind != workload.Sequential {
		by.Order = c.Order.Kind.String()
	}
	return level.Excluded(by)
}

// measure returns the rule that measures level, with the level's number of requests.
func (c *Config) measure(level load.Level) window.Measure {
	m := c.Measure
	if m.All {
		m.Requests = c.Entries.Len()
	}
	traits := level.Traits()
	if m.Times > 0 && traits.Amount > 0 {
		m.Requests = int(math.Ceil(float64(m.Times) * traits.Amount))
	}
	if traits.PlaysData && !m.Fixed() {
		m.Requests = c.Entries.Len() - c.Warmup
	}
	if traits.Requests > 0 {
		m.Requests = traits.Requests
	}
	return m
}

// scaled returns the level with its drawn gaps scaled to what it measures. The data has so many sessions.
func (c *Config) scaled(level load.Level, sessions int) load.Level {
	drawn, ok := level.(load.Scalable)
	if !ok {
		return level
	}
	m := c.measure(level)
	return drawn.ScaledTo(load.Measured{
		Warmup: c.Warmup, WarmupTime: c.WarmupTime, Requests: m.Requests, Duration: m.Duration, Sessions: sessions, Counted: c.Measure.Counted(),
	})
}

// withDefaults returns c with every default spelled out.
func (c Config) withDefaults() Config {
	if len(c.Levels) == 0 && c.Plan == nil {
		c.Levels = load.Closed(1)
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = DefaultRequestTimeout
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.KeepBytes == 0 {
		c.KeepBytes = defaultKeepBytes
	}
	if c.Entries == nil {
		c.Entries = workload.Builtin()
	}
	if c.Clock == nil {
		c.Clock = rxclock.New()
	}
	if c.StopReason == nil {
		c.StopReason = func() string { return "stopped" }
	}
	if c.Waiting == nil {
		c.Waiting = func(error) {}
	}
	if c.wait == nil {
		c.wait = load.Wait
	}
	if c.watchPauses == nil {
		c.watchPauses = func(nowNS func() uint64) pauseWatcher { return startPauseWatch(nowNS) }
	}
	c.Measure = c.Measure.WithDefaults()
	return c
}
