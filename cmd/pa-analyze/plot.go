package main

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/pareto"
	"github.com/pa-tools/pa/pkg/analyze/plot"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/trend"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/export"
)

// A chart is a chart of pa-analyze plot.
type chart struct {
	name string
	// parts are the parts of levels that the chart shows.
	parts view.Part
	// flags are the flags that not all charts have.
	flags []string
	// draw draws runs; nil for trend, which reads points.
	draw func(p *plotOptions, runs []*view.Run) *svg.Figure
}

// always is a chart without flags.
func always(draw func([]*view.Run, plot.Options) *svg.Figure) func(*plotOptions, []*view.Run) *svg.Figure {
	return func(p *plotOptions, runs []*view.Run) *svg.Figure { return draw(runs, p.Options) }
}

var charts = []chart{
	{name: "cdf", parts: view.PartCurves, flags: []string{"slo", "slo-target"}, draw: always(plot.CDF)},
	{name: "timeline", parts: view.PartSeries | view.PartRequests, draw: always(plot.Timeline)},
	{name: "scatter", parts: view.PartPrompts | view.PartRequests, flags: []string{"x", "y"}, draw: func(p *plotOptions, runs []*view.Run) *svg.Figure {
		return plot.Scatter(runs, p.x, p.y, p.Options)
	}},
	{name: "sweep", parts: view.PartFigures, flags: []string{"slo", "slo-target"}, draw: always(plot.Sweep)},
	{name: "pareto", parts: view.PartFigures, flags: []string{"gpus", "user-rate", "tokens"}, draw: func(p *plotOptions, runs []*view.Run) *svg.Figure {
		return plot.Pareto(pareto.Analyze(reportsOf(runs), p.rates), p.Options)
	}},
	{name: "heatmap", parts: view.PartHeatmaps, draw: always(plot.Heatmap)},
	{name: "prompt-length", parts: view.PartFigures, draw: always(plot.PromptLength)},
	{name: "trend", flags: []string{"ignore"}},
}

// plotOptions are what the flags say.
type plotOptions struct {
	*analysis
	plot.Options
	x, y  *plot.Figure
	rates pareto.Options
}

// plotCommand returns the command plot.
func plotCommand() *cli.Command {
	const category = "Chart"
	p := &plotOptions{analysis: newAnalysis()}
	axis := func(to **plot.Figure, name, value string) cli.Flag {
		return parsed(to, func(text string) (*plot.Figure, error) {
			figure, err := plot.FindFigure(text)
			return figure, refuse(err != nil, "-%s %v", name, err)
		}, &cli.StringFlag{Name: name, Usage: "scatter: the `FIGURE` of each request on the " + name + " axis", Value: value, Category: category})
	}
	flags := slices.Concat(outputFlags(), []cli.Flag{
		&cli.IntFlag{Name: "width", Usage: "make the picture `PIXELS` wide (default: 760, or 960 with panels side by side)", Category: category, Destination: &p.Width, Action: within(320, 10_000, "--width %d: give a number of pixels from 320 to 10,000")},
		&cli.StringSliceFlag{Name: "figure", Usage: "sweep and trend of files that hold figures only: draw the figure `NAME`, such as 'ttft p99' (repeatable)", Category: category},
		axis(&p.x, "x", "uncached_tokens"), axis(&p.y, "y", "ttft"),
	}, rateFlags(&p.rates, category), []cli.Flag{ignoreFlag(ignoreOfSet), experimentFlag()})
	return &cli.Command{
		Name: "plot", Usage: "a chart of runs, as SVG", ArgsUsage: "CHART [FILE…]",
		Description: `CHART is one of
  cdf            TTFT, ITL, TPOT and E2EL by percentile, up to the largest value
  timeline       requests in flight, rates, TTFT and server metrics over time
  scatter        a mark for each request: TTFT against uncached input tokens, or
                 -y against -x
  sweep          throughput and latency against load; --slo adds the requests that
                 meet it, and the highest load
  pareto         speed for a user against throughput of a GPU
  heatmap        gaps between tokens over time and by position in the answer
  prompt-length  first-token and token-to-token latency against prompt length, of
                 a run for each length
  trend          metrics over many runs; FILE is [LABEL=]RUNS as for trend
Examples:
  pa-analyze plot cdf run.json -o cdf.svg
  pa-analyze plot cdf old.json new.json -o both.svg
  pa-analyze plot sweep run.json --slo 'ttft<=200ms' -o sweep.svg
  pa-analyze plot scatter run.json -x output_tokens -y e2el -o scatter.svg
  pa-analyze plot prompt-length in-*.json -o prompts.svg

Several FILEs share the axes. FIGURE is ttft, e2el, decode, start, wait,
input_tokens, cached_tokens, uncached_tokens or output_tokens.

The picture is plain SVG for browsers, pages and print; it follows the reader's
choice of light or dark. The same files give the same bytes.
Exit codes: 0 ok, 1 not readable, 2 wrong usage.`,
		Flags: append(flags, p.drawnFlags()...),
		Action: analyzed(p.analysis, plotArguments, func(c *call, args drawnArguments, cfg analyze.Config) error {
			if done, err := c.plotStated(args, p.Options, p.rates); done {
				return err
			}
			if c.IsSet("figure") {
				return cmdline.Usagef("--figure works only with files that hold figures and no requests")
			}
			if args.chart.draw == nil {
				return c.plotTrend(args.points, cfg, p.Options)
			}
			return c.plot(args, p, cfg)
		}),
	}
}

// drawnArguments are the arguments of plot.
type drawnArguments struct {
	chart  *chart
	files  fileNames
	points []labeledFiles // for the chart trend, instead of files
}

// plotArguments returns the arguments of plot. It refuses flags that only other charts have.
func plotArguments(c *call) (args drawnArguments, err error) {
	if args.chart, err = findChart(c); err != nil {
		return args, err
	}
	if err := args.chart.checkFlags(c); err != nil {
		return args, err
	}
	if args.chart.draw == nil {
		args.points, err = c.labeled(c.Args().Tail())
	} else {
		args.files, err = c.someFiles(c.Args().Tail())
	}
	return args, err
}

// findChart returns the chart that the first argument names.
func findChart(c *call) (*chart, error) {
	var names []string
	for i := range charts {
		if charts[i].name == c.Args().First() {
			return &charts[i], nil
		}
		names = append(names, charts[i].name)
	}
	list := strings.Join(names, ", ")
	if c.NArg() == 0 {
		return nil, cmdline.Usagef("no chart given; give one of %s", list)
	}
	first := c.Args().First()
	if _, err := os.Stat(first); err == nil {
		return nil, cmdline.Usagef("no chart given before %s; give one of %s, for example: pa-analyze plot sweep %s", first, list, first)
	}
	return nil, cmdline.Usagef("%q is not a chart; give one of %s", first, list)
}

// checkFlags refuses flags that only other charts have.
func (k *chart) checkFlags(c *call) error {
	for _, name := range c.LocalFlagNames() {
		var others []string
		for i := range charts {
			if slices.Contains(charts[i].flags, name) {
				others = append(others, charts[i].name)
			}
		}
		if others != nil && !slices.Contains(k.flags, name) {
			return cmdline.Usagef("%s is a flag of %s, not of %s", cmdline.Dashed(name), strings.Join(others, " and "), k.name)
		}
	}
	return nil
}

// plot draws the chart of the runs that args name.
func (c *call) plot(args drawnArguments, p *plotOptions, cfg analyze.Config) error {
	recordings, err := c.runs(args.files)
	if err != nil {
		return err
	}
	gpus, err := gpusOf(c.String("gpus"), len(recordings))
	if err != nil {
		return err
	}
	var runs []*view.Run
	i := -1
	errs := c.useEach(recordings, func(source recording, r export.Reader) error {
		if i++; args.chart.name == "pareto" {
			cfg.Economics = &figure.EconomicsConfig{GPUs: gpus[i]}
		}
		run, err := view.Collect(c.Context, r, view.Config{Name: source.name, Analyze: cfg, Parts: args.chart.parts})
		levels, shown, err := levelsOf(c, source.name, r, "not in the chart", err, run.Levels, viewLevel)
		if shown {
			keepLevels(run, levels)
			runs = append(runs, run)
		}
		return err
	})
	if len(runs) > 0 {
		errs = append([]error{c.write(args.chart.draw(p, runs).Write)}, errs...)
		c.warnAll(report.Warnings(reportsOf(runs), false))
	}
	return errors.Join(errs...)
}

// keepLevels keeps these levels of a run, also in its report.
func keepLevels(run *view.Run, levels []view.Level) {
	kept := make([]analyze.Experiment, len(levels))
	for i := range levels {
		kept[i] = *levels[i].Experiment
		levels[i].Experiment = &kept[i]
	}
	run.Levels, run.Report.Experiments = levels, kept
}

// reportsOf returns the reports of runs.
func reportsOf(runs []*view.Run) (all []report.Input) {
	for _, r := range runs {
		all = append(all, report.Input{Name: r.Name, Report: r.Report})
	}
	return all
}

// plotTrend draws the trend of points.
func (c *call) plotTrend(args []labeledFiles, cfg analyze.Config, o plot.Options) error {
	points, err := c.readPoints(args, cfg)
	if err != nil {
		return err
	}
	res := trend.Analyze(trend.Points(points), trend.Options{Ignore: c.StringSlice("ignore")})
	err = c.write(plot.Trend(res, o).Write)
	c.warnAll(res.Set.Warnings)
	return errors.Join(err, res.Incomparable())
}
