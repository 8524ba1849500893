package trend

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/montanaflynn/stats"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// A Judgement is the comparison of a new point with accepted points.
type Judgement struct {
	Accepted []Point
	New      Point
	Set      *diff.Set
	Levels   []*JudgedLevel
	JudgeOptions
	// Missing names the levels of accepted points that the new point lacks, Added the levels of
	// the new point that no accepted point has.
	Missing, Added []string
	// LeftOut are the accepted points that cannot be used, which fails the gate: without them,
	// other points and maybe another rule decide. Judge does not set it.
	LeftOut []LeftOut
	// Unverified names the accepted points whose files may have changed since they were
	// accepted: nothing shows it. Judge does not set it.
	Unverified []string
}

// JudgeOptions are the settings of a judgement.
type JudgeOptions struct {
	// Allow is the largest change for the worse that passes.
	Allow float64
	// Margin is the smallest change that matters: a metric passes if its change for the worse is
	// shown to be smaller.
	Margin float64
	// Ignore names the differences that do not refuse the runs, see [diff.Refusals].
	Ignore []string
}

// A JudgedLevel has the primary metrics of one load level.
type JudgedLevel struct {
	*diff.Group
	Rows []*Judged
}

// A Judged is the comparison of one metric of the new point with the accepted points.
type Judged struct {
	Metric   *diff.Metric
	Accepted []float64 // value of each accepted point that has the metric
	Mean     float64   // of Accepted; the share of failed requests is of all accepted requests
	New      float64
	Change   float64 // New/Mean − 1; for the failed share, New − Mean
	// Interval is for the change. It is as wide as the verdict needs: it leaves out 0 exactly if
	// a difference was found. Level is its confidence level.
	Interval inference.Interval
	Level    float64
	// Bounds is the unadjusted 90 % interval of the change. Each of its ends is a one-sided test
	// at 5 % of whether the change is within a margin, see [inference.Comparison.Within].
	Bounds   inference.Interval
	P        float64 // for the failed share, one-sided
	Adjusted float64
	Verdict  inference.Verdict
	NA       string // why there is no verdict; "" if there is one
	// TooEarly is set if there is no verdict yet, because too few points are accepted.
	TooEarly bool
	// Outlying are the runs of the new point that differ from its other runs. They allow no verdict.
	Outlying []OutlyingRun
	// Constant is set if all accepted points are equal, so that they do not say how much points
	// differ.
	Constant bool

	interval                      func(level float64) inference.Interval // nil without a p-value
	deviation                     float64                                // of the logarithms of Accepted
	runs                          spreadOfRuns
	acceptedRequests, newRequests int
	acceptedFailures, newFailures int
	mayFailMore                   bool // more requests fail, and that may be chance
}

// An OutlyingRun is a run of a point that differs from its other runs.
type OutlyingRun struct {
	inference.OutlyingRun
	File string
}

// outlyingRuns returns the outlying runs of a metric among those of the point that have it.
func (p *Point) outlyingRuns(l *diff.Group, m *diff.Metric) (all []OutlyingRun) {
	levels := p.levelsWith(l, m)
	for _, o := range inference.OutlyingRuns(p.values(l, m), nil) {
		all = append(all, OutlyingRun{o, levels[o.Run].Run.Name})
	}
	return all
}

// Judge compares a new point with the accepted points.
//
// From 3 accepted points on, it judges the new value by the prediction interval of one more
// point: the t distribution with k − 1 degrees of freedom around the mean of k logarithms, with
// the deviation of the points times √(1 + 1/k). With fewer, it is unknown how much points differ
// from day to day, and nothing can be told yet. Judge adjusts the p-values of all primary metrics
// and levels by Holm's method. The new point fails more requests by [inference.FailsMore], from
// the first accepted point on.
func Judge(accepted []Point, next Point, o JudgeOptions) *Judgement {
	runs := slices.Clone(next.Runs)
	for i := range accepted {
		runs = append(runs, accepted[i].Runs...)
	}
	j := &Judgement{Accepted: accepted, New: next, Set: diff.NewSet(runs, o.Ignore), JudgeOptions: o}
	refused := len(j.Set.Refused()) > 0
	for _, l := range j.Set.Levels {
		if next.levels(l) == nil {
			j.Missing = append(j.Missing, l.Name)
			continue
		}
		if len(accepted) > 0 && !slices.ContainsFunc(accepted, func(p Point) bool { return p.levels(l) != nil }) {
			j.Added = append(j.Added, l.Name)
			continue
		}
		x := &JudgedLevel{Group: l}
		for _, m := range diff.Metrics {
			if m.Primary {
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
func (j *Judgement) row(l *diff.Group, m *diff.Metric, refused bool) (row *Judged, ok bool) {
	nan := math.NaN()
	none := inference.Interval{Low: nan, High: nan}
	row = &Judged{Metric: m, Change: nan, Interval: none, Level: nan, Bounds: none, P: nan, Adjusted: nan, deviation: nan}
	for i := range j.Accepted {
		if v := inference.MeanOfRuns(j.Accepted[i].values(l, m)); !math.IsNaN(v) {
			row.Accepted = append(row.Accepted, v)
		}
	}
	newer := j.New.values(l, m)
	row.runs = j.spreadOfRuns(l, m, len(newer))
	row.Mean, row.New = inference.MeanOfRuns(row.Accepted), inference.MeanOfRuns(newer)
	if len(row.Accepted)+len(newer) == 0 {
		return row, false
	}
	switch {
	case refused:
		row.NA = "the runs are not comparable"
	case len(newer) == 0:
		row.NA = "the new point has no value"
	case len(j.Accepted) == 0:
		row.tooEarly(needsPoints(0))
	case len(row.Accepted) == 0:
		row.tooEarly("no accepted point has a value")
	}
	if row.NA != "" {
		return row, true
	}
	if m.Key == diff.KeyFailedShare {
		row.failures(j, l)
		return row, true
	}
	row.Change = row.New/row.Mean - 1
	if row.NA = cmp.Or(j.spoiled(l, m), j.otherLengths(l, m), j.fewRequests(l)); row.NA == "" {
		row.judge()
	}
	if row.Outlying = j.New.outlyingRuns(l, m); row.Outlying != nil && row.interval != nil {
		row.withoutOutlying(newer)
	}
	return row, true
}

// judge compares the new value with the accepted points, if they are enough.
func (r *Judged) judge() {
	if n := len(r.Accepted); n < minPerSide {
		r.tooEarly(needsPoints(n))
		return
	}
	r.predict()
}

// tooEarly says that too few points are accepted for a verdict.
func (r *Judged) tooEarly(why string) { r.NA, r.TooEarly = why, true }

// needsPoints says how many points are accepted and needed.
func needsPoints(accepted int) string {
	count := "no point is accepted"
	if accepted > 0 {
		count = "only " + plural.Of(accepted, "point") + plural.Form(accepted, " is", " are") + " accepted"
	}
	return fmt.Sprintf("%s, and it takes %d to know how much points differ from day to day", count, minPerSide)
}

// withoutOutlying takes the verdict from a metric with outlying runs in the new point, and says how
// the point compares without these runs. values has the value of each run.
func (r *Judged) withoutOutlying(values []float64) {
	without := *r
	var others []float64
	for i, v := range values {
		if !slices.ContainsFunc(r.Outlying, func(o OutlyingRun) bool { return o.Run == i }) {
			others = append(others, v)
		}
	}
	without.New, without.runs.n = inference.MeanOfRuns(others), float64(len(others))
	without.predict()
	r.NA = outlyingText(r.Metric, r.Outlying)
	if without.interval != nil {
		i := without.interval(confidence)
		r.NA += fmt.Sprintf("; without %s %s", plural.Them(len(r.Outlying)), percentWith(without.New/r.Mean-1, i))
	}
	r.P, r.interval = math.NaN(), nil
	r.Bounds = inference.Interval{Low: math.NaN(), High: math.NaN()}
}

// outlyingText names outlying runs: "run.1.json has 82 times the TTFT p50 of the other runs".
func outlyingText(m *diff.Metric, outlying []OutlyingRun) string {
	var texts []string
	for _, o := range outlying {
		texts = append(texts, fmt.Sprintf("%s has %s times the %s of the other runs", sanitize.Text(o.File), factor(o.Factor), m.Name))
	}
	return strings.Join(texts, ", ")
}

// factor formats a ratio with two digits: "82", "1.5", "0.67".
func factor(f float64) string {
	if f >= 10 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 2, 64)
}

// spoiled returns why a warning of the recorder in a new or accepted run allows no verdict; ""
// if none does.
func (j *Judgement) spoiled(l *diff.Group, m *diff.Metric) string {
	for _, p := range append([]Point{j.New}, j.Accepted...) {
		if why := p.spoiled(l, m); why != "" {
			return why
		}
	}
	return ""
}

// otherLengths returns why rates are not compared: the new runs have another number of
// requests than the accepted runs. It is "" for other metrics.
func (j *Judgement) otherLengths(l *diff.Group, m *diff.Metric) string {
	if !m.IsRate() || !diff.RatesMove(levelsOf(j.Accepted, l), j.New.levels(l)) {
		return ""
	}
	return "the new runs have another number of requests than the accepted ones, and short runs have lower rates; record the same number"
}

// fewRequests returns why the new value deviates more than accepted ones do: the new runs have less than half as
// many requests as the accepted run in the middle. It is "" if they have more.
func (j *Judgement) fewRequests(l *diff.Group) string {
	requests := func(points ...Point) (all []int) {
		for _, x := range levelsOf(points, l) {
			all = append(all, x.OK+x.Failed)
		}
		return all
	}
	accepted := requests(j.Accepted...)
	slices.Sort(accepted)
	middle, least := accepted[len(accepted)/2], slices.Min(requests(j.New))
	if 2*least >= middle {
		return ""
	}
	return fmt.Sprintf("a new run has %s and most accepted ones %s, so it differs more by chance; record as many", plural.GroupedOf(least, "request"), plural.Grouped(middle))
}

// failures judges the share of failed requests by the requests of all runs.
func (r *Judged) failures(j *Judgement, l *diff.Group) {
	for i := range j.Accepted {
		failed, all := j.Accepted[i].failures(l)
		r.acceptedFailures, r.acceptedRequests = r.acceptedFailures+failed, r.acceptedRequests+all
	}
	r.newFailures, r.newRequests = j.New.failures(l)
	r.Mean = float64(r.acceptedFailures) / float64(r.acceptedRequests)
	r.New = float64(r.newFailures) / float64(r.newRequests)
	r.Change = r.New - r.Mean
	r.P = inference.MoreFailures(r.acceptedFailures, r.acceptedRequests, r.newFailures, r.newRequests)
	r.Verdict = inference.NoDifference
	if inference.FailsMore(r.acceptedFailures, r.acceptedRequests, r.newFailures, r.newRequests) {
		r.Verdict = inference.Worse
	}
	const mayBeMore, point = 0.10, 0.01 // up to this p-value, as in package diff
	r.mayFailMore = r.P <= mayBeMore && r.Change > point
}

// A spreadOfRuns says how much the runs of an accepted point differ.
type spreadOfRuns struct {
	variance float64 // of logarithms, within accepted points; 0 if they have one run each
	usual    float64 // harmonic mean of the numbers of runs of accepted points
	n        float64 // runs of the new point
}

// spreadOfRuns returns the spread of a metric for a new point of n runs.
func (j *Judgement) spreadOfRuns(l *diff.Group, m *diff.Metric, n int) (s spreadOfRuns) {
	squares, df, points, inverse := 0.0, 0, 0, 0.0
	for i := range j.Accepted {
		values := j.Accepted[i].values(l, m)
		if len(values) == 0 {
			continue
		}
		points, inverse = points+1, inverse+1/float64(len(values))
		logs := make([]float64, len(values))
		for k, v := range values {
			logs[k] = math.Log(v) // a value that is not above 0 has no verdict
		}
		squares, df = squares+deviance(logs), df+len(logs)-1
	}
	s = spreadOfRuns{usual: float64(points) / inverse, n: float64(n)}
	if df > 0 {
		s.variance = squares / float64(df)
	}
	return s
}

// further returns how much larger the variance of the new point is than of accepted ones, because
// it has fewer runs.
func (s *spreadOfRuns) further() float64 {
	if !(s.n < s.usual) {
		return 0
	}
	return s.variance * (1/s.n - 1/s.usual)
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
	if equal(slices.Min(r.Accepted), slices.Max(r.Accepted)) {
		r.constant()
		return
	}
	center, _ := stats.Mean(logs)
	r.deviation, _ = stats.StandardDeviationSample(logs)
	k := float64(len(logs))
	se := math.Sqrt(r.deviation*r.deviation*(1+1/k) + r.runs.further())
	d := math.Log(r.New) - center
	r.P = 2 * inference.StudentUpper(math.Abs(d)/se, k-1)
	r.interval = func(level float64) inference.Interval {
		t := inference.StudentQuantile(level, k-1)
		return inference.Interval{Low: math.Expm1(d - t*se), High: math.Expm1(d + t*se)}
	}
	r.Bounds = r.interval(boundsLevel)
}

// equal reports whether two positive values are equal but for rounding.
func equal(a, b float64) bool { return math.Abs(a/b-1) < 1e-12 }

// constant judges a metric whose accepted points are all equal. A new point that equals them is no
// different; the points do not say how much another one may differ.
func (r *Judged) constant() {
	r.Constant, r.deviation = true, 0
	if !equal(r.New, r.Mean) {
		r.NA = fmt.Sprintf("%s accepted points are equal, so it is unknown how much points differ", plural.All(len(r.Accepted)))
		return
	}
	r.Change, r.Verdict = 0, inference.NoDifference
	r.Interval, r.Bounds = inference.Interval{}, inference.Interval{}
}

// adjust adjusts the p-values by Holm's method and sets the verdicts and their intervals.
func (j *Judgement) adjust() {
	var rows []*Judged
	var p []float64
	for _, l := range j.Levels {
		for _, r := range l.Rows {
			tested := math.NaN() // failures have a test of their own
			if r.interval != nil {
				tested = r.P
			}
			rows, p = append(rows, r), append(p, tested)
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
