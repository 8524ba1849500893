package page

import (
	"encoding/json"
	"html/template"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
)

// show returns how the values of a metric are shown.
func show(d *answer.Definition, u report.Units) func(float64) string {
	unit := u.Of(d)
	switch {
	case d.Unit() != answer.Nanoseconds:
		return report.Number
	case d.Metric == answer.FluidInterval:
		return func(ns float64) string {
			if ns == 1 { // every interval is long enough
				ns = 0
			}
			return unit.Span(ns)
		}
	}
	return unit.Span
}

// A sweepTable has a row for each level of a run.
type sweepTable struct {
	Caption string
	Head    []sweepColumn
	Rows    []sweepRow
}

type sweepColumn struct {
	Name, Def string
	used      bool
	path      []string // in a level
	metric    *answer.Definition
	// of returns the value that a level has at the path; false for none.
	of func(*analyze.Experiment) (float64, bool)
}

type sweepRow struct {
	Name  string
	Cells []*number     // nil: no value
	Plain template.HTML // the cells of a level without paths, which take long in a template; "" for others
}

// columnsOfSweep returns the columns of the table.
func columnsOfSweep() []sweepColumn {
	count := func(of func(*analyze.Experiment) int) func(*analyze.Experiment) (float64, bool) {
		return func(e *analyze.Experiment) (float64, bool) { return float64(of(e)), true }
	}
	rate := func(of func(*analyze.Experiment) figure.Rate) func(*analyze.Experiment) (float64, bool) {
		return func(e *analyze.Experiment) (float64, bool) { return of(e).PerSecond, of(e).OK }
	}
	all := []sweepColumn{
		{Name: "ok", path: []string{"requests", "ok"}, of: count(func(e *analyze.Experiment) int { return e.OK })},
		{Name: "failed", path: []string{"requests", "failed"}, of: count((*analyze.Experiment).FailedRequests)},
		{Name: "sent/s", path: []string{"sent_requests_per_s"}, of: rate(func(e *analyze.Experiment) figure.Rate { return e.Sent })},
	}
	for _, m := range []answer.Metric{answer.TTFT, answer.ITL, answer.E2EL} {
		d := &answer.StrictMetrics[m]
		for _, s := range []struct {
			key string
			of  func(*summary.Summary) float64
		}{
			{"n", func(s *summary.Summary) float64 { return float64(s.N) }},
			{"p50", func(s *summary.Summary) float64 { return s.P(50) }},
			{"p99", func(s *summary.Summary) float64 { return s.P(99) }},
		} {
			all = append(all, sweepColumn{Name: d.Label() + " " + s.key, path: []string{"metrics", d.Key(), s.key}, metric: d, of: func(e *analyze.Experiment) (float64, bool) {
				if x := e.Metric(m); x != nil {
					return s.of(x), true
				}
				return 0, false
			}})
		}
	}
	return append(all,
		sweepColumn{Name: "output tokens/s", path: []string{"throughput", "output_tokens_per_s"}, of: rate(func(e *analyze.Experiment) figure.Rate { return e.Throughput.OutputTokens })},
		sweepColumn{Name: "requests/s", path: []string{"throughput", "requests_per_s"}, of: rate(func(e *analyze.Experiment) figure.Rate { return e.Throughput.Requests })},
		sweepColumn{Name: "SLO attained", path: []string{"slo", "attained"}, of: func(e *analyze.Experiment) (float64, bool) {
			if e.SLO == nil {
				return 0, false
			}
			return e.SLO.Share.V, e.SLO.Share.OK
		}},
	)
}

// figureOf returns the figure of a column of the level e, whose times have the units u; nil for none. value is the level in the JSON at path; nil
// if it is not decoded, and then the figure has no path.
func (c *sweepColumn) figureOf(w *walker, e *analyze.Experiment, u report.Units, path string, value any) *number {
	var n json.Number
	if value == nil {
		v, ok := c.of(e)
		if !ok {
			return nil
		}
		n, path = json.Number(strconv.FormatFloat(v, 'f', -1, 64)), ""
	} else {
		var ok bool
		if n, ok = get(value, c.path...).(json.Number); !ok {
			return nil
		}
		path += "." + strings.Join(c.path, ".")
	}
	var text func(float64) string
	switch last := c.path[len(c.path)-1]; {
	case last == "attained":
		text = percent
	case c.metric != nil && last != "n":
		text = show(c.metric, u)
	}
	return w.figure(path, n, text)
}

// add adds the row of a level, which is value in the JSON at path: see figureOf.
func (t *sweepTable) add(w *walker, name string, e *analyze.Experiment, path string, value any) {
	if t.Head == nil {
		t.Head = columnsOfSweep()
	}
	row := sweepRow{Name: name}
	u := report.LevelUnits(e)
	for i := range t.Head {
		c := &t.Head[i]
		f := c.figureOf(w, e, u, path, value)
		row.Cells = append(row.Cells, f)
		if f == nil {
			continue
		}
		c.used = true
		if c.Def == "" {
			key := c.path[len(c.path)-1]
			if c.metric != nil {
				key = c.metric.Key()
			}
			c.Def = w.defs.of(key)
		}
	}
	t.Rows = append(t.Rows, row)
}

// finish drops the columns without a value. Rows from detailed on have figures without paths.
func (t *sweepTable) finish(detailed int) {
	var head []sweepColumn
	for _, c := range t.Head {
		if c.used {
			head = append(head, c)
		}
	}
	for i := range t.Rows {
		var cells []*number
		for j, c := range t.Head {
			if c.used {
				cells = append(cells, t.Rows[i].Cells[j])
			}
		}
		if t.Rows[i].Cells = cells; i >= detailed {
			t.Rows[i].Plain = plainCells(cells)
		}
	}
	t.Head = head
}

// plainCells returns the cells of figures without paths as the template writes them.
func plainCells(cells []*number) template.HTML {
	var b strings.Builder
	for _, f := range cells {
		if f == nil {
			b.WriteString(`<td><span class="na">n/a</span></td>`)
			continue
		}
		b.WriteString("<td><span>" + template.HTMLEscapeString(f.Text) + "</span></td>")
	}
	return template.HTML(b.String())
}

// sweepNote says what the sweep says about the highest load, or why there is no sweep: each text
// once, with the runs that it is about.
func (d *document) sweepNote(runs []Run) {
	var texts sheet.Reasons
	for i := range runs {
		r := &runs[i]
		text := "the highest load that meets an objective: n/a (no objective was given; --slo gives one)"
		switch m := r.Report.MaxLoad(); {
		case m != nil:
			text = report.MaxLoad(m)
		case len(r.Levels) < 2:
			text = sweepNeeds + "this run has " + noneOrOne(len(r.Levels))
		}
		texts.Add(r.short, text)
	}
	for about, text := range texts.All() {
		switch {
		case !d.Several:
		case texts.Len() > 1:
			text = about + ": " + text
		default:
			text = strings.Replace(text, sweepNeeds+"this run has", sweepNeeds+"each run has", 1)
		}
		d.SweepNotes = append(d.SweepNotes, plain(text))
	}
}

// sweepNeeds begins the note of runs without several levels.
const sweepNeeds = "a sweep needs several load levels, and "

// noneOrOne writes 0 or 1 in a sentence.
func noneOrOne(n int) string {
	if n == 0 {
		return "none"
	}
	return "one"
}
