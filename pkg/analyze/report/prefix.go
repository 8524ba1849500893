package report

import (
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// timeFigure returns a function that formats the value of a figure, with the source of the figure if there is one.
func timeFigure(times TimeUnit) func(*analyze.LevelFigure) string {
	return func(f *analyze.LevelFigure) string {
		switch {
		case f.From != "":
			return Span(f.Value) + " (" + plain(f.From) + ")"
		case f.Unit == "ns":
			return Span(f.Value)
		}
		return Quantity(f.Unit, f.Value, times)
	}
}

// prefixLines returns the lines of p: the figures, and the number of their requests.
func prefixLines(p *analyze.Prefix, times TimeUnit) []string {
	lines := groupLines("prefix cache", p.Figures, timeFigure(times))
	if p.Stated == 0 {
		return lines
	}
	return append(lines, statedRequests(p))
}

// phaseLines returns the lines of p. If no phase is known, the line of the remaining time is left out: it could only
// say that the phases are not known.
func phaseLines(p *analyze.Phases, times TimeUnit) []string {
	figures := p.Figures
	phases := slices.DeleteFunc(slices.Clone(figures), func(f analyze.LevelFigure) bool { return f.Key == analyze.KeyOtherTime })
	if commonReason(phases) != "" {
		figures = phases
	}
	return groupLines("phases", figures, timeFigure(times))
}

// statedRequests counts the requests of p.
func statedRequests(p *analyze.Prefix) string {
	text := "cached tokens stated by " + plural.GroupedOf(p.Stated, "answer")
	if p.Unstated > 0 {
		text += ", not by " + plural.Grouped(p.Unstated)
	}
	return text
}

// prefixBuckets returns a row for each bucket of p.
func prefixBuckets(p *analyze.Prefix, u TimeUnit) sheet.Table {
	g := newGrid(1, 1)
	if len(p.Buckets) == 0 {
		return g
	}
	g.Add("uncached input tokens", "n", "cached", "TTFT mean "+u.name, "p50 "+u.name, "p90 "+u.name)
	for _, b := range p.Buckets {
		g.Add(tokenRange(b.From, b.To), strconv.Itoa(b.N), percent(b.CachedShare), Number(b.Mean/u.per), Number(b.P50/u.per), Number(b.P90/u.per))
	}
	return g
}

// tokenRange returns "8–15", or "1" for a range of one number.
func tokenRange(from, to int64) string {
	name := strconv.FormatInt(from, 10)
	if to > from {
		name += "–" + strconv.FormatInt(to, 10)
	}
	return name
}

// jsonLevelFigures returns figures by key.
func jsonLevelFigures(all []analyze.LevelFigure) map[string]sheet.Object {
	figures := map[string]sheet.Object{}
	for i := range all {
		f := &all[i]
		value := any(f.Value)
		if f.Why != "" {
			value = nil
		}
		figures[f.Key] = sheet.Object{"value", value, "error_bound", sheet.Opt(f.Bound), "unit", f.Unit, "from", sheet.Opt(f.From), "why", sheet.Opt(f.Why)}
	}
	return figures
}

func jsonPrefix(p *analyze.Prefix) sheet.Object {
	if p == nil {
		return nil
	}
	return sheet.Object{
		"stated", p.Stated, "unstated", p.Unstated, "figures", jsonLevelFigures(p.Figures),
		"by_uncached_tokens", sheet.List(p.Buckets, func(b *analyze.PrefixBucket) sheet.Object {
			return sheet.Object{
				"from", b.From, "to", b.To, "n", b.N, "cached_share", b.CachedShare, "ttft_mean_ns", b.Mean, "ttft_p50_ns", b.P50, "ttft_p90_ns", b.P90,
			}
		}),
	}
}

func (w jsonLayout) phases(p *analyze.Phases) sheet.Object {
	if p == nil {
		return nil
	}
	return sheet.Object{"metrics", w.metrics(p.Metrics), "figures", jsonLevelFigures(p.Figures)}
}

// csvLevelFigures returns a line for each figure, with the value in the column "mean".
func csvLevelFigures(group string, all []analyze.LevelFigure) (lines []csvLine) {
	for i := range all {
		f := &all[i]
		l := csvLine{name: group + "." + f.Key, unit: f.Unit}
		if f.Why == "" {
			l.mean = float(f.Value)
		}
		lines = append(lines, l)
	}
	return lines
}

// csvPrefix returns the lines of the figures, "prefix." and the key, and of the mean TTFT by uncached
// input tokens.
func csvPrefix(p *analyze.Prefix) []csvLine {
	if p == nil {
		return nil
	}
	lines := csvLevelFigures("prefix", p.Figures)
	for _, b := range p.Buckets {
		lines = append(lines, csvLine{name: "prefix.ttft_ns_at_uncached_tokens_" + strconv.FormatInt(b.From, 10), unit: "ns", n: strconv.Itoa(b.N), mean: float(b.Mean)})
	}
	return lines
}

// csvPhases returns the lines of the metrics and the figures: "phases." and the key.
func csvPhases(p *analyze.Phases) []csvLine {
	if p == nil {
		return nil
	}
	return prefixed("phases.", append(csvMetrics(p.Metrics), csvLevelFigures("level", p.Figures)...))
}

// prefixed puts a text before the names of lines.
func prefixed(text string, lines []csvLine) []csvLine {
	for i := range lines {
		lines[i].name = text + lines[i].name
	}
	return lines
}
