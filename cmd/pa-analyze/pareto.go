package main

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/pareto"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// paretoCommand returns the command pareto.
func paretoCommand() *cli.Command {
	const category = "Pareto"
	a := newAnalysis()
	var o pareto.Options
	reference := &cli.StringFlag{
		Name: "reference", Usage: "measure the area above the point `X:Y`, in tokens/s", Value: "0:0", Category: category,
		Action: func(_ *cli.Context, text string) (err error) {
			o.UserReference, o.RateReference, err = parseReference(text)
			return err
		},
	}
	flags := slices.Concat([]cli.Flag{formatFlag("text", "markdown", "csv", "json")}, outputFlags(), []cli.Flag{widthFlag(), experimentFlag()}, rateFlags(&o, category), []cli.Flag{reference})
	return &cli.Command{
		Name: "pareto", Usage: "speed for a user against throughput of a GPU", ArgsUsage: "FILE…",
		Description: `Prints two rates of each load level of all files: output tokens per second for
one user, and tokens per second of one GPU. More load makes the second larger
and the first smaller. A level is on the frontier if no other level is better in
one rate and at least as good in the other.
The area of the frontier (hypervolume) is one number to compare servers by. The
knee is the level of the frontier that lies furthest beyond the straight line
between the ends; it needs three levels. --slo adds the highest load that meets
an objective, with an interval.
Exit codes: 0 ok, 1 not readable, 2 wrong usage.`,
		Flags:  append(flags, a.drawnFlags()...),
		Action: analyzed(a, allFiles, func(c *call, files fileNames, cfg analyze.Config) error { return c.pareto(files, cfg, o) }),
	}
}

// rateFlags returns the flags that choose the rates of a frontier.
func rateFlags(o *pareto.Options, category string) []cli.Flag {
	either := func(f *cli.StringFlag, usual, other string, to *bool) cli.Flag {
		f.Value, f.Category = usual, category
		return parsed(to, func(kind string) (bool, error) {
			return kind == other, refuse(kind != usual && kind != other, "--%s %q: give %s or %s", f.Name, kind, usual, other)
		}, f)
	}
	checkGPUs := func(_ *cli.Context, text string) error {
		_, err := gpusOf(text, 1+strings.Count(text, ",")) // how many runs there are is known later
		return err
	}
	return []cli.Flag{
		&cli.StringFlag{Name: "gpus", Usage: "the server of all runs had `N` GPUs, or a number for each run: 4,8 (default: as many as the telemetry of the file has)", Category: category, Action: checkGPUs},
		either(&cli.StringFlag{Name: "user-rate", Usage: "the speed for a user is `KIND`: decode (1 / mean TPOT) or request (mean of output tokens / E2EL)"}, "decode", "request", &o.WholeRequest),
		either(&cli.StringFlag{Name: "tokens", Usage: "the throughput of a GPU counts `KIND`: output tokens, or total (input tokens too)"}, "output", "total", &o.TotalTokens),
	}
}

// parseReference parses a point such as 10:0.
func parseReference(text string) (x, y float64, err error) {
	first, second, ok := strings.Cut(text, ":")
	x, errX := strconv.ParseFloat(first, 64)
	y, errY := strconv.ParseFloat(second, 64)
	valid := ok && errX == nil && errY == nil && x >= 0 && y >= 0 && !math.IsInf(x+y, 0)
	return x, y, refuse(!valid, "--reference %q: give two numbers from 0 on, such as 10:0", text)
}

// pareto prints the two rates of each level of the runs in files, and the frontier.
func (c *call) pareto(files fileNames, cfg analyze.Config, o pareto.Options) error {
	if res, err := c.paretoStated(files.paths, o); res != nil || err != nil {
		if err != nil {
			return err
		}
		return c.write(res.Formats().In(c.String("format"), c.width()))
	}
	runs, err := c.runs(files)
	if err != nil {
		return err
	}
	gpus, err := gpusOf(c.String("gpus"), len(runs))
	if err != nil {
		return err
	}
	inputs, errs := c.analyzeRuns(runs, "not among the levels", func(i int) analyze.Config {
		runConfig := cfg
		runConfig.Economics = &figure.EconomicsConfig{GPUs: gpus[i]}
		return runConfig
	})
	inputs = slices.DeleteFunc(inputs, func(in report.Input) bool { return len(in.Report.Experiments) == 0 })
	if len(inputs) > 0 {
		res := pareto.Analyze(inputs, o)
		errs = append([]error{c.write(res.Formats().In(c.String("format"), c.width()))}, errs...)
		c.warnAll(report.Warnings(inputs, false))
	}
	return errors.Join(errs...)
}

// gpusOf reads the number of GPUs of each of n runs; 0 for runs without one.
func gpusOf(text string, n int) ([]int, error) {
	all := make([]int, n)
	if text == "" {
		return all, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) != 1 && len(parts) != n {
		return nil, cmdline.Usagef("--gpus %q: %s for %s; give one for all, or one for each", text, plural.Of(len(parts), "number"), plural.Of(n, "run"))
	}
	for i := range all {
		part := parts[0]
		if len(parts) > 1 {
			part = parts[i]
		}
		v, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || v < 1 || v > mostGPUs {
			return nil, cmdline.Usagef("--gpus %q: give whole numbers from 1 on, such as 8", text)
		}
		all[i] = v
	}
	return all, nil
}
