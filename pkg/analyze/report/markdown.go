package report

import (
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
)

// Markdown writes the report for a pull request or an issue, in the Markdown of
// GitHub: the tables of [Table], and the warnings as a list. Text of a server
// or a file is escaped: it shows as it is and makes no link, mention or markup.
func Markdown(inputs []Input) Renderer {
	u := timeUnitsOf(inputs)
	var sheets []*sheet.Sheet
	for _, in := range inputs {
		sheets = append(sheets, markdown(in, &u))
	}
	return sheet.Markdown(sheets...)
}

func markdown(in Input, u *timeUnits) *sheet.Sheet {
	rep := in.Report
	about := []string{"recorded by " + tool(rep)}
	if s := strings.TrimSpace(deref(rep.Run.ServiceKind) + " " + deref(rep.Run.Endpoint)); s != "" {
		about = append(about, s)
	}
	if rep.Model != "" {
		about = append(about, "model "+rep.Model)
	}
	if s := server(rep.Run); s != "" {
		about = append(about, "server "+s)
	}
	if rep.From != answer.FromStart {
		about = append(about, "latency from "+rep.From.String())
	}
	s := &sheet.Sheet{Title: in.Name, About: []string{strings.Join(about, " · ")}}
	if len(rep.Experiments) == 0 {
		s.Part("").Lines("no experiments")
	}
	t := &table{rep: rep, units: u, markdown: true}
	if len(rep.Experiments) > 1 {
		s.Parts = append(s.Parts, t.levels())
	}
	for i := range rep.Experiments {
		s.Parts = append(s.Parts, t.level(&rep.Experiments[i]))
	}
	if lines := Warnings([]Input{in}, false); len(lines) > 0 {
		s.Part("").Lines("Warnings:").List(lines...)
	}
	return s
}
