package load

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// A Level is one load level of a run. The levels of this package are [Concurrency], [Periodic], [Rate], [Intervals] and
// [Timetable], and with sessions [Sessions], [SessionRequests], [SessionRate] and [SessionTimetable].
type Level interface {
	// Mode and Value name the level in an export: perf_analyzer's mode and the text of
	// its number.
	Mode() string
	Value() string
	// String describes the level for people: "concurrency 8".
	String() string
	// Slots returns how many requests can be in flight; 0 for no limit.
	Slots() int
	// Validate returns a mistake of the level, or nil.
	Validate() error
	// Excluded returns why the settings of a run exclude the level, or nil.
	Excluded(by Settings) error
	// Traits returns what a recorder and a forecast need to know of the level.
	Traits() Traits
}

// Settings are what else is set for a run, as far as it can exclude a level.
type Settings struct {
	Entries      int    // number of entries of the data
	Sessions     int    // number of sessions of the data; 0 if that is not known
	Order        string // in which the entries are sent; "" for the order of the data
	Batched      bool   // a request has several entries
	Counted      bool   // a request count ends the level
	Times        bool   // the request count is a multiple of the level
	Timed        bool   // a duration ends the level
	Warmup       int
	WarmupByTime bool
	NoChat       bool // the backend cannot hold conversations
}

// Traits are what a recorder and a forecast need to know of a level of any kind.
type Traits struct {
	// Amount is the number that a search raises; a request count can be a
	// multiple: slots of a [Concurrency], [Sessions] or [SessionRequests], requests per second of a [Rate] or
	// [Intervals]. Other levels have 0.
	Amount float64
	// PerSecond is the mean rate of an open loop, of requests or of sessions, 0 if all are due at once; closed
	// loops have 0.
	PerSecond float64
	// AtOnce is the largest number of requests that begin at the same instant, 0 for a level
	// that gets to its requests in flight over time.
	AtOnce int
	// WarmupSlots is the number of slots that warm up the level in a stage of their own, 0 if
	// the warm-up is part of the level.
	WarmupSlots int
	// RampUp is how long the level takes to reach its load. That time is warm-up.
	RampUp time.Duration
	// PlaysData means that the level ends with its data, unless a duration or a request count ends it.
	PlaysData bool
	// Instants is how many entries or sessions of the data have an instant of their own in the schedule, 0
	// if none has.
	Instants int
	// Conversations means that the level plays sessions.
	Conversations bool
	// Requests is how many requests the level has by itself, 0 if it has no number of its own.
	Requests int
	// Whole says why ranks cannot divide the level; "" means that they can.
	Whole string
	// Stateless says why the level cannot send the sequences of a model that keeps state; "" means
	// that it can.
	Stateless string
	// Midway means that sessions can begin within their recordings, and that a slot without a session can end the
	// measurement.
	Midway bool
	// Plain means that Mode and Value determine the level; String says what they do not.
	Plain bool
}

// An Open is the level of an open loop. When Slots requests are in flight, due requests
// wait. The schedule of a level with sessions is about sessions, as are its Slots.
type Open interface {
	Level
	// Schedule returns a new schedule, which begins at the start of the level.
	Schedule() Schedule
	// Due returns when request n of the schedule, counted from 1, is due. It takes no time for
	// each request.
	Due(n int) time.Duration
	// DueWithin returns how many requests are due in the first d of the level.
	DueWithin(d time.Duration) int
}

// A Scalable is a level whose gaps are drawn, which can be scaled to what the level measures.
type Scalable interface {
	Level
	// ScaledTo returns the level with its drawn gaps scaled to the requests, or the sessions, that it measures.
	// Gaps stay as drawn if that number is not known, as with measurement windows.
	ScaledTo(Measured) Level
}

// Measured says what a level measures, as far as it is known before the level.
type Measured struct {
	Warmup     int
	WarmupTime time.Duration
	Requests   int           // 0 if they are not counted
	Duration   time.Duration // 0 if no time ends the level
	Sessions   int           // of the data
	Counted    bool          // a request count is set, be it of this level or of the run
}

// within returns how many arrivals a rate has in the measured time.
func (m Measured) within(perSecond float64) int {
	return int(math.Round(min(perSecond*m.Duration.Seconds(), math.MaxInt32)))
}

// A Concurrency is a closed loop of N slots. Each slot sends its next request as soon as
// the last one has ended.
type Concurrency struct {
	N int
	// RampUp is the time over which the slots begin, one after the other; 0 begins all
	// at once.
	RampUp time.Duration
}

// Closed returns a closed loop for each number of slots, without a ramp.
func Closed(concurrencies ...int) []Level {
	levels := make([]Level, len(concurrencies))
	for i, n := range concurrencies {
		levels[i] = Concurrency{N: n}
	}
	return levels
}

// Mode implements Level.
func (Concurrency) Mode() string { return export.ModeConcurrency }

// Value implements Level.
func (c Concurrency) Value() string { return strconv.Itoa(c.N) }

func (c Concurrency) String() string { return "concurrency " + c.Value() }

// Slots implements Level.
func (c Concurrency) Slots() int { return c.N }

// Validate implements Level.
func (c Concurrency) Validate() error {
	switch {
	case c.N < 1:
		return fmt.Errorf("concurrency %d: must be at least 1", c.N)
	case c.RampUp < 0:
		return fmt.Errorf("ramp-up %v: must not be negative", c.RampUp)
	}
	return nil
}

// Traits implements Level.
func (c Concurrency) Traits() Traits {
	t := Traits{Amount: float64(c.N), AtOnce: c.N, WarmupSlots: c.N, RampUp: c.RampUp, Plain: true}
	if c.RampUp > 0 {
		t.AtOnce = 0
	}
	return t
}

// Excluded implements Level.
func (Concurrency) Excluded(Settings) error { return nil }

// Begin returns when slot i begins, counted from the start of the level.
func (c Concurrency) Begin(i int) time.Duration {
	return time.Duration(float64(c.RampUp) * float64(i) / float64(c.N))
}

// warmsUpAll returns the error for a warm-up of at least all of a level's n requests, or nil.
func warmsUpAll(l Level, warmup, n int) error {
	if warmup >= n {
		return fmt.Errorf("%v: a warm-up of %d leaves nothing to measure", l, warmup)
	}
	return nil
}

// needsSlots is Traits.Stateless of a level that is neither a concurrency nor a rate.
const needsSlots = "needs a concurrency or a rate"

// A Periodic level begins with a batch of Start requests. It sends Step more requests
// whenever each request of the last batch has had Period responses, up to End requests in
// all. No slot sends a second request.
type Periodic struct{ Start, End, Step, Period int }

// Mode implements Level.
func (Periodic) Mode() string { return export.ModeConcurrency }

// Value implements Level. It returns the largest number of requests in flight, where
// perf_analyzer always writes 1.
func (p Periodic) Value() string { return strconv.Itoa(p.End) }

func (p Periodic) String() string {
	return fmt.Sprintf("%s, a step every %d responses", p.bounds(), p.Period)
}

// bounds describes the range.
func (p Periodic) bounds() string {
	return fmt.Sprintf("periodic concurrency %d:%d:%d", p.Start, p.End, p.Step)
}

// Slots implements Level.
func (p Periodic) Slots() int { return p.End }

// Validate implements Level.
func (p Periodic) Validate() error {
	switch {
	case p.Start < 1:
		return fmt.Errorf("%s: the start must be at least 1", p.bounds())
	case p.End < p.Start:
		return fmt.Errorf("%s: the end is before the start", p.bounds())
	case p.Step < 1:
		return fmt.Errorf("%s: the step must be at least 1", p.bounds())
	case (p.End-p.Start)%p.Step != 0:
		return fmt.Errorf("%s: the steps from the start do not meet the end", p.bounds())
	case p.Period < 1:
		return fmt.Errorf("request period %d: must be at least 1", p.Period)
	}
	return nil
}

// Excluded implements Level.
func (p Periodic) Excluded(by Settings) error {
	switch {
	case by.Counted || by.Timed:
		return fmt.Errorf("%v: cannot be combined with a request count or a duration, because each request is sent once", p)
	case by.WarmupByTime:
		return fmt.Errorf("%v: cannot be combined with a warm-up by time; give a warm-up by requests", p)
	}
	return nil
}

// Traits implements Level.
func (p Periodic) Traits() Traits {
	return Traits{
		AtOnce: max(p.Start, p.Step), WarmupSlots: p.Start, Requests: p.End, Stateless: needsSlots,
		Whole: "the steps follow the responses of all requests, and no rank has these",
	}
}

// Bounds of Rate.PerSecond: one request in a year, and more than a machine can send.
const (
	minRate = 1.0 / (365 * 24 * 3600)
	maxRate = 1e7
)

// A Rate is an open loop with a mean rate of requests.
type Rate struct {
	PerSecond float64
	Arrivals  Arrivals
	// Burstiness is the shape of the gamma distribution, as in the serving benchmark of
	// vLLM: below 1 requests come in bursts, 1 is Poisson, larger values make the gaps
	// more even. 0 means 1. Other Arrivals must not have it.
	Burstiness float64
	Seed       uint64
	// Ceiling bounds the requests in flight; 0 sets no bound.
	Ceiling int
	// RampUp is the time over which the rate grows from 0 to PerSecond.
	RampUp time.Duration
	// Unscaled keeps drawn gaps as they are: Scaled then has no effect.
	Unscaled bool

	blocks [2]block // see Scaled
}

// Scaled returns the rate with its drawn gaps scaled in two blocks, a warm-up of at least
// warmup requests and warmupTime, and measured requests after it. The last request of each
// block is due after exactly as many mean gaps as the block has requests. So measured
// requests take measured/PerSecond seconds, whatever was drawn. Gaps after the two blocks
// are as drawn; so are all gaps if measured is 0. Scaled draws all gaps of the blocks once,
// which takes about 30 ns for each.
func (r Rate) Scaled(warmup int, warmupTime time.Duration, measured int) Rate {
	r.blocks = [2]block{}
	gap := r.drawn()
	if gap == nil || r.Unscaled || measured <= 0 {
		return r
	}
	if r.RampUp > 0 || warmupTime > 0 {
		// The warm-up includes the ramp.
		due := math.Round(profile{r.PerSecond, r.RampUp}.mean(r.RampUp + warmupTime))
		warmup = max(warmup, int(min(due, math.MaxInt32)))
	}
	gaps := newGapSource(r.Seed, gap)
	for i, n := range []int{warmup, measured} {
		sum := 0.0
		for range n {
			sum += gaps.next()
		}
		r.blocks[i] = block{n, sum}
	}
	return r
}

// ScaledTo implements Scalable: it scales the gaps to the request count, or to the requests that are due in the
// duration.
func (r Rate) ScaledTo(m Measured) Level {
	if m.Requests == 0 && m.Duration > 0 {
		m.Requests = m.within(r.PerSecond)
	}
	return r.Scaled(m.Warmup, m.WarmupTime, m.Requests)
}

// drawn returns the function that draws gaps of mean 1; nil if all gaps are equal.
func (r Rate) drawn() func(*rand.Rand) float64 {
	if int(r.Arrivals) >= len(distributions) || distributions[r.Arrivals].gaps == nil {
		return nil
	}
	return distributions[r.Arrivals].gaps(r)
}

// Mode implements Level.
func (Rate) Mode() string { return export.ModeRequestRate }

// Value implements Level.
func (r Rate) Value() string { return decimal(r.PerSecond) }

func (r Rate) String() string { return r.describe("request") }

// describe describes the rate of requests or of sessions.
func (r Rate) describe(what string) string {
	s := what + " rate " + strconv.FormatFloat(r.PerSecond, 'g', 6, 64)
	switch {
	case r.Arrivals == Gamma:
		s += ", gamma of burstiness " + strconv.FormatFloat(r.shape(), 'g', 6, 64)
	case r.Arrivals != Constant:
		s += ", " + r.Arrivals.String()
	}
	if r.Unscaled && r.Arrivals != Constant {
		s += ", unscaled"
	}
	return s + atMost(r.Ceiling, what)
}

// Traits implements Level.
func (r Rate) Traits() Traits {
	return Traits{Amount: r.PerSecond, PerSecond: r.PerSecond, RampUp: r.RampUp, Plain: r.Arrivals == Constant && r.Ceiling == 0}
}

// Excluded implements Level.
func (Rate) Excluded(Settings) error { return nil }

// shape returns the shape parameter of the gamma distribution.
func (r Rate) shape() float64 {
	if r.Burstiness == 0 {
		return 1
	}
	return r.Burstiness
}

// atMost describes a ceiling of requests or of sessions, "" without one.
func atMost(ceiling int, what string) string {
	switch {
	case ceiling == 0:
		return ""
	case what == "session":
		return fmt.Sprintf(", at most %s in flight", plural.Of(ceiling, what))
	}
	return fmt.Sprintf(", at most %d in flight", ceiling)
}

// Slots implements Level.
func (r Rate) Slots() int { return r.Ceiling }

// Validate implements Level.
func (r Rate) Validate() error { return r.validate("request") }

// validate returns a mistake of the rate of requests or of sessions, or nil.
func (r Rate) validate(what string) error {
	switch {
	case !(r.PerSecond >= minRate && r.PerSecond <= maxRate):
		return fmt.Errorf(what+" rate %v: must be above 0 and at most %.0f per second", r.PerSecond, maxRate)
	case int(r.Arrivals) >= len(distributions):
		return fmt.Errorf("unknown distribution %v", r.Arrivals)
	case r.Burstiness != 0 && r.Arrivals != Gamma:
		return fmt.Errorf("burstiness %v: only the gamma distribution has one, not %v", r.Burstiness, r.Arrivals)
	case r.Burstiness != 0 && !(r.Burstiness >= minShape && r.Burstiness <= maxShape):
		return fmt.Errorf("burstiness %v: must be %v to %.0f", r.Burstiness, minShape, maxShape)
	case r.RampUp < 0:
		return fmt.Errorf("ramp-up %v: must not be negative", r.RampUp)
	}
	return validateCeiling(r.Ceiling)
}

// Bounds of Rate.Burstiness, within which the draws have the right distribution.
const (
	minShape = 0.01
	maxShape = 1e6
)

func validateCeiling(n int) error {
	if n < 0 {
		return fmt.Errorf("ceiling of %d requests in flight: must not be negative", n)
	}
	return nil
}

// Schedule implements Open.
func (r Rate) Schedule() Schedule {
	next := even()
	if gap := r.drawn(); gap != nil {
		next = renewal(newGapSource(r.Seed, gap), r.blocks[:])
	}
	return &rateSchedule{next, profile{r.PerSecond, r.RampUp}}
}

// Intervals is an open loop with recorded gaps. The first gap comes before the first
// request; after the last gap they start again.
type Intervals struct {
	Gaps []time.Duration
	// Speed divides the gaps; 0 means 1.
	Speed   float64
	Ceiling int // see Rate.Ceiling
}

// Mode implements Level.
func (Intervals) Mode() string { return export.ModeRequestRate }

// Value implements Level. It returns the mean rate, which perf_analyzer cuts to a whole
// number.
func (v Intervals) Value() string { return decimal(v.PerSecond()) }

// PerSecond returns the mean rate.
func (v Intervals) PerSecond() float64 {
	return float64(len(v.Gaps)) / (sum(v.Gaps) / 1e9) * speedOf(v.Speed)
}

func (v Intervals) String() string {
	return fmt.Sprintf("%s, %s requests/s", plural.Of(len(v.Gaps), "interval"), strconv.FormatFloat(v.PerSecond(), 'g', 6, 64)) + atMost(v.Ceiling, "request")
}

// Traits implements Level.
func (v Intervals) Traits() Traits {
	rate := v.PerSecond()
	return Traits{Amount: rate, PerSecond: rate}
}

// Excluded implements Level.
func (Intervals) Excluded(Settings) error { return nil }

// Slots implements Level.
func (v Intervals) Slots() int { return v.Ceiling }

// Validate implements Level.
func (v Intervals) Validate() error {
	if len(v.Gaps) == 0 {
		return fmt.Errorf("no intervals")
	}
	for i, gap := range v.Gaps {
		if gap < 0 {
			return fmt.Errorf("interval %d: %v is negative", i+1, gap)
		}
	}
	if rate := v.PerSecond(); !(rate <= maxRate) {
		return fmt.Errorf("the intervals ask for %.0f requests per second on average; at most %.0f", rate, maxRate)
	}
	return cmp.Or(validateSpeed(v.Speed), validateCeiling(v.Ceiling))
}

func validateSpeed(s float64) error {
	if s < 0 || math.IsNaN(s) || math.IsInf(s, 0) {
		return fmt.Errorf("speed-up %v: must be above 0", s)
	}
	return nil
}

// Schedule implements Open.
func (v Intervals) Schedule() Schedule { return &gapSchedule{gaps: v.Gaps, speed: v.Speed} }

// A Timetable is an open loop with a recorded instant for each request. The instants count
// from any origin: the first request is due at the start.
type Timetable struct {
	Offsets []time.Duration // in order
	Speed   float64         // see Intervals.Speed
	Ceiling int             // see Rate.Ceiling
}

// Mode implements Level. Mode and Value are perf_analyzer's.
func (Timetable) Mode() string { return export.ModeRequestRate }

// Value implements Level.
func (Timetable) Value() string { return "0.0" }

func (t Timetable) String() string { return t.describe("request") }

// describe describes the schedule of requests or of sessions.
func (t Timetable) describe(what string) string {
	s := "schedule of " + plural.Of(len(t.Offsets), what)
	if t.Speed != 0 && t.Speed != 1 {
		s += ", " + strconv.FormatFloat(t.Speed, 'g', 6, 64) + " times as fast"
	}
	return s + atMost(t.Ceiling, what)
}

// Traits implements Level.
func (t Timetable) Traits() Traits {
	return Traits{PerSecond: t.PerSecond(), PlaysData: true, Instants: len(t.Offsets), Stateless: "the entries of a schedule are in no sequences"}
}

// Excluded implements Level.
func (t Timetable) Excluded(by Settings) error {
	n := len(t.Offsets)
	switch {
	case by.Entries != n:
		return fmt.Errorf("%v: expected as many entries, found %d", t, by.Entries)
	case by.Order != "":
		return fmt.Errorf("%v: its entries have an order; drop the order %s", t, by.Order)
	case by.Counted:
		return fmt.Errorf("%v: cannot be combined with a request count", t)
	}
	return warmsUpAll(t, by.Warmup, n)
}

// Slots implements Level.
func (t Timetable) Slots() int { return t.Ceiling }

// Validate implements Level.
func (t Timetable) Validate() error {
	if len(t.Offsets) == 0 {
		return fmt.Errorf("the schedule has no requests")
	}
	for i := 1; i < len(t.Offsets); i++ {
		if t.Offsets[i] < t.Offsets[i-1] {
			return fmt.Errorf("the schedule is not in order: request %d is due at %v, the previous request at %v", i+1, t.Offsets[i], t.Offsets[i-1])
		}
	}
	return cmp.Or(validateSpeed(t.Speed), validateCeiling(t.Ceiling))
}

// PerSecond returns the mean rate: the number of requests divided by the time from the
// first to the last; 0 if they are all due at once.
func (t Timetable) PerSecond() float64 {
	n := len(t.Offsets)
	if n == 0 || t.Offsets[n-1] == t.Offsets[0] {
		return 0
	}
	return float64(n) / (t.Offsets[n-1] - t.Offsets[0]).Seconds() * speedOf(t.Speed)
}

// Schedule implements Open.
func (t Timetable) Schedule() Schedule { return &timetable{offsets: t.Offsets, speed: t.Speed} }

// decimal formats a number as perf_analyzer formats a rate: with a decimal point and the
// fewest digits that identify it.
func decimal(x float64) string {
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

var (
	_ Level    = Concurrency{}
	_ Level    = Sessions{}
	_ Level    = SessionRequests{}
	_ Level    = Periodic{}
	_ Scalable = Rate{}
	_ Scalable = SessionRate{}
	_ Open     = Rate{}
	_ Open     = Intervals{}
	_ Open     = Timetable{}
	_ Open     = SessionRate{}
	_ Open     = SessionTimetable{}
)
