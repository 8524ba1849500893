package charts

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/reading"
	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
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
	// of reads the flags and returns what draws runs; nil for trend, which reads points.
	of func(c *cli.Context) (drawing, error)
}

// A drawing draws runs.
type drawing func(runs []*view.Run, o plot.Options) *svg.Figure

// always is a chart without flags.
func always(d drawing) func(*cli.Context) (drawing, error) {
	return func(*cli.Context) (drawing, error) { return d, nil }
}

var charts = []chart{
	{name: "cdf", parts: view.PartCurves, flags: []string{"slo", "slo-target"}, of: always(plot.CDF)},
	{name: "timeline", parts: view.PartSeries | view.PartRequests, of: always(plot.Timeline)},
	{name: "scatter", parts: view.PartPrompts | view.PartRequests, flags: []string{"x", "y"}, of: scatterOf},
	{name: "sweep", parts: view.PartFigures, flags: []string{"slo", "slo-target"}, of: always(plot.Sweep)},
	{name: "pareto", parts: view.PartFigures, flags: []string{"gpus", "user-rate", "tokens"}, of: paretoOf},
	{name: "heatmap", parts: view.PartHeatmaps, of: always(plot.Heatmap)},
	{name: "prompt-length", parts: view.PartFigures, of: always(plot.PromptLength)},
	{name: "trend", flags: []string{"ignore"}},
}

// Plot returns the command plot.
func Plot() *cli.Command {
	const category = "Chart"
	flags := slices.Concat(settings.OutputFlags(), []cli.Flag{
		&cli.IntFlag{Name: "width", Usage: "make the picture `PIXELS` wide (default: 760, or 960 with panels side by side)", Category: category},
		&cli.StringFlag{Name: "x", Usage: "scatter: the `FIGURE` of each request on the x axis", Value: "uncached_tokens", Category: category},
		&cli.StringFlag{Name: "y", Usage: "scatter: the `FIGURE` of each request on the y axis", Value: "ttft", Category: category},
	}, paretoFlags(category)[:3], []cli.Flag{settings.IgnoreFlag(), settings.ExperimentFlag()})
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
  pa-analyze plot cdf old.json new.json -o cdf.svg
  pa-analyze plot sweep run.json --slo 'ttft<=200ms' -o sweep.svg
  pa-analyze plot scatter run.json -x output_tokens -y e2el -o scatter.svg
  pa-analyze plot prompt-length in-*.json -o prompts.svg

Several FILEs share the axes. FIGURE is ttft, e2el, decode, start, wait,
input_tokens, cached_tokens, uncached_tokens or output_tokens.

The picture is plain SVG for browsers, pages and print; it follows the reader's
choice of light or dark. The same files give the same bytes.
Exit codes: 0 ok, 1 not readable, 2 wrong usage.`,
		Flags: slices.Concat(flags, settings.MeasureFlags(), []cli.Flag{settings.StreamingFlag(), settings.TokenizerFlag()}, settings.SelectionFlags(),
			settings.ObjectiveFlags()[:2], settings.InputFlags(), []cli.Flag{settings.PerFileFlag(), settings.MemoryFlag()}),
		Action: settings.Distinct(readsPlotted, plotAction),
	}
}

// findChart returns the chart that the first argument names.
func findChart(c *cli.Context) (*chart, error) {
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
	return nil, cmdline.Usagef("%q is no chart; give one of %s", first, list)
}

// checkFlags refuses flags that only other charts have.
func (k *chart) checkFlags(c *cli.Context) error {
	for _, name := range c.LocalFlagNames() {
		var others []string
		for i := range charts {
			if slices.Contains(charts[i].flags, name) {
				others = append(others, charts[i].name)
			}
		}
		if others != nil && !slices.Contains(k.flags, name) {
			return cmdline.Usagef("%s is a flag of %s, not of %s", dashed(name), strings.Join(others, " and "), k.name)
		}
	}
	return nil
}

// dashed returns the name of a flag as the help shows it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// readsPlotted adds the runs that a chart is drawn of.
func readsPlotted(c *cli.Context) {
	if c.Args().First() == "trend" {
		reading.AddLabeled(c, c.Args().Tail())
		return
	}
	settings.ReadsRunsOf(c, c.Args().Tail())
}

func plotAction(c *cli.Context) (err error) {
	kind, err := findChart(c)
	if err != nil {
		return err
	}
	if err := kind.checkFlags(c); err != nil {
		return err
	}
	o := plot.Options{Width: c.Int("width")}
	if c.IsSet("width") && (o.Width < 320 || o.Width > 10_000) {
		return cmdline.Usagef("--width %d: give a number of pixels from 320 to 10,000", o.Width)
	}
	cfg, err := settings.ObjectiveConfig(c)
	if err != nil {
		return err
	}
	if err := settings.CheckOutput(c); err != nil {
		return err
	}
	if kind.of == nil {
		return plotTrend(c, cfg, o)
	}
	draw, err := kind.of(c)
	if err != nil {
		return err
	}
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	inputs, err := ahead.RunsOf(c, c.Args().Tail())
	if err != nil {
		return err
	}
	gpus, err := gpusOf(c.String("gpus"), len(inputs))
	if err != nil {
		return err
	}
	var runs []*view.Run
	var errs []error
	for i, in := range inputs {
		if kind.name == "pareto" {
			cfg.Economics = &analyze.EconomicsConfig{GPUs: gpus[i]}
		}
		errs = append(errs, ahead.Use(c, in, func(r export.Reader) error {
			run, err := view.Collect(c.Context, r, view.Config{Name: in.Name, Analyze: cfg, Parts: kind.parts})
			levels, shown, err := reading.Levels(c, in.Name, r, "not in the chart", err, run.Levels, reading.OfView)
			if shown {
				keepLevels(run, levels)
				runs = append(runs, run)
			}
			return err
		}))
		if c.Err() != nil {
			break
		}
	}
	if len(runs) > 0 {
		errs = append([]error{settings.Write(c, draw(runs, o).Write)}, errs...)
		settings.WarnAll(c, report.Warnings(reportsOf(runs), false))
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

func scatterOf(c *cli.Context) (drawing, error) {
	x, errX := plot.FindFigure(c.String("x"))
	y, errY := plot.FindFigure(c.String("y"))
	switch {
	case errX != nil:
		return nil, cmdline.Usagef("-x %v", errX)
	case errY != nil:
		return nil, cmdline.Usagef("-y %v", errY)
	}
	return func(runs []*view.Run, o plot.Options) *svg.Figure { return plot.Scatter(runs, x, y, o) }, nil
}

func paretoOf(c *cli.Context) (drawing, error) {
	rates, err := paretoRates(c)
	return func(runs []*view.Run, o plot.Options) *svg.Figure {
		return plot.Pareto(pareto.Analyze(reportsOf(runs), rates), o)
	}, err
}

// plotTrend draws the trend of the points that the other arguments name.
func plotTrend(c *cli.Context, cfg analyze.Config, o plot.Options) error {
	if err := settings.CheckIgnore(c); err != nil {
		return err
	}
	args, err := reading.LabeledFiles(c.Args().Tail())
	if err != nil {
		return err
	}
	groups, err := reading.Points(c, args, cfg)
	if err != nil {
		return err
	}
	res := trend.Analyze(trend.Points(groups), trend.Options{Ignore: c.StringSlice("ignore")})
	err = settings.Write(c, plot.Trend(res, o).Write)
	settings.WarnAll(c, res.Set.Warnings)
	return errors.Join(err, res.Incomparable())
}
