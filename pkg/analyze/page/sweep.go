package page

import (
	"encoding/json"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
)

// units formats the times of a level: one unit for the times of tokens, one for the times of requests.
type units struct{ token, request report.TimeUnit }

// unitsOf chooses the units that suit the metrics of a level.
func unitsOf(e *analyze.Experiment) units {
	token, request := report.LevelUnits(e)
	return units{token, request}
}

// of returns how the values of a metric are shown.
func (u units) of(d *analyze.Definition) func(float64) string {
	switch {
	case d.Unit() != answer.Nanoseconds:
		return report.Number
	case d.Metric == answer.E2EL:
		return u.request.Span
	case d.Metric == answer.FluidInterval:
		return func(ns float64) string {
			if ns == 1 { // every interval is long enough
				ns = 0
			}
			return u.token.Span(ns)
		}
	}
	return u.token.Span
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
	metric    *analyze.Definition
}

type sweepRow struct {
	Name  string
	Cells []*figure // nil: no value
}

// columnsOfSweep returns the columns of the table.
func columnsOfSweep() []sweepColumn {
	all := []sweepColumn{{Name: "ok", path: []string{"requests", "ok"}}, {Name: "failed", path: []string{"requests", "failed"}}, {Name: "sent/s", path: []string{"sent_requests_per_s"}}}
	for _, m := range []answer.Metric{answer.TTFT, answer.ITL, answer.E2EL} {
		d := &analyze.Strict[m]
		for _, s := range []string{"n", "p50", "p99"} {
			all = append(all, sweepColumn{Name: d.Label() + " " + s, path: []string{"metrics", d.Key(), s}, metric: d})
		}
	}
	return append(all,
		sweepColumn{Name: "output tokens/s", path: []string{"throughput", "output_tokens_per_s"}},
		sweepColumn{Name: "requests/s", path: []string{"throughput", "requests_per_s"}},
		sweepColumn{Name: "SLO attained", path: []string{"slo", "attained"}},
	)
}

// add adds the row of a level.
func (t *sweepTable) add(w *walker, name string, e *analyze.Experiment, path string, value any) {
	if t.Head == nil {
		t.Head = columnsOfSweep()
	}
	row := sweepRow{Name: name}
	u := unitsOf(e)
	for i := range t.Head {
		c := &t.Head[i]
		n, ok := get(value, c.path...).(json.Number)
		if !ok {
			row.Cells = append(row.Cells, nil)
			continue
		}
		c.used = true
		var show func(float64) string
		switch last := c.path[len(c.path)-1]; {
		case last == "attained":
			show = percent
		case c.metric != nil && last != "n":
			show = u.of(c.metric)
		}
		at := path
		for _, k := range c.path {
			at += "." + k
		}
		row.Cells = append(row.Cells, w.figure(at, n, show))
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

// finish drops the columns without a value.
func (t *sweepTable) finish() {
	var head []sweepColumn
	for _, c := range t.Head {
		if c.used {
			head = append(head, c)
		}
	}
	for i := range t.Rows {
		var cells []*figure
		for j, c := range t.Head {
			if c.used {
				cells = append(cells, t.Rows[i].Cells[j])
			}
		}
		t.Rows[i].Cells = cells
	}
	t.Head = head
}

// sweepNote says what the sweep says about the highest load, or why there is no sweep: each text
// once, with the runs that it is about.
func (d *document) sweepNote(runs []Run) {
	var texts []string
	about := map[string][]string{}
	for i := range runs {
		r := &runs[i]
		text := ""
		switch m := r.Report.MaxLoad(); {
		case m != nil:
			text = report.MaxLoad(m)
		case len(r.Levels) < 2:
			text = sweepNeeds + "this run has " + count(len(r.Levels))
		default:
			text = "the highest load that meets an objective: n/a (no objective was given; --slo gives one)"
		}
		if about[text] == nil {
			texts = append(texts, text)
		}
		about[text] = append(about[text], r.short)
	}
	for _, text := range texts {
		switch {
		case !d.Several:
		case len(texts) > 1:
			text = strings.Join(about[text], ", ") + ": " + text
		default:
			text = strings.Replace(text, sweepNeeds+"this run has", sweepNeeds+"each run has", 1)
		}
		d.SweepNotes = append(d.SweepNotes, plain(text))
	}
}

// sweepNeeds begins the note of runs without several levels.
const sweepNeeds = "a sweep needs several load levels, and "

// count writes a small number in a sentence.
func count(n int) string {
	if n == 0 {
		return "none"
	}
	return "one"
}
