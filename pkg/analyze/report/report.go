package report

import (
	"io"

	"github.com/pa-tools/pa/pkg/analyze"
)

// A Renderer writes one finished report to w. It returns the first error of w.
type Renderer func(w io.Writer) error

// An Input is the analysis of one file.
type Input struct {
	Name   string // as the user gave it
	Report *analyze.Report
}

// Options say how much a report shows. The zero value is the usual report.
type Options struct {
	// Percentiles shows all percentiles in tables, not the usual four.
	Percentiles bool
}
