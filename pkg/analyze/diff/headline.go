package diff

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/inference"
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
	if refused := r.Refused(); len(refused) > 0 {
		var names []string
		for _, d := range refused {
			if !slices.Contains(names, d.Name) {
				names = append(names, d.Name)
			}
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
		e := r.effect(l)
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
	subject := "new "
	if order[0] == unjudged {
		subject = ""
	}
	if r.Single {
		subject = strings.Replace(subject, "new", "the new run", 1)
	}
	return subject + strings.Join(parts, ", ")
}

// urgency returns the rank of an effect in a headline: the most urgent effect comes first.
func urgency(e effect) int {
	return [...]int{slower: 7, failsMore: 6, mixed: 5, differs: 4, faster: 3, failsLess: 2, same: 1, unjudged: 0}[e]
}

// effect returns the effect at a level.
func (r *Result) effect(l *LevelResult) effect {
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
	case has(inference.NoDifference, false):
		return same
	}
	return unjudged
}

// unchangedWithin is the largest change that the interval of an "unchanged" metric may
// contain. With a wider interval the metric is "unclear".
const unchangedWithin = 0.05

// sentence returns the result at a level as one line.
func (r *Result) sentence(l *LevelResult) string {
	var found, unchanged, unclear []string
	spoiled := map[string][]string{}
	for i := range l.Rows {
		row := &l.Rows[i]
		name := row.Metric.Name
		switch {
		case !row.Primary:
		case row.Spoiled != "":
			spoiled[row.Spoiled] = append(spoiled[row.Spoiled], name)
		case row.Metric.of == failedShare:
			switch row.Verdict {
			case inference.Worse, inference.Better:
				found = append(found, fmt.Sprintf("failed %s to %s", percent(row.Old.Value), percent(row.New.Value)))
			case inference.NotAvailable:
				if row.New.Value > row.Old.Value {
					unclear = append(unclear, fmt.Sprintf("failed %s to %s, not judged", percent(row.Old.Value), percent(row.New.Value)))
				}
			}
		case row.Verdict == inference.NotAvailable:
		case row.Verdict == inference.NoDifference:
			i := row.Shown()
			bound := math.Max(math.Abs(i.Low), math.Abs(i.High))
			if bound <= unchangedWithin {
				unchanged = append(unchanged, fmt.Sprintf("%s unchanged within ±%s %%", name, size(bound)))
			} else {
				unclear = append(unclear, fmt.Sprintf("%s unclear (%s to %s %%)", name, signed(i.Low), signed(i.High)))
			}
		default:
			i := row.Shown()
			found = append(found, fmt.Sprintf("%s %s %% (%s to %s)", name, signed(row.Change), signed(i.Low), signed(i.High)))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(spoiled)) {
		unclear = append(unclear, fmt.Sprintf("%s not judged: %s", strings.Join(spoiled[why], ", "), why))
	}
	rest := strings.Join(slices.Concat(unchanged, unclear), ", ")
	effect := r.effect(l)
	switch effect {
	case unjudged:
		return r.notJudged(l)
	case same:
		return r.noDifference(l, unclear)
	case differs:
		line := "these two runs differ: " + strings.Join(found, ", ")
		if rest != "" {
			line += "; " + rest
		}
		return line
	}
	line := "new " + effect.String() + ": " + strings.Join(found, ", ")
	if effect == mixed {
		line = "new is better and worse: " + strings.Join(found, ", ")
	}
	if rest != "" {
		line += "; " + rest
	}
	return line
}

// noDifference returns the line for a level without differences: how large a difference
// could be and still be missed.
func (r *Result) noDifference(l *LevelResult, unclear []string) string {
	var bounds []string
	for i := range l.Rows {
		row := &l.Rows[i]
		if !row.Primary || row.Verdict != inference.NoDifference || row.Metric.of == failedShare {
			continue
		}
		i := row.Shown()
		bounds = append(bounds, fmt.Sprintf("%s %% in %s", size(math.Max(math.Abs(i.Low), math.Abs(i.High))), row.Metric.Name))
	}
	line := "no difference larger than " + strings.Join(bounds, ", ")
	if r.Single {
		line = "these two runs: " + line
	}
	for _, u := range unclear {
		if strings.HasPrefix(u, "failed") || strings.Contains(u, "not judged") {
			line += "; " + u
		}
	}
	return line
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
		if !row.Primary || !row.NA.Missing() || row.Metric.of == failedShare {
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
		return "too few requests to judge: record about " + thousands(needs) + " a side, or use --repeat 5"
	case needs > 0:
		return fmt.Sprintf("too few runs to judge: record at least %d a side, better 5 (--repeat 5)", needs)
	case len(reasons) > 0:
		return "nothing can be judged: " + reasons[0]
	}
	return "nothing can be judged: no primary metric has a value on both sides"
}

// signed formats a change in percent for a sentence: "+4.8".
func signed(v float64) string {
	switch {
	case math.IsNaN(v):
		return "?"
	case math.IsInf(v, 0):
		return map[bool]string{true: "+∞", false: "-∞"}[v > 0]
	case v < 0:
		return "-" + size(-v)
	}
	return "+" + size(v)
}

// size formats the size of a change in percent: two decimals below 1 %, one below 10 %, none
// above: "0.43", "4.8", "12".
func size(v float64) string {
	switch p := 100 * v; {
	case math.IsInf(p, 0) || math.IsNaN(p):
		return "∞"
	case p < 0.995:
		return strconv.FormatFloat(p, 'f', 2, 64)
	case p < 9.95:
		return strconv.FormatFloat(p, 'f', 1, 64)
	default:
		return thousands(int(math.Round(math.Min(p, 1e15))))
	}
}

// thousands formats n with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
