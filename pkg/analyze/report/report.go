package report

import (
	"io"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
)

// A Renderer writes one finished report to w. It returns the first error of w.
type Renderer func(w io.Writer) error

// An Input is the analysis of one file.
type Input struct {
	Name   string // as the user gave it
	Report *analyze.Report
}

// Warnings are all warnings of a report in lines of their own that name the
// input, and the load level where there are several. Control characters are
// escaped.
func Warnings(in Input) []string {
	var lines []string
	add := func(line string) {
		line = plain(line)
		if name := plain(in.Name) + ": "; !strings.HasPrefix(line, name) && !strings.HasPrefix(line, "stdin: ") {
			line = name + line
		}
		if !slices.Contains(lines, line) { // what all levels have in common is said once
			lines = append(lines, line)
		}
	}
	for _, w := range in.Report.Warnings {
		add(w.Error())
	}
	for i := range in.Report.Experiments {
		e := &in.Report.Experiments[i]
		for _, w := range e.Warnings {
			if len(in.Report.Experiments) > 1 {
				add(level(e) + ": " + w.Error())
			} else {
				add(w.Error())
			}
		}
	}
	return lines
}

// Options say how much a report shows. The zero value is the usual report.
type Options struct {
	// Percentiles shows all percentiles in tables, not the usual four.
	Percentiles bool
	// Width is the number of columns that lines may have; 0 is no limit.
	Width int
}
