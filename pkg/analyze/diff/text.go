package diff

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
)

// Formats returns the forms of the comparison: text, Markdown, JSON in the layout of schemas/diff.schema.json, CSV
// with the columns of schemas/diff_csv.md, and JUnit XML. The first line of text is the [Result.Headline]. explain adds
// to text how it was judged: p-values, numbers of values, the values of each run, and why intervals are missing.
func (r *Result) Formats(explain bool) *sheet.Formats {
	return &sheet.Formats{
		Sheets: sheet.One(func() *sheet.Sheet { return r.Sheet(false) }), Text: sheet.One(func() *sheet.Sheet { return r.text(explain) }),
		JSON: r.JSON, Columns: csvHeader, CSV: r.csv, JUnit: r.junit,
	}
}

// text returns the comparison for text.
func (r *Result) text(explain bool) *sheet.Sheet {
	s := r.Sheet(explain)
	if explain {
		s.Notes = append(s.Notes, r.explanation()...)
	} else if len(r.Levels) > 0 && len(r.Refused()) == 0 {
		s.Notes = append(s.Notes, r.legend())
	}
	return s
}

// Sheet returns the comparison for people. Its parts are about the sides, their differences, all
// levels of a sweep if there is [Result.Together], and each of [Result.Levels]. The first table of a
// level has a row for each of [LevelDiff.Rows], with the columns name, old, new, change, interval,
// verdict; explain adds columns and the values of each run. The details say how it was judged.
func (r *Result) Sheet(explain bool) *sheet.Sheet {
	u := r.units()
	s := &sheet.Sheet{Title: r.Headline(), Notes: r.lines(), Details: &sheet.Part{Title: "how it was judged"}}
	if out := r.leftOut(); out != "" {
		s.About = []string{out}
	}
	if line := r.pairing(); line != "" {
		s.About = append(s.About, line)
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
	for _, l := range r.Levels {
		s.Details.Table(l.judged(u))
	}
	s.Details.Lines(r.explanation()...)
	return s
}

// judged returns the table of how the primary metrics of a level were judged.
func (l *LevelDiff) judged(u *Units) sheet.Table {
	t := sheet.AllLeft([][]string{{sanitize.Text(l.Name), "p", "n", "each " + l.sides.old() + " run", "each " + l.sides.new() + " run"}})
	runs := l.perRun(u)
	for _, row := range l.Rows {
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
func (r *Result) levelTitle(l *LevelDiff) string {
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
	for _, g := range r.Gates {
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
	for _, d := range r.Differences {
		for _, side := range [...][2]string{{r.o.Sides.old(), d.Old}, {r.o.Sides.new(), d.New}} {
			if isCut(side[1]) {
				at := ""
				if d.Level != "" {
					at = " at " + sanitize.Text(d.Level)
				}
				all = append(all, d.Name+" of "+side[0]+at+": "+sanitize.Clip(sanitize.Text(side[1]), 2000))
			}
		}
	}
	return append(all, r.notes()...)
}

// legend explains the marks of rows in one line.
func (r *Result) legend() string {
	text := fmt.Sprintf("* decides the answer; \"within %s\": shown to change by less; ~: cannot tell; --explain shows how", percent(r.o.margin()))
	for _, l := range r.Levels {
		if slices.ContainsFunc(l.Rows, func(row *Row) bool { return row.Paired }) {
			return text + "; † the change is the median over pairs of requests with the same prompt"
		}
	}
	return text
}

// The words and the cells of tables that text and Markdown share.

// primaryMark and pairedMark follow the names of metrics.
const (
	primaryMark = " *"
	pairedMark  = " †"
)

// title returns the first line, which names the two sides.
func (r *Result) title() string {
	if r.Single {
		return "these two runs: " + withSide(r.o.Sides.Old, sanitize.Text(r.Old[0].Name)) + " → " + withSide(r.o.Sides.New, sanitize.Text(r.New[0].Name))
	}
	return fmt.Sprintf("%s → %s", sideName(r.o.Sides.old(), r.Old), sideName(r.o.Sides.new(), r.New))
}

// withSide returns the name of the only run of a side after the name that a user gave the side.
func withSide(side, run string) string {
	if side == "" {
		return run
	}
	return side + " " + run
}

func sideName(side string, runs []*Run) string {
	var names []string
	for _, r := range runs {
		names = append(names, sanitize.Text(r.Name))
	}
	return fmt.Sprintf("%d %s (%s)", len(runs), side, strings.Join(names, ", "))
}

// begin says where latencies begin.
var begin = [...]string{
	answer.FromStart: "the first byte sent", answer.FromSent: "the last byte sent",
	answer.FromIssued: "before connecting", answer.FromScheduled: "the scheduled time",
}

// measured returns the second line: the definitions, and the requests that count.
func (r *Result) measured() string {
	c := &r.Old[0].cfg
	how := []string{"pa-analyze's definitions", "latencies from " + begin[c.From]}
	if c.TokenSource != answer.TokenAuto {
		how = append(how, "output tokens from "+c.TokenSource.String())
	}
	if c.IncludeWarmup {
		how = append(how, "with warm-up requests")
	}
	if part := c.Selection.String(); part != "" {
		how = append(how, part)
	}
	return strings.Join(how, ", ")
}

// notKnown says what no run of either side states about the load and the model; "" if it is known.
func (r *Result) notKnown() string { return NotKnown(slices.Concat(r.Old, r.New)) }

// parts returns the selected part of the level in each run; one line for a side whose
// runs agree.
func (l *LevelDiff) parts() []string {
	return append(parts(l.sides.old(), l.Old), parts(l.sides.new(), l.New)...)
}

func parts(side string, levels []*RunLevel) []string {
	var named, texts []string
	for _, l := range levels {
		if l.Selected != nil {
			part := report.Selected(l.Selected)
			named, texts = append(named, l.Run.Name+": "+part), append(texts, side+": "+part)
		}
	}
	if texts = slices.Compact(texts); len(texts) > 1 {
		return named
	}
	return texts
}

// notes returns the sentences below the tables: how the comparison judged, and why
// intervals are missing.
func (r *Result) notes() []string {
	var notes []string
	say := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if len(r.Levels) == 0 {
		return nil
	}
	if r.Single && len(r.Refused()) == 0 {
		say("These are two single runs: the intervals leave out how much runs of the same settings differ by chance. For decisions, compare several runs a side.")
	}
	switch {
	case len(r.Refused()) > 0:
		say("The runs are not comparable, so there are neither intervals nor verdicts.")
	case r.Family == 0:
		say("* primary metric; none has an interval, so there are no verdicts. The other rows are descriptive.")
	default:
		values := "values"
		if r.Family == 1 {
			values = "value"
		}
		method := "Holm"
		if r.Single {
			method = "Hommel"
		}
		how := fmt.Sprintf("adjusted (%s) for the %d p-%s of this comparison", method, r.Family, values)
		if !r.Single && r.Family > 1 {
			how += " and their correlations"
		}
		say("* primary metric: judged at 5 %% by p, which is %s. Its interval is as wide as its verdict needs, at least 95 %%. The other rows are descriptive, with 95 %% intervals.", how)
		say("\"within %s\" means that the 90 %% interval of the change lies within the margin (two one-sided tests); ~ means that the data show neither.", percent(r.o.margin()))
	}
	if r.Together != nil {
		say("A run's value over %s is the geometric mean of its values at the levels. Half of the 5 %% is for these rows and half for the levels. If a metric changed over %s, its levels are also judged by themselves.", r.Together.Name, r.Together.Name)
	}
	for _, l := range r.Levels {
		if slices.ContainsFunc(l.Rows, func(r *Row) bool { return r.Paired }) {
			say("† paired by prompt (%s, %d pairs): the change is the median of %s/%s over the pairs.", l.Name, l.Pairs, l.sides.new(), l.sides.old())
		}
	}
	return append(notes, r.reasons()...)
}

// reasons returns why intervals are missing: each reason once, with its rows.
func (r *Result) reasons() (lines []string) {
	if len(r.Refused()) > 0 {
		return nil
	}
	var all sheet.Reasons
	for _, l := range r.Levels {
		for _, row := range l.Rows {
			name := row.Metric.Name
			if len(r.Levels) > 1 {
				name += " at " + l.Name
			}
			switch {
			case row.Spoiled != "":
				all.Add(name, "no verdict: "+row.Spoiled)
			case !row.NA.Missing(), row.Equal, row.Metric.of == failedShare: // its values are enough
			default:
				all.Add(name, row.reason())
			}
		}
	}
	for names, why := range all.All() {
		lines = append(lines, fmt.Sprintf("n/a: %s: %s", sanitize.Text(names), why))
	}
	return append(lines, r.serverReasons()...)
}

// reason returns why a row has no interval, and how many values would be enough.
func (r *Row) reason() string {
	if r.NA.Needs == 0 {
		return r.NA.Reason
	}
	unit := "requests"
	switch {
	case len(r.OldRuns) > 1 || len(r.NewRuns) > 1 || r.Metric.of == failedShare:
		unit = "runs"
	case r.Metric.of == itl || r.Metric.of == itlPerToken:
		unit = "gaps"
	}
	return fmt.Sprintf("%s (about %s %s a side would be enough)", r.NA.Reason, plural.Grouped(r.NA.Needs), unit)
}

// reasonOf returns why a judged metric has no verdict, and how many values would be enough.
func (l *LevelDiff) reasonOf(r *Row) string {
	why := l.noVerdict(r)
	if why == r.Spoiled || why == l.unsteadyRuns {
		return why
	}
	return strings.TrimPrefix(r.reason(), inference.EitherSide)
}

// table returns the table of a level's metrics.
func (l *LevelDiff) table(u *Units, explain bool) sheet.Table {
	head := []string{"", l.sides.old(), l.sides.new(), "change", "interval", "verdict"}
	if explain {
		head = append(head, "p", "n")
		if l.ranked() {
			head = append(head, "rank p")
		}
	}
	rows := [][]string{head}
	for _, r := range l.Rows {
		rows = append(rows, l.cells(r, u, explain))
	}
	return sheet.Table{Rows: rows, Left: []string{"verdict"}}
}

// ranked reports whether a row has the p-value of a rank test.
func (l *LevelDiff) ranked() bool {
	for _, r := range l.Rows {
		if t := r.Rank; t != nil && !t.NA.Missing() {
			return true
		}
	}
	return false
}

// cells returns a row of the table.
func (l *LevelDiff) cells(r *Row, u *Units, explain bool) []string {
	name := r.Metric.Name
	if r.Primary {
		name += primaryMark
	}
	if r.Paired {
		name += pairedMark
	}
	verdict := ""
	if r.Primary {
		verdict = r.word()
	}
	cells := []string{
		name, u.Amount(r.Metric, r.Old.Value), u.Amount(r.Metric, r.New.Value), r.changed(),
		r.interval(), verdict,
	}
	if !explain {
		return cells
	}
	cells = append(cells, sheet.PValue(r.Adjusted), counts(r.Old.N, r.New.N))
	if l.ranked() {
		p := math.NaN()
		if r.Rank != nil {
			p = r.Rank.P
		}
		cells = append(cells, sheet.PValue(p))
	}
	return cells
}

// word returns the verdict for the table: "within 5 %" for a metric that was shown to change by less than the
// margin.
func (r *Row) word() string {
	switch {
	case r.Verdict == inference.NoDifference && r.Equal:
		return "equal"
	case r.Verdict == inference.NoDifference && r.Metric.of != failedShare && r.inMargin():
		return "within " + percent(r.margin)
	}
	return r.Verdict.String()
}

// changed formats the change; of shares, the difference in percentage points.
func (r *Row) changed() string {
	if r.Metric.of == failedShare {
		return sheet.Points(r.New.Value - r.Old.Value)
	}
	return sheet.Change(r.Change)
}

// interval formats the interval; "n/a" without one, and "" for shares, which never have one.
func (r *Row) interval() string {
	switch {
	case r.Metric.of == failedShare:
		return ""
	case r.NA.Missing():
		return "n/a"
	}
	i := r.Shown()
	return sheet.Changes(i.Low, i.High)
}

// Units are the units of time of a comparison, on all levels.
type Units struct {
	report.Units
	server report.TimeUnit // of the times that servers report
}

// newUnits chooses the units that suit the values of metrics, which each passes to add; NaN is a missing one.
func newUnits(each func(add func(m *Metric, values ...float64))) Units {
	var token, request []float64
	each(func(m *Metric, values ...float64) {
		switch {
		case m.Unit != Nanoseconds:
		case m.ofRequest():
			request = append(request, values...)
		default:
			token = append(token, values...)
		}
	})
	return Units{Units: report.UnitsOf(token, request)}
}

// Amount formats a value of a metric with its unit; "–" for NaN.
func (u Units) Amount(m *Metric, v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case m.Unit == Nanoseconds && m.ofRequest():
		return u.Request.Span(v)
	case m.Unit == Nanoseconds:
		return u.Token.Span(v)
	case m.Unit == Share:
		return sheet.Share(v)
	}
	return report.Number(v)
}

// units chooses the units of r from all its values.
func (r *Result) units() *Units {
	var server []float64
	u := newUnits(func(add func(*Metric, ...float64)) {
		for _, l := range r.Levels {
			for _, row := range l.Rows {
				add(row.Metric, row.Old.Value, row.New.Value)
			}
			for _, x := range l.Server {
				if x.Unit == "ns" {
					server = append(server, x.Old.Value, x.New.Value)
				}
			}
		}
	})
	u.server = report.RequestUnit(server)
	return &u
}

// counts returns "2000", or "2000+1800" where the sides differ.
func counts(older, newer int) string {
	if older == newer {
		return strconv.Itoa(older)
	}
	return strconv.Itoa(older) + "+" + strconv.Itoa(newer)
}

// perRun returns the values of each run for the primary metrics: name, old and new.
func (l *LevelDiff) perRun(u *Units) [][]string {
	var rows [][]string
	if len(l.Old) == 1 && len(l.New) == 1 {
		return nil
	}
	list := func(m *Metric, x []float64) string {
		var s []string
		for _, v := range x {
			s = append(s, u.Amount(m, v))
		}
		return strings.Join(s, ", ")
	}
	for _, r := range l.Rows {
		if r.Primary {
			rows = append(rows, []string{r.Metric.Name, list(r.Metric, r.OldRuns), list(r.Metric, r.NewRuns)})
		}
	}
	return rows
}

// differenceTable returns the table of differences. It names the level if that matters. It is
// empty without differences.
func (r *Result) differenceTable() sheet.Table {
	if len(r.Differences) == 0 {
		return sheet.Table{}
	}
	at := slices.ContainsFunc(r.Differences, func(d *Difference) bool { return d.Level != "" })
	rows := [][]string{{"differs", "at", r.o.Sides.old(), r.o.Sides.new(), ""}}
	for _, d := range r.Differences {
		rows = append(rows, []string{d.Name, sanitize.Text(d.Level), short(d.Old), short(d.New), d.Effect()})
	}
	if !at {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	return sheet.AllLeft(rows)
}

// verdict returns the effect of a difference on the comparison, in CSV's word.
func (d *Difference) verdict() string {
	if d.refuses() {
		return "refuses"
	}
	return d.Effect()
}

// short makes a text safe for a table, and cuts it if it is too long: a hash, a warning of the
// recorder.
func short(s string) string {
	const most = 61
	if isHash(s) {
		return s[:len("sha256:")+12] + "…"
	}
	return sanitize.Fit(sanitize.Text(s), most)
}

func isHash(s string) bool { return strings.HasPrefix(s, "sha256:") && len(s) == len("sha256:")+64 }

// isCut reports whether short cuts a text of words.
func isCut(s string) bool { return !isHash(s) && short(s) != sanitize.Text(s) }
