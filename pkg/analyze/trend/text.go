package trend

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/runset"
)

// primaryMark follows the names of primary metrics.
const primaryMark = " *"

// Text writes the history for people, in lines of at most width characters; 0 is no limit.
func Text(res *Result, width int) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		line := func(text string) { b.WriteString(report.Wrap(text, "", "  ", width)) }
		line(res.Headline())
		line(res.source())
		if rows := res.Set.DifferenceRows(); rows != nil {
			b.WriteString("\n" + runset.TextTable(rows, "", width))
		}
		for i := range res.Levels {
			l := &res.Levels[i]
			b.WriteString("\n" + sanitize.Text(l.Name) + "\n" + runset.TextTable(res.table(l), "  ", width))
		}
		for i, note := range res.notes() {
			if i == 0 {
				b.WriteByte('\n')
			}
			line(note)
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// Markdown writes the history for a pull request or a wiki.
func Markdown(res *Result) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		fmt.Fprintf(&b, "**%s**\n\n%s\n", sanitize.Markdown(res.Headline()), sanitize.Markdown(res.source()))
		b.WriteString(runset.MarkdownTable(res.Set.DifferenceRows()))
		for i := range res.Levels {
			l := &res.Levels[i]
			fmt.Fprintf(&b, "\n#### %s\n", sanitize.Markdown(l.Name))
			b.WriteString(runset.MarkdownTable(res.table(l)))
		}
		for _, note := range res.notes() {
			fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(note))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// source returns the line with the numbers of points and runs, and the definitions of the
// metrics.
func (res *Result) source() string {
	return fmt.Sprintf("%s of %s, %s", plural.Of(len(res.Points), "point"), plural.Of(len(res.Set.Runs), "run"), res.Set.Runs[0].Measured())
}

// table returns one row for each metric: the value of each point, and the steps.
func (res *Result) table(l *Level) [][]string {
	u := res.Set.Units()
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
			steps = append(steps, fmt.Sprintf("%s%% (%s to %s) from %s", signed(s.Change), signed(s.Interval.Low), signed(s.Interval.High), sanitize.Text(res.Points[s.At].Label)))
		}
		rows = append(rows, append(cells, strings.Join(steps, ", ")))
	}
	return rows
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
			if r.NA != "" && r.Metric.Primary && r.Metric.Key != "failed_share" && !seen[r.NA] {
				seen[r.NA] = true
				notes = append(notes, "steps not searched: "+r.NA)
			}
		}
	}
	return notes
}

// JudgementText writes a judgement for people, in lines of at most width characters; 0 is
// no limit.
func JudgementText(j *Judgement, width int) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		line := func(text string) { b.WriteString(report.Wrap(text, "", "  ", width)) }
		line(j.Headline())
		line(j.source())
		if rows := j.Set.DifferenceRows(); rows != nil {
			b.WriteString("\n" + runset.TextTable(rows, "", width))
		}
		for i := range j.Levels {
			b.WriteString("\n" + sanitize.Text(j.Levels[i].Name) + "\n" + runset.TextTable(j.table(&j.Levels[i]), "  ", width))
		}
		for i, note := range j.notes() {
			if i == 0 {
				b.WriteByte('\n')
			}
			line(note)
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// JudgementMarkdown writes a judgement for a pull request or the summary of a job.
func JudgementMarkdown(j *Judgement) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		fmt.Fprintf(&b, "**%s**\n\n%s\n", sanitize.Markdown(j.Headline()), sanitize.Markdown(j.source()))
		b.WriteString(runset.MarkdownTable(j.Set.DifferenceRows()))
		for i := range j.Levels {
			fmt.Fprintf(&b, "\n#### %s\n", sanitize.Markdown(j.Levels[i].Name))
			b.WriteString(runset.MarkdownTable(j.table(&j.Levels[i])))
		}
		for _, note := range j.notes() {
			fmt.Fprintf(&b, "\n%s\n", sanitize.Markdown(note))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// source returns the line with the numbers of points and runs, and the definitions of the
// metrics.
func (j *Judgement) source() string {
	runs := 0
	for i := range j.Accepted {
		runs += len(j.Accepted[i].Runs)
	}
	return fmt.Sprintf("%s of %s → %s, %s", plural.Of(len(j.Accepted), "accepted point"), plural.Of(runs, "run"), plural.Of(len(j.New.Runs), "new run"), j.New.Runs[0].Measured())
}

// table returns the rows of a level's table, the header first.
func (j *Judgement) table(l *JudgedLevel) [][]string {
	u := j.Set.Units()
	rows := [][]string{{"", "accepted", "new", "change", "interval", "p", "verdict"}}
	for i := range l.Rows {
		r := &l.Rows[i]
		interval, p := "", ""
		if !math.IsNaN(r.Interval.Low) {
			interval = runset.Change(r.Interval.Low) + " " + runset.Change(r.Interval.High)
		}
		if !math.IsNaN(r.Adjusted) {
			p = pValue(r.Adjusted)
		}
		change := runset.Change(r.Change)
		if r.Metric.Key == "failed_share" {
			change = ""
		}
		rows = append(rows, []string{r.Metric.Name, u.Amount(r.Metric, r.Mean), u.Amount(r.Metric, r.New), change, interval, p, r.Verdict.String()})
	}
	return rows
}

// notes returns the sentences below the tables.
func (j *Judgement) notes() []string {
	if len(j.Set.Refused()) > 0 {
		return nil
	}
	var notes []string
	if j.DaysUnknown {
		notes = append(notes, fmt.Sprintf("Fewer than %d points are accepted, so it is unknown how much points differ from day to day. The runs are compared as if points did not differ.", minPerSide))
	} else {
		notes = append(notes, "The interval is for the change from the accepted points to one more point. It includes how much points differ by chance.")
	}
	if j.Allow > 0 {
		notes = append(notes, fmt.Sprintf("Changes of up to %s pass.", runset.Percent(j.Allow)))
	}
	for i := range j.Levels {
		for k := range j.Levels[i].Rows {
			if r := &j.Levels[i].Rows[k]; r.NA != "" {
				notes = append(notes, fmt.Sprintf("n/a: %s at %s: %s", r.Metric.Name, sanitize.Text(j.Levels[i].Name), r.NA))
			}
		}
	}
	for _, name := range j.Missing {
		notes = append(notes, "level of the accepted points that the new runs lack: "+sanitize.Text(name))
	}
	return notes
}

// pValue formats a p-value with three decimals.
func pValue(p float64) string {
	if p < 0.0005 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", p)
}
