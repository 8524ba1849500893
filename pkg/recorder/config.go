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
	"github.com/pa-tools/pa/pkg/recorder/pause"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Config says what to record. Fields without a stated default are required.
type Config struct {
	Backend backend.Backend
	// Entries are sent in the order of Order, from its beginning again at every
	// level.
	Entries workload.Source
	// Streams, if set, is sent instead of Entries to a model that keeps state:
	// entries with the same Stream are the requests of a sequence.
	Streams workload.Source
	// Sequences says what the sequences of such a model are like. It has no effect
	// on others.
	Sequences load.Sequences
	// Order is sequential by default. Batches are made of consecutive entries
	// whatever it is.
	Order workload.Order
	// KeepBytes is how much memory requests may take that are ready to be sent;
	// 0 means 256 MiB. More of them are made while the load is on.
	KeepBytes int64
	// BatchSize is the number of consecutive entries in one request; 0 means 1.
	// More than one needs a backend with a method PrepareBatch.
	BatchSize int
	// Levels are the load levels to measure, in order; none means a concurrency
	// of 1.
	Levels []load.Level
	// Plan, if set, chooses the levels instead. Sessions must not be among them.
	Plan Plan
	// StopOnUnstable ends the run after a level that was not stable, which is no
	// error: see Level.Unstable.
	StopOnUnstable bool
	// Between, if set, is called before each level but the first. An error ends the
	// run. Its ctx ends when Stop is closed or the context of Run ends.
	Between func(ctx context.Context) error
	// Measure says when a level is measured.
	Measure window.Measure
	// Warmup is the number of requests sent before each level is measured, and
	// WarmupTime for how long load is on before: each level warms up until both
	// are over, and then for as long as its ramp takes. These requests are
	// exported as excluded. Between those of Warmup in a closed loop and the rest
	// nothing is in flight; otherwise the load goes on.
	Warmup     int
	WarmupTime time.Duration
	// WaitReady is how long Run waits for the server to become ready; 0 asks
	// once.
	WaitReady time.Duration
	// Waiting, if set, is called once when the server has not been found ready
	// for two seconds; err is why not, nil when it has said nothing yet. It must
	// not block.
	Waiting func(err error)
	// CheckWarnings, if set, is called before the load with the warnings of the
	// backend's Check, if there are any. The export holds the texts, too.
	CheckWarnings func([]backend.Warning)
	// RequestTimeout ends a request that takes longer, with status timeout;
	// 0 means DefaultRequestTimeout, < 0 none.
	RequestTimeout time.Duration
	// Grace is how long a level waits at its end for the requests in flight
	// before it cancels them; 0 means DefaultGrace, < 0 not at all.
	Grace time.Duration

	// MaxErrorRate ends the run with an *[ErrorRateError] when more than that
	// fraction of a level's requests fail (0: none may; 1: all may). It is
	// judged whenever a request ends from the twentieth of the level on, and at
	// the level's end; warm-up counts, cancelled requests do not. nil never
	// does.
	MaxErrorRate *float64

	// Writer takes the requests. It may have a method Flush() error, which is
	// then called a few times a second, and a method Backlog() (waiting, room
	// int64), by which the recorder keeps what it writes behind within bounds:
	// at three quarters of the room outputs are dropped, at all of it the run
	// ends with a *[BacklogError]. Run calls all its methods, Close included.
	Writer export.Writer
	// Run is the header to write. Run.Meta must not be nil. Where its Models are
	// several, each request says to which of them it went. The recorder sets in
	// it the start, model and dataset hash before the first call of Writer, and
	// the rest (end, stamp counts, interruption) before Writer.Close.
	Run export.Run
	// Telemetry, if set, watches servers and GPUs while the run is on; what it
	// sees is written.
	Telemetry Telemetry
	// ServerStats, if set, is told of the edges of each level, and what it has
	// learnt goes to the level's metadata.
	ServerStats ServerStats
	// Clock gives the run's boundaries; it must be the one that the backend
	// stamps with. nil means a new one.
	Clock *rxclock.Clock

	// Stop, when closed, ends the run gracefully: nothing more is sent, what
	// is in flight has Grace to end, everything is written. nil never does.
	// (The context of Run, when done, ends it without grace.)
	Stop <-chan struct{}
	// StopReason is asked for the run's Meta.Interrupted after Stop closed or
	// the context ended ("SIGINT"); nil means "stopped".
	StopReason func() string
	// Progress, if set, is called a few times a second from one goroutine and
	// must not block.
	Progress func(Progress)
	// LevelDone, if set, is called after each level with what it gave, before the
	// next one begins, from the goroutine of Run.
	LevelDone func(*Level)

	// wait is load.Wait, but in tests whose time is not real.
	wait func(until time.Time, done <-chan struct{}, near func()) bool
	// watchPauses is pause.Start, but in tests.
	watchPauses func(nowNS func() uint64) pauseWatcher
}

// A pauseWatcher is a [pause.Watcher].
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
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(c.Backend == nil, "no backend")
	add(c.Writer == nil, "no writer")
	add(c.Run.Meta == nil, "no run metadata")
	add(c.Entries == nil || c.Entries.Len() == 0, "no workload entries")
	if err := c.Sequences.Validate(); err != nil {
		errs = append(errs, err)
	}
	add(c.KeepBytes < 0, "%d bytes of requests: must not be negative", c.KeepBytes)
	_, batches := c.Backend.(backend.Batcher)
	add(c.BatchSize < 0, "batch size %d: must be at least 1", c.BatchSize)
	add(c.BatchSize > 1 && c.Backend != nil && !batches, "batch size %d: requests of this service are not batched", c.BatchSize)
	for _, level := range c.Levels {
		errs = append(errs, c.validateLevel(level))
	}
	add(len(c.Levels) > 0 && c.Plan != nil, "levels and a plan exclude each other; drop one")
	if r := c.MaxErrorRate; r != nil {
		add(!(*r >= 0 && *r <= 1), "max error rate %v: must be 0 to 1", *r)
	}
	add(c.Warmup < 0, "warm-up request count %d: must not be negative", c.Warmup)
	add(c.WarmupTime < 0, "warm-up of %v: must not be negative", c.WarmupTime)
	errs = append(errs, c.Measure.Validate())
	return errors.Join(errs...)
}

// validateLevel reports what is wrong with a level, and with the rest for it.
func (c *Config) validateLevel(level load.Level) error {
	if err := level.Validate(); err != nil {
		return err
	}
	m := c.Measure
	switch level := level.(type) {
	case load.Sessions:
		_, talks := c.Backend.(backend.Conversational)
		switch {
		case m.Counted():
			return fmt.Errorf("%v: a request count excludes it: each session is played to its end", level)
		case c.BatchSize > 1:
			return fmt.Errorf("%v: a batch excludes it", level)
		case c.Backend != nil && !talks:
			return fmt.Errorf("%v: sessions need the chat endpoint of an OpenAI-compatible server", level)
		case c.Entries != nil && c.Warmup >= c.Entries.Len():
			return fmt.Errorf("%v: a warm-up of %d leaves nothing to measure", level, c.Warmup)
		}
	case load.Periodic:
		switch {
		case m.Counted() || m.Duration > 0:
			return fmt.Errorf("%v: a request count or a duration excludes it: each request is sent once", level)
		case c.WarmupTime > 0:
			return fmt.Errorf("%v: a warm-up by time excludes it; it can have one by requests", level)
		}
	case load.Timetable:
		n := len(level.Offsets)
		switch {
		case c.Entries != nil && c.Entries.Len() != n:
			return fmt.Errorf("%v: there are %d entries", level, c.Entries.Len())
		case c.Order.Kind != workload.Sequential:
			return fmt.Errorf("%v: its entries have an order, %v is another", level, c.Order.Kind)
		case m.Counted():
			return fmt.Errorf("%v: a request count excludes it", level)
		case c.Warmup >= n:
			return fmt.Errorf("%v: a warm-up of %d leaves nothing to measure", level, c.Warmup)
		}
	}
	return nil
}

// measure returns how level is measured: with the number of requests that it
// comes to.
func (c *Config) measure(level load.Level) window.Measure {
	m := c.Measure
	if m.All {
		m.Requests = c.Entries.Len()
	}
	times := func(n float64) {
		if m.Times > 0 {
			m.Requests = int(math.Ceil(float64(m.Times) * n))
		}
	}
	switch level := level.(type) {
	case load.Concurrency:
		times(float64(level.N))
	case load.Rate:
		times(level.PerSecond)
	case load.Intervals:
		times(level.PerSecond())
	case load.Timetable:
		if m.Duration == 0 {
			m.Requests = len(level.Offsets) - c.Warmup
		}
	case load.Sessions:
		if m.Duration == 0 {
			m.Requests = c.Entries.Len() - c.Warmup
		}
	case load.Periodic:
		m.Requests = level.End
	}
	return m
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
		c.watchPauses = func(nowNS func() uint64) pauseWatcher { return pause.Start(nowNS) }
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	c.Measure = c.Measure.WithDefaults()
	return c
}
