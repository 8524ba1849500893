package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/pareto"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/answer"
)

// A Page is what a file shows.
type Page struct {
	// Runs are the runs, in the order of the command line; in a comparison all old runs come first.
	Runs []Run
	// Pareto compares the levels of all runs; nil if it was not computed.
	Pareto *pareto.Result
	// Diff is the comparison of the runs; nil for no comparison.
	Diff *diff.Result
	// Program is the program that writes the page, with its version.
	Program string
}

// A Run is a run on a page.
type Run struct {
	*view.Run
	// Side is the name of the side in a comparison, "old" or "new" if it has no other; else "".
	Side string

	// economics holds the economics of each level, which the report has only if it was asked for.
	economics []*figure.Economics
	// sessions holds the sessions of each level, with their trees. The report has them only if they were asked for.
	sessions []*figure.Sessions

	name, short string   // for people
	levels      []string // names of the levels, each one different
	detailed    int      // number of levels with all their parts; the others have a row in the sweep
}

// mostDetailed is the number of levels of all runs whose tables, charts and requests are on the
// page. Each takes about 30 kB.
const mostDetailed = 500

// HTML writes the page. Level i of a run must be experiment i of its report.
func HTML(p Page) sheet.Renderer {
	return func(w io.Writer) error {
		d, err := newDocument(&p)
		if err != nil {
			return err
		}
		return layout().Execute(w, d)
	}
}

// layout returns the template of the page.
var layout = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.tmpl").Parse(file("page.tmpl")))
})

// A document is what the template shows.
type document struct {
	assets

	Title    string
	Subtitle string
	Program  string

	Diff     *comparison
	Verdicts []verdict
	Warnings []string

	LevelNames []string // of the detailed levels of all runs, each once
	FewerNotes []string // which levels have no more than a row in the sweep
	// SeriesNotes say which series over time are left out.
	SeriesNotes []string
	Runs        []runPart
	Several     bool // runs

	Sweep         []sweepTable
	SweepNotes    []string
	SweepCharts   chartGroup
	ParetoNotes   []string
	ParetoCharts  chartGroup
	Distributions chartGroup
	Timeline      template.HTML // for readers without JavaScript

	HasSessions bool // some level has

	Levels      []levelPart
	Problems    problems
	Definitions []definition
	Data        template.JS
}

// A runPart is a run in the lists of the page.
type runPart struct {
	Index int
	Name  string
	Short string
	Facts []pair
	More  []pair // calibration and shards
}

// A levelPart is a level of a run.
type levelPart struct {
	Of      string // run and level as the script names them: 0/2
	Name    string // with the run, if there are several
	Outcome string
	Metrics []metricRow
	Few     bool // some percentile has a mark
	Why     []string
	Rates   []pair
	Tables  []levelTable // of sessions
	// Sessions has a row for each session; nil without sessions.
	Sessions *sessionTable
	Rest     []pair

	// TTFT shows the parts of the TTFT; nil if no answer states times of the server, or nobody asked.
	TTFT     *ttftBar
	Heatmaps chartGroup
	Prompts  chartGroup
	TooLarge bool // for the page: neither heat maps nor prompts are drawn
}

// A levelTable is a table of cells of text.
type levelTable struct {
	Caption    string
	Heads      [][]string
	Keys, Rows [][]string // the cells of a row, and of its keys before them
}

// levelTables returns tables for the template.
func levelTables(all []sheet.Table) (tables []levelTable) {
	for _, t := range all {
		x := levelTable{Caption: t.Caption, Heads: t.Rows[:t.Heads]}
		for _, row := range t.Rows[t.Heads:] {
			x.Keys, x.Rows = append(x.Keys, row[:t.Keys]), append(x.Rows, row[t.Keys:])
		}
		tables = append(tables, x)
	}
	return tables
}

// A metricRow is a row of the table of metrics.
type metricRow struct {
	Name, Def string
	Cells     []metricCell
}

// A metricCell is a statistic. Few marks a percentile with fewer than leastAbove values above it.
type metricCell struct {
	Figure *number
	Few    bool
}

// leastAbove is the number of values above a percentile from which on it has no mark.
const leastAbove = 10

// newDocument collects what the template shows.
func newDocument(p *Page) (*document, error) {
	d := &document{assets: embedded(), Program: plain(p.Program), Several: len(p.Runs) > 1}
	d.LevelNames = nameRuns(p.Runs)
	data := make(chan result, 1)
	go func() { // it takes as long as the charts
		b, err := dataOf(p.Runs).MarshalJSON() // escapes <, >, & and the line separators of Unicode
		data <- result{b, err}
	}()
	var reports []*analyze.Report
	var inputs []report.Input
	for i := range p.Runs {
		reports = append(reports, p.Runs[i].Report)
		inputs = append(inputs, report.Input{Name: p.Runs[i].Name, Report: p.Runs[i].Report})
	}
	defs := newDefinitions(reports)
	d.Title, d.Subtitle = titles(p.Runs)
	d.Verdicts = verdicts(p.Runs)
	for _, w := range report.Warnings(inputs, false) {
		d.Warnings = append(d.Warnings, sanitize.Text(sanitize.Clip(w, 2*mostText)))
	}
	for i := range p.Runs {
		if err := d.run(&p.Runs[i], i, defs); err != nil {
			return nil, err
		}
	}
	d.sweepNote(p.Runs)
	d.Problems.finish()
	if p.Diff != nil {
		c, err := newComparison(p.Diff)
		if err != nil {
			return nil, err
		}
		d.Diff = c
	}
	d.Definitions = defs.all
	err := d.charts(p)
	x := <-data
	d.Data = template.JS(x.json)
	return d, errors.Join(err, x.err)
}

// result is the data of the page's script.
type result struct {
	json []byte
	err  error
}

// nameRuns sets the names of runs and levels, and returns the names of the detailed levels of all runs, each once.
func nameRuns(runs []Run) (levelNames []string) {
	taken := names{}
	listed := map[string]bool{}
	for i := range runs {
		r := &runs[i]
		r.detailed = min(len(r.Levels), max(1, mostDetailed/len(runs)))
		r.name = plain(r.Name)
		r.short = sanitize.Fit(plain(filepath.Base(r.Name)), 32)
		if r.Side != "" {
			r.short = r.Side + " " + r.short
		}
		r.short = taken.different(r.short)
		r.levels = nil
		levels := names{}
		for j := range r.Levels {
			level := levels.different(sanitize.Fit(plain(report.LevelName(r.Levels[j].Experiment)), 60))
			r.levels = append(r.levels, level)
			if j < r.detailed && !listed[level] {
				listed[level] = true
				levelNames = append(levelNames, level)
			}
		}
	}
	return levelNames
}

// names holds the names that are taken, and the largest number that was appended to each.
type names map[string]int

// different takes a name that is not taken: the name, or the name with a number.
func (t names) different(name string) string {
	for n := max(1, t[name]); ; n++ {
		x := name
		if n > 1 {
			x = name + " (" + strconv.Itoa(n) + ")"
		}
		if _, taken := t[x]; !taken {
			t[x] = 1
			t[name] = n
			return x
		}
	}
}

// titles returns the title of the page, and a line with the models and tools.
func titles(runs []Run) (title, subtitle string) {
	switch len(runs) {
	case 0:
		return "no run", ""
	case 1:
		title = runs[0].name
	default:
		title = runs[0].name + " and " + plural.Of(len(runs)-1, "other run")
		if last := runs[len(runs)-1]; runs[0].Side != last.Side && len(runs) == 2 {
			title = runs[0].name + " → " + last.name
		}
	}
	var facts []string
	add := func(s string) {
		if s = plain(s); s != "" && !slices.Contains(facts, s) {
			facts = append(facts, s)
		}
	}
	for i := range runs {
		add(runs[i].Report.Model)
	}
	for i := range runs {
		if m := runs[i].Report.Run.Meta; m != nil {
			add(m.Tool)
		}
	}
	const most = 6
	if len(facts) > most {
		facts = append(facts[:most:most], "…")
	}
	return title, strings.Join(facts, " · ")
}

// run adds the parts of run i.
func (d *document) run(r *Run, i int, defs *definitions) error {
	detailed := *r.Report
	detailed.Experiments = detailed.Experiments[:r.detailed]
	object, err := members(report.JSON(report.Input{Name: r.Name, Report: &detailed}))
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	whole, err := members(sheet.JSON(sheet.Object{"max_load", report.MaxLoadJSON(r.Report.MaxLoad())}))
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	w := &walker{run: i, level: -1, defs: defs}
	facts := w.pairs("run", get(object, "run"), "calibration", "shard", "merged")
	more := append(prefixed("calibration", w.pairs("run.calibration", get(object, "run", "calibration"))), prefixed("shard", w.pairs("run.shard", get(object, "run", "shard")))...)
	more = append(more, prefixed("merged", w.pairs("run.merged", get(object, "run", "merged")))...)
	facts = append(facts, prefixed("max load", w.pairs("max_load", get(whole, "max_load")))...)
	facts = append(facts, prefixed("n/a", w.pairs("unavailable", get(object, "unavailable")))...)
	if r.detailed < len(r.Levels) {
		text := fmt.Sprintf("The page shows all parts of the first %s of %s. The others appear in this table, the verdicts, the charts of all levels, and stalls and errors; html --experiment shows their parts.", plural.GroupedOf(r.detailed, "level"), plural.Grouped(len(r.Levels)))
		if d.Several {
			text = r.short + ": " + text
		}
		d.FewerNotes = append(d.FewerNotes, plain(text))
	}
	for _, text := range r.seriesNotes() {
		if d.Several {
			text = r.short + ": " + text
		}
		d.SeriesNotes = append(d.SeriesNotes, text)
	}
	d.Runs = append(d.Runs, runPart{Index: i, Name: r.name, Short: r.short, Facts: facts, More: more})
	t := sweepTable{Caption: "levels"}
	if d.Several {
		t.Caption = strings.TrimSpace(r.Side + " " + r.name)
	}
	experiments, _ := get(object, "experiments").(list)
	for j := range r.Levels {
		e := r.Levels[j].Experiment
		w := &walker{run: i, level: j, defs: defs}
		path := "experiments[" + strconv.Itoa(j) + "]"
		var value any
		if j < len(experiments) {
			value = experiments[j].value
		}
		t.add(w, r.levels[j], e, path, value)
		l := levelPart{Of: strconv.Itoa(i) + "/" + strconv.Itoa(j), Name: r.levels[j]}
		if d.Several {
			l.Name = r.short + ", " + l.Name
		}
		d.Problems.add(&r.Levels[j], i, j, l.Name, j < r.detailed)
		if j >= r.detailed {
			continue
		}
		l.reasons(e)
		l.metrics(w, e, e.Metrics, path+".metrics", get(value, "metrics"))
		for _, p := range figure.Parts {
			metrics, _ := p.Of(&e.Level)
			l.metrics(w, e, metrics, path+"."+p.Name+".metrics", get(value, p.Name, "metrics"))
		}
		if x := e.Phases; x != nil {
			l.TTFT = newTTFTBar(x.Waterfall)
		}
		l.Rates = append(prefixed("requests", w.pairs(path+".requests", get(value, "requests"))), w.pairs(path+".throughput", get(value, "throughput"))...)
		l.Rest = w.pairs(path, value, "metrics", "requests", "throughput", "warnings", "warning_kinds", "sessions")
		if x := e.Sessions; x != nil {
			l.Tables = levelTables(report.SessionTables(x, report.LevelUnits(e)))
			of := get(value, "sessions")
			l.Rest = append(l.Rest, prefixed("sessions", w.pairs(path+".sessions", of, "figures", "by_depth", "by_turn", "in_flight", "first_sessions"))...)
			w.levelFigures(&l.Rates, "sessions", path+".sessions.figures", get(of, "figures"))
		}
		if j < len(r.sessions) {
			l.Sessions = newSessionTable(r.sessions[j], report.LevelUnits(e).Request)
			d.HasSessions = d.HasSessions || l.Sessions != nil
		}
		d.Levels = append(d.Levels, l)
	}
	t.finish(r.detailed)
	d.Sweep = append(d.Sweep, t)
	return nil
}

// prefixed puts a word before the names of pairs.
func prefixed(word string, all []pair) []pair {
	for i := range all {
		all[i].Name = strings.TrimSuffix(word+" › "+all[i].Name, " › ")
	}
	return all
}

// statistics are the columns of the table of metrics, as JSON names them.
func statistics() []string {
	all := []string{"n", "mean", "std", "min"}
	for _, p := range summary.Levels {
		all = append(all, report.PercentileName(p))
	}
	return append(all, "max")
}

// Statistics returns the head of the table of metrics.
func (d *document) Statistics() []string { return statistics() }

// reasons adds to l.Why why the level lacks metrics.
func (l *levelPart) reasons(e *analyze.Experiment) {
	if e.OK == 0 {
		l.Why = append(l.Why, "no measured request succeeded, so there are no figures")
	}
	var lacking sheet.Reasons
	for _, u := range e.Unavailable {
		lacking.Add(label(u.Key), u.Why)
	}
	for names, why := range lacking.All() {
		l.Why = append(l.Why, plain(names)+": n/a ("+plain(why)+")")
	}
}

// metrics adds metrics of the level to the table of metrics.
func (l *levelPart) metrics(w *walker, e *analyze.Experiment, metrics []summary.Metric, path string, value any) {
	units := report.LevelUnits(e)
	for _, m := range metrics {
		key := m.Definition.Key()
		row := metricRow{Name: m.Definition.Label(), Def: w.defs.of(key)}
		for i, s := range statistics() {
			n, ok := get(value, key, s).(json.Number)
			if !ok {
				row.Cells = append(row.Cells, metricCell{Figure: &number{Text: "n/a"}})
				continue
			}
			text := show(m.Definition, units)
			if s == "n" {
				text = nil
			}
			c := metricCell{Figure: w.figure(path+"."+key+"."+s, n, text)}
			if p := i - 4; p >= 0 && p < len(summary.Levels) && summary.Levels[p] > 50 {
				c.Few = float64(m.Summary.N)*(100-summary.Levels[p])/100 < leastAbove
				l.Few = l.Few || c.Few
			}
			row.Cells = append(row.Cells, c)
		}
		l.Metrics = append(l.Metrics, row)
	}
}

// label returns the label of a metric by its key.
func label(key string) string {
	for i := range answer.StrictMetrics {
		if d := &answer.StrictMetrics[i]; d.Key() == key {
			return d.Label()
		}
	}
	return words(key)
}

// render returns what f writes as HTML that is safe, because f escapes its texts.
func render(f func(w io.Writer) error) (template.HTML, error) {
	var b strings.Builder
	if err := f(&b); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil
}
