package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/export"
)

// Definitions holds the definitions and values of several dialects for one load level.
type Definitions struct {
	Name        string // of the file
	Mode, Value string // of the level
	// Width is the greatest number of columns of the table's lines; 0 means no limit.
	Width int
	explain.Comparison
}

// units chooses the units of the measures from the values of all dialects.
func (d *Definitions) units() Units {
	var token, request []float64
	for _, m := range d.Measures {
		for i := range m.Rows {
			switch r := &m.Rows[i]; {
			case !r.Has() || m.Measure.Unit() != explain.Nanoseconds:
			case m.Measure == explain.Latency:
				request = append(request, r.Values.Mean)
			default:
				token = append(token, r.Values.Mean)
			}
		}
	}
	return UnitsOf(token, request)
}

// definitionCells formats the values of the rows of a measure in one unit, and returns
// the unit.
func definitionCells(m explain.MeasureRows, u *Units) (rows [][4]string, unit string) {
	sc := TimeUnit{"", 1}
	switch m.Measure.Unit() {
	case explain.Nanoseconds:
		sc = u.Token
		if m.Measure == explain.Latency {
			sc = u.Request
		}
	case explain.PerSecond:
		sc.name = "1/s"
	case explain.Tokens:
		sc.name = "tokens"
	}
	text := func(v float64) string {
		if math.IsNaN(v) {
			return "–"
		}
		if m.Measure.Unit() == explain.Tokens || m.Measure.Unit() == explain.Count {
			return count(v)
		}
		return Number(v / sc.per)
	}
	for _, r := range m.Rows {
		if !r.Has() {
			rows = append(rows, [4]string{"n/a"})
			continue
		}
		n := "–"
		if !math.IsNaN(r.Values.P50) {
			n = fmt.Sprint(r.Values.N)
		}
		rows = append(rows, [4]string{text(r.Values.Mean), text(r.Values.P50), text(r.Values.P99), n})
	}
	return rows, sc.name
}

// shown returns the measures that some dialect has a value of.
func (d *Definitions) shown() []explain.MeasureRows {
	var all []explain.MeasureRows
	for _, m := range d.Measures {
		if slices.ContainsFunc(m.Rows, func(r explain.Row) bool { return r.Has() }) {
			all = append(all, m)
		}
	}
	return all
}

// rowLines returns the lines of a row below its values: the definition, why there is no
// value, and why the value differs from the strict one.
func rowLines(r *explain.Row) []string {
	var all []string
	if r.Formula != "" {
		all = append(all, "= "+r.Name+": "+r.Formula)
	}
	if r.NA != "" {
		all = append(all, "n/a: "+r.NA)
	}
	for _, d := range r.Differs {
		all = append(all, "≠ "+d)
	}
	return all
}

// DefinitionsTable writes definitions as tables for people.
func DefinitionsTable(d *Definitions) Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		u := d.units()
		width := (&Options{Width: d.Width}).textWidth()
		b.WriteString(sheet.Wrap(fmt.Sprintf("%s, %s", plain(d.Name), plain(export.LoadName(d.Mode, d.Value))), "", "  ", d.Width))
		b.WriteString(sheet.Wrap("= definition, ≠ why it differs from strict (pa-analyze's own)", "", "  ", d.Width))
		for _, m := range d.shown() {
			cells, unit := definitionCells(m, &u)
			title := m.Measure.Words()
			if unit != "" {
				title += " (" + unit + ")"
			}
			g := newGrid(1, 1)
			g.Add(title, "mean", "p50", "p99", "n")
			for i := range m.Rows {
				g.Add(append([]string{"  " + explain.Family(m.Rows[i].Dialects)}, cells[i][:]...)...)
			}
			limit := 0
			if d.Width > 0 {
				limit = max(d.Width, leastWidth)
				g.Fit(0, limit)
			}
			table := g.Text("", limit)
			b.WriteByte('\n')
			lines := strings.SplitAfter(strings.TrimSuffix(table, "\n"), "\n")
			inParts := len(lines) > 1+len(m.Rows) // then the definitions follow all parts
			if inParts {
				b.WriteString(table + "\n")
			} else {
				b.WriteString(lines[0])
			}
			for i := range m.Rows {
				if inParts {
					b.WriteString("  " + explain.Family(m.Rows[i].Dialects) + "\n")
				} else {
					b.WriteString(strings.TrimSuffix(lines[i+1], "\n") + "\n")
				}
				for _, l := range rowLines(&m.Rows[i]) {
					b.WriteString(sheet.Wrap(plain(l), "      ", "        ", width))
				}
			}
		}
		if len(d.Remarks) > 0 {
			b.WriteByte('\n')
		}
		for _, r := range d.Remarks {
			b.WriteString(sheet.Wrap(explain.Family(r.Dialects)+": "+plain(r.Text), "", "  ", width))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// DefinitionsMarkdown writes definitions as tables in the Markdown of GitHub.
func DefinitionsMarkdown(d *Definitions) Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		u := d.units()
		fmt.Fprintf(&b, "### %s, %s\n", sanitize.Markdown(d.Name), sanitize.Markdown(export.LoadName(d.Mode, d.Value)))
		for _, m := range d.shown() {
			cells, unit := definitionCells(m, &u)
			if unit != "" {
				unit = " (" + unit + ")"
			}
			fmt.Fprintf(&b, "\n#### %s%s\n\n| dialect | mean | p50 | p99 | n | definition | why not as strict |\n|---|--:|--:|--:|--:|---|---|\n", sanitize.Markdown(m.Measure.Words()), unit)
			for i := range m.Rows {
				r := &m.Rows[i]
				definition := sanitize.Markdown(r.Formula)
				if r.NA != "" {
					definition = strings.TrimPrefix(definition+"; ", "; ") + "n/a: " + sanitize.Markdown(r.NA)
				}
				var why []string
				for _, x := range r.Differs {
					why = append(why, sanitize.Markdown(x))
				}
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", sanitize.Markdown(explain.Family(r.Dialects)), strings.Join(cells[i][:], " | "), definition, strings.Join(why, "<br>"))
			}
		}
		if len(d.Remarks) > 0 {
			b.WriteByte('\n')
		}
		for _, r := range d.Remarks {
			fmt.Fprintf(&b, "- %s: %s\n", sanitize.Markdown(explain.Family(r.Dialects)), sanitize.Markdown(r.Text))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// DefinitionsJSON writes one object in the layout of
// schemas/definitions.schema.json, with all measures.
func DefinitionsJSON(d *Definitions) Renderer {
	return sheet.JSON(sheet.Object{
		"schema", "pa-definitions/1", "file", d.Name, "mode", d.Mode, "value", d.Value,
		"measures", sheet.List(d.Measures, func(m *explain.MeasureRows) sheet.Object {
			return sheet.Object{"measure", m.Measure, "words", m.Measure.Words(), "unit", m.Measure.Unit(), "rows", sheet.List(m.Rows, jsonDefinition)}
		}),
		"remarks", sheet.List(d.Remarks, func(r *explain.Remark) sheet.Object { return sheet.Object{"dialects", r.Dialects, "text", r.Text} }),
	})
}

func jsonDefinition(r *explain.Row) sheet.Object {
	var values sheet.Object
	na := r.NA
	switch {
	case r.Has() && math.IsInf(r.Values.Mean, 0):
		na = "infinite"
	case r.Has():
		values = sheet.Object{"n", r.Values.N, "mean", r.Values.Mean, "p50", r.Values.P50, "p99", r.Values.P99}
	}
	return sheet.Object{
		"dialects", r.Dialects, "name", sheet.Opt(r.Name), "definition", sheet.Opt(r.Formula), "values", values, "na", sheet.Opt(na), "differs", r.Differs,
	}
}
