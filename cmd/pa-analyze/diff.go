package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/levelpair"
	"github.com/pa-tools/pa/pkg/analyze/page"
	"github.com/pa-tools/pa/pkg/export"
)

// diffOptions are how two sides are compared, as the flags of diff say.
type diffOptions struct {
	*analysis
	diff.Options
	inconclusiveCode int
	failOn, require  []*diff.GateExpr
}

// diffCommand returns the command diff.
func diffCommand() *cli.Command {
	o := &diffOptions{analysis: newAnalysis()}
	o.compares = true
	arguments := func(c *call) (s sides, err error) {
		s.names, s.older, s.newer, err = sidesOf(c.Args().Slice())
		c.reads(slices.Concat(s.older, s.newer))
		o.Sides = s.names
		return s, err
	}
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
		Flags:  slices.Concat(o.flags(), o.measureOwnFlags(), []cli.Flag{o.metricsFlag()}, o.qualityFlags(), o.economicsFlags(), o.sessionFlags(), o.selectionFlags(), inputFlags(), []cli.Flag{memoryFlag(&o.MemoryLimit)}),
		Action: analyzed(o.analysis, arguments, func(c *call, s sides, cfg analyze.Config) error { return c.diff(s, o, cfg) }, o.check),
	}
}

// flags are the flags that only diff has.
func (o *diffOptions) flags() []cli.Flag {
	const category = "Comparison"
	parseMargin := func(text string) (float64, error) {
		margin, err := parsePercent(text)
		if err == nil && margin == 0 {
			err = fmt.Errorf("%s: give a percent above 0", text)
		}
		return margin, err
	}
	checkPage := func(_ *cli.Context, path string) error {
		return refuse(path == "" || path == "-", "--html %q: give the name of a file; standard output has the comparison", path)
	}
	return slices.Concat([]cli.Flag{formatFlag("text", "markdown", "csv", "json", "junit")}, outputFlags(), []cli.Flag{
		widthFlag(), experimentFlag(),
		cmdline.Writes(&cli.StringFlag{Name: "html", Usage: "also write a page of both sides to `FILE`, as pa-analyze html makes it", Category: catOutput, Action: checkPage}),
		&cli.BoolFlag{Name: "explain", Usage: "add how it was judged: p-values, numbers of values, each run, and why intervals are missing", Category: catOutput},
		&cli.StringSliceFlag{Name: "primary", Usage: "judge these `METRICS` instead of ttft_p50,tpot_p50,e2el_p50,output_tokens_per_s,failed_share", Category: category},
		&cli.StringSliceFlag{Name: "fail-on", Usage: "exit with code 3 where `CONDITION` holds: ttft_p99>+5%, ttft_p99.low>+2%, 'tpot_p50 worse', new.failed_share>1% (repeatable)", Category: catGates},
		&cli.StringSliceFlag{Name: "require", Usage: "exit with code 3 where `CONDITION` does not hold: 'ttft_p50 within 3%', 'all within 5%', new.failed_share<1% (repeatable)", Category: catGates},
		inconclusiveFlag(&o.inconclusiveCode),
		&cli.BoolFlag{Name: "single-run", Usage: "let gates judge changes between two single runs, which also differ by chance", Category: catGates, Destination: &o.SingleRun},
		parsed(&o.Margin, parseMargin, &cli.StringFlag{Name: "margin", Value: "5%", Usage: "the smallest change that matters: `PERCENT`. The answer is \"no difference\" only if the runs show that every change is smaller", Category: category}),
		&cli.StringSliceFlag{Name: "exclude-run", Usage: "leave out `SIDE.N`, run N of a side in the order of their starts: old.1 (repeatable)", Category: category},
		&cli.IntFlag{Name: "drop-first", Usage: "leave out the first `N` runs of each side", Category: category, Destination: &o.LeaveOut.First, Action: atLeast(1, "--drop-first %d: give a number of runs above 0")},
		parsed(&o.Pair, levelpair.Parse, &cli.StringFlag{Name: "pair", Value: "load", Usage: "pair levels `BY` load, order or kind: order pairs the first with the first, kind does so for each mode, whatever the loads are", Category: category}),
		ignoreFlag("compare"),
	})
}

// check reads the flags that depend on other flags, and refuses a page that must not be written.
func (o *diffOptions) check(c *call) (err error) {
	o.Ignore, o.Quality = c.StringSlice("ignore"), o.groups.Quality
	o.InconclusiveFails = o.inconclusiveCode == cmdline.ExitGate
	o.Primary, o.LeaveOut.Runs = c.lists("primary"), c.lists("exclude-run")
	if err := diff.CheckPrimary(o.Primary, o.Quality); err != nil {
		return cmdline.Usagef("--primary: %v", err)
	}
	if o.failOn, err = o.conditions(c, "fail-on"); err != nil {
		return err
	}
	if o.require, err = o.conditions(c, "require"); err != nil {
		return err
	}
	if c.IsSet("inconclusive") && o.failOn == nil && o.require == nil {
		return cmdline.Usagef("--inconclusive decides about gates; give --fail-on or --require")
	}
	return c.checkPath(c.String("html"))
}

// lists returns the values of a flag, with lists split at their commas.
func (c *call) lists(flag string) (all []string) {
	for _, list := range c.StringSlice(flag) {
		all = append(all, strings.Split(list, ",")...)
	}
	return all
}

// conditions parses the conditions of --fail-on or --require.
func (o *diffOptions) conditions(c *call, flag string) (all []*diff.GateExpr, err error) {
	for _, text := range c.StringSlice(flag) {
		e, err := o.ParseGate(text)
		if err != nil {
			return nil, cmdline.Usagef("--%s %q: %v", flag, text, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// diff compares two sides.
func (c *call) diff(s sides, o *diffOptions, cfg analyze.Config) (err error) {
	if done, err := c.diffStated(s, o); done {
		return err
	}
	older, err := c.recordings(fileNames{paths: s.older}, byRun)
	if err != nil {
		return err
	}
	newer, err := c.recordings(fileNames{paths: s.newer}, byRun)
	if err != nil {
		return err
	}
	if cfg.Series, err = o.single(c, len(older), len(newer)); err != nil {
		return err
	}
	cfg.Verify = len(o.failOn)+len(o.require) > 0 || c.String("format") == "junit"
	var pages []page.Run
	read := func(side string) readRun {
		if c.String("html") == "" {
			return c.comparedRun(cfg)
		}
		return c.readPage(cfg, side, &pages)
	}
	oldRuns, oldErr := c.readSide(older, read(cmp.Or(s.names.Old, sideOld)))
	newRuns, newErr := c.readSide(newer, read(cmp.Or(s.names.New, sideNew)))
	defer func() {
		for _, r := range slices.Concat(oldRuns, newRuns) {
			err = errors.Join(err, r.Close())
		}
	}()
	if err := errors.Join(oldErr, newErr); err != nil && (len(oldRuns) < len(older) || len(newRuns) < len(newer)) {
		return err
	}
	res := diff.Compare(oldRuns, newRuns, o.Options)
	res.Gate(o.failOn)
	res.Require(o.require)
	err = errors.Join(oldErr, newErr, c.write(res.Formats(c.Bool("explain")).In(c.String("format"), c.width())))
	if path := c.String("html"); path != "" {
		p := page.New(c.program(), pages)
		p.Diff = res
		err = errors.Join(err, c.writeTo(path, disk.Private, page.HTML(p)))
	}
	c.warnAll(res.Warnings)
	if err = errors.Join(err, res.Incomparable()); err != nil {
		return errors.Join(err, res.GateFailures(), res.GateDoubts())
	}
	if failures := res.GateFailures(); failures != nil {
		return &cmdline.CodeError{Code: cmdline.ExitGate, Err: errors.Join(res.Unmeasured(), failures, res.GateDoubts())}
	}
	if err := res.Unmeasured(); err != nil {
		return errors.Join(err, res.GateDoubts())
	}
	return c.inconclusive(o.inconclusiveCode, res.GateDoubts())
}

// single reports whether one run a side is left. It refuses conditions that one run a side cannot
// decide, and to leave out runs that do not exist.
func (o *diffOptions) single(c *call, older, newer int) (bool, error) {
	older, newer, err := o.LeaveOut.Remaining(older, newer, o.Sides)
	if err != nil {
		var flags []string
		for _, name := range [...]string{"exclude-run", "drop-first"} {
			if c.IsSet(name) {
				flags = append(flags, "--"+name)
			}
		}
		return false, cmdline.Usagef("%s: %v", strings.Join(flags, " and "), err)
	}
	single := older == 1 && newer == 1
	for i, e := range slices.Concat(o.failOn, o.require) {
		if single && e.NeedsChange() && !o.SingleRun {
			flag := "fail-on"
			if i >= len(o.failOn) {
				flag, i = "require", i-len(o.failOn)
			}
			return false, cmdline.Usagef("--%s %q: one run a side does not show how much runs differ by chance; give several runs a side, or --single-run to judge these two", flag, c.StringSlice(flag)[i])
		}
	}
	return single, nil
}

// readPage also adds what a page shows of the run to pages, with the levels that --experiment chooses.
func (c *call) readPage(cfg analyze.Config, side string, pages *[]page.Run) readRun {
	return func(path string, r export.Reader) (*diff.Run, error) {
		cfg := diff.Follow(cfg)
		x, err := page.Collect(c.Context, path, r, cfg)
		run, unread := diff.OfReport(path, x.Report, cfg)
		err = errors.Join(err, unread)
		// The comparison reports levels that do not exist, or have a problem.
		levels, _ := chooseLevels(path, x.Levels, viewLevel, c.StringSlice("experiment"))
		x.Choose(levels)
		x.Side = side
		*pages = append(*pages, x)
		return run, err
	}
}
