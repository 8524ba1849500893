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
		&cli.StringSliceFlag{Name: "require", Usage: "exit with code 3 where `CONDITION` does not hold: 'ttft_p50 within 3%', 'all within 5%', new.failed_share<1% (repeatable)", Category: "Gates"},
		settings.InconclusiveFlag(),
		&cli.BoolFlag{Name: "single-run", Usage: "let gates judge changes between two single runs, which also differ by chance", Category: "Gates"},
		&cli.StringFlag{Name: "margin", Value: "5%", Usage: "the smallest change that matters: `PERCENT`; \"no difference\" is said only of changes shown to be less", Category: "Comparison"},
		&cli.StringSliceFlag{Name: "exclude-run", Usage: "leave out `SIDE.N`, run N of a side in the order of the starts: old.1 (repeatable)", Category: "Comparison"},
		&cli.IntFlag{Name: "drop-first", Usage: "leave out the first `N` runs of each side", Category: "Comparison"},
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
The first line is the answer: new fails more, is slower or faster, shows no
difference within the margin, or "cannot tell" with the reason and what would be
enough. Primary metrics (*) are judged together at 5 %. --explain says how.
A run that differs from the others of its side is named, with the answer without
it. Only --exclude-run and --drop-first leave runs out.
The runs must be comparable. The output begins with the differences in how they
were made. If they differ in the model, the dataset, the load, the numbers of
tokens, streaming, or where times and token counts come from, there is no
verdict and the exit code is 1. A selected part is selected on both sides.
--fail-on and --require join conditions by &&, || and ! and check them at each
level. A condition about which the data cannot tell gives exit code 4.
Exit codes: 0 ok, 1 not comparable or not readable, 2 wrong usage, 3 a gate was
shown to fail, 4 a gate cannot tell and none failed.`,
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
	options := diff.Options{Ignore: c.StringSlice("ignore"), Quality: cfg.Quality != nil, Sides: sides, SingleRun: c.Bool("single-run")}
	if options.Margin, err = percentFlag(c, "margin"); err != nil {
		return cmdline.Usagef("%v", err)
	}
	if !(options.Margin > 0) {
		return cmdline.Usagef("--margin %s: give a percent above 0", c.String("margin"))
	}
	single, err := leaveOut(c, &options, len(olderRuns), len(newerRuns))
	if err != nil {
		return err
	}
	inconclusive, err := settings.InconclusiveCode(c)
	if err != nil {
		return err
	}
	options.InconclusiveFails = inconclusive == cmdline.ExitGate
	for _, list := range c.StringSlice("primary") {
		options.Primary = append(options.Primary, strings.Split(list, ",")...)
	}
	if err := diff.CheckPrimary(options.Primary, options.Quality); err != nil {
		return cmdline.Usagef("--primary: %v", err)
	}
	gates, err := conditions(c, "fail-on", &options, single)
	if err != nil {
		return err
	}
	required, err := conditions(c, "require", &options, single)
	if err != nil {
		return err
	}
	if c.IsSet("inconclusive") && gates == nil && required == nil {
		return cmdline.Usagef("--inconclusive is about gates; give --fail-on or --require")
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
	cfg.Verify = len(gates)+len(required) > 0 || format == "junit"
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
	res.Gate(gates)
	res.Require(required)
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
	if err = errors.Join(err, res.Incomparable()); err != nil {
		return errors.Join(err, res.GateFailures(), res.GateDoubts())
	}
	if failures := res.GateFailures(); failures != nil {
		return &cmdline.CodeError{Code: cmdline.ExitGate, Err: errors.Join(res.Unmeasured(), failures, res.GateDoubts())}
	}
	if err := res.Unmeasured(); err != nil {
		return errors.Join(err, res.GateDoubts())
	}
	return settings.Inconclusive(c, inconclusive, res.GateDoubts())
}

// leaveOut reads --exclude-run and --drop-first. single says that one run a side is left.
func leaveOut(c *cli.Context, options *diff.Options, older, newer int) (single bool, err error) {
	options.LeaveOut = diff.LeaveOut{First: c.Int("drop-first")}
	if options.LeaveOut.First < 0 || c.IsSet("drop-first") && options.LeaveOut.First == 0 {
		return false, cmdline.Usagef("--drop-first %d: give a number of runs above 0", c.Int("drop-first"))
	}
	for _, list := range c.StringSlice("exclude-run") {
		options.LeaveOut.Runs = append(options.LeaveOut.Runs, strings.Split(list, ",")...)
	}
	o, n, err := options.LeaveOut.Remaining(older, newer, options.Sides)
	if err != nil {
		return false, cmdline.Usagef("%s: %v", strings.Join(givenFlags(c, "exclude-run", "drop-first"), " and "), err)
	}
	return o == 1 && n == 1, nil
}

// givenFlags returns the flags that the command line has, with dashes.
func givenFlags(c *cli.Context, names ...string) []string {
	var all []string
	for _, name := range names {
		if c.IsSet(name) {
			all = append(all, "--"+name)
		}
	}
	return all
}

// conditions parses the conditions of --fail-on or --require.
func conditions(c *cli.Context, flag string, options *diff.Options, single bool) ([]*diffgate.Expr, error) {
	var all []*diffgate.Expr
	for _, text := range c.StringSlice(flag) {
		e, err := options.ParseGate(text)
		if err != nil {
			return nil, cmdline.Usagef("--%s %q: %v", flag, text, err)
		}
		if single && e.NeedsChange() && !c.Bool("single-run") {
			return nil, cmdline.Usagef("--%s %q: with one run a side, a change may be no more than how one run differs from the next; give several runs a side, or --single-run if these two runs are meant", flag, text)
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
