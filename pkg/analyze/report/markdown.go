package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
)

// Markdown writes the report for a pull request or an issue, in the Markdown of
// GitHub: the tables of [Table], and the warnings as a list. Text of a server
// or a file is escaped: it shows as it is and makes no link, mention or markup.
func Markdown(inputs []Input) Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		u := timeUnitsOf(inputs)
		for i, in := range inputs {
			if i > 0 {
				b.WriteByte('\n')
			}
			markdown(&b, in, &u)
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

func markdown(b *strings.Builder, in Input, u *timeUnits) {
	rep := in.Report
	fmt.Fprintf(b, "### %s\n\n", sanitize.Markdown(in.Name))
	about := []string{"recorded by " + sanitize.Markdown(tool(rep))}
	if s := strings.TrimSpace(deref(rep.Run.ServiceKind) + " " + deref(rep.Run.Endpoint)); s != "" {
		about = append(about, sanitize.Markdown(s))
	}
	if rep.Model != "" {
		about = append(about, "model "+sanitize.Markdown(rep.Model))
	}
	if s := server(rep.Run); s != "" {
		about = append(about, "server "+sanitize.Markdown(s))
	}
	if rep.From != answer.FromStart {
		about = append(about, "latency from "+rep.From.String())
	}
	b.WriteString(strings.Join(about, " · ") + "\n")
	if len(rep.Experiments) == 0 {
		b.WriteString("\nno experiments\n")
	}
	if len(rep.Experiments) > 1 {
		b.WriteByte('\n')
		g := levels(rep, u)
		g.markdown(b, 2)
		if rep.SLO != nil {
			fmt.Fprintf(b, "\nSLO `%s`\n\n", rep.SLO)
			g = objectives(rep)
			g.markdown(b, 2)
			if m := rep.MaxLoad(); m != nil {
				fmt.Fprintf(b, "\n%s\n", sanitize.Markdown(MaxLoad(m)))
			}
		}
	}
	for i := range rep.Experiments {
		b.WriteByte('\n')
		markdownLevel(b, rep, &rep.Experiments[i], u)
	}
	if lines := Warnings([]Input{in}, false); len(lines) > 0 {
		b.WriteString("\nWarnings:\n\n")
		for _, l := range lines {
			b.WriteString("- " + sanitize.Markdown(l) + "\n")
		}
	}
}

func markdownLevel(b *strings.Builder, rep *analyze.Report, e *analyze.Experiment, u *timeUnits) {
	fmt.Fprintf(b, "**%s**: %s", sanitize.Markdown(level(e)), sanitize.Markdown(requests(e)))
	if e.DurationNS > 0 {
		b.WriteString(" in " + u.duration.span(float64(e.DurationNS)))
	}
	b.WriteByte('\n')
	paragraph := func(text string) {
		if text != "" {
			b.WriteString("\n" + text + "\n")
		}
	}
	if e.Selected != nil {
		paragraph(Selected(e.Selected))
	}
	if len(e.Metrics) > 0 {
		b.WriteByte('\n')
		g := figures(e, u)
		g.markdown(b, 1)
	}
	paragraph(rates(e))
	paragraph(sanitize.Markdown(notes(rep, e)))
	paragraph(resent(e))
	for _, text := range missing(rep, e) {
		paragraph(sanitize.Markdown(text))
	}
	if e.SLO != nil {
		b.WriteByte('\n')
		for _, l := range objective(e.SLO, rep.SLOTarget) {
			b.WriteString("- " + sanitize.Markdown(l) + "\n")
		}
	}
	if e.Quality != nil {
		markdownQuality(b, e.Quality, u)
	}
	if e.Economics != nil {
		markdownEconomics(b, e.Economics)
	}
	if e.Prefix != nil {
		markdownPrefix(b, e.Prefix, u)
	}
	if e.Phases != nil {
		markdownPhases(b, e.Phases, u)
	}
	if g := servers(e, u.server); g != nil {
		b.WriteByte('\n')
		g.markdown(b, 1)
		for _, text := range serverNotes(e) {
			paragraph(sanitize.Markdown(text))
		}
	}
	if len(e.Models) > 0 {
		b.WriteByte('\n')
		g := models(e, u)
		g.markdown(b, 2)
	}
	if len(e.Windows) > 0 {
		paragraph(windowNote(e))
		b.WriteByte('\n')
		g := windows(e, u)
		g.markdown(b, 2)
	}
}

// markdown writes the grid as a table whose head joins the first heads rows.
func (g *grid) markdown(b *strings.Builder, heads int) {
	row := func(cells []string) {
		b.WriteString("|")
		for _, c := range cells {
			b.WriteString(" " + c + " |")
		}
		b.WriteByte('\n')
	}
	head := make([]string, len(g.rows[0]))
	for i := range head {
		for _, r := range g.rows[:heads] {
			if i < len(r) {
				head[i] = strings.TrimSpace(head[i] + " " + sanitize.Markdown(r[i]))
			}
		}
	}
	row(head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "--:"
		if i < g.lefts() {
			rule[i] = ":--"
		}
	}
	row(rule)
	for _, r := range g.rows[heads:] {
		cells := make([]string, len(head))
		for i := range r {
			cells[i] = sanitize.Markdown(r[i])
		}
		row(cells)
	}
}
