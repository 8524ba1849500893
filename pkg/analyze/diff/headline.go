package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Headline returns the answer of the comparison in one line: "new is slower: E2EL p50 +4.8 % (+3.9 to
// +5.7); TPOT p50 unchanged within ±0.40 %". The numbers in brackets are the ends of the interval that
// decided the verdict.
func (r *Result) Headline() string {
	if names := r.refusedNames(); names != nil {
		if slices.Contains(names, labelDifference) {
			return "not comparable: one side has runs of several servers; see their labels"
		}
		return "not comparable: the two sides differ in " + strings.Join(names, ", ") + "; --ignore NAME compares them anyway"
	}
	if len(r.Levels) == 0 {
		return "not comparable: no load level in common"
	}
	line := r.lacking()
	if r.itself != "" {
		line = r.itself + "; " + line
	}
	switch {
	case len(r.Levels) == 1:
		line += r.sentence(r.Levels[0])
	case r.Together != nil:
		line += r.sweep()
	default:
		line += r.levelByLevel()
	}
	line += r.beside() + r.otherLengths() + r.cachedSide()
	if strings.Contains(line, noTurns) {
		return line
	}
	return line + r.mayBeDrift()
}

// otherLengths says at which level the mean lengths of prompts or answers differ most, because they change
// times and rates; "" if they do not differ.
func (r *Result) otherLengths() string {
	text := ""
	for _, kind := range [...]lengthKind{promptLengths, answerLengths} {
		most, line := 0.0, ""
		for _, l := range r.Levels {
			far, words := kind.differ(l.Old, l.New, "of "+r.o.Sides.new())
			if far <= most {
				continue
			}
			if most, line = far, words; len(r.Levels) > 1 {
				line += " at " + sanitize.Text(l.Name)
			}
		}
		if line != "" {
			text += "; " + line
		}
	}
	return text
}

// cachedSide names the side whose server had the prompts of a level in its cache if the other side's had
// not, because TTFT then compares a cache with a prefill; "" otherwise.
func (r *Result) cachedSide() string {
	side, other := r.o.Sides.old(), r.o.Sides.new()
	for _, d := range r.Differences {
		switch {
		case d.Name != promptCache || d.Ignored || (d.Old == noDoubt) == (d.New == noDoubt):
			continue
		case d.Old == noDoubt:
			side, other = other, side
		}
		at := ""
		if d.Level != "" && len(r.Levels) > 1 {
			at = " at " + sanitize.Text(d.Level)
		}
		return fmt.Sprintf("; %s had the prompts in its cache%s, and %s did not: see %s", side, at, other, promptCache)
	}
	return ""
}

// lacking names the levels that only one side has; "" if both have the same.
func (r *Result) lacking() string {
	text := ""
	if len(r.OldOnly) > 0 {
		text += fmt.Sprintf("%s lacks %s; ", r.o.Sides.new(), sanitize.Text(strings.Join(r.OldOnly, ", ")))
	}
	if len(r.NewOnly) > 0 {
		text += fmt.Sprintf("%s lacks %s; ", r.o.Sides.old(), sanitize.Text(strings.Join(r.NewOnly, ", ")))
	}
	return text
}

// beside names the outlying runs, unless they are the reason why there is no answer, and gives the answer
// without them; "" if there are none.
func (r *Result) beside() string {
	text := r.outlyingText()
	if text == "" {
		return ""
	}
	if strings.Contains(r.mainBecause(), text) {
		text = ""
	} else {
		text = "; " + text
	}
	if r.Without == nil {
		return text + "; without " + plural.Them(len(r.Outlying)) + " too few runs are left"
	}
	return text + "; without " + plural.Them(len(r.Outlying)) + ": " + r.Without.short()
}

// mainBecause returns the reasons that the headline gives.
func (r *Result) mainBecause() string {
	if r.Answer != CannotTell {
		return ""
	}
	var all []string
	for _, l := range r.allLevels() {
		all = append(all, l.Because)
	}
	return strings.Join(all, "\n")
}

// short returns the answer without the metrics that do not matter to it.
func (r *Result) short() string {
	l := r.Together
	if l == nil {
		l = r.Levels[0]
	}
	f := r.findings(l)
	switch {
	case r.Together == nil && len(r.Levels) > 1:
		return r.levelByLevel()
	case r.Answer == l.Answer:
		return r.main(l, &f)
	}
	return r.sweep()
}

// findings are the parts of a sentence about a level, one text for each metric.
type findings struct {
	found     []string // differences
	unchanged []string // shown to be within the margin
	unclear   []string // no difference found, and not shown to be within the margin
	unjudged  []string // no verdict
	equal     []string // names of the metrics whose values are all the same
	within    []string // the changes of those that are within the margin
}

// findings returns what was found about the primary metrics of a level, without some of them.
func (r *Result) findings(l *LevelDiff, without ...*Metric) findings {
	var f findings
	spoiled := map[string][]string{}
	for _, row := range l.Rows {
		switch {
		case !row.Primary || row.Metric.of == failedShare || slices.Contains(without, row.Metric):
		case row.Equal && row.Verdict == inference.NoDifference:
			f.equal = append(f.equal, row.Metric.Name)
		case row.Verdict == inference.NotAvailable:
			why := l.noVerdict(row)
			if row.drifts {
				why = "the sides did not take turns, and both drift"
			}
			spoiled[why] = append(spoiled[why], row.point())
		case row.Verdict == inference.NoDifference && row.inMargin():
			f.unchanged = append(f.unchanged, fmt.Sprintf("%s unchanged within ±%s", row.Metric.Name, percent(reach(row.bound))))
			f.within = append(f.within, row.point())
		case row.Verdict == inference.NoDifference:
			f.unclear = append(f.unclear, fmt.Sprintf("%s unclear %s", row.point(), row.span(*row.shown)))
		default:
			f.found = append(f.found, row.difference())
		}
	}
	for _, why := range slices.Sorted(maps.Keys(spoiled)) {
		text := strings.Join(spoiled[why], ", ") + " not judged"
		if why != "" {
			text += ": " + why
		}
		f.unjudged = append(f.unjudged, text)
	}
	switch v, _ := l.failures.verdict(); {
	case v == inference.Worse:
		f.found = append([]string{l.failed()}, f.found...)
	case v == inference.Better:
		f.found = append(f.found, l.failed())
	case v == inference.NoDifference && sum(l.failures.older).share() != sum(l.failures.newer).share():
		f.unjudged = append(f.unjudged, l.failed())
	}
	if f.equal != nil {
		f.unchanged = append(f.unchanged, strings.Join(f.equal, ", ")+" equal in all "+r.units1())
	}
	return f
}

// difference returns a change that was found, with its interval: "TTFT p50 +9.7 % (+7.1 to +12)".
func (r *Row) difference() string {
	if r.steady {
		return r.point() + " (all values of a side equal)"
	}
	return r.point() + " " + r.span(*r.shown)
}

// units1 returns what has values: runs, or of single runs their requests.
func (r *Result) units1() string {
	if r.Single {
		return "requests"
	}
	return "runs"
}

// sentence returns the answer about a level as one line.
func (r *Result) sentence(l *LevelDiff) string {
	f := r.findings(l)
	line := r.main(l, &f)
	var rest []string
	switch l.Answer {
	case NoDifference:
		rest = f.unjudged // the failed share alone
	case CannotTell:
		rest = r.others(l)
	default:
		rest = slices.Concat(f.unchanged, f.unclear, f.unjudged)
		if l.Answer == FailsMore && len(f.found) == 1 && len(f.unchanged)+len(f.unclear) > 0 {
			rest[0] = "of the requests that succeeded: " + rest[0]
		}
	}
	if rest != nil {
		line += "; " + strings.Join(rest, ", ")
	}
	return line
}

// besides reports whether outlying runs are the reason of a level without an answer, so that the answer without
// them follows, which has all metrics.
func (r *Result) besides(l *LevelDiff) bool {
	return r.Without != nil && l.Because == r.outlyingText()
}

// others returns the texts of the metrics that the reason of a level without an answer does not name.
func (r *Result) others(l *LevelDiff) []string {
	if r.besides(l) {
		return nil
	}
	f := r.findings(l, l.named...)
	rest := slices.Concat(f.found, f.unchanged, f.unclear, f.unjudged)
	return slices.DeleteFunc(rest, func(text string) bool { return strings.Contains(l.Because, text) }) // failed requests
}

// main returns the first part of the sentence about a level: the answer and what decided it.
func (r *Result) main(l *LevelDiff, f *findings) string {
	side, found := r.o.Sides.new(), strings.Join(f.found, ", ")
	switch l.Answer {
	case CannotTell:
		return "cannot tell: " + l.Because
	case NoDifference:
		return r.noDifference(l, f)
	case Differs:
		return "these two runs differ: " + found
	case FailsMore:
		if len(f.found) > 1 {
			return fmt.Sprintf("%s fails more: %s; of the requests that succeeded: %s", side, f.found[0], strings.Join(f.found[1:], ", "))
		}
	case Worse, Better:
		if r.small(l) {
			return fmt.Sprintf("%s %s by less than %s: %s", side, l.Answer.verb(), percent(r.o.margin()), found)
		}
	}
	return fmt.Sprintf("%s %s: %s", side, l.Answer.verb(), found)
}

// small reports whether all differences that were found were also shown to be less than the margin.
func (r *Result) small(l *LevelDiff) bool {
	return !slices.ContainsFunc(l.Rows, func(row *Row) bool {
		return row.Primary && (row.Verdict == inference.Worse || row.Verdict == inference.Better) && (row.Metric.of == failedShare || row.steady || !within(row.bound, row.margin))
	})
}

// noDifference returns the answer that all metrics are within the margin.
func (r *Result) noDifference(l *LevelDiff, f *findings) string {
	prefix := ""
	if r.Single {
		prefix = "these two runs: "
	}
	var parts []string
	if f.within != nil {
		parts = append(parts, f.within...)
	}
	if f.equal != nil {
		parts = append(parts, strings.Join(f.equal, ", ")+" equal in all "+r.units1())
	}
	switch {
	case f.within != nil:
		return fmt.Sprintf("%sno difference within %s: %s", prefix, percent(l.Within), strings.Join(parts, ", "))
	case f.equal != nil:
		return prefix + "no difference: " + strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%sno difference within one percentage point in failed requests: %s and %s", prefix, sheet.ShareInSentence(sum(l.failures.older).share()), sheet.ShareInSentence(sum(l.failures.newer).share()))
}

// sweep returns the answer about several levels: over all of them first, then about levels that differ.
func (r *Result) sweep() string {
	t := r.Together
	f := r.findings(t)
	over := "over " + t.Name
	var parts []string
	if where := r.levelsWith(FailsMore); where != nil {
		parts = append(parts, fmt.Sprintf("%s fails more at %s: %s", r.o.Sides.new(), strings.Join(where, ", "), r.failedAt()))
	}
	found := strings.Join(f.found, ", ")
	switch a := t.Answer; {
	case a == FailsMore && parts != nil:
		if len(f.found) > 1 {
			parts = append(parts, "of the requests that succeeded "+over+": "+strings.Join(f.found[1:], ", "))
		}
	case a.shown():
		by := ""
		if (a == Worse || a == Better) && r.small(t) {
			by = " by less than " + percent(r.o.margin())
		}
		if r.special != nil { // not at each of them
			over = "on average " + over
		}
		parts = append(parts, fmt.Sprintf("%s %s %s%s: %s", r.o.Sides.new(), a.verb(), over, by, found))
		parts = append(parts, r.levelsApart()...)
	case r.shownAtLevels().shown():
		parts = append(parts, r.atLevels()...)
		if a == NoDifference {
			parts = append(parts, fmt.Sprintf("%s no difference within %s", over, percent(t.Within)))
		} else {
			parts = append(parts, over+" cannot tell")
		}
	case a == NoDifference:
		parts = append(parts, strings.Replace(r.noDifference(t, &f), ":", " "+over+":", 1))
		if where := r.levelsWith(CannotTell); where != nil {
			parts = append(parts, "cannot tell at "+strings.Join(where, ", ")+" alone")
		}
	default:
		where := r.levelsWith(NoDifference)
		at := "at "
		if where != nil {
			at = "over "
		}
		parts = append(parts, "cannot tell "+at+t.Name+": "+t.Because)
		if r.besides(t) {
			break
		}
		if where != nil {
			parts = append(parts, "no difference at "+strings.Join(where, ", ")+" alone")
		}
		if rest := r.others(t); rest != nil {
			parts = append(parts, strings.Join(rest, ", "))
		}
		return strings.Join(parts, "; ")
	}
	if t.Answer.shown() {
		if rest := slices.Concat(f.unchanged, f.unclear, f.unjudged); rest != nil {
			text := strings.Join(rest, ", ")
			switch {
			case t.Answer != FailsMore:
			case len(f.unchanged)+len(f.unclear) > 0:
				text = "of the requests that succeeded " + over + ": " + text
			default:
				text = over + ": " + text
			}
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

// levelsWith returns the names of the levels with an answer.
func (r *Result) levelsWith(a Answer) []string {
	var names []string
	for _, l := range r.Levels {
		if l.Answer == a {
			names = append(names, sanitize.Text(l.Name))
		}
	}
	return names
}

// failedAt returns the failed shares of the level where new fails most.
func (r *Result) failedAt() string {
	var worst *LevelDiff
	for _, l := range r.Levels {
		if l.Answer == FailsMore && (worst == nil || sum(l.failures.newer).share() > sum(worst.failures.newer).share()) {
			worst = l
		}
	}
	return worst.failed()
}

// levelsApart says which levels differ from the others in a metric that changed over all levels, and which
// levels changed in the other direction.
func (r *Result) levelsApart() []string {
	var parts, heads []string
	at := map[string][]string{}
	for _, s := range r.special {
		head := "less at " + s.level
		if t := r.Together.row(s.metric.Key); s.more == (t.Change > 0) {
			head = "more at " + s.level
		}
		if at[head] == nil {
			heads = append(heads, head)
		}
		at[head] = append(at[head], (&Row{Metric: s.metric, Comparison: inference.Comparison{Change: s.change}}).point())
	}
	for _, head := range heads {
		parts = append(parts, head+": "+strings.Join(at[head], ", "))
	}
	if parts != nil && r.others95 != nil {
		parts = append(parts, "at the other levels together: "+strings.Join(r.others95, ", "))
	}
	if parts == nil {
		const text = "no level was shown to differ from the others"
		for _, row := range r.Together.Rows {
			if row.surest != "" {
				return []string{"clearest at " + row.surest + ", but " + text}
			}
		}
		return []string{text}
	}
	return parts
}

// atLevels returns the findings of single levels.
func (r *Result) atLevels() []string {
	var parts []string
	for _, l := range r.Levels {
		if l.Answer.shown() && l.Answer != FailsMore {
			f := r.findings(l)
			parts = append(parts, fmt.Sprintf("%s %s at %s: %s", r.o.Sides.new(), l.Answer.verb(), sanitize.Text(l.Name), strings.Join(f.found, ", ")))
		}
	}
	return parts
}

// levelByLevel returns the answers of several levels that cannot be taken together.
func (r *Result) levelByLevel() string {
	var parts []string
	for _, a := range [...]Answer{FailsMore, Worse, BetterAndWorse, Differs, Better, FailsLess, CannotTell, NoDifference} {
		where := r.levelsWith(a)
		if where == nil {
			continue
		}
		at := "at " + strings.Join(where, ", ")
		if len(where) == len(r.Levels) {
			at = "at " + plural.All(len(where)) + " levels"
		}
		first := r.Levels[slices.IndexFunc(r.Levels, func(l *LevelDiff) bool { return l.Answer == a })]
		f := r.findings(first)
		detail := strings.Join(f.found, ", ")
		subject := r.o.Sides.new() + " " + a.verb()
		switch a {
		case CannotTell:
			subject, detail = "cannot tell", first.Because
		case NoDifference:
			widest := 0.0
			for _, l := range r.Levels {
				if l.Answer == a {
					widest = max(widest, l.Within)
				}
			}
			subject, detail = fmt.Sprintf("no difference within %s", percent(widest)), ""
		case Differs:
			subject = "these two runs differ"
		}
		text := subject + " " + at
		if detail != "" {
			if len(where) > 1 {
				detail = sanitize.Text(first.Name) + ": " + detail
				text += " (" + detail + ")"
			} else {
				text += ": " + detail
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
