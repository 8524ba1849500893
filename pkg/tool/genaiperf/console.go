package genaiperf

import (
	"fmt"
	"io"
	"strings"

	"github.com/pa-tools/pa/internal/py"
)

// nameWidth is the width of the lines into which names of metrics are broken.
const nameWidth = 36

// Console writes the release's console output for a console of width columns.
func (r *Report) Console(w io.Writer, width int) error {
	k := &r.Release.rules
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
func (r *Report) name(metric string) string {
	k := &r.Release.rules
	s := k.label(metric, k.layout >= layout2501)
	if k.wrapNames && len(s) > nameWidth {
		s = fill(s, nameWidth)
	}
	return s
}

// fill breaks text between words, as textwrap.fill does with words that fit.
func fill(text string, width int) string {
	var b strings.Builder
	used := 0
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
		case used+1+len(w) > width:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(w)
		used += len(w)
	}
	return b.String()
}

// title returns the title of the table.
func (r *Report) title() string {
	k := &r.Release.rules
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
