package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
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

// Shown reports whether the answer is a difference between the sides.
func (a Answer) Shown() bool {
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
	case slices.ContainsFunc(res.Levels, func(l *LevelResult) bool { return l.Answer == FailsMore }):
		res.Answer = FailsMore
	case res.Together != nil && (res.Together.Answer.Shown() || res.Together.Answer == NoDifference && res.shownAtLevels() == CannotTell):
		res.Answer = res.Together.Answer
		if at := res.shownAtLevels(); at == BetterAndWorse || at == Worse && res.Answer == Better || at == Better && res.Answer == Worse {
			res.Answer = BetterAndWorse
		}
	default:
		res.Answer = res.shownAtLevels()
		if res.Answer == CannotTell && res.Together == nil && !slices.ContainsFunc(res.Levels, func(l *LevelResult) bool { return l.Answer != NoDifference }) {
			res.Answer = NoDifference
		}
	}
}

// shownAtLevels returns the difference that the levels show; CannotTell if they show none.
func (res *Result) shownAtLevels() Answer {
	answer := CannotTell
	for _, l := range res.Levels {
		switch a := l.Answer; {
		case !a.Shown():
		case answer == CannotTell:
			answer = a
		case answer != a:
			answer = BetterAndWorse
		}
	}
	return answer
}

// answer gives the answer of a level.
func (res *Result) answer(l *LevelResult) {
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
		shown = failing != inference.NotAvailable && !l.failures.few()
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
func (res *Result) because(l *LevelResult) string {
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
	if !slices.ContainsFunc(l.Rows, func(r *Row) bool { return r.Primary && r.Metric.of != failedShare }) && l.failures.known {
		return fmt.Sprintf("%s of %s and %s requests, and so few requests show no share", l.failed(), plural.Grouped(sum(l.failures.older).all), plural.Grouped(sum(l.failures.newer).all))
	}
	return "no judged metric has a value on both sides"
}

// drifting names the metrics that drift; "" if none does.
func (l *LevelResult) drifting() string {
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
func (res *Result) notJudged(l *LevelResult) string {
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
func (l *LevelResult) noVerdict(r *Row) string {
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
func (res *Result) tooWide(l *LevelResult) string {
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
func (res *Result) spread(l *LevelResult, r *Row) string {
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

// percent formats a margin: "5 %".
func percent(v float64) string {
	size := sheet.Size(v)
	if strings.Contains(size, ".") {
		size = strings.TrimSuffix(strings.TrimRight(size, "0"), ".")
	}
	return size + " %"
}

// point returns the metric and its change: "TTFT p50 +185 %", or "TTFT p50 82 times as long".
func (r *Row) point() string {
	const times = 10
	switch ratio := 1 + r.Change; {
	case math.IsNaN(r.Change):
		return r.Metric.Name
	case ratio >= times || ratio <= 1.0/times:
		return r.Metric.Name + " " + timesAs(r.Metric, ratio)
	}
	return r.Metric.Name + " " + sheet.Signed(r.Change) + " %"
}

// timesAs returns a ratio in words: "82 times as long".
func timesAs(m *Metric, ratio float64) string {
	long := "high"
	if m.of < seriesQuantities {
		long = "long"
	}
	if ratio < 1 {
		return "1/" + times(1/ratio) + " as " + long
	}
	return times(ratio) + " times as " + long
}

// differs returns the size of a factor in words, for a run: "took 82 times as long", "is 35 % lower".
func differs(m *Metric, factor float64) string {
	high, low := "is %s higher", "is %s lower"
	if m.of < seriesQuantities {
		high, low = "took %s longer", "took %s less long"
	}
	switch {
	case factor >= 2 && m.of < seriesQuantities:
		return "took " + timesAs(m, factor)
	case factor >= 2, factor <= 0.5:
		return "is " + timesAs(m, factor)
	case factor > 1:
		return fmt.Sprintf(high, percent(factor-1))
	}
	return fmt.Sprintf(low, percent(1-factor))
}

// times formats a factor with two digits.
func times(ratio float64) string {
	switch {
	case ratio < 9.95:
		return fmt.Sprintf("%.1f", ratio)
	case ratio < 1e15:
		return plural.Grouped(int64(math.Round(ratio)))
	}
	return fmt.Sprintf("%.2g", ratio)
}

// span returns the ends of an interval in brackets: "(-2.0 to +10)" in percent, or "(between 53 times faster
// and 9.3 times slower)" if the ends are on both sides of 0 and one is a factor of 2 or more, or if one is a
// factor of 10.
func (r *Row) span(i inference.Interval) string {
	const far = 2
	if math.IsNaN(i.Low) || math.IsNaN(i.High) {
		return ""
	}
	const sameWay = 10
	near := i.High < far-1 && i.Low > 1.0/far-1
	if near || (i.Low > 0 || i.High < 0) && i.High < sameWay-1 && i.Low > 1.0/sameWay-1 {
		return fmt.Sprintf("(%s to %s)", sheet.Signed(i.Low), sheet.Signed(i.High))
	}
	if math.IsInf(i.High, 1) && !(i.Low > -1) {
		return "(without limits)"
	}
	up, down := "higher", "lower"
	switch {
	case r.Metric.of < seriesQuantities && r.Metric.Direction == inference.LowerIsBetter:
		up, down = "slower", "faster"
	case r.Metric.IsRate():
		up, down = "faster", "slower"
	}
	end := func(v float64) string {
		ratio, word := 1+v, up
		if ratio < 1 {
			ratio, word = 1/ratio, down
		}
		switch {
		case math.IsInf(ratio, 0):
			return "any times " + word
		case ratio < far && word == up:
			return fmt.Sprintf("%s %s", percent(ratio-1), word)
		case ratio < far:
			return fmt.Sprintf("%s %s", percent(-v), word)
		}
		return times(ratio) + " times " + word
	}
	return fmt.Sprintf("(between %s and %s)", end(i.Low), end(i.High))
}

// unsteady says that single runs begin with cold requests or drift, with what to do: "the first 3 requests of
// both runs took 10 times as long as the others; --trim-start leaves them out"; "" if they do neither.
func (l *LevelResult) unsteady() string {
	if text := l.coldStart(); text != "" {
		return text + "; --trim-start leaves them out"
	}
	o, n := l.Old[0].drift(), l.New[0].drift()
	drifts := func(of string, by ...string) string {
		return fmt.Sprintf("TTFT drifts within %s (%s from the first request to the last); find out why, or use --repeat 5", of, strings.Join(by, " and "))
	}
	text := func(v float64) string { return sheet.Signed(v) + " %" }
	switch {
	case o != 0 && n != 0:
		return drifts("both runs", text(o), text(n))
	case o != 0:
		return drifts("the "+l.sides.old()+" run", text(o))
	case n != 0:
		return drifts("the "+l.sides.new()+" run", text(n))
	}
	return ""
}

// coldStart names the requests at the start of single runs that took longer than the others; "" without any.
func (l *LevelResult) coldStart() string {
	o, n := l.Old[0].firstRequests(), l.New[0].firstRequests()
	text := func(k int, of, factor string) string {
		return fmt.Sprintf("the first %s of %s took %s times as long as the others", plural.Of(k, "request"), of, factor)
	}
	one := func(s inference.Start) string { return fmt.Sprintf("%.2g", s.Factor) }
	switch {
	case !o.Differs() && !n.Differs():
		return ""
	case !n.Differs():
		return text(o.N, "the "+l.sides.old()+" run", one(o))
	case !o.Differs():
		return text(n.N, "the "+l.sides.new()+" run", one(n))
	case one(o) == one(n):
		return text(max(o.N, n.N), "both runs", one(o))
	}
	return text(max(o.N, n.N), "both runs", one(o)+" and "+one(n))
}

// firstRequests returns the first requests of a run that took longer than the others, by TTFT or else by E2EL.
func (l *Level) firstRequests() inference.Start {
	for _, q := range [...]quantity{ttft, e2el} {
		if s := inference.StartOf(l.inTime(q)); s.Differs() {
			return s
		}
	}
	return inference.Start{}
}

// drift returns the change of TTFT from the first request of a run to the last; 0 if it does not drift.
func (l *Level) drift() float64 {
	if s := inference.SlopeOf(l.inTime(ttft)); s.Drifts() {
		return s.Change
	}
	return 0
}

// inTime returns the values of a quantity in the order of time; nil for so many that they do not fit well in
// memory. So many also need no explanation of why they are too few.
func (l *Level) inTime(q quantity) []float64 {
	const most = 100_000
	values := listed(l.follow.series[q])
	n := values.Len()
	if n > most {
		return nil
	}
	all := make([]float64, 0, n)
	for len(all) < n {
		from, block := values.Block(len(all))
		all = append(all, block[len(all)-from:]...)
	}
	return all
}

// unequal returns why a tail is not compared: the runs have different numbers of values,
// and a percentile far out moves with their number.
func (l *LevelResult) unequal(r *Row) (inference.NA, bool) {
	const tail = 90
	if r.Metric.pct < tail {
		return inference.NA{}, false
	}
	span := func(levels []*Level) (low, high int) {
		low = levels[0].n[r.Metric.of]
		for _, x := range levels {
			low, high = min(low, x.n[r.Metric.of]), max(high, x.n[r.Metric.of])
		}
		return low, high
	}
	oldLow, oldHigh := span(l.Old)
	newLow, newHigh := span(l.New)
	low, high := min(oldLow, newLow), max(oldHigh, newHigh)
	beyond := float64(low) * (1 - r.Metric.pct/100)
	if equalNumbers(low, high) || r.Metric.pct < 99 && beyond >= 10 {
		return inference.NA{}, false
	}
	return inference.NA{Reason: fmt.Sprintf("%s has %s values a run and %s %s, and a percentile so far out moves with their number; record as many", l.sides.old(), lowToHigh(oldLow, oldHigh), l.sides.new(), lowToHigh(newLow, newHigh))}, true
}

// equalNumbers reports whether the smallest and the largest number of values a run are within
// a tenth.
func equalNumbers(low, high int) bool { return 10*high <= 11*low }

// lowToHigh formats the smallest and the largest number of values a run: "60", "60 to 64".
func lowToHigh(low, high int) string {
	if low == high {
		return strconv.Itoa(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// RatesMove reports whether the rates of two sides differ because of the lengths of their runs.
// At the start and the end of a run, fewer requests are under way, for about the time of one
// request; the rate of a short run is lower by about half the share of that time. RatesMove is
// true if the numbers of requests differ by more than a tenth and these shares by more than one
// percentage point. Selected parts have no start and end.
func RatesMove(older, newer []*Level) bool {
	const most = 0.01
	all := slices.Concat(older, newer)
	if slices.ContainsFunc(all, func(l *Level) bool { return l.Selected != nil }) || equalNumbers(requestsSpan(all)) {
		return false
	}
	share := func(levels []*Level) float64 {
		sum := 0.0
		for _, l := range levels {
			sum += l.Statistic(e2elMean) / float64(l.DurationNS)
		}
		return sum / float64(len(levels))
	}
	return math.Abs(share(older)-share(newer)) > most // false for NaN: there are no rates
}

// requestsSpan returns the smallest and the largest number of finished requests of the levels.
func requestsSpan(levels []*Level) (low, high int) {
	low = levels[0].OK + levels[0].Failed
	for _, l := range levels {
		low, high = min(low, l.OK+l.Failed), max(high, l.OK+l.Failed)
	}
	return low, high
}

// missing returns why a row cannot be compared: a run lacks the metric.
func (l *LevelResult) missing(r *Row) (inference.NA, bool) {
	lacks := func(side string, runs []float64, levels []*Level) string {
		n, failed, none := 0, 0, 0
		for i, v := range runs {
			if !math.IsNaN(v) {
				continue
			}
			n++
			switch l := levels[i]; {
			case l.OK == 0 && l.Failed > 0:
				failed++
			case l.OK == 0:
				none++
			}
		}
		switch {
		case n == 0:
			return ""
		case none == n:
			return lackRequests(side, levels[0].Selected != nil, n, len(runs))
		case failed == n && len(runs) == 1:
			return "no request of the " + side + " run succeeded"
		case len(runs) == 1:
			return "the " + side + " run has no value" + because(levels, r.Metric.of)
		case failed == n:
			return fmt.Sprintf("no request succeeded in %d of %d %s runs", n, len(runs), side)
		}
		return fmt.Sprintf("%d of %d %s runs have no value", n, len(runs), side) + because(levels, r.Metric.of)
	}
	why := lacks(l.sides.old(), r.OldRuns, l.Old)
	if why == "" {
		why = lacks(l.sides.new(), r.NewRuns, l.New)
	}
	switch {
	case why != "":
	case r.Metric.IsRate() && RatesMove(l.Old, l.New):
		why = fmt.Sprintf("%s has %s requests a run and %s %s, and short runs have lower rates, because few requests run at their start and end; record as many",
			l.sides.old(), lowToHigh(requestsSpan(l.Old)), l.sides.new(), lowToHigh(requestsSpan(l.New)))
	default:
		return l.unequal(r)
	}
	return inference.NA{Reason: why}, true
}

// because returns a colon and the reason of the first level that gives a reason why it lacks a figure of
// quality; "" if no level gives a reason.
func because(levels []*Level, of quantity) string {
	for _, l := range levels {
		if why := l.noFigure[of]; why != "" {
			return ": " + why
		}
	}
	return ""
}

// lackRequests returns the message that n of the runs of a side have no request that counts or
// failed. For a selected part, the message says that no request started in the part.
func lackRequests(side string, selected bool, n, runs int) string {
	what := "has no request that counts"
	if selected {
		what = "has no request that started in the part selected"
	}
	if runs == 1 {
		return "the " + side + " run " + what
	}
	return fmt.Sprintf("of the %s runs %d of %d have %s", side, n, runs, strings.TrimPrefix(what, "has "))
}

// A metric is spoiled if a share of its run is above one of these limits.
const (
	maxTogether = 0.05 // share of tokens that arrived together with the previous one
	maxPaused   = 0.01 // share of requests that a pause touched; for medians
)

// Spoils returns why a metric of the level gets no verdict; "" if it may get one. The
// reasons are:
//
//   - The client may have been the limit. Every time and rate may then describe the client.
//   - More than 5 % of the tokens arrived together with the previous one. Their gaps are
//     unknown, so the percentiles of ITL are too. The mean ITL and TPOT are not affected.
//   - The recorder paused, and the pauses are not left out. Rates, means and tails contain
//     the pauses; medians do if the pauses touched more than 1 % of the requests.
//   - The clock was set. Times that were being measured then are wrong, and means and tails
//     contain them.
func (l *Level) Spoils(m *Metric) string {
	if m.of == failedShare || m.of == tokensPerEvent {
		return ""
	}
	median := m.pct == 50
	switch {
	case len(l.Saturated) > 0:
		return "the client may be the limit"
	case (m.of == itl || m.of == itlPerToken) && m.pct > 0 && l.together() > maxTogether:
		return fmt.Sprintf("%s of the tokens arrived together with the previous one", sheet.Share(l.together()))
	case len(l.Pauses) > 0 && !l.withoutPauses && (!median || float64(l.Paused) > maxPaused*float64(l.OK+l.Failed)):
		return fmt.Sprintf("the recorder paused, which touched %s", plural.Of(l.Paused, "request"))
	case l.clockSteps+l.Backward > 0 && (m.of < seriesQuantities || m.Quality) && !median:
		return "the clock was set while the run was recorded"
	}
	return ""
}

// together returns the share of tokens that arrived together with the previous one; 0
// without tokens.
func (l *Level) together() float64 {
	if l.TokenEvents == 0 {
		return 0
	}
	return float64(l.Together) / float64(l.TokenEvents)
}

// spoiled returns why a metric gets no verdict: the first reason that Spoils finds in the
// runs of both sides, and the run; "" if Spoils finds none.
func (l *LevelResult) spoiled(m *Metric) string {
	for _, side := range [...]struct {
		name   string
		levels []*Level
	}{{l.sides.old(), l.Old}, {l.sides.new(), l.New}} {
		for _, x := range side.levels {
			if why := x.Spoils(m); why != "" {
				run := "the " + side.name + " run"
				if len(side.levels) > 1 {
					run = x.run
				}
				return fmt.Sprintf("%s in %s", why, run)
			}
		}
	}
	return ""
}
