package trend

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/montanaflynn/stats"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/runset"
	"github.com/pa-tools/pa/pkg/analyze/tabular"
)

// A Judgement is the comparison of a new point with accepted points.
type Judgement struct {
	Accepted []Point
	New      Point
	Set      *runset.Set
	Levels   []JudgedLevel
	// Allow is the largest change for the worse that passes.
	Allow float64
	// Missing names the levels of accepted points that the new point lacks, Added the levels of
	// the new point that no accepted point has.
	Missing, Added []string
	// DaysUnknown is set if fewer than 3 points are accepted. The runs are then compared,
	// although points usually differ more than the runs of a point.
	DaysUnknown bool
	// LeftOut are the accepted points that cannot be used, which fails the gate: without them,
	// other points and maybe another rule decide. Judge does not set it.
	LeftOut []LeftOut
	// Unverified names the accepted points of which nobody knows whether their files are as they
	// were accepted. Judge does not set it.
	Unverified []string
}

// A LeftOut is an accepted point that is not among the points of a judgement.
type LeftOut struct {
	Label  string
	Reason string
}

// String returns the label and the reason.
func (l LeftOut) String() string { return sanitize.Text(l.Label) + ": " + sanitize.Text(l.Reason) }

// A JudgedLevel has the primary metrics of one load level.
type JudgedLevel struct {
	*runset.Level
	Rows []Judged
}

// A Judged is the comparison of one metric of the new point with the accepted points.
type Judged struct {
	Metric   *diff.Metric
	Accepted []float64 // value of each accepted point that has the metric
	Mean     float64   // of Accepted
	New      float64
	Change   float64 // New/Mean − 1; for the failed share, New − the largest accepted share
	// Interval is for the change. It is as wide as the verdict needs: it leaves out 0 exactly if
	// a difference was found. Level is its confidence level.
	Interval inference.Interval
	Level    float64
	P        float64
	Adjusted float64
	Verdict  inference.Verdict
	NA       string // why there is no verdict; "" if there is one
	// TooEarly is set if there is no verdict yet, because too few runs are accepted.
	TooEarly bool

	interval func(level float64) inference.Interval // nil without a p-value
}

// allowedFailures is how far the share of failed requests may exceed the largest accepted
// share.
const allowedFailures = 0.01

// Judge compares a new point with at least one accepted point.
//
// With 3 or more accepted points, it judges the new value by the prediction interval of one
// more point: the t distribution with k − 1 degrees of freedom around the mean of k
// logarithms, with the deviation of the points times √(1 + 1/k). With fewer, it compares the
// runs by Welch's t test, which needs at least 3 runs on either side. It adjusts the p-values
// of all primary metrics and levels by Holm's method.
func Judge(accepted []Point, next Point, allow float64, ignore []string) *Judgement {
	runs := slices.Clone(next.Runs)
	for i := range accepted {
		runs = append(runs, accepted[i].Runs...)
	}
	j := &Judgement{Accepted: accepted, New: next, Set: runset.New(runs, ignore), Allow: allow, DaysUnknown: len(accepted) < minPerSide}
	refused := len(j.Set.Refused()) > 0
	for i := range j.Set.Levels {
		l := &j.Set.Levels[i]
		if next.levels(l) == nil {
			j.Missing = append(j.Missing, l.Name)
			continue
		}
		if !slices.ContainsFunc(accepted, func(p Point) bool { return p.levels(l) != nil }) {
			j.Added = append(j.Added, l.Name)
			continue
		}
		x := JudgedLevel{Level: l}
		for k := range diff.Metrics {
			if m := &diff.Metrics[k]; m.Primary {
				if row, ok := j.row(l, m, refused); ok {
					x.Rows = append(x.Rows, row)
				}
			}
		}
		j.Levels = append(j.Levels, x)
	}
	j.adjust()
	return j
}

// row compares one metric, without the adjustment of its p-value. ok is false if neither
// side has the metric.
func (j *Judgement) row(l *runset.Level, m *diff.Metric, refused bool) (row Judged, ok bool) {
	nan := math.NaN()
	row = Judged{Metric: m, Change: nan, Interval: inference.Interval{Low: nan, High: nan}, Level: nan, P: nan, Adjusted: nan}
	var older []float64 // values of the accepted runs
	for i := range j.Accepted {
		values := j.Accepted[i].values(l, m)
		older = append(older, values...)
		if v := inference.MeanOfRuns(values); !math.IsNaN(v) {
			row.Accepted = append(row.Accepted, v)
		}
	}
	newer := j.New.values(l, m)
	row.Mean, row.New = inference.MeanOfRuns(row.Accepted), inference.MeanOfRuns(newer)
	if len(older)+len(newer) == 0 {
		return row, false
	}
	switch {
	case refused:
		row.NA = "the runs are not comparable"
	case len(newer) == 0:
		row.NA = "the new point has no value"
	case len(older) == 0:
		row.NA = "no accepted point has a value"
	}
	if row.NA != "" {
		return row, true
	}
	if m.Key == diff.KeyFailedShare {
		row.failures()
		return row, true
	}
	row.Change = row.New/row.Mean - 1
	if row.NA = cmp.Or(j.spoiled(l, m), j.otherLengths(l, m)); row.NA != "" {
		return row, true
	}
	if len(row.Accepted) >= minPerSide {
		row.predict()
		return row, true
	}
	c := inference.Welch(older, newer)
	if c.NA.Missing() {
		row.NA = c.NA.Reason
		if row.TooEarly = c.NA.Needs > 0; row.TooEarly {
			row.NA += fmt.Sprintf("; accept %d points, or record %d runs a point", minPerSide, c.NA.Needs)
		}
		return row, true
	}
	row.P, row.Change, row.interval = c.P, c.Change, c.Interval
	return row, true
}

// spoiled returns why a warning of the recorder in a new or accepted run allows no verdict; ""
// if none does.
func (j *Judgement) spoiled(l *runset.Level, m *diff.Metric) string {
	for _, p := range append([]Point{j.New}, j.Accepted...) {
		if why := p.spoiled(l, m); why != "" {
			return why
		}
	}
	return ""
}

// otherLengths returns why rates are not compared: the new runs have another number of
// requests than the accepted runs. It is "" for other metrics.
func (j *Judgement) otherLengths(l *runset.Level, m *diff.Metric) string {
	var accepted []*diff.Level
	for i := range j.Accepted {
		accepted = append(accepted, j.Accepted[i].levels(l)...)
	}
	if !m.IsRate() || !diff.RatesMove(accepted, j.New.levels(l)) {
		return ""
	}
	return "the new runs have another number of requests than the accepted ones, and short runs have lower rates; record as many"
}

// failures judges the share of failed requests.
func (r *Judged) failures() {
	largest := slices.Max(r.Accepted)
	r.Change = r.New - largest
	r.Verdict = inference.NoDifference
	if r.Change > allowedFailures {
		r.Verdict = inference.Worse
	}
}

// predict compares the new value with the prediction interval of the accepted points.
func (r *Judged) predict() {
	logs := make([]float64, len(r.Accepted))
	for i, v := range append(slices.Clone(r.Accepted), r.New) {
		if !(v > 0) {
			r.NA = "a value that is not above 0 has no logarithm"
			return
		}
		if i < len(logs) {
			logs[i] = math.Log(v)
		}
	}
	center, _ := stats.Mean(logs)
	deviation, _ := stats.StandardDeviationSample(logs)
	k := float64(len(logs))
	se := deviation * math.Sqrt(1+1/k)
	if !(se > 0) {
		r.NA = "all accepted points are equal"
		return
	}
	d := math.Log(r.New) - center
	r.P = 2 * inference.StudentUpper(math.Abs(d)/se, k-1)
	r.interval = func(level float64) inference.Interval {
		t := inference.StudentQuantile(level, k-1)
		return inference.Interval{Low: math.Expm1(d - t*se), High: math.Expm1(d + t*se)}
	}
}

// adjust adjusts the p-values by Holm's method and sets the verdicts and their intervals.
func (j *Judgement) adjust() {
	var rows []*Judged
	var p []float64
	for i := range j.Levels {
		for k := range j.Levels[i].Rows {
			r := &j.Levels[i].Rows[k]
			rows, p = append(rows, r), append(p, r.P)
		}
	}
	levels := inference.HolmLevels(p, alpha)
	for i, q := range inference.Holm(p) {
		r := rows[i]
		if math.IsNaN(q) {
			continue
		}
		r.Adjusted, r.Level, r.Interval = q, levels[i], r.interval(levels[i])
		switch worse := (r.Change > 0) == (r.Metric.Direction == inference.LowerIsBetter); {
		case q > alpha || r.Change == 0:
			r.Verdict = inference.NoDifference
		case worse:
			r.Verdict = inference.Worse
		default:
			r.Verdict = inference.Better
		}
	}
}

// TooEarly returns an error for the first level or metric that cannot be judged yet, because too
// few points and runs are accepted; nil if there is none.
func (j *Judgement) TooEarly() error {
	if j.Added != nil {
		return fmt.Errorf("%s cannot be judged yet: no accepted point has it", sanitize.Text(strings.Join(j.Added, ", ")))
	}
	for i := range j.Levels {
		for k := range j.Levels[i].Rows {
			if r := &j.Levels[i].Rows[k]; r.TooEarly {
				return fmt.Errorf("%s at %s cannot be judged yet: %s", r.Metric.Name, sanitize.Text(j.Levels[i].Name), r.NA)
			}
		}
	}
	return nil
}

// Failures returns an error for each metric that fails the gate, joined; nil if none fails. A
// metric fails if it is worse by more than Allow, or if it has no verdict although it is not
// TooEarly. A level that the new point lacks fails as well, and so does a point of LeftOut.
func (j *Judgement) Failures() error {
	errs := []error{LeftOutError(j.LeftOut)}
	for i := range j.Levels {
		l := &j.Levels[i]
		for k := range l.Rows {
			switch r := &l.Rows[k]; {
			case r.TooEarly:
			case r.NA != "":
				errs = append(errs, fmt.Errorf("%s at %s cannot be judged, which counts as failed: %s", r.Metric.Name, sanitize.Text(l.Name), r.NA))
			case j.fails(r):
				errs = append(errs, fmt.Errorf("%s at %s is worse than %s: %s", r.Metric.Name, sanitize.Text(l.Name), j.accepted(), r.change()))
			}
		}
	}
	for _, name := range j.Missing {
		errs = append(errs, fmt.Errorf("the new runs lack %s, which the accepted ones have", sanitize.Text(name)))
	}
	return errors.Join(errs...)
}

// failure returns the error of a gate that lacks the point.
func (l LeftOut) failure() error {
	return fmt.Errorf("accepted point %s; it was left out, which fails the gate: restore its files, or delete the folder to judge without it", l)
}

// LeftOutError returns the error of a gate whose accepted points were all left out; nil for none.
func LeftOutError(all []LeftOut) error {
	var errs []error
	for _, l := range all {
		errs = append(errs, l.failure())
	}
	return errors.Join(errs...)
}

// fails reports whether the metric is worse by more than Allow.
func (j *Judgement) fails(r *Judged) bool {
	return r.Verdict == inference.Worse && math.Abs(r.Change) > j.Allow
}

// change formats the change with its interval: "+9.3 % (+4.1 to +14)".
func (r *Judged) change() string {
	if r.Metric.Key == diff.KeyFailedShare {
		return fmt.Sprintf("%s instead of at most %s", tabular.ShareInSentence(r.New), tabular.ShareInSentence(slices.Max(r.Accepted)))
	}
	s := tabular.Signed(r.Change) + " %"
	if !math.IsNaN(r.Interval.Low) {
		s += fmt.Sprintf(" (%s to %s)", tabular.Signed(r.Interval.Low), tabular.Signed(r.Interval.High))
	}
	return s
}

// accepted names the accepted points: "the last 5 accepted points".
func (j *Judgement) accepted() string {
	if len(j.Accepted) == 1 {
		return "the accepted point"
	}
	return "the last " + plural.Of(len(j.Accepted), "accepted point")
}

// Headline returns the judgement in one line.
func (j *Judgement) Headline() string {
	if n := len(j.LeftOut); n > 0 {
		return plural.Of(n, "accepted point") + " left out, so the gate fails; " + j.finding()
	}
	return j.finding()
}

// finding returns what was found among the points that are not left out.
func (j *Judgement) finding() string {
	if refused := j.Set.Refused(); len(refused) > 0 {
		return "not comparable with " + j.accepted() + ": the runs differ in " + strings.Join(namesOf(refused), ", ")
	}
	var worse, allowed, better, bounds, unknown, early []string
	for i := range j.Levels {
		l := &j.Levels[i]
		for k := range l.Rows {
			r := &l.Rows[k]
			name := r.Metric.Name
			if len(j.Levels) > 1 {
				name += " at " + sanitize.Text(l.Name)
			}
			switch {
			case r.TooEarly:
				early = append(early, name)
			case r.NA != "":
				unknown = append(unknown, name)
			case j.fails(r):
				worse = append(worse, name+" "+r.change())
			case r.Verdict == inference.Worse:
				allowed = append(allowed, name+" "+r.change())
			case r.Verdict == inference.Better:
				better = append(better, name+" "+r.change())
			case !math.IsNaN(r.Interval.Low):
				bounds = append(bounds, fmt.Sprintf("%s %% in %s", tabular.Size(math.Max(math.Abs(r.Interval.Low), math.Abs(r.Interval.High))), name))
			}
		}
	}
	var parts []string
	part := func(head string, texts []string) {
		if texts != nil {
			parts = append(parts, head+strings.Join(texts, ", "))
		}
	}
	part("worse than "+j.accepted()+": ", worse)
	part("worse than "+j.accepted()+", within the allowed "+tabular.Size(j.Allow)+" %: ", allowed)
	part("better than "+j.accepted()+": ", better)
	if parts == nil {
		part("no difference from "+j.accepted()+" larger than ", bounds)
	}
	part("cannot be judged: ", unknown)
	part("cannot be judged yet: ", early)
	part("no accepted point has ", clean(j.Added))
	part("the new runs lack ", clean(j.Missing))
	if parts == nil {
		return "nothing to judge"
	}
	return strings.Join(parts, "; ")
}

// clean makes names of levels safe for a terminal; nil for none.
func clean(names []string) (safe []string) {
	for _, n := range names {
		safe = append(safe, sanitize.Text(n))
	}
	return safe
}
