package sql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
)

// An Engine is a dialect of SQL with its ways to read Parquet files.
type Engine struct {
	Name  string
	Title string // for people
	// Exact reports whether the quantiles are exact and interpolate linearly, as the report's.
	Exact bool
	// notes are comments at the head of a script.
	notes []string
	// source returns the statements that define the view or table requests over files.
	source func(files string) (string, error)
	// view returns a statement that defines a view by a query.
	view func(name, query string) string
	// gaps is the query of the view gaps: a row for each value of itl_ns of measured.
	gaps string
	// std is the function of the standard deviation over the population.
	std string
	// float returns an expression as a number of double precision.
	float func(expression string) string
	// quantile returns the quantile p, from 0 to 1, of a column.
	quantile func(column string, p float64) string
	// lastOf returns the largest element of a list.
	lastOf func(column string) string
}

// Engines lists the engines by name.
func Engines() []*Engine { return []*Engine{duckDB(), spark(), clickHouse(), trino()} }

// EngineNames returns the names of all engines.
func EngineNames() []string {
	var names []string
	for _, e := range Engines() {
		names = append(names, e.Name)
	}
	return names
}

// Script returns the views over files and the statements of the named metrics for an engine;
// of all [Metrics] if names is empty. Queries about quality ([QualityNames]) have the parameters of
// quality. files is a path, a glob or the URL of an object store. The
// error names what is not known, and what is.
func Script(engine, files string, names []string, quality analyze.QualityConfig) (string, error) {
	all := Engines()
	at := slices.IndexFunc(all, func(e *Engine) bool { return e.Name == engine })
	if at < 0 {
		return "", fmt.Errorf("unknown engine %q: give one of %s", engine, strings.Join(EngineNames(), ", "))
	}
	e := all[at]
	chosen := Metrics()
	if len(names) > 0 {
		for _, name := range names {
			if why := withoutQuery(name); why != "" {
				return "", fmt.Errorf("metric %q has no query: %s", name, why)
			}
			if known := slices.Concat(Names(), QualityNames()); !slices.Contains(known, name) {
				return "", fmt.Errorf("unknown metric %q: give one of %s", name, strings.Join(known, ", "))
			}
		}
		chosen = slices.DeleteFunc(chosen, func(m Metric) bool { return !slices.Contains(names, m.Name) })
		chosen = append(chosen, chosenQuality(names, quality)...)
	}
	if strings.ContainsFunc(files, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("files %q: a control character cannot be part of a query", files)
	}
	source, err := e.source(files)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	comment := func(text string) { fmt.Fprintf(&b, "-- %s\n", text) }
	comment("Figures of pa-analyze report in " + e.Title + ", by the columns of schemas/columns.md (pa-columns/2).")
	comment("Shards keep the times of their own clocks: rates over several machines need pa-analyze merge first.")
	for _, n := range e.notes {
		comment(n)
	}
	b.WriteString("\n-- All requests.\n" + source + ";\n")
	b.WriteString("\n-- The requests that count.\n" + e.view("measured", "SELECT * FROM requests WHERE reason = ''") + ";\n")
	if slices.ContainsFunc(chosen, func(m Metric) bool { return m.Name == "itl" }) {
		b.WriteString("\n-- The times between tokens, a row for each.\n" + e.view("gaps", e.gaps) + ";\n")
	}
	if slices.ContainsFunc(chosen, readsTokens) {
		b.WriteString("\n-- The times to single tokens of streamed requests, in ns.\n" + e.view(tokenView, tokensView(e)) + ";\n")
	}
	if slices.ContainsFunc(chosen, readsStreams) {
		b.WriteString("\n-- The streamed requests whose token times are known.\n" + e.view("streams", streamsView(e, quality)) + ";\n")
	}
	for _, m := range chosen {
		fmt.Fprintf(&b, "\n-- %s: %s.\n%s;\n", m.Name, m.Doc, m.statement(e))
	}
	return b.String(), nil
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

// castTo returns a conversion to a type.
func castTo(name string) func(string) string {
	return func(expression string) string { return fmt.Sprintf("CAST(%s AS %s)", expression, name) }
}
