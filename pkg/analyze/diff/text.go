package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Text writes the comparison for people, in lines of at most width characters; 0 is no
// limit. The first line is the [Result.Headline]. explain
// adds how it was judged: p-values, numbers of values, the values of each run, and why
// intervals are missing.
func Text(r *Result, width int, explain bool) sheet.Renderer {
	s := r.Sheet(explain)
	if explain {
		s.Notes = append(s.Notes, r.explanation()...)
	} else if len(r.Levels) > 0 && len(r.Refused()) == 0 {
		s.Notes = append(s.Notes, r.legend())
	}
	return sheet.Text(width, s)
}

// Markdown writes the comparison for a pull request.
func Markdown(r *Result) sheet.Renderer { return sheet.Markdown(r.Sheet(false)) }

// Sheet returns the comparison for people. Its parts are about the sides, their differences, all
// levels of a sweep if there is [Result.Together], and each of [Result.Levels]. The first table of a
// level has a row for each of [LevelResult.Rows], with the columns name, old, new, change, interval,
// verdict; explain adds columns and the values of each run. The details say how it was judged.
func (r *Result) Sheet(explain bool) *sheet.Sheet {
	u := r.units()
	s := &sheet.Sheet{Title: r.Headline(), Notes: r.lines(), Details: &sheet.Part{Title: "how it was judged"}}
	if out := r.leftOut(); out != "" {
		s.About = []string{out}
	}
	s.Part("").Lines(r.title(), r.measured(), r.notKnown())
	s.Part("").Table(r.differenceTable())
	for _, l := range r.allLevels() {
		p := s.Part(r.levelTitle(l)).Lines(l.parts()...).Table(l.table(u, explain)).Table(l.serverTable(u))
		if explain {
			for _, run := range l.perRun(u) {
				p.Lines("each " + run[0] + ": " + run[1] + " → " + run[2])
			}
		}
	}
	for i := range r.Levels {
		s.Details.Table(r.Levels[i].judged(u))
	}
	s.Details.Lines(r.explanation()...)
	return s
}

// judged returns the table of how the primary metrics of a level were judged.
func (l *LevelResult) judged(u *timeUnits) sheet.Table {
	t := sheet.AllLeft([][]string{{sanitize.Text(l.Name), "p", "n", "each " + l.sides.old() + " run", "each " + l.sides.new() + " run"}})
	runs := l.perRun(u)
	for j := range l.Rows {
		row := &l.Rows[j]
		if !row.Primary {
			continue
		}
		cells := []string{row.Metric.Name, sheet.PValue(row.Adjusted), counts(row.Old.N, row.New.N), "", ""}
		if len(runs) > 0 {
			cells[3], cells[4] = runs[0][1], runs[0][2]
			runs = runs[1:]
		}
		t.Add(cells...)
	}
	return t
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
