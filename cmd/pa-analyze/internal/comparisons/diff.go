package comparisons

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/reading"
	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/outfile"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	diffgate "github.com/pa-tools/pa/pkg/analyze/diff/gate"
	"github.com/pa-tools/pa/pkg/analyze/page"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
)

// Diff returns the command diff.
func Diff() *cli.Command {
	flags := []cli.Flag{settings.FormatFlag("text", "text, markdown, csv, json or junit")}
	flags = append(append(flags, settings.OutputFlags()...), settings.WidthFlag(), settings.ExperimentFlag(),
		cmdline.Writes(&cli.StringFlag{Name: "html", Usage: "also write a page of both sides to `FILE`, as pa-analyze html makes it", Category: "Output"}),
		&cli.BoolFlag{Name: "explain", Usage: "add how it was judged: p-values, numbers of values, each run, and why intervals are missing", Category: "Output"},
		&cli.StringSliceFlag{Name: "primary", Usage: "judge these `METRICS` instead of ttft_p50,tpot_p50,e2el_p50,output_tokens_per_s,failed_share", Category: "Comparison"},
		&cli.StringSliceFlag{Name: "fail-on", Usage: "exit with code 3 where `CONDITION` holds: ttft_p99>+5%, ttft_p99.low>+2%, 'tpot_p50 worse', new.failed_share>1% (repeatable)", Category: "Gates"},
		&cli.BoolFlag{Name: "single-run", Usage: "let --fail-on judge changes between two single runs, which also differ by chance", Category: "Gates"},
		&cli.StringSliceFlag{Name: "ignore", Usage: "compare although `NAME` differs: " + strings.Join(diff.Refusals(), ", ") + " or all (repeatable)", Category: "Comparison"},
	)
	return &cli.Command{
		Name: "diff", Usage: "what changed between runs, beyond chance", ArgsUsage: "OLD NEW | NAME=FILES NAME=FILES",
		Description: `Compares each load level that both sides have. A side is one file, a glob
("runs/old-*.json"), or several of either with commas between. NAME= names a
side (vllm=a.json ours=b.json) and may be repeated. The first side is compared
with, but old= and new= keep their places. Decisions need several runs a side,
at least 3. One run a side says only how much these two runs differ, never
better or worse.
The first line is the answer. Primary metrics (*) are judged together at 5 %; ~
means that no difference was found, n/a that there is no interval. --explain
says why.
The runs must be comparable. The output begins with the differences in how they
were made. If they differ in the model, the dataset, the load, the numbers of
tokens, streaming, or where times and token counts come from, there is no
verdict and the exit code is 1. A selected part is selected on both sides.
--fail-on joins conditions by &&, || and ! and checks them at each level. A
condition whose numbers are n/a fails.
Exit codes: 0 ok, 1 not comparable or not readable, 2 wrong usage, 3 a condition
holds or is n/a.`,
		Flags:  slices.Concat(flags, settings.MeasureFlags(), []cli.Flag{settings.StreamingFlag(), settings.TokenizerFlag(), settings.MetricsFlag()}, settings.QualityParameterFlags(), settings.EconomicsFlags(), settings.SelectionFlags(), settings.InputFlags(), []cli.Flag{settings.MemoryFlag()}),
		Action: settings.Distinct(settings.ReadsSides, diffAction),
	}
}

func diffAction(c *cli.Context) (err error) {
	format, err := settings.CheckFormat(c, "text", "markdown", "csv", "json", "junit")
	if err != nil {
		return err
	}
	cfg, err := settings.ComparisonConfig(c)
	if err != nil {
		return err
	}
	if err := errors.Join(settings.Quality(c, &cfg), settings.Economics(c, &cfg)); err != nil {
		return err
	}
	sides, older, newer, err := settings.Sides(c.Args().Slice())
	if err != nil {
		return err
	}
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	olderRuns, err := ahead.Inputs(c, "", older, settings.ByRun)
	if err != nil {
		return err
	}
	newerRuns, err := ahead.Inputs(c, "", newer, settings.ByRun)
	if err != nil {
		return err
	}
	single := len(olderRuns) == 1 && len(newerRuns) == 1
	options := diff.Options{Ignore: c.StringSlice("ignore"), Quality: cfg.Quality != nil, Sides: sides}
	for _, list := range c.StringSlice("primary") {
		options.Primary = append(options.Primary, strings.Split(list, ",")...)
	}
	if err := diff.CheckPrimary(options.Primary, options.Quality); err != nil {
		return cmdline.Usagef("--primary: %v", err)
	}
	gates, err := conditions(c, &options, single)
	if err != nil {
		return err
	}
	if err := settings.CheckIgnore(c); err != nil {
		return err
	}
	if err := settings.CheckOutput(c); err != nil {
		return err
	}
	if err := checkPagePath(c); err != nil {
		return err
	}
	cfg.Series = single
	cfg.Verify = len(gates) > 0 || format == "junit"
	var pages []page.Run
	read := func(side string) reading.ReadRun {
		if c.String("html") == "" {
			return reading.Figures(c, cfg)
		}
		return readPage(c, cfg, side, &pages)
	}
	oldRuns, oldErr := reading.Side(c, ahead, olderRuns, read(cmp.Or(sides.Old, "old")))
	newRuns, newErr := reading.Side(c, ahead, newerRuns, read(cmp.Or(sides.New, "new")))
	defer func() {
		for _, r := range slices.Concat(oldRuns, newRuns) {
			err = errors.Join(err, r.Close())
		}
	}()
	if err := errors.Join(oldErr, newErr); err != nil && (len(oldRuns) < len(olderRuns) || len(newRuns) < len(newerRuns)) {
		return err
	}
	res := diff.Compare(oldRuns, newRuns, options)
	passed := res.Gate(gates)
	err = errors.Join(oldErr, newErr, settings.Write(c, map[string]func(*diff.Result) report.Renderer{
		"text":     func(r *diff.Result) report.Renderer { return diff.Text(r, settings.ConsoleWidth(c), c.Bool("explain")) },
		"markdown": diff.Markdown, "csv": diff.CSV, "json": diff.JSON, "junit": diff.JUnit,
	}[format](res)))
	if path := c.String("html"); path != "" {
		p := page.New(settings.Program(c), pages)
		p.Diff = res
		err = errors.Join(err, settings.WriteTo(c, path, outfile.Private, page.HTML(p)))
	}
	settings.WarnAll(c, res.Warnings)
	unread := err != nil // then no gate can be trusted, and that comes first
	if err = errors.Join(err, res.Incomparable()); err == nil {
		err = res.Unmeasured()
	}
	if passed {
		return err
	}
	if err = errors.Join(err, res.GateFailures()); unread {
		return err
	}
	return &cmdline.CodeError{Code: cmdline.ExitGate, Err: err}
}

// conditions parses --fail-on.
func conditions(c *cli.Context, options *diff.Options, single bool) ([]*diffgate.Expr, error) {
	var all []*diffgate.Expr
	for _, text := range c.StringSlice("fail-on") {
		e, err := options.ParseGate(text)
		if err != nil {
			return nil, cmdline.Usagef("--fail-on %q: %v", text, err)
		}
		if single && e.NeedsChange() && !c.Bool("single-run") {
			return nil, cmdline.Usagef("--fail-on %q: with one run a side, a change may be no more than how one run differs from the next; give several runs a side, or --single-run if these two runs are meant", text)
		}
		all = append(all, e)
	}
	return all, nil
}

// readPage also adds what a page shows of the run to pages, with the levels that --experiment chooses.
func readPage(c *cli.Context, cfg analyze.Config, side string, pages *[]page.Run) reading.ReadRun {
	return func(path string, r export.Reader) (*diff.Run, error) {
		cfg := diff.Follow(cfg)
		x, err := page.Collect(c.Context, path, r, cfg)
		run, unread := diff.OfReport(path, x.Report, cfg)
		err = errors.Join(err, unread)
		// The comparison reports levels that do not exist, or have a problem.
		levels, _ := settings.Chosen(path, x.Levels, reading.OfView, c.StringSlice("experiment"))
		x.Choose(levels)
		x.Side = side
		*pages = append(*pages, x)
		return run, err
	}
}

// checkPagePath refuses a file of --html that must not be written.
func checkPagePath(c *cli.Context) error {
	switch path := c.String("html"); {
	case !c.IsSet("html"):
		return nil
	case path == "" || path == "-":
		return cmdline.Usagef("--html %q: give the name of a file; standard output has the comparison", path)
	default:
		return outfile.Check(path, c.Bool("overwrite"))
	}
}
