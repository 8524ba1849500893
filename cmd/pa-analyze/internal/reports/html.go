package reports

import (
	"errors"
	"os"
	"slices"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/reading"
	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/page"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// HTML returns the command html.
func HTML() *cli.Command {
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
worst stalls and a sample of the others. The page says so.`,
		Flags:  slices.Concat(settings.OutputFlags(), analysisFlags(), settings.InputFlags(), []cli.Flag{settings.PerFileFlag(), settings.MemoryFlag()}),
		Action: settings.Distinct(settings.ReadsRuns, htmlAction),
	}
}

// htmlAction is also report --format html.
func htmlAction(c *cli.Context) (err error) {
	if name := c.String("dialect"); c.IsSet("dialect") && name != dialect.Strict {
		return cmdline.Usagef("--format html shows our own definitions; --dialect %s has no page", name)
	}
	if err := checkPage(c); err != nil {
		return err
	}
	cfg, err := settings.ReportConfig(c)
	if err != nil {
		return err
	}
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	runs, err := ahead.Runs(c)
	if err != nil {
		return err
	}
	pages, errs := collectRuns(c, ahead, runs, cfg)
	var inputs []report.Input
	for _, p := range pages {
		inputs = append(inputs, report.Input{Name: p.Name, Report: p.Report})
		settings.WarnEach(c, p.Name, p.Report.Contradictions())
	}
	if len(pages) > 0 {
		errs = append([]error{settings.WriteRequests(c, page.HTML(page.New(settings.Program(c), pages)))}, errs...)
	}
	return gateObjectives(c, inputs, errors.Join(errs...))
}

// checkPage refuses an output that cannot be written, and a terminal.
func checkPage(c *cli.Context) error {
	if file, ok := c.App.Writer.(*os.File); ok && c.String("output") == "" && term.IsTerminal(int(file.Fd())) {
		return cmdline.Usagef("a page is not for a terminal; -o report.html writes it to a file")
	}
	return settings.CheckOutput(c)
}

// collectRuns collects what the page shows of each run, with the levels that --experiment chooses.
func collectRuns(c *cli.Context, ahead settings.OpenFiles, runs []settings.Input, cfg analyze.Config) (all []page.Run, errs []error) {
	for _, run := range runs {
		errs = append(errs, ahead.Use(c, run, func(r export.Reader) error {
			x, shown, err := collectRun(c, run.Name, r, cfg, "not on the page")
			if shown {
				all = append(all, x)
			}
			return err
		}))
		if c.Err() != nil {
			break
		}
	}
	return all, errs
}

// collectRun collects what the page shows of a run. leftOut says what becomes of requests that cannot be
// read, and shown that there is something to show.
func collectRun(c *cli.Context, name string, r export.Reader, cfg analyze.Config, leftOut string) (x page.Run, shown bool, err error) {
	x, err = page.Collect(c.Context, name, r, cfg)
	levels, shown, err := reading.Levels(c, name, r, leftOut, err, x.Levels, reading.OfView)
	if shown {
		x.Choose(levels)
	}
	return x, shown, err
}
