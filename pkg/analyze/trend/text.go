package trend

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// primaryMark follows the names of primary metrics.
const primaryMark = " *"

// Text writes the history for people, in lines of at most width characters; 0 is no limit.
func Text(res *Result, width int) sheet.Renderer { return sheet.Text(width, res.sheet()) }

// Markdown writes the history for a pull request or a wiki.
func Markdown(res *Result) sheet.Renderer { return sheet.Markdown(res.sheet()) }

// sheet returns the history for people.
func (res *Result) sheet() *sheet.Sheet {
	s := &sheet.Sheet{Heads: []string{res.Headline()}, About: []string{res.source()}, Notes: res.notes()}
	s.Part("").Table(res.Set.DifferenceTable())
	units := res.Set.Units()
	for i := range res.Levels {
		l := &res.Levels[i]
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
func (res *Result) table(l *Level, u *diff.Units) sheet.Table {
	header := []string{""}
	for i := range res.Points {
		header = append(header, sanitize.Fit(sanitize.Text(res.Points[i].Label), 24))
	}
	rows := [][]string{append(header, "step")}
	for i := range l.Rows {
		r := &l.Rows[i]
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
	notes := []string{fmt.Sprintf("* primary metric. A point's value is the geometric mean of its runs. A step is a place where the points before and after differ: Student's t test, at least %d points on either side, p at most 5 %% after adjusting for all places and primary metrics.", minPerSide)}
	seen := map[string]bool{}
	for i := range res.Levels {
		for j := range res.Levels[i].Rows {
			r := &res.Levels[i].Rows[j]
			if r.NA != "" && r.Metric.Primary && r.Metric.Key != diff.KeyFailedShare && !seen[r.NA] {
				seen[r.NA] = true
				notes = append(notes, "steps not searched: "+r.NA)
			}
		}
	}
	return notes
}

// JudgementText writes a judgement for people, in lines of at most width characters; 0 is
// no limit.
func JudgementText(j *Judgement, width int) sheet.Renderer { return sheet.Text(width, j.sheet()) }

// JudgementMarkdown writes a judgement for a pull request or the summary of a job.
func JudgementMarkdown(j *Judgement) sheet.Renderer { return sheet.Markdown(j.sheet()) }

// sheet returns the judgement for people.
func (j *Judgement) sheet() *sheet.Sheet {
	s := &sheet.Sheet{Heads: []string{j.Headline()}, About: []string{j.source()}, Notes: j.notes()}
	s.Part("").Table(j.Set.DifferenceTable())
	units := j.Set.Units()
	for i := range j.Levels {
		s.Part(j.Levels[i].Name).Table(j.table(&j.Levels[i], &units))
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
	for i := range l.Rows {
		r := &l.Rows[i]
		interval := ""
		if !math.IsNaN(r.Interval.Low) {
			interval = sheet.Change(r.Interval.Low) + " " + sheet.Change(r.Interval.High)
		}
		change := sheet.Change(r.Change)
		if r.Metric.Key == diff.KeyFailedShare {
			change = ""
		}
		rows = append(rows, []string{r.Metric.Name, u.Amount(r.Metric, r.Mean), u.Amount(r.Metric, r.New), change, interval, sheet.PValue(r.Adjusted), r.Verdict.String()})
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
		for _, text := range p.Outlying(j.Ignore) {
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
	if len(j.Accepted) > 0 && j.New.Outlying(j.Ignore) != nil {
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
	return slices.ContainsFunc(j.Levels, func(l JudgedLevel) bool {
		return slices.ContainsFunc(l.Rows, func(r Judged) bool { return !math.IsNaN(r.Adjusted) })
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
func (j *Judgement) reasons() []string {
	var order []string
	metrics := map[string][]string{}
	for i := range j.Levels {
		for k := range j.Levels[i].Rows {
			r := &j.Levels[i].Rows[k]
			if r.NA == "" {
				continue
			}
			if metrics[r.NA] == nil {
				order = append(order, r.NA)
			}
			metrics[r.NA] = append(metrics[r.NA], r.Metric.Name+" at "+j.Levels[i].Name)
		}
	}
	var lines []string
	for _, why := range order {
		lines = append(lines, fmt.Sprintf("n/a: %s: %s", strings.Join(metrics[why], ", "), why))
	}
	return lines
}
