package trend

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

const (
	// besideAlpha is the probability that equal points give a finding beside the steps, of each kind.
	besideAlpha = 0.01
	// leastBeside is the smallest change of a finding beside the steps, as a ratio.
	leastBeside = 1.1
	// leastLine is the number of points from which on a line through them is tested.
	leastLine = 2 * minPerSide
)

// An off is a point, or the last two points, whose value differs from the points around without being a step.
type off struct {
	from, to int // the points
	change   float64
}

// offPoints finds the points that are off: single points, and the last two, which are too few for a step
// unless many points come before. steps are the steps of the values, NaN a point without a value, and family
// the number of metrics that are searched.
func offPoints(values []float64, steps []Step, family int) (all []off) {
	at, end := 0, 0
	total := len(usablePoints(values))
	for i := 0; i <= len(steps); i++ {
		if end = len(values); i < len(steps) {
			end = steps[i].At
		}
		points := usablePoints(values[at:end])
		part := pick(values[at:end], points)
		found := false
		for _, o := range inference.OutlyingRuns(part, nil) {
			if o.P*float64(total*family) <= besideAlpha {
				from := at + points[o.Run]
				all, found = append(all, off{from, from + 1, o.Factor - 1}), true
			}
		}
		const tail = 2
		if n := len(part) - tail; !found && end == len(values) && n >= 2*tail+1 {
			d, _, _, p := compared(part[:n], part[n:], roundingOf(part))
			if p*float64(family) <= besideAlpha && math.Abs(d) > math.Log(leastBeside) {
				all = append(all, off{at + points[n], len(values), math.Expm1(d)})
			}
		}
		at = end
	}
	return all
}

// lineChange returns the change from the first point to the last on a straight line through the logarithms,
// if it is large and more than chance between independent points, and if the line is closer to the points than
// their steps are; else NaN.
func lineChange(values []float64, steps []Step, family int) float64 {
	points := usablePoints(values)
	if len(points) < leastLine {
		return math.NaN()
	}
	n := float64(len(points))
	var x, y, xx, xy, yy float64
	for _, i := range points {
		x, y = x+float64(i)/n, y+math.Log(values[i])/n
	}
	around, at := 0.0, 0 // squared distances from the parts between the steps
	for k := 0; k <= len(steps); k++ {
		var part []float64
		for ; at < len(points) && (k == len(steps) || points[at] < steps[k].At); at++ {
			part = append(part, math.Log(values[points[at]]))
		}
		around += deviance(part)
	}
	for _, i := range points {
		dx, dy := float64(i)-x, math.Log(values[i])-y
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	slope := xy / xx
	change, rest := slope*float64(points[len(points)-1]-points[0]), math.Max(0, yy-slope*xy)
	p := 2 * inference.StudentUpper(math.Abs(slope)/math.Sqrt(rest/(n-2)/xx), n-2)
	if !(math.Abs(change) > math.Log(leastBeside)) || p*float64(family) > besideAlpha || rest > around {
		return math.NaN()
	}
	return math.Expm1(change)
}

// usablePoints returns the indices of the values that have a logarithm.
func usablePoints(values []float64) (points []int) {
	for i, v := range values {
		if v > 0 && !math.IsInf(v, 1) {
			points = append(points, i)
		}
	}
	return points
}

// pick returns the values at indices.
func pick(values []float64, indices []int) []float64 {
	all := make([]float64, len(indices))
	for i, k := range indices {
		all[i] = values[k]
	}
	return all
}

// A Kind is the kind of a [Finding].
type Kind string

// The kinds of findings.
const (
	KindFailsMore   Kind = "fails-more"   // more requests fail at the points than at the others
	KindUnlike      Kind = "unlike"       // the points are unlike the others of a metric, and no step
	KindDrift       Kind = "drift"        // a metric drifts from the first point to the last
	KindLengths     Kind = "lengths"      // prompts or answers have other lengths, which Reason says
	KindNotSearched Kind = "not-searched" // a primary metric is not searched for steps; Reason says why
)

// A Finding is what the points show beside the steps.
type Finding struct {
	Kind   Kind
	Metric *diff.Metric // nil for KindFailsMore and KindLengths
	// From and To are the points From up to, but not including, To.
	From, To int
	// Value is the change of the metric as a ratio, or the share of failed requests; NaN for other kinds.
	// Others is the share of failed requests at the other points.
	Value, Others float64
	Reason        string

	level *LevelHistory // nil for KindLengths
}

// findings returns all findings: failed requests, lengths, points unlike the others, drifts, and metrics that are not searched.
func (res *Result) findings() []Finding {
	if len(res.Set.Refused()) > 0 {
		return nil
	}
	nan := math.NaN()
	all := res.failing()
	if at, texts := res.lengths(); texts != nil {
		all = append(all, Finding{Kind: KindLengths, From: at, To: len(res.Points), Value: nan, Others: nan, Reason: strings.Join(texts, "; ")})
	}
	var off, drifts, not []Finding
	for _, l := range res.Levels {
		for _, r := range l.Rows {
			if !r.Metric.Primary {
				continue
			}
			x := Finding{Metric: r.Metric, To: len(res.Points), Value: nan, Others: nan, level: l}
			for _, o := range r.off {
				x.Kind, x.From, x.To, x.Value = KindUnlike, o.from, o.to, o.change
				off = append(off, x)
			}
			x.From, x.To = 0, len(res.Points)
			if !math.IsNaN(r.line) {
				x.Kind, x.Value = KindDrift, r.line
				drifts = append(drifts, x)
			}
			if r.NA != "" && r.Metric.Key != diff.KeyFailedShare {
				x.Kind, x.Reason = KindNotSearched, r.NA
				not = append(not, x)
			}
		}
	}
	return slices.Concat(all, off, drifts, not)
}

// beside says what the points show beside steps: which are unlike the others, and which metrics drift; nil if nothing.
func (res *Result) beside() (texts []string) {
	var unlike, lines sheet.Reasons // metrics with their changes, by the points
	for _, f := range res.Findings {
		change := func() string {
			return fmt.Sprintf("%s%s %s %%", f.Metric.Name, res.at(f.level), sheet.Signed(f.Value))
		}
		switch f.Kind {
		case KindUnlike:
			which := sanitize.Text(res.Points[f.From].Label) + " is unlike the other points"
			if n := f.To - f.From; n > 1 {
				which = fmt.Sprintf("the last %d points are unlike the others", n)
			}
			unlike.Add(change(), which)
		case KindDrift:
			which := "the points drift, from the first to the last"
			if slices.ContainsFunc(f.level.Rows, func(r *Row) bool { return r.Metric == f.Metric && r.Steps != nil }) {
				which = "but a steady drift fits better, from the first point to the last"
			}
			lines.Add(change(), which)
		}
	}
	for _, all := range [...]*sheet.Reasons{&unlike, &lines} {
		for changes, which := range all.All() {
			texts = append(texts, which+": "+changes)
		}
	}
	return texts
}

// at names a level if there are several: " at concurrency 8".
func (res *Result) at(l *LevelHistory) string {
	if len(res.Levels) == 1 {
		return ""
	}
	return " at " + sanitize.Text(l.Name)
}

// failures returns the numbers of failed and of all requests of a level in the runs of the point.
func (p *Point) failures(l *diff.Group) (failed, all int) {
	for _, x := range p.levels(l) {
		if !math.IsNaN(x.Statistic(diff.KeyFailedShare)) {
			failed, all = failed+x.Failed, all+x.OK+x.Failed
		}
	}
	return failed, all
}

// failing finds for each level from which point to which more requests fail than at the other points: the part of
// the history with the smallest p-value of Fisher's exact test, at most 1 % after adjusting for all parts and
// levels, and a difference of more than a percentage point.
func (res *Result) failing() (found []Finding) {
	const point = 0.01
	for _, l := range res.Levels {
		n := len(res.Points)
		failed, all := make([]int, n+1), make([]int, n+1) // sums of the points before
		for i := range res.Points {
			f, a := res.Points[i].failures(l.Group)
			failed[i+1], all[i+1] = failed[i]+f, all[i]+a
		}
		from, to, least := 0, 0, math.Inf(1)
		tried := float64(n*(n+1)/2 - 1) // parts
		for i := range n {
			for k := i + 1; k <= n; k++ {
				f, a := failed[k]-failed[i], all[k]-all[i]
				if f == 0 || a == 0 || a == all[n] || failed[k] == failed[k-1] || failed[i+1] == failed[i] {
					continue
				}
				if float64(f)/float64(a)-float64(failed[n]-f)/float64(all[n]-a) <= point {
					continue
				}
				if p := inference.MoreFailures(failed[n]-f, all[n]-a, f, a); p < least {
					from, to, least = i, k, p
				}
			}
		}
		if !(least*tried*float64(len(res.Levels)) <= besideAlpha) {
			continue
		}
		f, a := failed[to]-failed[from], all[to]-all[from]
		found = append(found, Finding{
			Kind: KindFailsMore, From: from, To: to, Value: float64(f) / float64(a), Others: float64(failed[n]-f) / float64(all[n]-a), level: l,
		})
	}
	return found
}

// failures says where more requests fail.
func (res *Result) failures() (texts []string) {
	for _, f := range res.Findings {
		if f.Kind != KindFailsMore {
			continue
		}
		first, last := sanitize.Text(res.Points[f.From].Label), sanitize.Text(res.Points[f.To-1].Label)
		where, others := "from "+first+" to "+last, "in the others"
		switch {
		case f.To == len(res.Points) && f.From > 0:
			where, others = "from "+first+" on", "before"
		case f.To-f.From == 1:
			where = "in " + first
		case f.From == 0:
			where, others = "up to "+last, "after"
		}
		texts = append(texts, fmt.Sprintf("failed%s %s of the requests %s, %s %s", res.at(f.level),
			sheet.ShareInSentence(f.Value), where, sheet.ShareInSentence(f.Others), others))
	}
	return texts
}

// notSearched returns the reasons why primary metrics are not searched for steps, without the failed share.
func (res *Result) notSearched() string {
	var reasons sheet.Reasons
	for _, f := range res.Findings {
		if f.Kind == KindNotSearched {
			reasons.Add(f.Metric.Name+res.at(f.level), f.Reason)
		}
	}
	var texts []string
	for names, why := range reasons.All() {
		texts = append(texts, why+" in "+names)
	}
	return strings.Join(texts, "; ")
}

// lengths says how prompts and answers differ in length from the first step on at which they do, and names its point.
func (res *Result) lengths() (at int, texts []string) {
	for _, l := range res.Levels {
		for _, r := range l.Rows {
			if !r.Metric.Primary {
				continue
			}
			for _, s := range r.Steps {
				if texts := diff.OtherLengths(levelsOf(res.Points[:s.At], l.Group), levelsOf(res.Points[s.At:], l.Group), "from then on"); texts != nil {
					return s.At, texts
				}
			}
		}
	}
	return 0, nil
}
