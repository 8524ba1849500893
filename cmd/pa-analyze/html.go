package main

import (
	"errors"
	"os"
	"slices"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/page"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
)

// htmlCommand returns the command html.
func htmlCommand() *cli.Command {
	a := newAnalysis()
	return &cli.Command{
		Name: "html", Usage: "one page of runs: verdicts, charts, waterfall", ArgsUsage: "[FILE…]",
		Description: `Writes one HTML file that needs no network and no other file. It begins with
verdicts: is the SLO met, did the client keep up, is the level steady, how large
is the error of the clock, how many requests failed. Then come the sweep, the
Pareto frontier, distributions, series over time, the waterfall of requests, heat
maps of the gaps between tokens, TTFT against uncached input tokens, stalls and
errors, facts and definitions. The numbers are the numbers of report --format json
with the same flags. Charts draw several FILEs on the same axes; diff --html compares
two sides.

For a run with more than 50,000 requests, the waterfall shows 25,000: all failures, the
worst stalls and a sample of the others. A run with sessions has a table of them:
of more than 200, the slowest and a sample. The page says so.`,
		Flags:  slices.Concat(outputFlags(), a.reportFlags(), inputFlags(), []cli.Flag{perFileFlag(), memoryFlag(&a.MemoryLimit)}),
		Action: analyzed(a, allFiles, (*call).writePage, (*call).checkPage),
	}
}

// checkPage refuses to write a page to a terminal.
func (c *call) checkPage() error {
	file, ok := c.App.Writer.(*os.File)
	return refuse(ok && c.String("output") == "" && term.IsTerminal(int(file.Fd())), "a page is not for a terminal; -o report.html writes it to a file")
}

// writePage writes the page of runs. It is also report --format html.
func (c *call) writePage(files fileNames, cfg analyze.Config) error {
	keepToMemory(cfg.MemoryLimit)
	runs, err := c.runs(files)
	if err != nil {
		return err
	}
	var pages []page.Run
	errs := c.useEach(runs, func(run recording, r export.Reader) error {
		x, err := page.Collect(c.Context, run.name, r, cfg)
		levels, shown, err := levelsOf(c, run.name, r, "not on the page", err, x.Levels, viewLevel)
		if shown {
			x.Choose(levels)
			pages = append(pages, x)
		}
		return err
	})
	var inputs []report.Input
	for _, p := range pages {
		inputs = append(inputs, report.Input{Name: p.Name, Report: p.Report})
		c.warnEach(p.Name, p.Report.Contradictions())
	}
	if len(pages) > 0 {
		c.noteIdleFlags(inputs, "html")
		errs = append([]error{c.writeRequests(page.HTML(page.New(c.program(), pages)))}, errs...)
	}
	return c.gateObjectives(inputs, errors.Join(errs...))
}

// program returns the name and the version of this program, for a page.
func (c *call) program() string { return "pa-analyze " + c.App.Version }
