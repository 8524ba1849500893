package diff

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// Text writes the comparison for people, in lines of at most width characters; 0 is no
// limit, and tables then have about 100. The first line is the [Result.Headline]. explain
// adds how it was judged: p-values, numbers of values, the values of each run, and why
// intervals are missing.
func Text(r *Result, width int, explain bool) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		u := r.units()
		line := func(indent, text string) { b.WriteString(report.Wrap(text, indent, indent+"  ", width)) }
		line("", r.Headline())
		if out := r.leftOut(); out != "" {
			line("", out)
		}
		b.WriteByte('\n')
		line("", r.title())
		line("", r.measured())
		if unknown := r.notKnown(); unknown != "" {
			line("", unknown)
		}
		if len(r.Differences) > 0 {
			b.WriteByte('\n')
			b.WriteString(r.differenceTable().Text("", width))
		}
		for _, l := range r.allLevels() {
			b.WriteByte('\n')
			line("", r.levelTitle(l))
			for _, part := range l.parts() {
				line("  ", sanitize.Text(part))
			}
			b.WriteString(l.table(u, explain).Text("  ", width))
			if servers := l.serverTable(u).Text("  ", width); servers != "" {
				b.WriteString("\n" + servers)
			}
			if !explain {
				continue
			}
			for _, run := range l.perRun(u) {
				line("  ", "each "+run[0]+": "+run[1]+" → "+run[2])
			}
		}
		lines := r.lines()
		if explain {
			lines = append(lines, r.explanation()...)
		} else if len(r.Levels) > 0 && len(r.Refused()) == 0 {
			lines = append(lines, r.legend())
		}
		for i, note := range lines {
			if i == 0 {
				b.WriteByte('\n')
			}
			line("", note)
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// levelTitle returns the name of a level, and what was found there if the headline is
// about several levels.
func (r *Result) levelTitle(l *LevelResult) string {
	if len(r.Levels) == 1 || len(r.Refused()) > 0 || l == r.Together {
		return sanitize.Text(l.Name)
	}
	return sanitize.Text(l.Name) + ": " + r.sentence(l)
}

// leftOut names the runs that do not count; "" if all count.
func (r *Result) leftOut() string {
	var names []string
	for _, x := range r.LeftOut {
		names = append(names, r.numbers[x]+" ("+sanitize.Text(x.Name)+")")
	}
	if names == nil {
		return ""
	}
	return "left out: " + strings.Join(names, ", ")
}

// lines returns the levels that are not compared and the outcomes of the gates.
func (r *Result) lines() []string {
	var all []string
	if len(r.OldOnly) > 0 {
		all = append(all, "only in "+r.o.Sides.old()+": "+sanitize.Text(strings.Join(r.OldOnly, ", ")))
	}
	if len(r.NewOnly) > 0 {
		all = append(all, "only in "+r.o.Sides.new()+": "+sanitize.Text(strings.Join(r.NewOnly, ", ")))
	}
	if line := r.turnsLine(); line != "" {
		all = append(all, line)
	}
	if line := r.outlyingLine(); line != "" {
		all = append(all, line)
	}
	for i := range r.Gates {
		g := &r.Gates[i]
		all = append(all, "gate "+g.title()+r.at(g.Level)+": "+g.outcome()+": "+strings.Join(g.Because, ", "))
	}
	return all
}

// at returns the place of a gate's outcome: " at concurrency 8", " over all 4 levels".
func (r *Result) at(level string) string {
	if r.Together != nil && level == r.Together.Name {
		return " over " + level
	}
	return " at " + sanitize.Text(level)
}

// explanation returns how the comparison was judged.
func (r *Result) explanation() []string {
	var all []string
	if len(r.Unchecked) > 0 {
		all = append(all, "not recorded on either side, so not compared: "+strings.Join(r.Unchecked, ", "))
	}
	return append(all, r.notes()...)
}

// legend explains the marks of rows in one line.
func (r *Result) legend() string {
	text := fmt.Sprintf("* judged; \"within %s\": shown to change by less; ~: not shown either way; --explain shows how", percent(r.o.margin()))
	for i := range r.Levels {
		if slices.ContainsFunc(r.Levels[i].Rows, func(row Row) bool { return row.Paired }) {
			return text + "; † the change is the median over pairs of requests with the same prompt"
		}
	}
	return text
}
