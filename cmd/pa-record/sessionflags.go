package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/scenario"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// sessionLoadFlags returns the flags for the delays of sessions, where they begin, and how they are measured.
func (s *settings) sessionLoadFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "session-delays", Category: catLoad, Usage: "`WHICH` delays are kept before the requests of a session: recorded (as in the data), think-only (from the last end that a request waits for), start-to-start (between the recorded starts) or none", DefaultText: workload.RecordedDelays.String()},
		&cli.DurationFlag{Name: "session-delay-cap", Category: catLoad, Usage: "wait at most `DURATION` before a request of a session, after --session-delay-ratio", DefaultText: "no limit", Destination: (*time.Duration)(&s.SessionDelayCap)},
		&cli.DurationFlag{Name: "session-idle-cap", Category: catLoad, Usage: "shrink the times between recorded starts of a session, sub-agents included, to at most `DURATION`; later starts move", DefaultText: "no limit", Destination: (*time.Duration)(&s.SessionIdleCap)},
		&cli.StringFlag{Name: "session-start-ratio", Category: catLoad, Usage: "with --session-concurrency, begin the first sessions after a part `MIN:MAX` of their recorded time (0:1 is anywhere); before the measurement, the previous request of each agent is sent", DefaultText: "at their beginning"},
		&cli.DurationFlag{Name: "cache-pressure", Category: catLoad, Usage: "with --session-start-ratio, fill the server's cache before the measurement: continue the sessions for `DURATION` without delays and with answers of one token", DefaultText: "none", Destination: (*time.Duration)(&s.CachePressure)},
		&cli.StringFlag{Name: "session-window", Category: catLoad, Usage: "with --session-concurrency, `WHEN` the measurement ends: whole (with the last session) or refill (when the first slot finds no session left in the data)", DefaultText: windowWhole, Destination: &s.SessionWindow},
		&cli.StringFlag{Name: "scenario", Category: catLoad, Usage: "follow the rules of the benchmark `NAME`: agentx; --dry-run lists them", DefaultText: "none"},
		&cli.BoolFlag{Name: "allow-dataset-wrap", Category: catLoad, Usage: "with --scenario, a run that repeats its data stays valid"},
	}
}

// The values of --session-window.
const (
	windowWhole  = "whole"
	windowRefill = "refill"
)

// sessionSettings is how sessions are played, beside the shape of the load.
type sessionSettings struct {
	SessionDelays     string             `json:"session_delays,omitempty"`
	SessionDelayCap   millis             `json:"session_delay_cap_ms,omitempty"`
	SessionIdleCap    millis             `json:"session_idle_cap_ms,omitempty"`
	SessionStartRatio string             `json:"session_start_ratio,omitempty"`
	CachePressure     millis             `json:"cache_pressure_ms,omitempty"`
	SessionWindow     string             `json:"session_window,omitempty"`
	CacheBust         string             `json:"cache_bust,omitempty"` // a place of a marker
	MarkerSalt        string             `json:"cache_bust_salt,omitempty"`
	Scenario          *scenario.Scenario `json:"scenario,omitempty"`

	refused error // of checkSessions, for --dry-run
	delays  workload.Delays
	starts  *workload.Starts // nil: sessions begin at their beginning
	marker  *workload.Marker // nil: none; its salt lacks the run
}

// givenFlags are the flags of a command line, for a scenario.
type givenFlags struct{ c *cli.Context }

func (f givenFlags) Given(flag string) bool       { return f.c.IsSet(flag) }
func (f givenFlags) Value(flag string) string     { return fmt.Sprint(f.c.Value(flag)) }
func (f givenFlags) Set(flag, value string) error { return f.c.Set(flag, value) }

// scenario sets the flags of --scenario, before all others are read.
func (p *parser) scenario(s *settings) {
	name := p.c.String("scenario")
	if name == "" {
		p.refuse(p.c.Bool("allow-dataset-wrap"), "--allow-dataset-wrap belongs to --scenario; give that, or drop it")
		return
	}
	var err error
	if s.Scenario, err = scenario.Parse(name); err == nil {
		s.Scenario.Wraps = p.c.Bool("allow-dataset-wrap")
		err = s.Scenario.Apply(givenFlags{p.c})
	} else {
		err = fmt.Errorf("--scenario: %w", err)
	}
	p.refuse(err != nil, "%w", err)
}

// sessionPlan reads how sessions are played. The flags of the load, the salt and the measurement have been read.
func (p *parser) sessionPlan(s *settings, sends bool) {
	c := p.c
	var err error
	if s.SessionDelays = c.String("session-delays"); s.SessionDelays != "" {
		s.delays.Kind, err = workload.ParseDelayKind(s.SessionDelays)
		p.refuse(err != nil, "--session-delays: %w", err)
	}
	p.refuse(c.IsSet("session-delay-cap") && s.SessionDelayCap <= 0, "--session-delay-cap %v: must be above 0; --session-delays none waits for nothing", time.Duration(s.SessionDelayCap))
	p.refuse(c.IsSet("session-idle-cap") && s.SessionIdleCap <= 0, "--session-idle-cap %v: must be above 0; --session-delays none waits for nothing", time.Duration(s.SessionIdleCap))
	s.delays.Ratio, s.delays.Cap, s.delays.IdleCap = s.DelayRatio, time.Duration(s.SessionDelayCap), time.Duration(s.SessionIdleCap)
	if s.SessionStartRatio = c.String("session-start-ratio"); s.SessionStartRatio != "" {
		s.starts, err = workload.ParseStarts(s.SessionStartRatio)
		p.refuse(err != nil, "--session-start-ratio: %w", err)
	}
	p.refuse(c.IsSet("cache-pressure") && s.CachePressure <= 0, "--cache-pressure %v: must be above 0", time.Duration(s.CachePressure))
	p.refuse(s.CachePressure > 0 && s.SessionStartRatio == "", "--cache-pressure belongs to --session-start-ratio; give that, or drop it")
	if s.starts != nil {
		s.starts.Seed, s.starts.Pressure = s.Seed, time.Duration(s.CachePressure)
		p.refuse(sends && len(s.Sessions) == 0, "--session-start-ratio needs --session-concurrency, whose slots have a first session")
		for _, flag := range p.given("warmup-request-count", "warmup-duration") {
			p.errorf("--%s and --session-start-ratio exclude each other: what is sent before the first sessions go on is the warm-up; drop one", flag)
		}
	}
	p.refuse(s.SessionWindow != "" && s.SessionWindow != windowWhole && s.SessionWindow != windowRefill, "--session-window %s: expected %s or %s", s.SessionWindow, windowWhole, windowRefill)
	if s.SessionWindow == windowRefill {
		p.refuse(sends && len(s.Sessions) == 0, "--session-window %s needs --session-concurrency, whose slots the sessions fill", windowRefill)
		p.refuse(s.Measure.Fixed(), "--session-window %s, and --request-count or --duration, exclude each other; drop one", windowRefill)
	}
	p.markers(s)
	if s.Scenario != nil && sends && len(p.errs) == 0 {
		err := s.Scenario.Check(s.Sessions, s.Measure.Duration)
		if s.levelPlan != nil {
			err = s.Scenario.Check(nil, s.Measure.Duration)
		}
		p.refuse(err != nil, "%w", err)
	}
}

// bustsEntries reports whether --cache-bust is about each entry, and not about the plays of sessions.
func (p *parser) bustsEntries() bool { return p.c.String("cache-bust") == bareCacheBust }

// bareCacheBust is the value of --cache-bust without one.
const bareCacheBust = "true"

// bareFlags returns the values of flags that may be given without one.
func bareFlags() map[string]string { return map[string]string{"cache-bust": bareCacheBust} }

// markers reads --cache-bust with a place.
func (p *parser) markers(s *settings) {
	switch place := p.c.String("cache-bust"); place {
	case "", bareCacheBust, "false", "none":
	default:
		at, err := workload.ParseMarkerPlace(strings.ReplaceAll(place, "_", "-"))
		if err != nil {
			p.errorOnce("cache-bust", "--cache-bust: %w", err)
			return
		}
		s.CacheBust, s.MarkerSalt, s.CacheSalt = at.String(), cmp.Or(s.CacheSalt, rand.Text()), ""
		s.marker = &workload.Marker{Place: at, Salt: s.MarkerSalt}
	}
}

// markerOf returns the marker of a run; nil for none.
func (s *settings) markerOf(run int) *workload.Marker {
	if s.marker == nil {
		return nil
	}
	m := *s.marker
	m.Salt = fmt.Sprintf("%s.%d", m.Salt, run+1)
	return &m
}

// checkSessions returns why the settings do not fit the sessions of the data.
func (s *settings) checkSessions(x *workload.SessionFacts) error {
	if x == nil {
		x = &workload.SessionFacts{}
	}
	var errs []error
	untimed := x.Requests - x.Starts
	refuse := func(bad bool, flag, why string) {
		if bad {
			errs = append(errs, fmt.Errorf("%s: %s", flag, why))
		}
	}
	const none = "the input data has no recorded starts of requests; drop it"
	refuse(s.SessionIdleCap > 0 && x.Starts == 0, "--session-idle-cap", none)
	refuse(s.delays.Kind == workload.StartToStart && x.Starts == 0, "--session-delays start-to-start", none)
	switch {
	case s.starts == nil:
	case x.Sessions == 0 || untimed > 0:
		refuse(true, "--session-start-ratio", "it needs the recorded start of each request, which the input data does not have; drop it")
	case x.Recorded < x.Sessions:
		refuse(true, "--session-start-ratio", "it needs requests that hold their history, and these need the answers before them; drop it")
	}
	if s.Scenario != nil && len(errs) == 0 && s.sends {
		if err := s.Scenario.CheckData(x.Sessions, s.slots()); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &cmdline.UsageError{Msg: err.Error()}
	}
	return nil
}

// judge returns what says whether a run follows the rules of --scenario; nil without it.
func (s *settings) judge() func(*recorder.Result, error) *export.Submission {
	if s.Scenario == nil {
		return nil
	}
	return s.Scenario.Judge
}

// printSubmission prints whether a run follows the rules of a scenario.
func printSubmission(w io.Writer, index runIndex, v *export.Submission) {
	switch {
	case v == nil:
	case v.Valid:
		fmt.Fprintf(w, "%s%s: submission valid\n", index.prefix(), v.Scenario)
	default:
		fmt.Fprintf(w, "%s%s: submission not valid: %s\n", index.prefix(), v.Scenario, strings.Join(v.Reasons, "; "))
	}
}
