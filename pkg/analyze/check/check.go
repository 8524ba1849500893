package check

import (
	"context"
	"fmt"

	"github.com/pa-tools/pa/internal/earlystop"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
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
	Metric      answer.Metric
	N           int
	Percentiles []analyze.Certified
}

// A Level is the checklist of one load level.
type Level struct {
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
	Levels  []Level
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
const confidence = earlystop.Confidence

// certified lists the metrics with certified percentiles: one value a request. The certificate
// assumes independent values, and gaps between tokens depend on each other.
var certified = []answer.Metric{answer.TTFT, answer.TPOT, answer.E2EL}

// Run checks the levels of r against the thresholds of p. file is the name for messages. The result
// covers what could be read. The error is from [analyze.Run]. cfg must not select a part.
func Run(ctx context.Context, file string, r export.Reader, cfg analyze.Config, p Profile) (*Result, *analyze.Report, error) {
	cfg.Certified = true
	t := &tap{Reader: r, bounds: answer.BoundsOf(export.Preview(r))}
	var source export.Reader = t
	if c, ok := r.(export.CheckingReader); ok {
		source = &checkingTap{t, c}
	}
	rep, err := analyze.Run(ctx, source, cfg)
	res := &Result{File: file, Profile: p}
	if m := rep.Run.Meta; m != nil {
		res.Tool = m.Tool
	}
	for i := range rep.Experiments {
		x := &rep.Experiments[i]
		l := Level{Name: report.LevelName(x), Mode: x.Mode, Value: x.Value, Problem: x.Problem}
		c := checker{rep: rep, x: x, p: &p, sent: t.level(i), from: cfg.From}
		if x.Problem == nil {
			l.Items = c.items()
			for _, m := range certified {
				if s := x.Metric(m); s != nil {
					l.Certificates = append(l.Certificates, Certificate{m, s.N, s.Certified[:]})
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
	c := checker{rep: rep, x: x, p: &p, sent: &sent{}}
	return append([]Item{c.client(), c.clock(), c.failures(), c.steady()}, c.values()...)
}

// A tap reads the schedule of the measured requests as they pass by.
type tap struct {
	export.Reader
	bounds answer.Bounds // of the times that can be true
	levels []sent
}

// sent holds the planned times of the measured requests of a level.
type sent struct {
	arrivals []uint64 // scheduled times; start times of requests without a schedule
	starts   []uint64 // of all requests
	// lateness is start − schedule of the requests with a schedule.
	lateness []int64
}

// Next implements [export.Reader].
func (t *tap) Next() bool {
	if !t.Reader.Next() {
		return false
	}
	q := t.Request()
	if q.Phase == export.PhaseWarmup || q.Phase == export.PhaseCooldown {
		return true
	}
	i := t.Experiment()
	for len(t.levels) <= i {
		t.levels = append(t.levels, sent{})
	}
	if i < 0 {
		return true
	}
	l := &t.levels[i]
	if q.StartNS != 0 && t.bounds.Time(q.StartNS) {
		l.starts = append(l.starts, q.StartNS)
	}
	switch {
	case !t.bounds.Time(q.ScheduledNS) || !t.bounds.Time(q.StartNS):
	case q.ScheduledNS != 0:
		l.arrivals = append(l.arrivals, q.ScheduledNS)
		if v := answer.Elapsed(q.ScheduledNS, q.StartNS); v.OK && q.StartNS != 0 {
			l.lateness = append(l.lateness, v.V)
		}
	case q.StartNS != 0:
		l.arrivals = append(l.arrivals, q.StartNS)
	}
	return true
}

// Skipped implements [export.Skipper].
func (t *tap) Skipped(experiment int) (counted, excluded int) {
	return export.Skipped(t.Reader, experiment)
}

// A checkingTap is a tap of a file with derived values.
type checkingTap struct {
	*tap
	checks export.CheckingReader // the same file
}

var _ export.CheckingReader = (*checkingTap)(nil)

// Derivation implements [export.DerivedReader].
func (t *checkingTap) Derivation() (_ export.Derivation, ok bool) { return t.checks.Derivation() }

// Derived implements [export.DerivedReader].
func (t *checkingTap) Derived() *export.Derived { return t.checks.Derived() }

// WithoutAnswers implements [export.DerivedReader].
func (t *checkingTap) WithoutAnswers() { t.checks.WithoutAnswers() }

// CheckDerived implements [export.CheckingReader].
func (t *checkingTap) CheckDerived(all bool) bool { return t.checks.CheckDerived(all) }

// Checked implements [export.CheckingReader].
func (t *checkingTap) Checked() (q *export.Request, d *export.Derived, outputs bool) {
	return t.checks.Checked()
}

// HasOutputs implements [export.CheckingReader].
func (t *checkingTap) HasOutputs() bool { return t.checks.HasOutputs() }

// Restart implements [export.CheckingReader].
func (t *checkingTap) Restart() {
	t.checks.Restart()
	t.levels = nil
}

func (t *tap) level(i int) *sent {
	if i < len(t.levels) {
		return &t.levels[i]
	}
	return &sent{}
}
