package aiperf

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/py"
)

// Console writes profile_export_console.txt for a console of width columns; AIPerf writes
// it for 140.
func (r *Report) Console(w io.Writer, width int) error {
	var b strings.Builder
	b.WriteString("\n\n")
	if r.cancelled {
		b.WriteString("NVIDIA AIPerf | INCOMPLETE RESULTS\n" + r.release.incomplete + "\nThese metrics were computed over a subset of the run and must not be compared against complete runs.\n\n\n")
	}
	if len(r.Errors) > 0 {
		b.WriteString(r.errorTable(width) + "\n\n")
	}
	tables := []struct {
		title  string
		groups []group
	}{
		{": Effective", []group{effectiveGroup}},
		{": Active", []group{activeGroup}},
		{": Usage", []group{usageGroup}},
		{"", []group{mainGroup}},
	}
	if r.cancelled { // only the last two tables; the main one includes the other groups
		tables = tables[2:]
		tables[1].groups = []group{mainGroup, effectiveGroup, activeGroup}
	}
	for _, t := range tables {
		b.WriteString(r.table("NVIDIA AIPerf | LLM Metrics"+t.title, t.groups, width))
	}
	if r.hint {
		b.WriteString("\n" + wrapped(r.release.cacheHint, width))
	}
	b.WriteString(r.notices(width))
	_, err := io.WriteString(w, b.String())
	return err
}

// table returns the table of the first group. With several groups, the effective and
// active metrics and the credit-to-start latency follow it. It returns "" for no rows.
func (r *Report) table(title string, groups []group, width int) string {
	t := py.RichTable{Title: title, Columns: []py.RichColumn{{Header: "Metric"}}}
	for _, s := range r.release.consoleStats {
		t.Columns = append(t.Columns, py.RichColumn{Header: s})
	}
	for pass := range min(2, len(groups)) {
		for i := range r.Metrics {
			m := &r.Metrics[i]
			c := r.release.column(m.Tag)
			in := c.group == groups[0]
			if pass == 1 {
				in = c.group == effectiveGroup || c.group == activeGroup || c.tag == "credit_to_start_latency"
			}
			if !in {
				continue
			}
			row := []string{c.label(r.release.maxHeader)}
			for _, s := range r.release.consoleStats {
				row = append(row, cell(m.Stat(s)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return ""
	}
	return t.Render(width)
}

// label returns the name of a row. A name longer than maxHeader has its unit on a line of
// its own.
func (c *column) label(maxHeader int) string {
	if len(c.header) > maxHeader {
		return c.header + "\n(" + c.unit + ")"
	}
	return c.header + " (" + c.unit + ")"
}

func cell(v float64) string {
	if math.IsNaN(v) {
		return "N/A"
	}
	return py.Grouped(v, 2)
}

// errorTable returns the table of failures.
func (r *Report) errorTable(width int) string {
	t := py.RichTable{Title: "NVIDIA AIPerf | Error Summary", Columns: []py.RichColumn{{Header: "Code"}, {Header: "Type"}, {Header: "Message", Left: true}, {Header: "Count"}}}
	for _, e := range r.Errors {
		code := "N/A"
		if e.Code != 0 {
			code = strconv.Itoa(e.Code)
		}
		t.Rows = append(t.Rows, []string{code, e.Type, e.Message, fmt.Sprint(e.Count)})
	}
	return t.Render(width)
}

// wrapped breaks text between words into lines of that many columns.
func wrapped(text string, width int) string {
	var b strings.Builder
	used := 0
	words := strings.SplitAfter(text, " ")
	for _, w := range words {
		if used > 0 && used+len(strings.TrimRight(w, " ")) > width {
			b.WriteByte('\n')
			used = 0
		}
		b.WriteString(w)
		used += len(w)
	}
	return b.String() + "\n"
}
