package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
)

// objective says how a level met the objective, in lines.
func objective(x *analyze.Attainment, target float64) []string {
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
func attained(x *analyze.Attainment) string {
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

func share(s analyze.Share) string {
	if !s.OK {
		return "n/a (" + s.NA + ")"
	}
	return percent(s.V)
}

// rateOrNA formats a rate; "n/a" if it is unknown.
func rateOrNA(r analyze.Rate) string {
	if !r.OK {
		return "n/a"
	}
	return number(r.PerSecond)
}

// objectives returns one line per load level, with the goodput.
func objectives(rep *analyze.Report) grid {
	g := grid{indent: "  "}
	mode, mixed := modes(rep)
	g.add(plain(mode), "SLO met", "goodput", "goodput")
	g.add("", "%", "requests/s", "output tok/s")
	for _, e := range byLoad(rep) {
		if e.SLO == nil {
			continue
		}
		met := "n/a"
		if e.SLO.Share.OK {
			met = number(100 * e.SLO.Share.V)
		}
		g.add(plain(levelIn(e, mixed)), met, rateOrNA(e.SLO.Requests), rateOrNA(e.SLO.OutputTokens))
	}
	return g
}

// MaxLoadJSON returns the estimate in the layout of JSON: "max_load" of the schemas.
func MaxLoadJSON(m *analyze.MaxLoad) any { return jsonLoad(m) }

// MaxLoad describes the estimate of the highest load under an objective, for people.
func MaxLoad(m *analyze.MaxLoad) string {
	what := fmt.Sprintf("maximum %s for %s of the requests: ", strings.ReplaceAll(plain(m.Mode), "_", " "), targetText(m.Target))
	at := func(l *analyze.LoadLevel) string {
		text := fmt.Sprintf("%s at %s", percent(l.Share), plain(l.Value))
		if sent := sentIfOther(l); sent != "" {
			text += " (" + sent + "/s sent)"
		}
		return text
	}
	switch {
	case m.Within == nil:
		what += fmt.Sprintf("below %s, the lowest level (%s)", plain(m.Beyond.Value), at(m.Beyond))
	case m.Beyond == nil:
		what += fmt.Sprintf("%s or more; the highest level attains it (%s)", plain(m.Within.Value), at(m.Within))
	default:
		what += fmt.Sprintf("about %s%s, between %s and %s", number(m.Estimate), maxLoadInterval(m), at(m.Within), at(m.Beyond))
		if m.NA != "" {
			what += "; no interval: " + m.NA
		}
	}
	if m.Again {
		what += "; a higher level attains it again, so the levels are not in order"
	}
	if m.Unknown != nil {
		what += "; not known at " + plain(strings.Join(m.Unknown, ", "))
	}
	return what
}

// sentIfOther returns the load of a level if it differs from the load that the level names
// by more than a rounding of three digits; else "".
func sentIfOther(l *analyze.LoadLevel) string {
	if named, err := strconv.ParseFloat(l.Value, 64); err != nil || math.Abs(l.Load-named) <= 0.005*named {
		return ""
	}
	return number(l.Load)
}

// maxLoadInterval returns " (95% interval 1.150 to 1.230)"; "" if there is no interval.
func maxLoadInterval(m *analyze.MaxLoad) string {
	low, high := m.Interval.Low, m.Interval.High
	switch {
	case math.IsNaN(low):
		return ""
	case bounded(low) && bounded(high):
		return fmt.Sprintf(" (95%% interval %s to %s)", number(low), number(high))
	case bounded(low):
		return fmt.Sprintf(" (95%% interval from %s on)", number(low))
	case bounded(high):
		return fmt.Sprintf(" (95%% interval up to %s)", number(high))
	}
	return " (95% interval: any load)"
}
