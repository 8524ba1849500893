package diff

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/tabular"
)

// An effect is the result of a comparison at one or more levels.
type effect uint8

const (
	unjudged  effect = iota // no metric has a verdict
	same                    // no difference was found
	slower                  // a time or rate got worse, no metric got better
	faster                  // a time or rate got better, no metric got worse
	failsMore               // only the share of failed requests got worse
	failsLess               // only the share of failed requests got better
	mixed                   // some metrics got better, some worse
	differs                 // two single runs differ
)

// String returns the effect as a predicate whose subject is the new side: "is slower".
func (e effect) String() string {
	return [...]string{
		unjudged: "cannot be judged", same: "shows no difference", slower: "is slower", faster: "is faster",
		failsMore: "fails more", failsLess: "fails less", mixed: "is better in some metrics and worse in others", differs: "differs",
	}[e]
}

// Headline returns the result of the comparison in one line: "new is slower: E2EL p50
// +4.8 % (+3.9 to +5.7); TPOT p50 unchanged within ±0.40 %". The numbers in brackets are the
// ends of the interval that decided the verdict.
func (r *Result) Headline() string {
	if names := r.refusedNames(); names != nil {
		if slices.Contains(names, LabelDifference) {
			return "not comparable: one side has runs of several servers; see their labels"
		}
		return "not comparable: " + strings.Join(names, ", ") + " of the two sides differ; --ignore NAME compares them anyway"
	}
	switch len(r.Levels) {
	case 0:
		return "not comparable: no load level in common"
	case 1:
		return r.sentence(&r.Levels[0])
	}
	var order []effect
	at := map[effect][]string{}
	for i := range r.Levels {
		l := &r.Levels[i]
		e := l.effect()
		if at[e] == nil {
			order = append(order, e)
		}
		at[e] = append(at[e], sanitize.Text(l.Name))
	}
	slices.SortStableFunc(order, func(a, b effect) int { return urgency(b) - urgency(a) })
	var parts []string
	for _, e := range order {
		where := "at " + strings.Join(at[e], ", ")
		if len(order) == 1 {
			where = fmt.Sprintf("at all %d levels", len(r.Levels))
			if len(r.Levels) == 2 {
				where = "at both levels"
			}
		}
		parts = append(parts, e.String()+" "+where)
	}
	subject := r.o.Sides.new() + " "
	if order[0] == unjudged {
		subject = ""
	}
	if r.Single && subject == "new " {
		subject = "the new run "
	}
	return subject + strings.Join(parts, ", ")
}

// urgency returns the rank of an effect in a headline: the most urgent effect comes first.
func urgency(e effect) int {
	return [...]int{slower: 7, failsMore: 6, mixed: 5, differs: 4, faster: 3, failsLess: 2, same: 1, unjudged: 0}[e]
}

// effect returns the effect at the level.
func (l *LevelResult) effect() effect {
	has := func(v inference.Verdict, failures bool) bool {
		return slices.ContainsFunc(l.Rows, func(row Row) bool {
			return row.Verdict == v && (row.Metric.of == failedShare) == failures
		})
	}
	worse, better := has(inference.Worse, false), has(inference.Better, false)
	more, fewer := has(inference.Worse, true), has(inference.Better, true)
	switch {
	case has(inference.Different, false):
		return differs
	case (worse || more) && (better || fewer):
		return mixed
	case worse:
		return slower
	case more:
		return failsMore
	case better:
		return faster
	case fewer:
		return failsLess
	case has(inference.NoDifference, l.onlyFailures()):
		return same
	}
	return unjudged
}

// unchangedWithin is the largest change that the interval of an "unchanged" metric may
// contain. With a wider interval the metric is "unclear".
const unchangedWithin = 0.05

// findings are the parts of a sentence about a level, one text for each metric.
type findings struct {
	found     []string // differences
	unchanged []string // no difference, and a narrow interval
	unclear   []string // no difference, and a wide interval
	bounds    []string // the largest difference that is possible, for each metric of unchanged and unclear
	unjudged  []string // no verdict, although the reader expects one
}

// findings returns what was found about the primary metrics of a level.
func (r *Result) findings(l *LevelResult) findings {
	var f findings
	spoiled := map[string][]string{}
	for i := range l.Rows {
		row := &l.Rows[i]
		switch {
		case !row.Primary:
		case row.Spoiled != "":
			spoiled[row.Spoiled] = append(spoiled[row.Spoiled], row.Metric.Name)
		case row.Metric.of == failedShare:
			shares := fmt.Sprintf("failed %s to %s", tabular.ShareInSentence(row.Old.Value), tabular.ShareInSentence(row.New.Value))
			switch {
			case row.Verdict == inference.Worse || row.Verdict == inference.Better:
				f.found = append(f.found, shares)
			case row.Verdict == inference.NotAvailable && row.New.Value > row.Old.Value:
				f.unjudged = append(f.unjudged, shares+", not judged")
			}
		case row.Verdict == inference.NotAvailable:
			if r.o.Primary != nil {
				f.unjudged = append(f.unjudged, row.Metric.Name+" not judged")
			}
		case row.Verdict == inference.NoDifference:
			f.noDifference(row)
		default:
			i := row.Shown()
			f.found = append(f.found, fmt.Sprintf("%s %s %% (%s to %s)", row.Metric.Name, tabular.Signed(row.Change), tabular.Signed(i.Low), tabular.Signed(i.High)))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(spoiled)) {
		f.unjudged = append(f.unjudged, fmt.Sprintf("%s not judged: %s", strings.Join(spoiled[why], ", "), why))
	}
	return f
}

// noDifference adds a metric without a difference.
func (f *findings) noDifference(row *Row) {
	i := row.Shown()
	bound := math.Max(math.Abs(i.Low), math.Abs(i.High))
	if bound <= unchangedWithin {
		f.unchanged = append(f.unchanged, fmt.Sprintf("%s unchanged within ±%s %%", row.Metric.Name, tabular.Size(bound)))
	} else {
		f.unclear = append(f.unclear, fmt.Sprintf("%s unclear (%s to %s %%)", row.Metric.Name, tabular.Signed(i.Low), tabular.Signed(i.High)))
	}
	if !math.IsInf(bound, 0) {
		f.bounds = append(f.bounds, fmt.Sprintf("%s %% in %s", tabular.Size(bound), row.Metric.Name))
	}
}

// sentence returns the result at a level as one line.
func (r *Result) sentence(l *LevelResult) string {
	f := r.findings(l)
	line, rest := "", slices.Concat(f.unchanged, f.unclear, f.unjudged)
	switch effect := l.effect(); effect {
	case unjudged:
		return r.notJudged(l)
	case same:
		line, rest = f.same(l), f.unjudged
		if r.Single {
			line = "these two runs: " + line
		}
	case differs:
		line = "these two runs differ: " + strings.Join(f.found, ", ")
	case mixed:
		line = r.o.Sides.new() + " is better and worse: " + strings.Join(f.found, ", ")
	default:
		line = r.o.Sides.new() + " " + effect.String() + ": " + strings.Join(f.found, ", ")
	}
	if rest != nil {
		line += "; " + strings.Join(rest, ", ")
	}
	return line
}

// same returns the words for a level without differences: how large a difference could be
// and still be missed.
func (f *findings) same(l *LevelResult) string {
	switch {
	case len(f.bounds) == len(f.unchanged)+len(f.unclear) && f.bounds != nil:
		return "no difference larger than " + strings.Join(f.bounds, ", ")
	case f.unchanged != nil || f.unclear != nil: // some interval has an open end
		return "no difference found: " + strings.Join(slices.Concat(f.unchanged, f.unclear), ", ")
	}
	i := slices.IndexFunc(l.Rows, func(row Row) bool { return row.Metric.of == failedShare })
	return fmt.Sprintf("no difference in failed requests: %s and %s", tabular.ShareInSentence(l.Rows[i].Old.Value), tabular.ShareInSentence(l.Rows[i].New.Value))
}

// notJudged returns why no metric of a level has a verdict, and what to do.
func (r *Result) notJudged(l *LevelResult) string {
	needs := 0
	var reasons []string
	for i := range l.Rows {
		row := &l.Rows[i]
		if row.Spoiled != "" {
			return "nothing can be judged: " + row.Spoiled
		}
		if !row.Primary || !row.NA.Missing() || row.Metric.of == failedShare && !l.onlyFailures() {
			continue
		}
		if row.NA.Needs > 0 && (needs == 0 || row.NA.Needs < needs) {
			needs = row.NA.Needs
		}
		if !slices.Contains(reasons, row.NA.Reason) {
			reasons = append(reasons, row.NA.Reason)
		}
	}
	switch {
	case needs > 0 && r.Single:
		return "too few requests to judge: record about " + plural.Grouped(needs) + " a side, or use --repeat 5"
	case needs > 0:
		return fmt.Sprintf("too few runs to judge: record at least %d a side, better 5 (--repeat 5)", needs)
	case len(reasons) > 0:
		return "nothing can be judged: " + reasons[0]
	}
	return "nothing can be judged: no primary metric has a value on both sides"
}

// onlyFailures reports whether the share of failed requests is the only primary metric.
func (l *LevelResult) onlyFailures() bool {
	return !slices.ContainsFunc(l.Rows, func(row Row) bool { return row.Primary && row.Metric.of != failedShare })
}
