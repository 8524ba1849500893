package sql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
)

// An engine is a dialect of SQL with its ways to read Parquet files.
type engine struct {
	name  string
	title string // for people
	// notes are comments at the head of a script.
	notes []string
	// source returns the statements that define the view or table requests over files.
	source func(files string) (string, error)
	// view returns a statement that defines a view by a query.
	view func(name, query string) string
	// rows returns the query of the view windows, which consists of the given rows.
	rows func(rows string) string
	// gaps is the end of the query of the view gaps, which has a row for each value of itl_ns in measured.
	gaps string
	// std is the function of the standard deviation over the population.
	std string
	// float returns an expression as a number of double precision.
	float func(expression string) string
	// quantile returns the quantile p, from 0 to 1, of a column.
	quantile func(column string, p float64) string
	// lastOf returns the largest element of a list.
	lastOf func(column string) string

	// group lists the columns that identify a row of a result, and order the columns that sort the rows. all
	// is the view of all requests: allView or windowedView.
	group, order, all string
}

// windowed reports whether the levels are divided into windows.
func (e *engine) windowed() bool { return e.all != allView }

// The views of all requests: allView without windows, and windowedView, which has the window of each request.
const (
	allView      = "requests"
	windowedView = "windowed"
)

// A Query says what a script computes.
type Query struct {
	// Files is a path, a glob or the URL of an object store.
	Files string
	// Metrics are names of [Names], [QualityNames] and [PhaseNames]; none for all [Names].
	Metrics []string
	// Quality holds the parameters of the queries about quality.
	Quality quality.Config
	// Windows divides the levels; none for whole levels.
	Windows []analyze.LevelWindows
}

// engines returns all engines.
func engines() []*engine { return []*engine{duckDB(), spark(), clickHouse(), trino()} }

// EngineNames returns the names of all engines.
func EngineNames() []string {
	var all []string
	for _, e := range engines() {
		all = append(all, e.name)
	}
	return all
}

// Script returns the views over the files of q and the statements of its metrics for an engine. The error
// names the unknown engine or metric, and lists the known ones.
func Script(name string, q Query) (string, error) {
	all := engines()
	at := slices.IndexFunc(all, func(e *engine) bool { return e.name == name })
	if at < 0 {
		return "", fmt.Errorf("unknown engine %q: give one of %s", name, strings.Join(EngineNames(), ", "))
	}
	e := all[at]
	chosen, err := q.metrics()
	if err != nil {
		return "", err
	}
	if strings.ContainsFunc(q.Files, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("files %q: a control character cannot be part of a query", q.Files)
	}
	source, err := e.source(q.Files)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	comment := func(text string) { fmt.Fprintf(&b, "-- %s\n", text) }
	view := func(doc, name, query string) { fmt.Fprintf(&b, "\n-- %s\n%s;\n", doc, e.view(name, query)) }
	comment("Figures of pa-analyze report in " + e.title + ", by the columns of schemas/columns.md (pa-columns/2).")
	comment("Shards keep the times of their own clocks: rates over several machines need pa-analyze merge first.")
	for _, n := range e.notes {
		comment(n)
	}
	b.WriteString("\n-- All requests.\n" + source + ";\n")
	e.group, e.order, e.all = levelColumns, "experiment", allView
	if len(q.Windows) > 0 {
		e.group, e.order, e.all = levelColumns+", window_number", "experiment, window_number", windowedView
		view("The windows of each level: from_ns is in the window, to_ns is the first nanosecond after it.", "windows", e.rows(windowRows(q.Windows)))
		view("The requests that started in a window, with this window. Without a start, the issue, schedule or end decides.", windowedView,
			"SELECT * FROM (\n  SELECT *, "+placeInstant+" AS placed_ns FROM "+allView+"\n) AS placed JOIN windows ON experiment = level AND placed_ns >= from_ns AND placed_ns < to_ns")
	}
	view("The requests that count.", "measured", "SELECT * FROM "+e.all+" WHERE reason = ''")
	if slices.ContainsFunc(chosen, func(m metric) bool { return m.name == "itl" }) {
		view("The times between tokens, a row for each.", "gaps", "SELECT "+e.group+", "+e.gaps)
	}
	if slices.ContainsFunc(chosen, readsTokens) {
		view("The times to single tokens of streamed requests, in ns.", string(answer.ViewTokens), tokensView(e))
	}
	if slices.ContainsFunc(chosen, readsStreams) {
		view("The streamed requests whose token times are known.", "streams", streamsView(e, q.Quality))
	}
	for _, m := range chosen {
		if why := withoutWindows(m.name); e.windowed() && why != "" {
			fmt.Fprintf(&b, "\n-- %s: n/a in windows: %s.\n", m.name, why)
			continue
		}
		statement := m.statement(e)
		fmt.Fprintf(&b, "\n-- %s: %s.\n", m.name, m.doc)
		for _, c := range m.columns {
			if strings.Contains(statement, " AS "+c.name) { // windows have no rates
				comment("  " + c.name + ": " + c.figure.Definition())
			}
		}
		b.WriteString(statement + ";\n")
	}
	return b.String(), nil
}

// metrics returns the metrics of q.
func (q *Query) metrics() ([]metric, error) {
	chosen := metrics()
	if len(q.Metrics) == 0 {
		return chosen, nil
	}
	for _, name := range q.Metrics {
		if why := withoutQuery(name); why != "" {
			return nil, fmt.Errorf("metric %q has no query: %s", name, why)
		}
		if why := withoutWindows(name); len(q.Windows) > 0 && why != "" {
			return nil, fmt.Errorf("metric %q has no query for windows: %s", name, why)
		}
		if known := slices.Concat(Names(), QualityNames(), PhaseNames()); !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown metric %q: give one of %s", name, strings.Join(known, ", "))
		}
	}
	return among(slices.Concat(chosen, qualityMetrics(q.Quality), phaseMetrics()), q.Metrics), nil
}

// text returns s as a string literal in which a quote is doubled.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// decimal formats a quantile without an exponent: 0.999.
func decimal(p float64) string {
	return strconv.FormatFloat(p, 'g', 6, 64)
}

// called returns a quantile as function(column, p).
func called(function string) func(column string, p float64) string {
	return func(column string, p float64) string { return fmt.Sprintf("%s(%s, %s)", function, column, decimal(p)) }
}

// castToDouble returns an expression as a number of double precision.
func castToDouble(expression string) string { return "CAST(" + expression + " AS DOUBLE)" }
