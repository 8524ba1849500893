package diff

import (
	"fmt"
	"math"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/tabular"
)

// unsteady says that single runs begin with cold requests or drift, with what to do: "the first 3 requests of
// both runs took at least 9.5 times as long as usual; --trim-start leaves them out"; "" if they do neither.
func (l *LevelResult) unsteady() string {
	if text := l.coldStart(); text != "" {
		return text + "; --trim-start leaves them out"
	}
	o, n := l.Old[0].rise(), l.New[0].rise()
	drifts := func(of string, by ...string) string {
		return fmt.Sprintf("TTFT drifts within %s (%s from the first to the last tenth); find out why, or use --repeat 5", of, strings.Join(by, " and "))
	}
	text := func(v float64) string { return tabular.Signed(v) + " %" }
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

// rise returns the change of TTFT from the first to the last tenth of a run if the means of the tenths follow
// a line closely; else 0.
func (l *Level) rise() float64 {
	const parts, close, least = 10, 0.95, 0.05
	values := listed(l.follow.series[ttft])
	n := values.Len()
	if n < 3*parts {
		return 0
	}
	var sums, counts [parts]float64
	for i := 0; i < n; {
		from, block := values.Block(i)
		for _, v := range block[i-from:] {
			part := i * parts / n
			sums[part] += v
			counts[part]++
			i++
		}
	}
	x, y := make([]float64, parts), make([]float64, parts)
	for i := range sums {
		x[i], y[i] = float64(i), sums[i]/counts[i]
	}
	mx, my := mean(x), mean(y)
	xx, xy, yy := 0.0, 0.0, 0.0
	for i := range x {
		xx, xy, yy = xx+(x[i]-mx)*(x[i]-mx), xy+(x[i]-mx)*(y[i]-my), yy+(y[i]-my)*(y[i]-my)
	}
	change := y[parts-1]/y[0] - 1
	if xy*xy < close*close*xx*yy || math.Abs(change) < least || math.IsNaN(change) || math.IsInf(change, 0) {
		return 0
	}
	return change
}

// coldStart names the requests at the start of single runs that took much longer than the others; "" without
// any.
func (l *LevelResult) coldStart() string {
	o, oFactor := l.Old[0].cold()
	n, nFactor := l.New[0].cold()
	text := func(k int, of string, factor float64) string {
		return fmt.Sprintf("the first %s of %s took at least %.2g times as long as usual", plural.Of(k, "request"), of, factor)
	}
	switch {
	case o == 0 && n == 0:
		return ""
	case n == 0:
		return text(o, "the "+l.sides.old()+" run", oFactor)
	case o == 0:
		return text(n, "the "+l.sides.new()+" run", nFactor)
	}
	return text(max(o, n), "both runs", math.Min(oFactor, nFactor))
}

// cold returns how many requests at the start of a run are cold, and at least how many times as long as
// the median each of them took. They are the leading requests that took more than twice the median, if
// they are at most a tenth of all, and at most as many other requests took that long.
func (l *Level) cold() (n int, factor float64) {
	const slow, most = 2, 0.1
	for q, key := range [...]string{ttft: "ttft_p50", e2el: "e2el_p50"} {
		if key == "" {
			continue
		}
		values, median := listed(l.follow.series[q]), l.Statistic(key)
		first, others, leading := 0, 0, true
		factor := math.Inf(1)
		for i := 0; i < values.Len(); {
			from, block := values.Block(i)
			block = block[i-from:]
			for _, v := range block {
				switch cold := v > slow*median; {
				case cold && leading:
					first, factor = first+1, math.Min(factor, v/median)
				case cold:
					others++
				default:
					leading = false
				}
			}
			i += len(block)
		}
		if first > 0 && float64(first) <= most*float64(values.Len()) && others <= first {
			return first, factor
		}
	}
	return 0, 0
}
