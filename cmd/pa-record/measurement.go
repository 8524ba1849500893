package main

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/pkg/recorder/window"
)

// runFlags returns the flags for how long a level is measured.
func (s *settings) runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "request-count", Category: catLong, Usage: "measure exactly `N` requests per level; all sends each entry of the input data once; 5x is five times the concurrency, or the requests of five seconds of a rate", DefaultText: "windows decide"},
		&cli.DurationFlag{Name: "duration", Category: catLong, Usage: "measure each level for `DURATION`, in one window", DefaultText: "windows decide", Destination: &s.Measure.Duration},
		&cli.StringFlag{Name: "measurement-mode", Category: catLong, Usage: "`MODE` of windows: time_windows or count_windows", Value: "time_windows"},
		&cli.IntFlag{Name: "measurement-interval", Aliases: []string{"p"}, Category: catLong, Usage: "length of a time window in `MS`", Value: 5000},
		&cli.IntFlag{Name: "measurement-request-count", Category: catLong, Usage: "`N` requests close a count window", Value: 50},
		&cli.Float64Flag{Name: "stability-percentage", Aliases: []string{"s"}, Category: catLong, Usage: "end the level when throughput and latency of the last 3 windows differ by at most `PCT` %", Value: 10, Destination: &s.Measure.stabilityPct},
		&cli.IntFlag{Name: "max-trials", Aliases: []string{"r"}, Category: catLong, Usage: "at most `N` windows per level", Value: 10},
		&cli.BoolFlag{Name: "stop-on-unstable", Category: catLong, Usage: "measure no more levels after an unstable one"},
		&cli.IntFlag{Name: "percentile", Category: catLong, Usage: "use the `N`th percentile of latency for stability and -l; -1: the mean", Value: -1},
		&cli.DurationFlag{Name: "grace-period", Category: catLong, Usage: "wait `DURATION` for requests in flight at the end of a level, then cancel them; negative: do not wait", Value: 30 * time.Second, Destination: (*time.Duration)(&s.Grace)},
		&cli.StringFlag{Name: "max-error-rate", Category: catLong, Usage: "end the run with exit code 3 when more than this `PART` of a level's requests fail: 0.05 or 5%", DefaultText: "no limit"},
		&cli.StringFlag{Name: "max-overflow-rate", Category: catLong, Usage: "end the run with exit code 3 when more than this `PART` of a level's requests are longer than the model's context: 0.01 or 1%", DefaultText: "no limit"},
	}
}

// measureSettings says how long a level is measured.
type measureSettings struct {
	window.Measure
	windowed       bool // windows decide, so that their settings are in the JSON
	stabilityPct   float64
	stopOnUnstable bool
}

// MarshalJSON implements json.Marshaler.
func (m measureSettings) MarshalJSON() ([]byte, error) {
	var shown struct {
		Mode           string  `json:"mode,omitempty"`
		Interval       int64   `json:"interval_ms,omitempty"`
		WindowRequests int     `json:"window_requests,omitempty"`
		StabilityPct   float64 `json:"stability_percentage,omitempty"`
		MaxTrials      int     `json:"max_trials,omitempty"`
		StopOnUnstable bool    `json:"stop_on_unstable,omitempty"`
		Percentile     int     `json:"percentile,omitempty"`
		Requests       int     `json:"request_count,omitempty"`
		Times          int     `json:"request_count_times_level,omitempty"`
		All            bool    `json:"request_count_all,omitempty"`
		Duration       millis  `json:"duration_ms,omitempty"`
	}
	shown.Percentile, shown.Requests, shown.Times, shown.All, shown.Duration = m.Percentile, m.Requests, m.Times, m.All, millis(m.Duration)
	if m.windowed {
		shown.Mode, shown.StabilityPct, shown.MaxTrials, shown.StopOnUnstable = m.Mode.String(), m.stabilityPct, m.MaxTrials, m.stopOnUnstable
		if m.Mode == window.ByTime {
			shown.Interval = m.Interval.Milliseconds()
		} else {
			shown.WindowRequests = m.WindowRequests
		}
	}
	return json.Marshal(&shown)
}

// genAIPerfStability is the --stability-percentage of all command lines of GenAI-Perf. They have a --request-count, too, which
// perf_analyzer ignores with sessions.
const genAIPerfStability = 999

// measurement reads how long a level is measured, and what ends it.
func (p *parser) measurement(s *settings) {
	c := p.c
	if text := c.String("max-error-rate"); text != "" {
		r, err := parsePart(text)
		p.refuse(err != nil, "--max-error-rate %s: %v", text, err)
		s.MaxErrorRate = &r
	}
	if text := c.String("max-overflow-rate"); text != "" {
		r, err := parsePart(text)
		p.refuse(err != nil, "--max-overflow-rate %s: %v", text, err)
		s.MaxOverflowRate = &r
	}
	m := &s.Measure
	if text := c.String("request-count"); text != "" {
		var err error
		if m.All = strings.TrimSpace(text) == "all"; !m.All {
			m.Requests, m.Times, err = parseCount(text)
		}
		p.refuse(err != nil, "--request-count %s: %w", text, err)
	}
	p.refuse(c.IsSet("duration") && m.Duration <= 0, "--duration %v: must be positive", m.Duration)
	switch mode := c.String("measurement-mode"); mode {
	case "time_windows":
		m.Mode = window.ByTime
	case "count_windows":
		m.Mode = window.ByCount
	default:
		p.errorf("--measurement-mode %s: expected time_windows or count_windows", mode)
	}
	m.Interval = time.Duration(p.positive("measurement-interval", c.Int("measurement-interval"))) * time.Millisecond
	m.WindowRequests = p.positive("measurement-request-count", c.Int("measurement-request-count"))
	m.MaxTrials = p.positive("max-trials", c.Int("max-trials"))
	p.refuse(m.stabilityPct < 0, "--stability-percentage %v: must not be negative", m.stabilityPct)
	m.Stability, m.ThroughputSuffices, m.StatefulThroughputSuffices = m.stabilityPct/100, s.Async, !s.Sync
	if n := c.Int("percentile"); n != -1 {
		p.refuse(n < 1 || n > 99, "--percentile %d: must be 1 to 99, or -1 for the mean", n)
		m.Percentile = n
	}
	if len(s.Sessions) > 0 && m.Counted() && m.stabilityPct == genAIPerfStability {
		s.noEffect("--request-count", "with --session-concurrency and --stability-percentage 999 it comes from GenAI-Perf, which plays every session to its end")
		m.Requests, m.Times, m.All = 0, 0, false
	}
	p.refuse(len(s.SessionRates) > 0 && m.Times > 0, "--request-count %dx: the levels of --session-rate are of sessions, not of requests; give a number of requests", m.Times)
	counted := m.Counted()
	p.refuse(counted && m.Duration > 0, "--request-count and --duration exclude each other; drop one")
	if m.Requests > 0 {
		p.enoughRequests(s)
	}
	if !counted && m.Duration == 0 && !s.hasEnd() {
		p.refuse(s.Arrivals == scheduleScaled, "--schedule scaled needs --request-count or --duration: measurement windows have no number of requests to scale the gaps to; give one of them, or drop it")
		m.windowed, m.stopOnUnstable = true, c.Bool("stop-on-unstable")
	}
}

// parsePart parses a part of a whole, "0.05" or "5%".
func parsePart(text string) (float64, error) {
	number, pct := strings.CutSuffix(text, "%")
	f, err := strconv.ParseFloat(number, 64)
	if pct {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, errors.New("expected a number from 0 to 1, or a percentage such as 5%")
	}
	return f, nil
}
