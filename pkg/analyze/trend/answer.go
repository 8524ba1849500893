package trend

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// BurnIn is the number of points that a baseline accepts even if they are worse, so that they show
// how much points differ: the points that passed differ less.
const BurnIn = 5

// LeastPoints is the smallest number of accepted points that judge a new one.
const LeastPoints = minPerSide

// DefaultLast is the number of accepted points that judge a new one unless the user chooses another.
const DefaultLast = 10

// DefaultMargin is the smallest change that matters unless the user chooses another.
const DefaultMargin = 0.05

const (
	// boundsLevel is the level of an interval whose ends are one-sided tests at 5 %.
	boundsLevel = 0.90
	// enoughPower is the level of an interval that reaches as far as the 80th percentile, for how
	// many points are enough.
	enoughPower = 0.60
	// mostPoints bounds the number of points that a message recommends.
	mostPoints = 50
)

// An Answer is the result of a judgement in a word.
type Answer uint8

const (
	// NotComparable means that the runs differ in more than the build.
	NotComparable Answer = iota
	// FailsMore means that the new point fails more requests than the accepted points.
	FailsMore
	// Worse means that a metric is worse by more than the allowed change.
	Worse
	// LevelMissing means that the new point lacks a level that accepted points have.
	LevelMissing
	// CannotTell means that a metric or level has no verdict, or that a metric may be worse by the
	// margin or more.
	CannotTell
	// Allowed means that a metric is worse, by no more than the allowed change.
	Allowed
	// Better means that a metric is better, and none is worse by the margin or more.
	Better
	// NotWorse means that no metric is worse by the margin or more.
	NotWorse
	// NoDifference means that no metric is better or worse by the margin or more.
	NoDifference
)

// String returns the answer as it stands in JSON: "fails-more".
func (a Answer) String() string {
	return [...]string{"not-comparable", "fails-more", "worse", "level-missing", "cannot-tell", "allowed", "better", "not-worse", "no-difference"}[a]
}

// A standing says what was found about one metric.
type standing uint8

const (
	early     standing = iota // too few accepted points
	unknown                   // no verdict for another reason
	fails                     // worse by more than the allowed change
	allowed                   // worse
	better                    // better
	open                      // it may be worse by the margin or more
	notWorse                  // not worse by the margin or more
	unchanged                 // neither better nor worse by the margin or more
)

// standing returns what was found about a metric.
func (j *Judgement) standing(r *Judged) standing {
	switch least, most := r.forTheWorse(); {
	case r.TooEarly:
		return early
	case r.NA != "":
		return unknown
	case r.Verdict == inference.Worse && math.Abs(r.Change) > j.Allow:
		return fails
	case r.Verdict == inference.Worse:
		return allowed
	case r.Verdict == inference.Better:
		return better
	case r.Metric.Key == diff.KeyFailedShare && r.mayFailMore:
		return open
	case r.Metric.Key == diff.KeyFailedShare:
		return unchanged
	case !(most < j.margin()):
		return open
	case least > -j.margin():
		return unchanged
	}
	return notWorse
}

// margin returns the logarithm of the ratio that Margin stands for.
func (j *Judgement) margin() float64 { return math.Log1p(j.Margin) }

// forTheWorse returns the ends of Bounds as logarithms of ratios; positive ones are worse.
func (r *Judged) forTheWorse() (least, most float64) {
	least, most = math.Log1p(r.Bounds.Low), math.Log1p(r.Bounds.High)
	if r.Metric.Direction == inference.HigherIsBetter {
		return -most, -least
	}
	return least, most
}

// size formats the largest change that Bounds leaves possible; for the worse alone if worse is set.
func (r *Judged) size(worse bool) string {
	least, most := r.forTheWorse()
	if !worse {
		most = math.Max(most, -least)
	}
	return sheet.Size(math.Expm1(math.Max(most, 0)))
}

// A finding is a metric at a level, with its name and standing.
type finding struct {
	*Judged
	name     string
	standing standing
}

// findings returns the metrics of all levels.
func (j *Judgement) findings() (all []finding) {
	for _, l := range j.Levels {
		for _, r := range l.Rows {
			f := finding{r, r.Metric.Name, j.standing(r)}
			if len(j.Levels) > 1 {
				f.name += " at " + sanitize.Text(l.Name)
			}
			all = append(all, f)
		}
	}
	return all
}

// Answer returns the result in a word. Accepted points that were left out do not change it.
func (j *Judgement) Answer() Answer {
	if len(j.Set.Refused()) > 0 {
		return NotComparable
	}
	all := j.findings()
	has := func(s standing) bool {
		return slices.ContainsFunc(all, func(f finding) bool { return f.standing == s })
	}
	switch {
	case slices.ContainsFunc(all, func(f finding) bool { return f.standing == fails && f.Metric.Key == diff.KeyFailedShare }):
		return FailsMore
	case has(fails):
		return Worse
	case j.Missing != nil:
		return LevelMissing
	case has(early), has(unknown), has(open), j.Added != nil, all == nil:
		return CannotTell
	case has(allowed):
		return Allowed
	case has(better):
		return Better
	case has(notWorse):
		return NotWorse
	}
	return NoDifference
}

// passed reports whether the gate passes: the answer is none of those up to CannotTell, and no
// accepted point was left out.
func (j *Judgement) passed() bool { return j.Answer() > CannotTell && j.LeftOut == nil }

// Failures returns an error for each metric that fails the gate, joined; nil if none fails. A
// metric fails if it is worse by more than Allow. A level that the new point lacks fails as well,
// and so does a point of LeftOut.
func (j *Judgement) Failures() error {
	errs := []error{LeftOutError(j.LeftOut)}
	for _, l := range j.Levels {
		for _, r := range l.Rows {
			if j.standing(r) == fails {
				errs = append(errs, fmt.Errorf("%s at %s is worse than %s: %s", r.Metric.Name, sanitize.Text(l.Name), j.accepted(), r.change()))
			}
		}
	}
	for _, name := range j.Missing {
		errs = append(errs, fmt.Errorf("the new runs lack %s, which the accepted ones have", sanitize.Text(name)))
	}
	return errors.Join(errs...)
}

// Inconclusive returns an error that says why the judgement cannot tell; nil if it can.
func (j *Judgement) Inconclusive() error {
	if j.Answer() != CannotTell {
		return nil
	}
	return errors.New(j.finding())
}

// Refusal returns an error that says why the new point cannot be accepted; nil if it can. A point
// is accepted unless it was found to be worse: points that may be worse by chance belong to those
// that show how much points differ. During the burn-in, a point with worse metrics is accepted as
// well. So is any point that a person calls noise, if it can be compared and judged.
func (j *Judgement) Refusal(burnIn, noise bool) error {
	if len(j.LeftOut) > 0 {
		return errors.New("an accepted point was left out")
	}
	if err := errors.Join(j.New.unfit(j.Ignore), j.Set.Incomparable()); err != nil {
		return err
	}
	if j.Missing != nil {
		return fmt.Errorf("the new runs lack %s", strings.Join(clean(j.Missing), ", "))
	}
	if outlying := j.New.outlying(j.Ignore); outlying != nil && !noise {
		return fmt.Errorf("%s: record again, with pa-record --warmup-runs 1 if it is the first run, or leave the run out", strings.Join(outlying, "; "))
	}
	for _, f := range j.findings() {
		failures := f.Metric.Key == diff.KeyFailedShare
		switch {
		case f.standing == fails && (failures || !burnIn) && !noise:
			return errors.New(f.name + " is worse; if a person finds that this is noise, --accept-noise WHY accepts it")
		case f.standing == unknown && f.Constant && (burnIn || noise), f.standing == unknown && f.Outlying != nil && noise:
		case f.standing == unknown:
			return errors.New(f.name + " cannot be judged: " + f.NA)
		}
	}
	return nil
}

// A LeftOut is an accepted point that is not among the points of a judgement.
type LeftOut struct {
	Label  string
	Reason string
}

// String returns the label and the reason.
func (l LeftOut) String() string { return sanitize.Text(l.Label) + ": " + sanitize.Text(l.Reason) }

// failure returns the error of a gate that lacks the point.
func (l LeftOut) failure() error {
	return fmt.Errorf("accepted point %s; it was left out, which fails the gate: restore its files, or delete the folder to judge without it", l)
}

// LeftOutError returns the error of a gate with accepted points that were left out; nil for none.
func LeftOutError(all []LeftOut) error {
	var errs []error
	for _, l := range all {
		errs = append(errs, l.failure())
	}
	return errors.Join(errs...)
}

// change formats the change with its interval: "+9.3 % (+4.1 to +14)".
func (r *Judged) change() string {
	if r.Metric.Key == diff.KeyFailedShare {
		return fmt.Sprintf("%s of the requests failed instead of %s", sheet.ShareInSentence(r.New), sheet.ShareInSentence(r.Mean))
	}
	return percentWith(r.Change, r.Interval)
}

// estimate formats the change, with its interval if there is one; "" without a change.
func (r *Judged) estimate() string {
	if math.IsNaN(r.Change) {
		return ""
	}
	return " " + r.change()
}

// percentWith formats a change with its interval, unless that is NaN: "+9.3 % (+4.1 to +14)".
func percentWith(change float64, ends inference.Interval) string {
	s := sheet.Signed(change) + " %"
	if !math.IsNaN(ends.Low) {
		s += fmt.Sprintf(" (%s to %s)", sheet.Signed(ends.Low), sheet.Signed(ends.High))
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
	if refused := j.Set.RefusedNames(); refused != nil {
		with := ""
		if len(j.Accepted) > 0 {
			with = " with " + j.accepted()
		}
		return "not comparable" + with + ": the runs differ in " + strings.Join(refused, ", ")
	}
	all, names := j.findings(), j.accepted()
	var parts []string
	part := func(head string, texts []string) {
		if texts != nil {
			parts = append(parts, head+strings.Join(texts, ", "))
		}
	}
	// changes returns the changes of the findings that are of a standing.
	changes := func(s standing, with func(f finding) bool) (texts []string) {
		for _, f := range all {
			if f.standing == s && with(f) {
				texts = append(texts, f.name+" "+f.change())
			}
		}
		return texts
	}
	failures := func(f finding) bool { return f.Metric.Key == diff.KeyFailedShare }
	every := func(finding) bool { return true }
	large := slices.ContainsFunc(all, func(f finding) bool { _, most := f.forTheWorse(); return f.standing == fails && !(most < j.margin()) })
	for _, f := range all {
		if f.standing == fails && failures(f) {
			at := strings.TrimPrefix(f.name, f.Metric.Name)
			parts = append(parts, fmt.Sprintf("fails more than %s%s: %s", names, at, f.change()))
		}
	}
	small := ""
	if !large {
		small = " by less than " + percent(j.Margin)
	}
	part("worse than "+names+small+": ", changes(fails, func(f finding) bool { return !failures(f) }))
	part("worse than "+names+", within the allowed "+percent(j.Allow)+": ", changes(allowed, every))
	part("the new runs lack ", clean(j.Missing))
	switch j.Answer() {
	case CannotTell:
		parts = append(j.unclear(all), parts...)
	case FailsMore, Worse, LevelMissing:
		for _, f := range all {
			if f.standing == unknown {
				parts = append(parts, "cannot tell about "+f.name+": "+f.NA)
			}
		}
		part("no accepted point has ", clean(j.Added))
	}
	if j.Answer() != FailsMore { // the latencies of the requests that succeed make nothing faster
		part("better than "+names+": ", changes(better, every))
	}
	switch j.Answer() {
	case NoDifference:
		part("no difference from "+names+" beyond ", sizes(all, false))
		part("no difference from "+names+": equal in ", constants(all))
	case NotWorse:
		part("not worse than "+names+" by more than ", sizes(all, true))
		part("equal in ", constants(all))
	}
	if parts == nil {
		parts = append(parts, "no difference from "+names+" in failed requests")
	}
	return strings.Join(append(parts, j.lengths()...), "; ")
}

// lengths says how prompts and answers of the new point differ in length from the accepted ones, at the first
// level at which they do.
func (j *Judgement) lengths() []string {
	for _, l := range j.Levels {
		if texts := diff.OtherLengths(levelsOf(j.Accepted, l.Group), j.New.levels(l.Group), "of the new point"); texts != nil {
			return texts
		}
	}
	return nil
}

// findingsBeside returns what is found beside the judged metrics: other lengths. The points of the findings are the
// accepted points and the new one.
func (j *Judgement) findingsBeside() []Finding {
	texts := j.lengths()
	if texts == nil || len(j.Set.Refused()) > 0 {
		return nil
	}
	n := len(j.Accepted)
	return []Finding{{Kind: KindLengths, From: n, To: n + 1, Value: math.NaN(), Others: math.NaN(), Reason: strings.Join(texts, "; ")}}
}

// percent formats a setting in percent: "5 %", "2.5 %".
func percent(v float64) string {
	return strconv.FormatFloat(math.Round(1e6*v)/1e4, 'f', -1, 64) + " %"
}

// sizes returns the largest changes that are possible, without failed requests and constants; for
// the worse alone if worse is set.
func sizes(all []finding, worse bool) (texts []string) {
	for _, f := range all {
		if f.Metric.Key != diff.KeyFailedShare && !f.Constant {
			texts = append(texts, f.size(worse)+" % in "+f.name)
		}
	}
	return texts
}

// constants returns the names of the metrics that are equal in all points.
func constants(all []finding) (names []string) {
	for _, f := range all {
		if f.Constant && f.NA == "" {
			names = append(names, f.name)
		}
	}
	return names
}

// unclear says why the judgement cannot tell: first the metrics without a verdict, then the metrics
// that may be worse by the margin or more.
func (j *Judgement) unclear(all []finding) (parts []string) {
	// Metrics with one reason share a part. Of outlying runs the part names the farthest one.
	var reasons sheet.Reasons
	isEarly := map[string]bool{}
	farthest := 0.0
	for _, f := range all {
		switch {
		case f.standing != early && f.standing != unknown:
		case f.standing == unknown && f.Outlying != nil:
			for _, o := range f.Outlying {
				if far := math.Abs(math.Log(o.Factor)); far > farthest {
					farthest, parts = far, []string{"cannot tell: " + f.NA}
				}
			}
		default:
			isEarly[f.NA] = f.standing == early
			reasons.Add(f.name+f.estimate(), f.NA)
		}
	}
	for names, why := range reasons.All() {
		switch {
		case !isEarly[why]:
			parts = append(parts, "cannot tell: "+names+": "+why)
		case len(j.Accepted) > 0:
			parts = append(parts, "cannot tell yet: "+why+"; so far "+names)
		default:
			parts = append(parts, "cannot tell yet: "+why)
		}
	}
	if j.Added != nil {
		parts = append(parts, "cannot tell yet: no accepted point has "+strings.Join(clean(j.Added), ", "))
	}
	for _, f := range all {
		if f.standing == open && f.Metric.Key == diff.KeyFailedShare {
			parts = append(parts, fmt.Sprintf("cannot tell whether more requests fail%s: %s, which may be chance; record more requests", strings.TrimPrefix(f.name, f.Metric.Name), f.change()))
		}
	}
	if text := j.tooWide(all); text != "" {
		parts = append(parts, text)
	}
	if parts == nil {
		return []string{"cannot tell: no metric has a value"}
	}
	var rest []string
	for _, f := range all {
		if (f.standing == notWorse || f.standing == unchanged) && f.Metric.Key != diff.KeyFailedShare {
			rest = append(rest, f.name)
		}
	}
	if rest != nil {
		parts = append(parts, "not worse by "+percent(j.Margin)+": "+strings.Join(rest, ", "))
	}
	return parts
}

// tooWide says which metrics may be worse by the margin or more, and what would be enough to tell.
func (j *Judgement) tooWide(all []finding) string {
	var texts []string
	var widest finding
	for _, f := range all {
		if f.standing == open && f.Metric.Key != diff.KeyFailedShare {
			texts = append(texts, f.name+" "+f.change())
			if widest.Judged == nil || f.deviation > widest.deviation {
				widest = f
			}
		}
	}
	if texts == nil {
		return ""
	}
	why := j.hiding(widest.Metric)
	if why == "" {
		why = fmt.Sprintf("accepted points differ from each other by %s %% in %s, %s", sheet.Size(math.Expm1(widest.deviation)), widest.name, j.enough(widest.Judged))
	}
	return "cannot tell whether worse by " + percent(j.Margin) + ": " + strings.Join(texts, ", ") + "; " + why
}

// hiding names the outlying runs of accepted points in a metric, which hide changes; "" for none.
func (j *Judgement) hiding(m *diff.Metric) string {
	for i := range j.Accepted {
		p := &j.Accepted[i]
		for _, l := range j.Levels {
			if outlying := p.outlyingRuns(l.Group, m); outlying != nil {
				return fmt.Sprintf("in accepted point %s, %s; delete the folder of the point to judge without it", sanitize.Text(p.Label), outlyingText(m, outlying))
			}
		}
	}
	return ""
}

// enough says what is enough to tell whether a metric is worse by the margin: more accepted points,
// or a larger margin.
func (j *Judgement) enough(r *Judged) string {
	// shown is the change that k points show to be absent in 80 of 100 cases.
	shown := func(k float64) float64 {
		return (inference.StudentQuantile(boundsLevel, k-1) + inference.StudentQuantile(enoughPower, k-1)) * r.deviation * math.Sqrt(1+1/k)
	}
	for k := len(r.Accepted) + 1; k <= mostPoints; k++ {
		if shown(float64(k)) <= j.margin() {
			text := fmt.Sprintf("and about %d of them would be enough", k)
			if k > DefaultLast {
				text += fmt.Sprintf(" (--last %d)", k)
			}
			return text
		}
	}
	least := math.Ceil(100 * math.Expm1(shown(float64(len(r.Accepted)))))
	return fmt.Sprintf("so they could show only a change of more than %.0f %% (--margin %.0f%%)", least, least)
}

// clean makes names of levels safe for a terminal; nil for none.
func clean(names []string) (safe []string) {
	for _, n := range names {
		safe = append(safe, sanitize.Text(n))
	}
	return safe
}
