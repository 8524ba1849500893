package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

// An Answer is what a comparison says, in a word.
type Answer uint8

// The answers. The first that applies is given, in this order: NotComparable, FailsMore, Differs or one
// of Worse, Better, FailsLess and BetterAndWorse, NoDifference, CannotTell.
const (
	// CannotTell means that the data neither show a difference nor show that there is none within
	// the margin.
	CannotTell Answer = iota
	// NotComparable means that the numbers of the two sides have different meanings.
	NotComparable
	// FailsMore means that a larger share of the new requests failed, which comes before all times:
	// they are only of requests that succeeded.
	FailsMore
	// Worse means that a time or a rate got worse, and nothing better.
	Worse
	// Better means that a time or a rate got better, and nothing worse.
	Better
	// FailsLess means that a smaller share of the new requests failed, and nothing else changed.
	FailsLess
	// BetterAndWorse means that some metrics got better and some worse.
	BetterAndWorse
	// Differs means that two single runs differ.
	Differs
	// NoDifference means that every judged metric was shown to change by less than the margin.
	NoDifference
)

// String returns the answer as it stands in JSON: "cannot-tell".
func (a Answer) String() string {
	return [...]string{
		CannotTell: "cannot-tell", NotComparable: "not-comparable", FailsMore: "fails-more", Worse: "worse", Better: "better",
		FailsLess: "fails-less", BetterAndWorse: "better-and-worse", Differs: "different", NoDifference: "no-difference",
	}[a]
}

// shown reports whether the answer is a difference between the sides.
func (a Answer) shown() bool {
	switch a {
	case CannotTell, NotComparable, NoDifference:
		return false
	}
	return true
}

// verb returns the answer as a predicate whose subject is the new side.
func (a Answer) verb() string {
	return [...]string{
		FailsMore: "fails more", Worse: "is slower", Better: "is faster", FailsLess: "fails less", BetterAndWorse: "is better and worse",
		Differs: "differs", NoDifference: "shows no difference", CannotTell: "", NotComparable: "",
	}[a]
}

// answers gives the answers of the levels and of the comparison.
func (res *Result) answers() {
	if len(res.Refused()) > 0 || len(res.Levels) == 0 {
		res.Answer = NotComparable
		for _, l := range res.Levels {
			l.Answer = NotComparable
		}
		return
	}
	for _, l := range res.allLevels() {
		res.answer(l)
	}
	switch {
	case res.Together == nil && len(res.Levels) == 1:
		res.Answer = res.Levels[0].Answer
	case slices.ContainsFunc(res.Levels, func(l *LevelDiff) bool { return l.Answer == FailsMore }):
		res.Answer = FailsMore
	case res.Together != nil && (res.Together.Answer.shown() || res.Together.Answer == NoDifference && res.shownAtLevels() == CannotTell):
		res.Answer = res.Together.Answer
		if at := res.shownAtLevels(); at == BetterAndWorse || at == Worse && res.Answer == Better || at == Better && res.Answer == Worse {
			res.Answer = BetterAndWorse
		}
	default:
		res.Answer = res.shownAtLevels()
		if res.Answer == CannotTell && res.Together == nil && !slices.ContainsFunc(res.Levels, func(l *LevelDiff) bool { return l.Answer != NoDifference }) {
			res.Answer = NoDifference
		}
	}
}

// shownAtLevels returns the difference that the levels show; CannotTell if they show none.
func (res *Result) shownAtLevels() Answer {
	answer := CannotTell
	for _, l := range res.Levels {
		switch a := l.Answer; {
		case !a.shown():
		case answer == CannotTell:
			answer = a
		case answer != a:
			answer = BetterAndWorse
		}
	}
	return answer
}

// answer gives the answer of a level.
func (res *Result) answer(l *LevelDiff) {
	worse, better, differs := false, false, false
	shown, judged := true, 0
	l.Within = 0
	for _, r := range l.Rows {
		if !r.Primary || r.Metric.of == failedShare {
			continue
		}
		judged++
		switch r.Verdict {
		case inference.Worse:
			worse = true
		case inference.Better:
			better = true
		case inference.Different:
			differs = true
		case inference.NoDifference:
			shown = shown && r.inMargin()
			if !r.Equal {
				l.Within = math.Max(l.Within, reach(r.bound))
			}
		case inference.NotAvailable:
			shown = false
		}
	}
	failing, _ := l.failures.verdict()
	doubt := l.failures.known && l.failures.doubt(l) != ""
	if judged == 0 {
		shown = res.onlyFailures() && failing != inference.NotAvailable && !l.failures.few()
	}
	l.Because, l.named = "", nil
	switch {
	case failing == inference.Worse:
		l.Answer = FailsMore
	case failing == inference.Better && worse, worse && better:
		l.Answer = BetterAndWorse
	case differs:
		l.Answer = Differs
	case worse:
		l.Answer = Worse
	case better && !doubt:
		l.Answer = Better
	case failing == inference.Better:
		l.Answer = FailsLess
	case shown && !doubt:
		l.Answer = NoDifference
	default:
		l.Answer = CannotTell
		l.Because = res.because(l)
	}
}

// because returns why a level has no answer: the first reason that applies, and what would be enough.
func (res *Result) because(l *LevelDiff) string {
	if l.failures.known {
		if why := l.failures.doubt(l); why != "" {
			return why
		}
	}
	if why := res.notJudged(l); why != "" {
		return why
	}
	if text := res.outlyingText(); text != "" {
		return text
	}
	if why := l.drifting(); why != "" {
		return why
	}
	if why := res.tooWide(l); why != "" {
		return why
	}
	if res.onlyFailures() && l.failures.known {
		return fmt.Sprintf("%s of %s and %s requests, too few to compare shares", l.failed(), plural.Grouped(sum(l.failures.older).all), plural.Grouped(sum(l.failures.newer).all))
	}
	if l.failures.known && sum(l.failures.older).allFailed() && sum(l.failures.newer).allFailed() {
		return "no request succeeded on either side"
	}
	return "no judged metric has a value on both sides"
}

// onlyFailures reports whether no other metric is judged than the share of failed requests.
func (res *Result) onlyFailures() bool {
	return !slices.ContainsFunc(Metrics[:], func(m *Metric) bool { return m.of != failedShare && res.o.judges(m) })
}

// drifting names the metrics that drift; "" if none does.
func (l *LevelDiff) drifting() string {
	var names []string
	why := ""
	for _, r := range l.Rows {
		if r.drifts {
			why = cmp.Or(why, r.Spoiled)
			names, l.named = append(names, r.point()), append(l.named, r.Metric)
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("%s cannot be judged: %s; record them in turn (--interleave)", strings.Join(names, ", "), why)
}

// notJudged returns why judged metrics have no interval or are spoiled, with what would be enough; "" if
// all of them can be judged.
func (res *Result) notJudged(l *LevelDiff) string {
	var missing []*Row
	judged := 0
	for _, r := range l.Rows {
		if !r.Primary || r.Metric.of == failedShare {
			continue
		}
		judged++
		if r.Verdict == inference.NotAvailable && !r.drifts {
			missing = append(missing, r)
		}
	}
	if missing == nil {
		return ""
	}
	first, needs := missing[0], 0
	why := l.noVerdict(first)
	var names []string
	for _, r := range missing {
		if sameReason(l.noVerdict(r), why) {
			names, l.named = append(names, r.point()), append(l.named, r.Metric)
			if r.Spoiled == "" {
				needs = max(needs, r.NA.Needs)
			}
		}
	}
	text := strings.Join(names, ", ") + " cannot be judged: " + why
	if why == l.unsteadyRuns {
		return text
	}
	switch {
	case needs == 0:
		return text
	case res.Single && first.Metric.of == itl:
		return fmt.Sprintf("%s; record about %s gaps a side, or use --repeat 5", text, plural.Grouped(needs))
	case res.Single:
		return fmt.Sprintf("%s; record about %s requests a side, or use --repeat 5", text, plural.Grouped(needs))
	}
	return fmt.Sprintf("%s; record at least %s runs a side, better 5 (--repeat 5)", text, plural.Grouped(needs))
}

// sameReason reports whether two reasons differ by numbers alone, such as how much neighbouring values depend
// on each other.
func sameReason(a, b string) bool {
	words := func(text string) string {
		return strings.Map(func(c rune) rune {
			if unicode.IsDigit(c) {
				return -1
			}
			return c
		}, text)
	}
	return words(a) == words(b)
}

// noVerdict returns why a judged metric has no verdict, without what would be enough.
func (l *LevelDiff) noVerdict(r *Row) string {
	switch {
	case r.Spoiled != "":
		return r.Spoiled
	case l.unsteadyRuns != "":
		return l.unsteadyRuns
	}
	return strings.TrimPrefix(r.NA.Reason, inference.EitherSide)
}

// tooWide returns which metric may change by the margin or more, and how much would be enough to tell; "" if
// none may.
func (res *Result) tooWide(l *LevelDiff) string {
	var widest *Row
	for _, r := range l.Rows {
		if !r.Primary || r.Metric.of == failedShare || r.Verdict == inference.NotAvailable || r.inMargin() {
			continue
		}
		if widest == nil || reach(r.bound) > 1.2*reach(widest.bound) {
			widest = r
		}
	}
	if widest == nil {
		return ""
	}
	l.named = append(l.named, widest.Metric)
	text, differ := widest.mayMatter(), false
	if l.unsteadyRuns != "" {
		return text + "; " + l.unsteadyRuns
	}
	if len(widest.OldRuns) > 1 || len(widest.NewRuns) > 1 {
		const named = 4 // runs of a side, from which on an outlying run is named
		if why := res.spread(l, widest); why != "" {
			text, differ = why+"; "+text, true
			if min(len(widest.OldRuns), len(widest.NewRuns)) < named {
				return text + "; record 5 runs a side, so that one that is unlike the others can be seen"
			}
		}
	}
	const cause = "find out why the runs differ"
	if text += res.enough(widest); differ && !strings.HasSuffix(text, cause) {
		text += ", but first " + cause
	}
	return text
}

// mayMatter says that the metric may have changed by the margin or more.
func (r *Row) mayMatter() string {
	change := strings.TrimPrefix(r.point(), r.Metric.Name+" ")
	return fmt.Sprintf("%s may have changed by %s or more: %s %s", r.Metric.Name, percent(r.margin), change, r.span(*r.shown))
}

// spread says that the runs of a side differ much: by kinds, or by a factor.
func (res *Result) spread(l *LevelDiff, r *Row) string {
	const large = 1.5
	u := res.units()
	why, most := "", large
	for i, runs := range [...][]float64{r.OldRuns, r.NewRuns} {
		side := [...]string{l.sides.old(), l.sides.new()}[i]
		if text := r.kinds(side, runs, u); text != "" {
			return text
		}
		low, high := slices.Min(runs), slices.Max(runs)
		if f := high / low; low > 0 && f >= most {
			why, most = fmt.Sprintf("the runs of %s differ by a factor of %.2g (%s %s to %s)", side, f, r.Metric.Name, u.Amount(r.Metric, low), u.Amount(r.Metric, high)), f
		}
	}
	return why
}

// enough says how many runs or requests would be enough to tell: to find the change that was measured, or
// to show that there is none, whichever needs fewer. The distance to be resolved is therefore the change, or
// its distance to the margin.
func (res *Result) enough(r *Row) string {
	margin := math.Log1p(res.o.margin())
	distance := margin
	if change := math.Abs(math.Log1p(r.Change)); !math.IsNaN(change) && !math.IsInf(change, 0) {
		distance = math.Max(change, margin-change)
	}
	if widthless := math.IsInf(r.shown.High, 0) && len(r.OldRuns) > 1 && deviation(r.OldRuns, r.NewRuns) == 0; widthless {
		return "; 5 runs a side would be enough, because the runs of a side are all equal"
	}
	if res.Single {
		half := (math.Log1p(r.bound.High) - math.Log1p(r.bound.Low)) / 2
		const slack = 1.3 // so that it is likely to be enough
		share := slack * half / distance
		n := float64(min(r.Old.N, r.New.N)) * share * share
		if !(n < 1e9) || !(n > 0) {
			return "; use --repeat 5"
		}
		return fmt.Sprintf("; about %s requests a side would be enough, or use --repeat 5", plural.Grouped(twoDigits(n)))
	}
	k := inference.RunsForEquivalence(deviation(r.OldRuns, r.NewRuns), math.Expm1(distance))
	most := max(len(r.OldRuns), len(r.NewRuns))
	const sensible, countable = 50, 10_000
	switch {
	case k > countable || k == 0:
		return "; no number of runs that can be recorded would be enough: find out why the runs differ"
	case k > sensible:
		return fmt.Sprintf("; about %s runs a side would be needed: find out why the runs differ", plural.Grouped(k))
	case k <= min(len(r.OldRuns), len(r.NewRuns)):
		return fmt.Sprintf("; record more than %s a side", plural.Of(most, "run"))
	}
	return fmt.Sprintf("; about %s a side would be enough", plural.Of(k, "run"))
}

// twoDigits rounds up to two significant digits.
func twoDigits(v float64) int {
	step := math.Pow(10, math.Max(0, math.Floor(math.Log10(v))-1))
	return int(math.Ceil(v/step) * step)
}

// deviation returns the standard deviation of ln(value) within the sides.
func deviation(sides ...[]float64) float64 {
	squares, df := 0.0, 0.0
	for _, values := range sides {
		logs := make([]float64, len(values))
		for i, v := range values {
			logs[i] = math.Log(v)
		}
		center := mean(logs)
		for _, x := range logs {
			squares += (x - center) * (x - center)
		}
		df += float64(len(values)) - 1
	}
	return math.Sqrt(squares / df)
}
