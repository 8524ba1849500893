package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	wireopenai "github.com/pa-tools/pa/pkg/wire/openai"
)

// loadFlags returns the flags for the load: concurrency, request rate, schedule, warm-up
// and repetitions.
func (s *settings) loadFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "concurrency-range", Category: catLoad, Usage: "requests in flight: `LEVELS` is one number, start:end:step (with -l the end may be 0: none), or a list 1,4,8", DefaultText: "1"},
		&cli.IntFlag{Name: "t", Category: catLoad, Usage: "perf_analyzer's old name for --concurrency-range `N`", DefaultText: "1"},
		&cli.BoolFlag{Name: "d", Category: catLoad, Usage: "go on from -t to -c, or up to the limit of -l: perf_analyzer's old name for --concurrency-range T:C:1"},
		&cli.IntFlag{Name: "c", Category: catLoad, Usage: "with -d, end at `N` requests in flight; 0 is no end", DefaultText: "0"},
		&cli.StringFlag{Name: "request-rate-range", Category: catLoad, Usage: "requests per second, even if the server is slower: `LEVELS` as for --concurrency-range, also 2.5"},
		&cli.Float64Flag{Name: "latency-threshold", Aliases: []string{"l"}, Category: catLoad, Usage: "stop after the first level whose latency is `MS` or more: the mean, or the percentile of --percentile", DefaultText: "no limit", Destination: &s.LimitMS},
		&cli.StringFlag{Name: "slo", Category: catLoad, Usage: "stop after the first level that does not meet the objective `EXPR`: 'ttft_p99<=200ms && itl_p99<=30ms'", DefaultText: "no limit"},
		&cli.BoolFlag{Name: "binary-search", Category: catLoad, Usage: "search the range start:end:step for the highest level that is below -l or meets --slo: halve the range until it is no wider than a step"},
		&cli.StringFlag{Name: "request-distribution", Category: catLoad, Usage: "`HOW` the starts of a rate's requests or sessions are spaced: " + load.Distributions(), DefaultText: "constant, with --burstiness gamma"},
		&cli.Float64Flag{Name: "burstiness", Category: catLoad, Usage: "`SHAPE` of the gamma distribution: below 1 is bursty, 1 is poisson, above 1 is more even, inf is constant", DefaultText: "1"},
		&cli.StringFlag{Name: "schedule", Category: catLoad, Usage: "`HOW` " + load.Drawn("and") + " keep the rate: scaled (the N requests of --request-count, or of the rate times --duration, take N/rate) or unscaled (gaps as drawn, as always with measurement windows)", DefaultText: "scaled"},
		readsFile(&cli.StringFlag{Name: "request-intervals", Category: catLoad, Usage: "the gaps between requests, in µs, one a line of `FILE`, repeated until the run ends"}),
		&cli.BoolFlag{Name: "fixed-schedule", Category: catLoad, Usage: "send each entry of the input data once, at its \"timestamp\" (ms) from the first one on"},
		&cli.StringFlag{Name: "periodic-concurrency-range", Category: catLoad, Usage: "`RANGE` is start:end:step: begin with start requests in flight, and add step more when each of the latest requests has --request-period responses, up to end"},
		&cli.IntFlag{Name: "request-period", Category: catLoad, Usage: "`N` responses of each request before the next ones are sent", DefaultText: "10"},
		&cli.StringFlag{Name: "history-reasoning", Category: catLoad, Usage: "`HOW` the history of a conversation treats the reasoning in answers: keep, drop, or auto, which keeps it in answers that call a tool", DefaultText: wireopenai.ReasoningAuto.String(), Destination: &s.HistoryReasoning},
		&cli.StringFlag{Name: "session-concurrency", Category: catLoad, Usage: "sessions at a time, `LEVELS` as for --concurrency-range: entries with one \"session_id\" are the turns of a conversation; each is sent with the conversation so far, \"delay\" ms after the previous answer"},
		&cli.StringFlag{Name: "session-rate", Category: catLoad, Usage: "sessions that begin per second, even if the server is slower: `LEVELS` as for --request-rate-range"},
		&cli.StringFlag{Name: "sessions-as", Category: catLoad, Usage: "with --concurrency-range or --fixed-schedule, send entries with a \"session_id\" as `HOW`: prompts, each alone, or conversations, each turn with the conversation so far", DefaultText: "prompts; conversations where the input data holds whole sessions"},
		&cli.StringFlag{Name: "on-session-failure", Category: catLoad, Usage: "`WHAT` a session does when one of its requests fails: stop, or continue without that answer; a request longer than the model's context always stops it", DefaultText: "stop"},
		&cli.BoolFlag{Name: "auto-sweep", Category: catLoad, Usage: "measure one request at a time, then --max-concurrency (256) at a time, then 8 rates between the throughputs of both"},
		&cli.Float64Flag{Name: "speed-up", Category: catLoad, Usage: "run a schedule or intervals `N` times as fast", DefaultText: "1", Destination: &s.SpeedUp},
		&cli.IntFlag{Name: "max-concurrency", Category: catLoad, Usage: "with a rate, intervals or a schedule: at most `N` requests in flight, or N sessions; others wait", DefaultText: "no limit"},
		&cli.DurationFlag{Name: "ramp-up", Category: catLoad, Usage: "raise the load evenly to the concurrency or rate of each level in `DURATION`, which counts as warm-up", DefaultText: "at once", Destination: (*time.Duration)(&s.RampUp)},
		&cli.IntFlag{Name: "max-threads", Category: catLoad, Usage: "accepted for perf_analyzer's command lines; `N` has no effect, because every request in flight has its own connection", DefaultText: " "},
		&cli.IntFlag{Name: "warmup-request-count", Category: catLoad, Usage: "send `N` requests before each level is measured", Destination: &s.Warmup},
		&cli.DurationFlag{Name: "warmup-duration", Category: catLoad, Usage: "measure each level after `DURATION` of load", DefaultText: "at once", Destination: (*time.Duration)(&s.WarmupDuration)},
		&cli.StringSliceFlag{Name: "between-levels", Category: catLoad, Usage: "POST to `URL` between levels, and between runs of --repeat: for example to flush the server's cache (repeatable)"},
		&cli.IntFlag{Name: "repeat", Category: catLoad, Usage: "make the whole run `N` times, each with its own exports, x.1.json to x.N.json, to compare with pa-analyze diff; servers with labels get N runs each", DefaultText: "once, into x.json", Destination: &s.Repeat},
		&cli.IntFlag{Name: "warmup-runs", Category: catLoad, Usage: "first make `N` runs of the same load against each server that no export holds: a cold cache makes a first run unlike the others", Destination: &s.WarmupRuns},
		&cli.BoolFlag{Name: "interleave", Category: catLoad, Usage: "with --repeat and several levels, or servers with labels: change the order of the levels in each run and let the servers take turns, so that a drift of the machine affects all alike", Destination: &s.Interleave},
	}
}

// loadSettings is the load, checked and with every default spelled out. Of the
// shapes of load one is set.
type loadSettings struct {
	Concurrency   []int     `json:"concurrency,omitempty"`
	Rates         []float64 `json:"request_rate,omitempty"`
	Intervals     string    `json:"request_intervals,omitempty"` // file
	FixedSchedule bool      `json:"fixed_schedule,omitempty"`
	Periodic      string    `json:"periodic_concurrency,omitempty"` // start:end:step
	Sessions      oneOrMore `json:"session_concurrency,omitempty"`
	SessionRates  []float64 `json:"session_rate,omitempty"`
	// SessionsAs is conversations if the levels of Concurrency or FixedSchedule play sessions, or --sessions-as.
	SessionsAs string `json:"sessions_as,omitempty"`
	// OnSessionFailure is --on-session-failure, if given.
	OnSessionFailure string `json:"on_session_failure,omitempty"`
	// HistoryReasoning is --history-reasoning; "" if not given.
	HistoryReasoning string `json:"history_reasoning,omitempty"`
	AutoSweep        bool   `json:"auto_sweep,omitempty"`

	// Range is a range of one level, 2:2.
	Range string `json:"range,omitempty"`
	// Search is the range, start:end:step, where latency decides which of its
	// levels are measured; the end is 0 where there is none.
	Search       string  `json:"search,omitempty"`
	BinarySearch bool    `json:"binary_search,omitempty"`
	LimitMS      float64 `json:"latency_threshold_ms,omitempty"`
	SLO          sloText `json:"slo,omitzero"`

	Distribution   string  `json:"request_distribution,omitempty"`
	Burstiness     float64 `json:"burstiness,omitempty"`
	Arrivals       string  `json:"schedule,omitempty"` // --schedule, if given
	SpeedUp        float64 `json:"speed_up,omitempty"`
	MaxConcurrency int     `json:"max_concurrency,omitempty"`
	RampUp         millis  `json:"ramp_up_ms,omitempty"`
	RequestPeriod  int     `json:"request_period,omitempty"`

	Warmup         int    `json:"warmup_request_count,omitempty"`
	WarmupDuration millis `json:"warmup_duration_ms,omitempty"`

	BetweenLevels []postURL `json:"between_levels,omitempty"`

	Metrics *metricsSettings `json:"metrics,omitempty"`
	// simMetrics is the metrics URL of a simulated server.
	simMetrics string

	// levels holds the levels of the load; a fixed schedule has its levels in the input
	// data. If levelPlan is not nil it chooses the levels, and levels the known
	// bounds.
	levels    []load.Level
	levelPlan recorder.Plan
	// halvings is how often a binary search halves its range at most.
	halvings int
}

// oneOrMore holds the numbers of a flag. The JSON of one number is the number.
type oneOrMore []int

// MarshalJSON implements json.Marshaler.
func (n oneOrMore) MarshalJSON() ([]byte, error) {
	if len(n) == 1 {
		return json.Marshal(n[0])
	}
	return json.Marshal([]int(n))
}

// A sloText is the objective of --slo, whose JSON is its text. The zero value is none.
type sloText struct{ *expr.Objective }

// MarshalText implements encoding.TextMarshaler.
func (o sloText) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// A postURL is one of --between-levels, whose text and JSON have no user information and query.
type postURL struct {
	*url.URL
	shown  string
	tested string // -u of the server under test that it is at, which gets the headers of -H too; "" for another server
}

// String hides the method of the URL, whose text has the user information and the query.
func (u postURL) String() string { return u.shown }

// MarshalText implements encoding.TextMarshaler.
func (u postURL) MarshalText() ([]byte, error) { return []byte(u.shown), nil }

// defaultSlots is the expected number of requests in flight without a limit.
const defaultSlots = 64

// slots returns the largest possible number of requests in flight; 64 for a load without
// a bound.
func (s *loadSettings) slots() int {
	slots := 0
	for _, level := range s.levels {
		slots = max(slots, cmp.Or(level.Slots(), defaultSlots))
	}
	if s.AutoSweep {
		return s.sweepConcurrency()
	}
	return cmp.Or(slots, s.MaxConcurrency, defaultSlots)
}

// slotsAtOnce returns the largest number of requests that a level of the load sends at
// the same instant; 0 for loads that get to their requests in flight over time.
func (s *loadSettings) slotsAtOnce() int {
	if s.AutoSweep {
		return s.sweepConcurrency()
	}
	n := 0
	for _, level := range s.levels {
		n = max(n, level.Traits().AtOnce)
	}
	return n
}

// A loadShape is a flag that sets the shape of the load, with the flags that belong to it.
type loadShape struct {
	flag    string
	belongs []string
	read    func(s *settings)
}

// load reads the levels.
func (p *parser) load(s *settings) {
	c := p.c
	p.oldConcurrency()
	ofSessions := []string{"history-reasoning", "on-session-failure"}
	shapes := []loadShape{
		{"concurrency-range", append([]string{"ramp-up", "latency-threshold", "slo", "binary-search", "sessions-as"}, ofSessions...), p.concurrency},
		{"request-rate-range", []string{"request-distribution", "burstiness", "schedule", "max-concurrency", "ramp-up", "latency-threshold", "slo", "binary-search"}, p.rates},
		{"request-intervals", []string{"speed-up", "max-concurrency", "latency-threshold"}, p.intervals},
		{"fixed-schedule", append([]string{"speed-up", "max-concurrency", "sessions-as"}, ofSessions...), p.fixedSchedule},
		{"periodic-concurrency-range", []string{"request-period"}, p.periodic},
		{"session-concurrency", append([]string{"latency-threshold", "slo", "binary-search"}, ofSessions...), p.sessions},
		{"session-rate", append([]string{"request-distribution", "burstiness", "schedule", "max-concurrency", "ramp-up"}, ofSessions...), p.sessionRates},
		{"auto-sweep", []string{"request-distribution", "burstiness", "schedule", "max-concurrency", "ramp-up"}, p.autoSweep},
	}
	var given []loadShape
	for _, sh := range shapes {
		if c.IsSet(sh.flag) && c.String(sh.flag) != "false" {
			given = append(given, sh)
		}
	}
	switch {
	case len(given) == 0:
		given = shapes[:1]
	case len(given) > 1:
		p.errorf("--%s and --%s exclude each other; drop one%s", given[0].flag, given[1].flag, ceilingHint(given))
		return
	}
	s.shapeFlag = given[0].flag
	p.belongTo(given[0], shapes)
	p.refuse(s.Warmup < 0, "--warmup-request-count %d: must not be negative", s.Warmup)
	p.refuse(s.WarmupDuration < 0, "--warmup-duration %v: must not be negative", time.Duration(s.WarmupDuration))
	p.betweenURLs(s)
	p.limit(s)
	before := len(p.errs)
	s.MaxConcurrency = p.positive("max-concurrency", c.Int("max-concurrency"))
	if c.IsSet("speed-up") && !(s.SpeedUp > 0) {
		p.errorOnce("speed-up", "--speed-up %v: must be above 0", s.SpeedUp)
	}
	if s.RampUp < 0 {
		p.errorOnce("ramp-up", "--ramp-up %v: must not be negative", time.Duration(s.RampUp))
		s.RampUp = 0
	}
	p.sessionFlags(s)
	given[0].read(s)
	if len(p.errs) > before {
		return
	}
	for _, level := range s.levels {
		if err := level.Validate(); err != nil {
			p.errorf("--%s: %w", given[0].flag, err)
		}
	}
}

// oldConcurrency makes of -t, -d and -c what took their place: perf_analyzer's
// dynamic concurrency mode is a range that latency may end.
func (p *parser) oldConcurrency() {
	c := p.c
	start, end := 1, c.Int("c")
	if c.IsSet("t") {
		start = c.Int("t")
	}
	switch given := c.IsSet("t") || c.IsSet("d"); {
	case start < 1:
		p.errorf("-t %d: must be at least 1", start)
	case c.IsSet("c") && !c.Bool("d") && end < 1:
		p.errorf("-c %d: must be at least 1; and -c belongs to -d, perf_analyzer's old search: give --concurrency-range instead", end)
	case c.IsSet("c") && !c.Bool("d"):
		p.errorf("-c belongs to -d, perf_analyzer's old search; for %d requests in flight give --concurrency-range %d", end, end)
	case !given:
	case c.IsSet("concurrency-range"):
		p.errorf("-t and -d are another way to say --concurrency-range; drop one")
	case end < 0:
		p.errorf("-c %d: must not be negative", end)
	default:
		levels := strconv.Itoa(start)
		if c.Bool("d") {
			levels = fmt.Sprintf("%d:%d:1", start, end)
		}
		if err := c.Set("concurrency-range", levels); err != nil {
			p.errorf("-t: %w", err)
		}
	}
}

// ceilingHint says what a user may want who gives both a concurrency and a rate.
func ceilingHint(given []loadShape) string {
	if given[0].flag == "concurrency-range" && slices.Contains(given[1].belongs, "max-concurrency") {
		return ". To bound what is in flight give --max-concurrency"
	}
	return ""
}

// belongTo refuses flags that belong to other shapes only.
func (p *parser) belongTo(given loadShape, shapes []loadShape) {
	var seen []string
	for _, sh := range shapes {
		for _, flag := range sh.belongs {
			if !p.c.IsSet(flag) || slices.Contains(given.belongs, flag) || slices.Contains(seen, flag) {
				continue
			}
			seen = append(seen, flag)
			var to []string
			for _, other := range shapes {
				if slices.Contains(other.belongs, flag) {
					to = append(to, "--"+other.flag)
				}
			}
			p.errorOnce(flag, "--%s belongs to %s; give that, or drop it", flag, cmdline.OneOf(to))
		}
	}
}

// concurrency reads --concurrency-range.
func (p *parser) concurrency(s *settings) {
	text := p.c.String("concurrency-range")
	if text == "" {
		text = "1"
	}
	sweep, err := load.ParseConcurrency(text)
	if err != nil {
		p.errorf("--concurrency-range: %w", err)
		return
	}
	ramp := time.Duration(s.RampUp)
	level := func(n int) load.Level {
		if s.conversations() {
			return load.SessionRequests{N: n, RampUp: ramp}
		}
		return load.Concurrency{N: n, RampUp: ramp}
	}
	if searchLevels(p, s, "concurrency-range", sweep, level) {
		s.Concurrency = sweep.List
		s.Range = oneLevelRange(text, len(s.Concurrency))
	}
}

// oneLevelRange returns the text of a range with one level, 2:2; "" for anything else.
// perf_analyzer shows the end of 2:2, but not of 2.
func oneLevelRange(text string, levels int) string {
	if levels != 1 || !strings.Contains(text, ":") {
		return ""
	}
	return strings.TrimSpace(text)
}

// rates reads --request-rate-range.
func (p *parser) rates(s *settings) {
	const flag = "request-rate-range"
	if rates, ok := p.rateLevels(s, flag, "use --concurrency-range N, with N requests in flight", func(r load.Rate) load.Level { return r }); ok {
		s.Rates = rates
		s.Range = oneLevelRange(p.c.String(flag), len(s.Rates))
	}
}

// sessionRates reads --session-rate.
func (p *parser) sessionRates(s *settings) {
	const flag = "session-rate"
	p.chatOnly(s, flag)
	s.SessionRates, _ = p.rateLevels(s, flag, "use --session-concurrency N, with N sessions at a time", func(r load.Rate) load.Level { return load.SessionRate{Rate: r} })
}

// rateLevels reads the levels of a flag with rates. listed is false if the run does not follow their list. instead says what to
// use for a rate without end.
func (p *parser) rateLevels(s *settings, flag, instead string, level func(load.Rate) load.Level) (rates []float64, listed bool) {
	text := p.c.String(flag)
	sweep, err := load.ParseRates(text)
	if err != nil && namesInfinity(text) {
		p.errorf("--%s %s: an infinite rate would send all requests at once; %s", flag, text, instead)
		return nil, false
	}
	if err != nil {
		p.errorf("--%s: %w", flag, err)
		return nil, false
	}
	like, ok := p.arrivals(s)
	if !ok {
		return nil, false
	}
	listed = searchLevels(p, s, flag, sweep, func(rate float64) load.Level {
		l := like
		l.PerSecond = rate
		return level(l)
	})
	return sweep.List, listed
}

// namesInfinity reports whether one of the levels of a range or list is infinite.
func namesInfinity(levels string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(levels, func(r rune) bool { return r == ':' || r == ',' }), func(level string) bool {
		f, err := strconv.ParseFloat(strings.TrimSpace(level), 64)
		return err == nil && math.IsInf(f, 1)
	})
}

// arrivals reads what all rates have in common.
func (p *parser) arrivals(s *settings) (like load.Rate, ok bool) {
	c := p.c
	s.Distribution = c.String("request-distribution")
	if s.Distribution == "" {
		s.Distribution = load.Constant.String()
		if c.IsSet("burstiness") {
			s.Distribution = load.Gamma.String()
		}
	}
	arrivals, err := load.ParseArrivals(s.Distribution)
	if err != nil {
		p.errorf("--request-distribution %s: expected %s", s.Distribution, load.Distributions())
		return like, false
	}
	given := c.IsSet("burstiness")
	switch s.Burstiness = c.Float64("burstiness"); {
	case given && s.Burstiness == 0:
		p.errorf("--burstiness 0: must be above 0")
		return like, false
	case given && arrivals != load.Gamma:
		p.errorf("--burstiness belongs to --request-distribution gamma; give that, or drop it")
		return like, false
	case math.IsInf(s.Burstiness, 1): // the limit of the gamma distribution is a constant gap
		arrivals, s.Distribution, s.Burstiness = load.Constant, load.Constant.String(), 0
	case arrivals == load.Gamma:
		s.Burstiness = cmp.Or(s.Burstiness, 1)
	}
	switch s.Arrivals = c.String("schedule"); {
	case s.Arrivals == "":
	case s.Arrivals != scheduleScaled && s.Arrivals != scheduleUnscaled:
		p.errorf("--schedule %s: expected %s or %s", s.Arrivals, scheduleScaled, scheduleUnscaled)
		return like, false
	case arrivals == load.Constant:
		p.errorf("--schedule belongs to --request-distribution %s; the gaps of a constant rate are not drawn: give one of them, or drop it", load.Drawn("or"))
		return like, false
	}
	shape := load.Rate{PerSecond: 1, Arrivals: arrivals, Burstiness: s.Burstiness}
	if err := shape.Validate(); err != nil {
		p.errorf("--%w", err) // it is the burstiness
		return like, false
	}
	return load.Rate{Arrivals: arrivals, Burstiness: s.Burstiness, Seed: s.Seed, Ceiling: s.MaxConcurrency, RampUp: time.Duration(s.RampUp), Unscaled: s.Arrivals == scheduleUnscaled}, true
}

// The values of --schedule.
const (
	scheduleScaled   = "scaled"
	scheduleUnscaled = "unscaled"
)

// intervals reads --request-intervals and its file.
func (p *parser) intervals(s *settings) {
	s.Intervals = p.c.String("request-intervals")
	f, err := disk.OpenStream(p.c.Context, s.Intervals)
	if err != nil {
		p.errorf("--request-intervals: %w", err)
		return
	}
	defer f.Close()
	gaps, err := load.ReadIntervals(s.Intervals, f)
	if err != nil {
		p.errorf("--request-intervals: %w", err)
		return
	}
	s.levels = []load.Level{load.Intervals{Gaps: gaps, Speed: s.SpeedUp, Ceiling: s.MaxConcurrency}}
}

// fixedSchedule reads --fixed-schedule. Its level follows from the input data, which is read later.
func (p *parser) fixedSchedule(s *settings) {
	s.FixedSchedule = true
	p.refuse(len(s.InputData) == 0, "--fixed-schedule needs --input-data with a \"timestamp\" in each entry")
	p.refuse(p.c.IsSet("request-count"), "--fixed-schedule and --request-count exclude each other: the entries are sent once each; drop one")
}

// defaultPeriod is perf_analyzer's --request-period.
const defaultPeriod = 10

// periodic reads --periodic-concurrency-range.
func (p *parser) periodic(s *settings) {
	level, err := load.ParsePeriodic(p.c.String("periodic-concurrency-range"))
	if err != nil {
		p.errorf("--periodic-concurrency-range: %w", err)
		return
	}
	if level.Period = defaultPeriod; p.c.IsSet("request-period") {
		level.Period = p.positive("request-period", p.c.Int("request-period"))
	}
	s.Periodic, s.RequestPeriod = fmt.Sprintf("%d:%d:%d", level.Start, level.End, level.Step), level.Period
	s.levels = []load.Level{level}
	p.refuse(s.ServiceKind == kindTriton && !s.Streaming && level.Period > 1, "--periodic-concurrency-range needs --streaming: an answer that is not streamed is one response")
	for _, flag := range p.given("request-count", "duration", "warmup-duration") {
		p.errorf("--periodic-concurrency-range and --%s exclude each other: each request is sent once; drop one", flag)
	}
}

// sessions reads --session-concurrency.
func (p *parser) sessions(s *settings) {
	const flag = "session-concurrency"
	p.chatOnly(s, flag)
	sweep, err := load.ParseConcurrency(p.c.String(flag))
	if err != nil {
		p.errorf("--%s: %w", flag, err)
		return
	}
	searchLevels(p, s, flag, sweep, func(n int) load.Level { return load.Sessions{N: n} })
	if s.Sessions = sweep.List; len(sweep.List) == 0 {
		s.Sessions = []int{sweep.Start}
	}
}

// chatOnly refuses a flag that plays sessions for servers without a chat endpoint.
func (p *parser) chatOnly(s *settings, flag string) {
	p.refuse(s.ServiceKind != kindOpenAI, "--%s needs --service-kind openai and its chat endpoint", flag)
}

// The values of --sessions-as and --on-session-failure.
const (
	asPrompts       = "prompts"
	asConversations = "conversations"
	failureStop     = "stop"
	failureContinue = "continue"
)

// sessionFlags reads the flags that all loads with sessions have.
func (p *parser) sessionFlags(s *settings) {
	switch s.SessionsAs = p.c.String("sessions-as"); s.SessionsAs {
	case "", asPrompts:
	case asConversations:
		p.chatOnly(s, "sessions-as "+asConversations)
	default:
		p.errorf("--sessions-as %s: expected %s or %s", s.SessionsAs, asPrompts, asConversations)
	}
	p.refuse(s.SessionHistory == serverHistory && s.mostURLs() > 1, "--session-history server: one server must have all answers of a session; give one -u")
	s.OnSessionFailure = p.c.String("on-session-failure")
	p.refuse(s.OnSessionFailure != "" && s.OnSessionFailure != failureStop && s.OnSessionFailure != failureContinue,
		"--on-session-failure %s: expected %s or %s", s.OnSessionFailure, failureStop, failureContinue)
	if s.HistoryReasoning != "" {
		if _, err := wireopenai.ParseHistoryReasoning(s.HistoryReasoning); err != nil {
			p.errorf("--history-reasoning: %w", err)
		}
	}
}

// historyReasoning returns what the history of conversations does with reasoning.
func (s *loadSettings) historyReasoning() wireopenai.HistoryReasoning {
	if s.HistoryReasoning == "" {
		return wireopenai.ReasoningAuto
	}
	h, _ := wireopenai.ParseHistoryReasoning(s.HistoryReasoning) // sessions found no mistake
	return h
}

// conversations reports whether the load plays sessions.
func (s *loadSettings) conversations() bool {
	return len(s.Sessions) > 0 || len(s.SessionRates) > 0 || s.SessionsAs == asConversations
}

// slotsOfSessions returns the least number of requests or sessions at a time of the levels that play sessions in a closed loop; 0
// if none does.
func (s *loadSettings) slotsOfSessions() int {
	least := 0
	for _, level := range s.levels {
		if _, open := level.(load.Open); level.Traits().Conversations && !open && (least == 0 || level.Slots() < least) {
			least = level.Slots()
		}
	}
	return least
}

// takeSessions makes the load one of sessions if src holds whole sessions, whose requests mean nothing alone. It returns an error
// if the load sends single requests.
func (s *settings) takeSessions(src workload.Source) error {
	_, whole := src.(workload.Sessions)
	switch {
	case !s.sends:
		return nil
	case !whole || len(s.Sessions) > 0 || len(s.SessionRates) > 0:
		return s.headersWithoutSession()
	}
	const instead = "give --session-concurrency N, --session-rate N, --concurrency-range N (requests of sessions) or --fixed-schedule"
	switch {
	case s.SessionsAs == asPrompts:
		return cmdline.Usagef("--sessions-as %s: the input data holds whole sessions, whose requests mean nothing alone; drop it", asPrompts)
	case s.FixedSchedule:
		s.SessionsAs = asConversations // schedule makes the level
		return nil
	case s.shapeFlag != "concurrency-range":
		return cmdline.Usagef("--%s sends single requests, and the input data holds whole sessions: %s", s.shapeFlag, instead)
	}
	s.SessionsAs = asConversations
	for i, level := range s.levels {
		s.levels[i] = ofSessions(level)
	}
	if plan := s.levelPlan; plan != nil {
		s.levelPlan = func(done []recorder.Level) (load.Level, bool) {
			level, ok := plan(done)
			return ofSessions(level), ok
		}
	}
	s.Measure.windowed, s.Measure.stopOnUnstable = false, false
	return nil
}

// ofSessions returns the level of sessions that takes the place of a concurrency of requests.
func ofSessions(level load.Level) load.Level {
	if c, ok := level.(load.Concurrency); ok {
		return load.SessionRequests(c)
	}
	return level
}

// hasEnd reports whether the load ends by itself, and no windows are measured.
func (s *loadSettings) hasEnd() bool {
	return s.FixedSchedule || s.Periodic != "" || s.conversations()
}

// schedule sets the level of --fixed-schedule from the times of the entries. It returns
// the entries in the order of their times. Of sessions, it is about the times at which they begin.
func (s *settings) schedule(entries workload.Source) (workload.Source, error) {
	if s.SessionsAs == asConversations {
		return s.scheduleSessions(entries)
	}
	sorted, offsets, err := workload.ByOffset(entries)
	if err != nil {
		return nil, fmt.Errorf("--fixed-schedule: %w", err)
	}
	level := load.Timetable{Offsets: offsets, Speed: s.SpeedUp, Ceiling: s.MaxConcurrency}
	if err := level.Validate(); err != nil {
		return nil, fmt.Errorf("--fixed-schedule: %w", err)
	}
	if s.Warmup >= len(offsets) {
		return nil, cmdline.Usagef("--warmup-request-count %d: the schedule has %s; leave some to measure", s.Warmup, plural.Of(len(offsets), "request"))
	}
	s.levels = []load.Level{level}
	return sorted, nil
}

// scheduleSessions is schedule for sessions.
func (s *settings) scheduleSessions(entries workload.Source) (workload.Source, error) {
	all, ok := entries.(workload.Sessions)
	if !ok {
		later := 0
		var err error
		if all, err = workload.Linear(entries, func(e *workload.Entry) error {
			if e.Timed && e.Turn > 0 {
				later++
			}
			return nil
		}); err != nil {
			return nil, fmt.Errorf("--fixed-schedule: %w", err)
		}
		if later > 0 {
			s.noEffect(fmt.Sprintf(`"timestamp" of %s`, plural.GroupedOf(later, "later turn")), "without effect, since a session begins at the time of its first turn and a later turn follows the answer before it")
		}
	}
	sorted, offsets, err := workload.SessionsByOffset(all)
	if err != nil {
		return nil, fmt.Errorf("--fixed-schedule: %w", err)
	}
	level := load.SessionTimetable{Timetable: load.Timetable{Offsets: offsets, Speed: s.SpeedUp, Ceiling: s.MaxConcurrency}}
	if err := level.Validate(); err != nil {
		return nil, fmt.Errorf("--fixed-schedule: %w", err)
	}
	if n := sorted.Len(); s.Warmup >= n {
		return nil, cmdline.Usagef("--warmup-request-count %d: the sessions of the schedule have %s; leave some to measure", s.Warmup, plural.GroupedOf(n, "request"))
	}
	s.levels = []load.Level{level}
	return sorted, nil
}

// positive returns n, the value of a flag that must be at least 1 if it is given.
func (p *parser) positive(flag string, n int) int {
	if p.c.IsSet(flag) && n < 1 {
		p.errorOnce(flag, "--%s %d: must be at least 1", flag, n)
		return 0
	}
	return n
}

// parseCount reads --request-count: a number, or so many times the level.
func parseCount(text string) (requests, times int, err error) {
	number, isTimes := strings.CutSuffix(strings.TrimSpace(text), "x")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return 0, 0, errors.New("expected a whole number, times the level such as 5x, or all")
	case n < 1:
		return 0, 0, errors.New("must be at least 1")
	case isTimes:
		return 0, n, nil
	}
	return n, 0, nil
}

// enoughRequests refuses a request count below the concurrency of a search, whose
// result would name a level that was never reached. Other loads run with that count,
// and the recorder warns.
func (p *parser) enoughRequests(s *settings) {
	n := s.Measure.Requests
	most := 0
	for _, level := range s.levels {
		if c, ok := level.(load.Concurrency); ok {
			most = max(most, c.N)
		}
	}
	switch {
	case n < most && (s.BinarySearch || s.limited()):
		p.errorf("--request-count %d: a search up to a concurrency of %d needs at least %d requests a level; raise the count, or give it as a multiple such as 5x", n, most, most)
	case most > 0 && s.endless():
		p.errorf("--request-count %d: the concurrency has no end, and there cannot be fewer requests than that; give times the level, such as 5x", n)
	}
}

// betweenURLs reads --between-levels.
func (p *parser) betweenURLs(s *settings) {
	for _, text := range p.c.StringSlice("between-levels") {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			p.errorf("--between-levels %s: expected a URL, http://host:port/path", redact.URL(text))
			continue
		}
		urls, tested := s.allURLs(), ""
		if i := slices.IndexFunc(urls, func(server string) bool { return strings.EqualFold(addressOf(server), u.Host) }); i >= 0 {
			tested = urls[i]
		}
		s.BetweenLevels = append(s.BetweenLevels, postURL{u, redact.URL(text), tested})
	}
}

// noteBetween notes a --between-levels that never applies.
func (s *settings) noteBetween() {
	if len(s.BetweenLevels) > 0 && len(s.levels) == 1 && s.levelPlan == nil && len(s.Runs) < 2 && s.WarmupRuns == 0 {
		s.noEffect("--between-levels", "there is one level")
	}
}

// limit reads the latency at which a search ends.
func (p *parser) limit(s *settings) {
	if !(s.LimitMS >= 0 && s.LimitMS <= maxLimitMS) {
		p.errorf("--latency-threshold %v: must be 0 (none) to %.0f ms", s.LimitMS, float64(maxLimitMS))
		return
	}
	s.Measure.LatencyLimit = time.Duration(s.LimitMS * float64(time.Millisecond))
	text := p.c.String("slo")
	if text == "" {
		p.refuse(p.c.IsSet("slo"), "--slo is empty; give an objective such as 'ttft_p99<=200ms && itl_p99<=30ms', or drop it")
		return
	}
	objective, err := expr.ParseLevelObjective(text)
	switch {
	case err != nil:
		p.errorf("--slo: %w", err)
	case s.LimitMS > 0:
		p.errorf("--slo and --latency-threshold exclude each other; drop one")
	default:
		s.SLO.Objective = objective
	}
}

// limited reports whether latency ends the levels of a search.
func (s *settings) limited() bool { return s.Measure.LatencyLimit > 0 || s.SLO.Objective != nil }

// limitFlag returns the flag that ends the levels of a search.
func (s *settings) limitFlag() string {
	if s.SLO.Objective != nil {
		return "slo"
	}
	return "latency-threshold"
}

// maxLimitMS is a year.
const maxLimitMS = 365 * 24 * 3600 * 1000

// searchLevels sets the levels of a sweep that the flag sets, and the plan if the latency
// decides how many of them are measured. listed is false if the run does not follow the
// sweep's list.
func searchLevels[T int | float64](p *parser, s *settings, flag string, sweep load.Sweep[T], level func(T) load.Level) (listed bool) {
	for _, x := range sweep.List {
		s.levels = append(s.levels, level(x))
	}
	limited, endless := s.limited(), sweep.List == nil
	binary := p.c.Bool("binary-search")
	switch {
	case binary && sweep.End == 0:
		p.errorf("--binary-search needs a range with an end: --%s start:end:step", flag)
		return false
	case binary && !limited && !p.c.IsSet("slo"): // else the mistake is in the objective
		p.errorf("--binary-search needs -l, the latency that a level must stay below, or --slo, the objective that it must meet")
		return false
	case endless && !limited && !p.c.IsSet("slo"):
		p.errorf("--%s: an end of 0 needs -l, the latency at which to stop, or --slo", flag)
		return false
	case s.SLO.Objective != nil && len(sweep.List) == 1:
		p.errorf("--slo chooses among levels, and --%s has one: give a range, or judge the level with pa-analyze report --slo", flag)
		return false
	case binary:
		s.BinarySearch = true
		s.levels = []load.Level{level(sweep.Start), level(sweep.End)}
		if width := float64(sweep.End-sweep.Start) / float64(sweep.Step); width > 1 {
			s.halvings = int(math.Ceil(math.Log2(width))) + 1 // halves of integers are rounded
		}
		s.levelPlan = recorder.BinarySearch(sweep.Start, sweep.End, sweep.Step, level)
	case endless:
		s.levels = []load.Level{level(sweep.Start)}
		fallthrough
	case limited && len(s.levels) > 1:
		s.levelPlan = recorder.LinearSearch(func(i int) (load.Level, bool) {
			x, ok := sweep.At(i)
			return level(x), ok
		})
	}
	if s.levelPlan != nil && sweep.Start > 0 {
		s.Search = fmt.Sprintf("%v:%v:%v", sweep.Start, sweep.End, sweep.Step)
	}
	return !binary
}

// endless reports whether nothing but the latency ends a search.
func (s *loadSettings) endless() bool {
	return s.levelPlan != nil && !s.BinarySearch && !s.AutoSweep && len(s.levels) == 1
}

// defaultSweep is the highest concurrency of an automatic sweep without
// --max-concurrency.
const defaultSweep = 256

func (s *loadSettings) sweepConcurrency() int { return cmp.Or(s.MaxConcurrency, defaultSweep) }

func (p *parser) autoSweep(s *settings) {
	s.AutoSweep = true
	like, _ := p.arrivals(s)
	s.levelPlan = recorder.AutoSweep(s.sweepConcurrency(), like)
	probe := like
	probe.PerSecond = 1
	if err := probe.Validate(); err != nil {
		p.errorf("--auto-sweep: %w", err)
	}
	p.refuse(p.c.IsSet("repeat"), "--auto-sweep and --repeat exclude each other: every run would find other rates; sweep once, then repeat its rates with --request-rate-range")
}
