package diff

import (
	"fmt"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

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
