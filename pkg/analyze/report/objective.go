package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// objective says how a level met the objective, in lines.
func objective(x *figure.Attainment, target float64) []string {
	verdict := ""
	switch {
	case x.Share.OK && x.Share.V >= target:
		verdict = ", target " + targetText(target) + " attained"
	case x.Share.OK:
		verdict = ", target " + targetText(target) + " not attained"
	}
	lines := []string{fmt.Sprintf("SLO %s: %s%s", x.SLO, attained(x), verdict)}
	var parts []string
	for i := range x.Conditions {
		c := &x.Conditions[i]
		parts = append(parts, fmt.Sprintf("%s: %s", c.SLO, share(c.Share)))
	}
	if parts != nil {
		lines = append(lines, "alone: "+strings.Join(parts, " · "))
	}
	switch {
	case x.Share.OK && !x.Requests.OK:
		lines = append(lines, "goodput n/a (no time to count over)")
	case x.Share.OK:
		lines = append(lines, "goodput "+rateOrNA(x.Requests)+" requests/s · "+rateOrNA(x.OutputTokens)+" output tok/s")
	}
	return lines
}

// targetText formats a target with up to eight digits, as users write it: "99%".
func targetText(f float64) string { return strconv.FormatFloat(100*f, 'g', 8, 64) + "%" }

// attained says how many requests met the objective: "97.00% (97 of 100 requests)".
func attained(x *figure.Attainment) string {
	if !x.Share.OK {
		return share(x.Share)
	}
	s := fmt.Sprintf("%s (%d of %s", share(x.Share), x.Met, plural.Of(x.Met+x.Missed+x.Failed, "request"))
	if x.Failed > 0 {
		s += fmt.Sprintf(", %d failed", x.Failed)
	}
	if x.Unknown > 0 {
		s += fmt.Sprintf("; %d not decided", x.Unknown)
	}
	return s + ")"
}

func share(s figure.Share) string {
	if !s.OK {
		return "n/a (" + s.NA + ")"
	}
	return percent(s.V)
}

// rateOrNA formats a rate; "n/a" if it is unknown.
func rateOrNA(r figure.Rate) string {
	if !r.OK {
		return "n/a"
	}
	return Number(r.PerSecond)
}

// objectives returns one line per load level, with the goodput.
func objectives(rep *analyze.Report) sheet.Table {
	g := newGrid(1, 2)
	mode, mixed := modes(rep)
	g.Add(mode, "SLO met", "goodput", "goodput")
	g.Add("", "%", "requests/s", "output tok/s")
	for _, e := range byLoad(rep) {
		if e.SLO == nil {
			continue
		}
		met := "n/a"
		if e.SLO.Share.OK {
			met = Number(100 * e.SLO.Share.V)
		}
		g.Add(levelIn(e, mixed), met, rateOrNA(e.SLO.Requests), rateOrNA(e.SLO.OutputTokens))
	}
	return g
}

// MaxLoad describes the estimate of the highest load under an objective, for people.
func MaxLoad(m *figure.MaxLoad) string {
	what := "maximum " + strings.ReplaceAll(plain(m.Mode), "_", " ")
	if m.Target > 0 {
		what += fmt.Sprintf(" for %s of the requests", targetText(m.Target))
	}
	at := func(l *figure.LoadLevel) string {
		text := plain(l.Value)
		if !math.IsNaN(l.Share) {
			text = fmt.Sprintf("%s at %s", percent(l.Share), text)
		}
		if sent := sentIfOther(l); sent != "" {
			text += " (" + sent + "/s sent)"
		}
		return text
	}
	estimated := !math.IsNaN(m.Estimate)
	if what += ": "; estimated {
		what += "about " + LoadsText(m)
	}
	switch {
	case m.Within != nil && m.Beyond != nil:
		what += ", between " + at(m.Within) + " and " + at(m.Beyond)
	case m.Within != nil && estimated:
		what += ", at least " + plain(m.Within.Value) + facts(m.Within)
	case m.Beyond != nil && estimated:
		what += ", below " + plain(m.Beyond.Value) + facts(m.Beyond)
	case m.Above != nil:
		what += outside(plain(m.Above.Value)+" or more", "highest", m.Above, m.Within)
		if m.Within != nil && m.Within != m.Above {
			what += "; surely " + plain(m.Within.Value) + " or more" + facts(m.Within)
		}
	case m.Under != nil:
		what += outside("below "+plain(m.Under.Value), "lowest", m.Under, m.Beyond)
		if m.Beyond != nil && m.Beyond != m.Under {
			what += "; surely below " + plain(m.Beyond.Value) + facts(m.Beyond)
		}
	case !estimated:
		what += "not known"
	}
	if m.NA != "" && (estimated || m.Within == nil && m.Beyond == nil) {
		what += "; " + m.NA
	}
	if m.Again {
		what += "; a higher level attains it again, so the levels are not in order"
	}
	if m.Unknown != nil {
		what += "; not known at " + plain(strings.Join(m.Unknown, ", "))
	}
	return what + maxLoadAdvice(m)
}

// outside describes a maximum load outside the loads that were measured: beyond their highest or lowest level. sure is the level
// that surely attains or misses the target.
func outside(text, which string, l, sure *figure.LoadLevel) string {
	if l == sure {
		return text + facts(l)
	}
	return "probably " + text + facts(l) + ", the " + which + " level measured"
}

// facts returns the attainment of a level, and the rate that was sent if it differs from the
// named rate: " (97.00%, 3.912/s sent)"; "" if there is neither.
func facts(l *figure.LoadLevel) string {
	var all []string
	if !math.IsNaN(l.Share) {
		all = append(all, percent(l.Share))
	}
	if sent := sentIfOther(l); sent != "" {
		all = append(all, sent+"/s sent")
	}
	if all == nil {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

// maxLoadAdvice says what to measure to narrow the bounds: "; measure 5, 6 and 7 next".
func maxLoadAdvice(m *figure.MaxLoad) string {
	if len(m.Next) == 0 {
		return ""
	}
	var loads []string
	for _, load := range m.Next {
		loads = append(loads, strconv.FormatFloat(load, 'f', -1, 64)) // as a flag takes it
	}
	last := len(loads) - 1
	text := "; measure " + loads[last]
	if last > 0 {
		text = "; measure " + strings.Join(loads[:last], ", ") + " and " + loads[last]
	}
	if m.NextRequests == 0 {
		return text + " next"
	}
	text += " again, with about " + plural.GroupedOf(m.NextRequests, "request")
	if last > 0 {
		text += " each"
	}
	return text
}

// LoadText formats a load for people: whole numbers as they are, others with four digits, because a
// bound is the rate that was sent, which has as many digits as the clock.
func LoadText(v float64) string {
	text := strconv.FormatFloat(v, 'g', 4, 64)
	if rounded, err := strconv.ParseFloat(text, 64); err == nil && v != math.Trunc(v) {
		v = rounded
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// LoadsText formats the estimate of a maximum load and its interval, with two digits:
// "6.2 (95% interval 5.3 to 7.2)".
func LoadsText(m *figure.MaxLoad) string {
	estimate, interval := m.Rounded()
	return LoadText(estimate) + maxLoadInterval(interval)
}

// sentIfOther returns the load of a level if it differs from the load that the level names
// by more than a rounding of three digits; else "".
func sentIfOther(l *figure.LoadLevel) string {
	if named, err := strconv.ParseFloat(l.Value, 64); err != nil || math.Abs(l.Load-named) <= 0.005*named {
		return ""
	}
	return Number(l.Load)
}

// maxLoadInterval returns " (95% interval 5.3 to 7.2)"; "" if there is no interval.
func maxLoadInterval(i inference.Interval) string {
	switch {
	case stat.Finite(i.Low) && stat.Finite(i.High):
		return fmt.Sprintf(" (95%% interval %s to %s)", LoadText(i.Low), LoadText(i.High))
	case stat.Finite(i.Low):
		return fmt.Sprintf(" (95%% interval from %s on)", LoadText(i.Low))
	case stat.Finite(i.High):
		return fmt.Sprintf(" (95%% interval up to %s)", LoadText(i.High))
	}
	return ""
}
