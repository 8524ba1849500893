package check

import (
	"context"
	"fmt"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Status is the outcome of an item.
type Status string

// The outcomes.
const (
	Pass Status = "pass"
	Fail Status = "fail"
	NA   Status = "n/a"
)

// An Item is one condition on a load level.
type Item struct {
	Name   string // "warm-up"
	Status Status
	// Text has the number behind the status, or the reason for n/a.
	Text string
	// Value is this number and Unit its unit: "s", "requests", "ratio", "ns", …. HasValue is false
	// without a number.
	Value    float64
	HasValue bool
	Unit     string
}

// A Certificate holds the certified percentiles of one metric.
type Certificate struct {
	Metric answer.Metric
	N      int
	// EffectiveN is the number of independent values that the N values are worth; 0 if it is not known.
	EffectiveN  float64
	Percentiles []summary.Certified
}

// A LevelChecklist is the checklist of one load level.
type LevelChecklist struct {
	Name, Mode, Value string
	Items             []Item
	Certificates      []Certificate
	// Problem is the reason why the level has no figures; nil if it has figures.
	Problem error
}

// A Result is the checklist of a file.
type Result struct {
	File    string
	Tool    string
	Profile Profile
	Levels  []LevelChecklist
}

// Failed returns an error for each item that failed.
func (r *Result) Failed() []error {
	var all []error
	for i := range r.Levels {
		for _, x := range r.Levels[i].Items {
			if x.Status == Fail {
				all = append(all, fmt.Errorf("%s: %s: %s: %s", r.File, r.Levels[i].Name, x.Name, x.Text))
			}
		}
	}
	return all
}

// confidence is the confidence of the certificates.
const confidence = stat.CertifiedConfidence

// certified lists the metrics with certified percentiles: one value a request. Gaps between the tokens of a
// request depend on each other far more than requests do.
var certified = []answer.Metric{answer.TTFT, answer.TPOT, answer.E2EL}

// Run checks the levels of r against the thresholds of p. file is the name for messages. The result
// covers what could be read. The error is from [analyze.Run]. cfg must not select a part, and Run sets its Observer.
func Run(ctx context.Context, file string, r export.Reader, cfg analyze.Config, p Profile) (*Result, *analyze.Report, error) {
	s := &schedule{}
	cfg.Certified, cfg.Settling, cfg.Observer = true, true, s
	rep, err := analyze.Run(ctx, r, cfg)
	res := &Result{File: file, Profile: p}
	if m := rep.Run.Meta; m != nil {
		res.Tool = m.Tool
	}
	for i := range rep.Experiments {
		x := &rep.Experiments[i]
		l := LevelChecklist{Name: report.LevelName(x), Mode: x.Mode, Value: x.Value, Problem: x.Problem}
		c := checker{rep: rep, x: x, p: &p, sent: s.level(i), from: cfg.From}
		if x.Problem == nil {
			l.Items = c.items()
			for _, m := range certified {
				if s := x.Metric(m); s != nil {
					l.Certificates = append(l.Certificates, Certificate{m, s.N, s.EffectiveN, s.Certified[:]})
				}
			}
		}
		res.Levels = append(res.Levels, l)
	}
	return res, rep, err
}

// OfReport returns the items of a level that its report alone decides: client, clock, failures and
// steady state, arrivals, and values if some cannot be true. x is an experiment of rep.
func OfReport(rep *analyze.Report, x *analyze.Experiment, p Profile) []Item {
	if x.Problem != nil {
		return nil
	}
	c := checker{rep: rep, x: x, p: &p, sent: &plannedTimes{}}
	return append([]Item{c.client(), c.clock(), c.failures(), c.steady()}, c.values()...)
}

// A schedule collects when the measured requests of each level were planned and sent.
type schedule struct {
	bounds answer.Bounds // of the times that can be true
	levels []plannedTimes
}

var _ analyze.Observer = (*schedule)(nil)

// plannedTimes holds the planned times of the measured requests of a level.
type plannedTimes struct {
	arrivals []uint64 // scheduled times; start times of requests without a schedule
	starts   []uint64 // of all requests
	// lateness is start − schedule of the requests with a schedule.
	lateness []int64
}

// meanLateness returns the mean of lateness, in ns; 0 without values.
func (s *plannedTimes) meanLateness() float64 {
	sum := 0.0
	for _, v := range s.lateness {
		sum += float64(v)
	}
	return sum / float64(max(1, len(s.lateness)))
}

// Begin implements [analyze.Observer].
func (s *schedule) Begin(run *export.Run) { *s = schedule{bounds: answer.BoundsOf(run)} }

// Request implements [analyze.Observer].
func (s *schedule) Request(level int, q *analyze.Point) {
	if q.Phase == export.PhaseWarmup || q.Phase == export.PhaseCooldown {
		return
	}
	for len(s.levels) <= level {
		s.levels = append(s.levels, plannedTimes{})
	}
	l := &s.levels[level]
	started := q.StartNS != 0
	if started {
		l.starts = append(l.starts, q.StartNS)
	}
	switch {
	case !s.bounds.Time(q.ScheduledNS):
	case q.ScheduledNS != 0:
		l.arrivals = append(l.arrivals, q.ScheduledNS)
		if v := answer.Elapsed(q.ScheduledNS, q.StartNS); v.OK && started {
			l.lateness = append(l.lateness, v.V)
		}
	case started:
		l.arrivals = append(l.arrivals, q.StartNS)
	}
}

// End implements [analyze.Observer].
func (s *schedule) End() {}

// Scrape implements [analyze.Observer].
func (s *schedule) Scrape(*export.Scrape) {}

// level returns the times of a level.
func (s *schedule) level(i int) *plannedTimes {
	if i < len(s.levels) {
		return &s.levels[i]
	}
	return &plannedTimes{}
}
