package trend

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// primaryMark follows the names of primary metrics.
const primaryMark = " *"

// Formats returns the forms of the history: text, Markdown, JSON in the layout of schemas/trend.schema.json, and
// CSV with the columns of schemas/trend_csv.md.
func (res *Result) Formats() *sheet.Formats {
	return &sheet.Formats{Sheets: sheet.One(res.sheet), JSON: res.json, Columns: csvHeader, CSV: res.csv}
}

// sheet returns the history for people.
func (res *Result) sheet() *sheet.Sheet {
	s := &sheet.Sheet{Heads: []string{res.Headline()}, About: []string{res.source()}, Notes: res.notes()}
	s.Part("").Table(res.Set.DifferenceTable())
	units := res.Set.Units()
	for _, l := range res.Levels {
		s.Part(l.Name).Table(res.table(l, &units))
	}
	return s
}

// notKnown continues a line with what no run states about its load and model.
func notKnown(runs []*diff.Run) string {
	if unknown := diff.NotKnown(runs); unknown != "" {
		return "; " + unknown
	}
	return ""
}

// source returns the line with the numbers of points and runs, and the definitions of the
// metrics.
func (res *Result) source() string {
	return fmt.Sprintf("%s of %s, %s", plural.Of(len(res.Points), "point"), plural.Of(len(res.Set.Runs), "run"), res.Set.Runs[0].Measured()) + notKnown(res.Set.Runs)
}

// table returns the table of a level, a row for each metric: the value of each point, and the
// steps.
func (res *Result) table(l *LevelHistory, u *diff.Units) sheet.Table {
	header := []string{""}
	for i := range res.Points {
		header = append(header, sanitize.Fit(sanitize.Text(res.Points[i].Label), 24))
	}
	rows := [][]string{append(header, "step")}
	for _, r := range l.Rows {
		name := r.Metric.Name
		if r.Metric.Primary {
			name += primaryMark
		}
		cells := []string{name}
		for _, v := range r.Values {
			cells = append(cells, u.Amount(r.Metric, v.Mean))
		}
		var steps []string
		for _, s := range r.Steps {
			steps = append(steps, fmt.Sprintf("%s%% (%s to %s) from %s", sheet.Signed(s.Change), sheet.Signed(s.Interval.Low), sheet.Signed(s.Interval.High), res.Points[s.At].Label))
		}
		rows = append(rows, append(cells, strings.Join(steps, ", ")))
	}
	return sheet.Table{Rows: rows, Left: []string{"step"}}
}

// notes returns the sentences below the tables.
func (res *Result) notes() []string {
	if len(res.Set.Refused()) > 0 {
		return nil
	}
	notes := []string{fmt.Sprintf("* primary metric. A point's value is the geometric mean of its runs. At a step, the points before and after differ: Student's t test, at least %d points on either side, p at most 5 %% after adjusting for all possible steps and primary metrics.", minPerSide)}
	seen := map[string]bool{}
	for _, l := range res.Levels {
		for _, r := range l.Rows {
			if r.NA != "" && r.Metric.Primary && r.Metric.Key != diff.KeyFailedShare && !seen[r.NA] {
				seen[r.NA] = true
				notes = append(notes, "steps not searched: "+r.NA)
			}
		}
	}
	return notes
}

// Formats returns the forms of the judgement: text, Markdown, JSON and CSV as [Result.Formats] has them, and JUnit
// XML.
func (j *Judgement) Formats() *sheet.Formats {
	return &sheet.Formats{Sheets: sheet.One(j.sheet), JSON: j.json, Columns: csvHeader, CSV: j.csv, JUnit: j.junit}
}

// sheet returns the judgement for people.
func (j *Judgement) sheet() *sheet.Sheet {
	s := &sheet.Sheet{Heads: []string{j.Headline()}, About: []string{j.source()}, Notes: j.notes()}
	s.Part("").Table(j.Set.DifferenceTable())
	units := j.Set.Units()
	for _, l := range j.Levels {
		s.Part(l.Name).Table(j.table(l, &units))
	}
	return s
}

// source returns the line with the numbers of points and runs, and the definitions of the
// metrics.
func (j *Judgement) source() string {
	runs := 0
	for i := range j.Accepted {
		runs += len(j.Accepted[i].Runs)
	}
	if len(j.Accepted)+len(j.LeftOut) == 0 {
		return fmt.Sprintf("no accepted point → %s, %s", plural.Of(len(j.New.Runs), "new run"), j.New.Runs[0].Measured()) + notKnown(j.Set.Runs)
	}
	accepted := plural.Of(len(j.Accepted), "accepted point")
	if n := len(j.LeftOut); n > 0 {
		accepted = fmt.Sprintf("%d of %s", len(j.Accepted), plural.Of(len(j.Accepted)+n, "accepted point"))
	}
	return fmt.Sprintf("%s of %s → %s, %s", accepted, plural.Of(runs, "run"), plural.Of(len(j.New.Runs), "new run"), j.New.Runs[0].Measured()) + notKnown(j.Set.Runs)
}

// table returns the table of a level.
func (j *Judgement) table(l *JudgedLevel, u *diff.Units) sheet.Table {
	rows := [][]string{{"", "accepted", "new", "change", "interval", "p", "verdict"}}
	for _, r := range l.Rows {
		change := sheet.Change(r.Change)
		if r.Metric.Key == diff.KeyFailedShare {
			change = ""
		}
		rows = append(rows, []string{r.Metric.Name, u.Amount(r.Metric, r.Mean), u.Amount(r.Metric, r.New), change, sheet.Changes(r.Interval.Low, r.Interval.High), sheet.PValue(r.Adjusted), r.Verdict.String()})
	}
	return sheet.Table{Rows: rows, Left: []string{"verdict"}}
}

// notes returns the sentences below the tables.
func (j *Judgement) notes() []string {
	var notes []string
	for _, l := range j.LeftOut {
		notes = append(notes, "accepted point left out: "+l.String())
	}
	for _, name := range j.Unverified {
		notes = append(notes, "accepted point without a manifest, whose files may have been changed: "+name)
	}
	for i := range j.Accepted {
		p := &j.Accepted[i]
		if p.Noise != "" {
			notes = append(notes, fmt.Sprintf("accepted point %s was accepted as noise: %s", p.Label, p.Noise))
		}
		for _, text := range p.outlying(j.Ignore) {
			notes = append(notes, fmt.Sprintf("accepted point %s has a run unlike its others, which hides changes: %s; delete the folder of the point to judge without it", p.Label, text))
		}
	}
	if len(j.Set.Refused()) > 0 {
		return notes
	}
	if j.judged() {
		notes = append(notes, "The interval is for the change from the accepted points to one more point. It includes how much points differ by chance.")
		if n, usual := len(j.New.Runs), j.usualRuns(); n < usual {
			notes = append(notes, fmt.Sprintf("The new point has %s, most accepted points have %d: the interval is wider, because the new point differs more by chance.", plural.Of(n, "run"), usual))
		}
		notes = append(notes,
			"Each interval is as wide as its verdict needs, at least 95 %: the p-values are adjusted (Holm) over all metrics and levels.",
			fmt.Sprintf("A metric passes if the 90 %% interval of its change shows that it is not worse by %s (--margin).", percent(j.Margin)))
	}
	if j.Allow > 0 {
		notes = append(notes, fmt.Sprintf("Changes of up to %s pass.", percent(j.Allow)))
	}
	notes = append(notes, j.reasons()...)
	if len(j.Accepted) > 0 && j.New.outlying(j.Ignore) != nil {
		notes = append(notes, outlyingAdvice)
	}
	for _, name := range j.Added {
		notes = append(notes, "level of the new runs that no accepted point has: "+name)
	}
	for _, name := range j.Missing {
		notes = append(notes, "level of the accepted points that the new runs lack: "+name)
	}
	return notes
}

// outlyingAdvice says what to do about a run that differs from the other runs of its point.
const outlyingAdvice = "A run unlike the others of its point is often a cold start: record again, with pa-record --warmup-runs 1 if it is the first run, or leave the run out."

// judged reports whether a metric has a p-value.
func (j *Judgement) judged() bool {
	return slices.ContainsFunc(j.Levels, func(l *JudgedLevel) bool {
		return slices.ContainsFunc(l.Rows, func(r *Judged) bool { return !math.IsNaN(r.Adjusted) })
	})
}

// usualRuns returns the median of the numbers of runs of the accepted points.
func (j *Judgement) usualRuns() int {
	var numbers []int
	for i := range j.Accepted {
		numbers = append(numbers, len(j.Accepted[i].Runs))
	}
	slices.Sort(numbers)
	return numbers[len(numbers)/2]
}

// reasons returns a line for each reason why metrics have no verdict, with these metrics.
func (j *Judgement) reasons() (lines []string) {
	var all sheet.Reasons
	for _, l := range j.Levels {
		for _, r := range l.Rows {
			if r.NA != "" {
				all.Add(r.Metric.Name+" at "+l.Name, r.NA)
			}
		}
	}
	for names, why := range all.All() {
		lines = append(lines, fmt.Sprintf("n/a: %s: %s", names, why))
	}
	return lines
}

// schema names the layout of JSON.
const schema = "pa-trend/1"

func (res *Result) json() sheet.Object {
	levels := sheet.ListOf(res.Levels, func(l *LevelHistory) sheet.Object {
		return sheet.Object{"name", l.Name, "mode", l.Mode, "value", l.Value, "metrics", sheet.ListOf(l.Rows, (*Row).json)}
	})
	return sheet.Object{
		"schema", schema, "headline", res.Headline(), "confidence", confidence, "measured", res.Set.Runs[0].Measured(),
		"comparable", len(res.Set.Refused()) == 0, "differences", res.Set.JSONDifferences(), "points", sheet.List(res.Points, (*Point).json), "levels", levels,
		"findings", sheet.Opt(sheet.List(res.Findings, (*Finding).json)),
	}
}

func (f *Finding) json() sheet.Object {
	x := sheet.Object{"kind", f.Kind}
	if f.level != nil {
		x = append(x, "level", f.level.Name)
	}
	if f.Metric != nil {
		x = append(x, "metric", f.Metric.Key)
	}
	value := "change"
	if f.Kind == KindFailsMore {
		value = "share"
	}
	return append(x, "from", f.From, "to", f.To-1, value, f.Value, "share_of_others", f.Others, "reason", sheet.Opt(f.Reason))
}

func (r *Row) json() sheet.Object {
	values := sheet.List(r.Values, func(v *Value) sheet.Object {
		return sheet.Object{"mean", v.Mean, "low", v.Interval.Low, "high", v.Interval.High, "runs", v.Runs}
	})
	steps := sheet.List(r.Steps, func(s *Step) sheet.Object {
		return sheet.Object{"point", s.At, "change", s.Change, "low", s.Interval.Low, "high", s.Interval.High, "p", s.P}
	})
	return sheet.Object{
		"metric", r.Metric.Key, "unit", r.Metric.Unit, "primary", r.Metric.Primary, "values", sheet.Opt(values), "steps", sheet.Opt(steps), "na", sheet.Opt(r.NA),
	}
}

func (p *Point) json() sheet.Object {
	return sheet.Object{"label", p.Label, "start_ns", p.start(), "runs", diff.JSONRuns(p.Runs), "noise", sheet.Opt(p.Noise)}
}

// json returns the judgement. The new point is the last one.
func (j *Judgement) json() sheet.Object {
	answer := sheet.Object{"verdict", j.Answer().String()}
	if err := j.Inconclusive(); err != nil {
		answer = append(answer, "because", sheet.Opt(err.Error()))
	}
	levels := sheet.ListOf(j.Levels, func(l *JudgedLevel) sheet.Object {
		return sheet.Object{"name", l.Name, "mode", l.Mode, "value", l.Value, "metrics", sheet.ListOf(l.Rows, j.metric)}
	})
	leftOut := sheet.List(j.LeftOut, func(l *LeftOut) sheet.Object { return sheet.Object{"label", l.Label, "reason", l.Reason} })
	return sheet.Object{
		"schema", schema, "headline", j.Headline(), "passed", j.passed(), "answer", answer, "margin", j.Margin, "confidence", confidence,
		"measured", j.New.Runs[0].Measured(), "comparable", len(j.Set.Refused()) == 0, "differences", j.Set.JSONDifferences(),
		"points", append(sheet.List(j.Accepted, (*Point).json), j.New.json()), "levels", levels,
		"missing_levels", sheet.Opt(j.Missing), "added_levels", sheet.Opt(j.Added), "left_out_points", sheet.Opt(leftOut), "unverified_points", sheet.Opt(j.Unverified), "findings", sheet.Opt(sheet.List(j.findingsBeside(), (*Finding).json)),
	}
}

func (j *Judgement) metric(r *Judged) sheet.Object {
	outlying := sheet.List(r.Outlying, func(o *OutlyingRun) sheet.Object { return sheet.Object{"file", o.File, "factor", o.Factor, "p", o.P} })
	return sheet.Object{
		"metric", r.Metric.Key, "unit", r.Metric.Unit, "primary", true, "accepted", sheet.Opt(r.Accepted), "new", r.New,
		"change", r.Change, "low", r.Interval.Low, "high", r.Interval.High, "interval_confidence", r.Level, "within", j.within(r),
		"p", r.P, "p_adjusted", r.Adjusted, "verdict", sheet.Opt(r.Verdict.String()), "na", sheet.Opt(r.NA), "outlying_runs", sheet.Opt(outlying),
	}
}

// within returns the interval that shows whether a metric is not worse by the margin; nil for none.
func (j *Judgement) within(r *Judged) sheet.Object {
	if math.IsNaN(r.Bounds.Low) {
		return nil
	}
	_, most := r.forTheWorse()
	return sheet.Object{"low", r.Bounds.Low, "high", r.Bounds.High, "shown", most < j.margin()}
}

// csvHeader is the header line of CSV.
var csvHeader = []string{"record", "level", "name", "unit", "point", "value", "low", "high", "p", "p_adjusted", "verdict", "primary", "reason", "file", "confidence", "last_point"}

// csv returns a line for each value of a point, step and difference.
func (res *Result) csv() []sheet.CSVRow {
	rows := res.Set.CSVDifferences()
	number := sheet.CSVNumber
	for _, l := range res.Levels {
		for _, r := range l.Rows {
			row := func(record string, point int, value float64, ends inference.Interval) sheet.CSVRow {
				return sheet.CSVRow{
					"record": record, "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit, "point": res.Points[point].Label,
					"value": number(value), "low": number(ends.Low), "high": number(ends.High), "primary": strconv.FormatBool(r.Metric.Primary),
				}
			}
			for p, v := range r.Values {
				rows = append(rows, row("value", p, v.Mean, v.Interval))
			}
			for _, s := range r.Steps {
				x := row("step", s.At, s.Change, s.Interval)
				x["unit"], x["p_adjusted"] = "ratio", number(s.P)
				rows = append(rows, x)
			}
		}
	}
	for i := range res.Findings {
		rows = append(rows, res.Findings[i].csv(res.Points))
	}
	return rows
}

func (f *Finding) csv(points []Point) sheet.CSVRow {
	row := sheet.CSVRow{
		"record": strings.ReplaceAll(string(f.Kind), "-", "_"), "point": points[f.From].Label, "last_point": points[f.To-1].Label,
		"value": sheet.CSVNumber(f.Value), "reason": f.Reason,
	}
	switch f.Kind {
	case KindFailsMore:
		row["name"], row["unit"] = diff.KeyFailedShare, "share"
	case KindUnlike, KindDrift:
		row["unit"] = "ratio"
	}
	if f.level != nil {
		row["level"] = f.level.Name
	}
	if f.Metric != nil {
		row["name"], row["primary"] = f.Metric.Key, "true"
	}
	return row
}

// csv returns a line for each primary metric and difference.
func (j *Judgement) csv() []sheet.CSVRow {
	answer := sheet.CSVRow{"record": "answer", "verdict": j.Answer().String()}
	if err := j.Inconclusive(); err != nil {
		answer["reason"] = err.Error()
	}
	rows := append([]sheet.CSVRow{answer}, j.Set.CSVDifferences()...)
	for _, l := range j.LeftOut {
		rows = append(rows, sheet.CSVRow{"record": "left_out", "point": l.Label, "reason": l.Reason})
	}
	for _, name := range j.Unverified {
		rows = append(rows, sheet.CSVRow{"record": "unverified", "point": name})
	}
	number := sheet.CSVNumber
	for _, l := range j.Levels {
		for _, r := range l.Rows {
			rows = append(rows, sheet.CSVRow{
				"record": "judged", "level": l.Name, "name": r.Metric.Key, "unit": "ratio", "value": number(r.Change),
				"low": number(r.Interval.Low), "high": number(r.Interval.High), "p": number(r.P), "p_adjusted": number(r.Adjusted),
				"verdict": r.Verdict.String(), "primary": "true", "reason": r.NA, "confidence": number(r.Level),
			})
			for p, v := range r.Accepted {
				rows = append(rows, sheet.CSVRow{"record": "accepted", "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit, "point": strconv.Itoa(p + 1), "value": number(v)})
			}
			rows = append(rows, sheet.CSVRow{"record": "new", "level": l.Name, "name": r.Metric.Key, "unit": r.Metric.Unit, "value": number(r.New)})
		}
	}
	for _, f := range j.findingsBeside() {
		rows = append(rows, f.csv(append(slices.Clone(j.Accepted), j.New)))
	}
	return rows
}

// junit returns for each level a suite with a case for each primary metric. A metric that is worse by more than Allow is a failure. A metric
// is skipped if it has no verdict or may be worse by the margin. A level that the
// new point lacks is a failure, and a level that no accepted point has is skipped. An accepted
// point that was left out is an error.
func (j *Judgement) junit() (name string, all []sheet.Suite) {
	c := sheet.Case{Class: "gate", Name: "comparable"}
	if len(j.Set.Refused()) > 0 {
		c.Error = j.Headline()
	}
	cases := []sheet.Case{c}
	for _, l := range j.LeftOut {
		cases = append(cases, sheet.Case{Class: "gate", Name: "accepted point " + l.Label, Error: "left out: " + l.Reason})
	}
	for _, name := range j.Unverified {
		cases = append(cases, sheet.Case{Class: "gate", Name: "accepted point " + name, Skipped: "not compared with its manifest: it has none"})
	}
	all = []sheet.Suite{{Name: "gate", Cases: cases}}
	for _, l := range j.Levels {
		s := sheet.Suite{Name: l.Name}
		for _, r := range l.Rows {
			c := sheet.Case{Class: s.Name, Name: r.Metric.Key}
			switch j.standing(r) {
			case early, unknown:
				c.Skipped = "cannot tell: " + r.NA
			case open:
				c.Skipped = "cannot tell whether worse by " + percent(j.Margin) + ": " + r.change()
			case fails:
				c.Failure = "worse than " + j.accepted() + ": " + r.change()
			default:
				c.Out = r.change()
			}
			s.Cases = append(s.Cases, c)
		}
		all = append(all, s)
	}
	for _, name := range j.Added {
		all = append(all, sheet.Suite{Name: name, Cases: []sheet.Case{{Class: name, Name: "level", Skipped: "no accepted point has this level"}}})
	}
	for _, name := range j.Missing {
		all = append(all, sheet.Suite{Name: name, Cases: []sheet.Case{{Class: name, Name: "level", Failure: "the new runs lack this level"}}})
	}
	return j.Headline(), all
}
