package genaiperf

import (
	"fmt"
	"io"
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// nameWidth is the width of the lines into which names of metrics are broken.
const nameWidth = 36

// Console writes the release's console output for a console of width columns.
func (r *report) Console(w io.Writer, width int) error {
	k := &r.release.rules
	t := py.RichTable{Title: r.title(), Columns: []py.RichColumn{{Header: "Statistic", NoWrap: !k.wrapNames}}}
	for _, s := range consoleStats {
		t.Columns = append(t.Columns, py.RichColumn{Header: s})
	}
	var lines strings.Builder // below the table
	for _, name := range r.rows(consoleStats) {
		row := []string{r.name(name)}
		for _, s := range consoleStats {
			row = append(row, r.cell(name, s, true))
		}
		t.Rows = append(t.Rows, row)
	}
	for _, name := range r.rates() {
		if k.layout < layout2409 {
			fmt.Fprintf(&lines, "%s: %s\n", r.name(name), r.rate(name, true))
			continue
		}
		row := []string{r.name(name), r.rate(name, true)}
		for range consoleStats[1:] {
			row = append(row, "N/A")
		}
		t.Rows = append(t.Rows, row)
	}
	_, err := io.WriteString(w, t.Render(width)+lines.String())
	return err
}

// name returns the name of a row.
func (r *report) name(metric string) string {
	k := &r.release.rules
	s := k.label(metric, k.layout >= layout2501)
	if k.wrapNames && len(s) > nameWidth {
		lines := py.Wrap(s, nameWidth)
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		s = strings.Join(lines, "\n")
	}
	return s
}

// title returns the title of the table.
func (r *report) title() string {
	k := &r.release.rules
	kind := "LLM Metrics"
	if k.layout >= layout2407 {
		switch r.EndpointType {
		case "embeddings":
			kind = "Embeddings Metrics"
		case "rankings":
			kind = "Rankings Metrics"
		}
	}
	if k.layout >= layout2409 {
		switch r.EndpointType {
		case "image_retrieval":
			kind = "Image Retrieval Metrics"
		case k.multimodal:
			kind = k.multimodalTitle
		}
	}
	return k.title + kind
}

// CSVName returns the name of the file into which the release writes its CSV
// report, beside an export of that name without its suffix.
func (r *report) CSVName(stem string) string {
	if name := r.release.rules.csvName; name != "" {
		return name
	}
	return stem + "_genai_perf.csv"
}

// CSV writes the CSV report.
func (r *report) CSV(w io.Writer) error {
	k := &r.release.rules
	c := py.NewCSVWriter(w)
	stats := k.csvStats()
	head := "Metric"
	if k.layout == layout2403 {
		head = "Statistic"
	}
	c.Row(append([]string{head}, stats...)...)
	for _, name := range r.rows(stats) {
		row := []string{r.csvLabel(name)}
		for _, s := range stats {
			row = append(row, r.cell(name, s, false))
		}
		c.Row(row...)
	}
	if k.layout > layout2403 {
		c.Row()
		c.Row("Metric", "Value")
	}
	for _, name := range r.rates() {
		c.Row(r.csvLabel(name), r.rate(name, false))
	}
	return c.Err()
}

// csvLabel returns the name of a row.
func (r *report) csvLabel(name string) string {
	k := &r.release.rules
	if k.layout > layout2403 {
		return k.label(name, true)
	}
	if unit := k.consoleUnit(name); unit != "" {
		return name + "(" + unit + ")"
	}
	return name
}

// JSON writes the JSON report without the release's arguments (input_config). It returns
// dialect.ErrNoFormat for releases before 24.06.
func (r *report) JSON(w io.Writer) error {
	k := &r.release.rules
	if k.jsonReport == jsonNone {
		return dialect.ErrNoFormat
	}
	o := k.object(r.Metrics)
	if len(r.Sessions) > 0 {
		var all py.Object
		for i := range r.Sessions {
			all = append(all, py.Member{Name: r.Sessions[i].ID, Value: k.object(r.Sessions[i].Metrics)})
		}
		o = append(o, py.Member{Name: "sessions", Value: all})
	}
	_, err := w.Write(py.AppendJSON(nil, o, 2))
	return err
}

// object returns metrics in the layout of the JSON report.
func (r *rules) object(metrics []metric) py.Object {
	stats := []string{"p25", "p50", "p75", "p90", "p95", "p99", "min", "max", "std"}
	switch {
	case r.jsonReport == json2406:
		stats = []string{"p99", "p95", "p90", "p75", "p50", "p25", "max", "min", "std"}
	case r.lowPercentiles:
		stats = append([]string{"p1", "p5", "p10"}, stats...)
	}
	var o py.Object
	for i := range metrics {
		m := &metrics[i]
		one := py.Object{{Name: "unit", Value: m.Unit}, {Name: "avg", Value: m.Avg}}
		if !m.Single {
			for _, s := range stats {
				one = append(one, py.Member{Name: s, Value: m.Stat(s)})
			}
		}
		o = append(o, py.Member{Name: m.Name, Value: one})
	}
	return o
}
