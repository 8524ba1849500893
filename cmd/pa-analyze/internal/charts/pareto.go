package charts

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/reading"
	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/pareto"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// Pareto returns the command pareto.
func Pareto() *cli.Command {
	flags := []cli.Flag{settings.FormatFlag("text", "text, markdown, csv or json")}
	flags = slices.Concat(flags, settings.OutputFlags(), []cli.Flag{settings.WidthFlag(), settings.ExperimentFlag()}, paretoFlags("Pareto"))
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
		Flags: slices.Concat(flags, settings.MeasureFlags(), []cli.Flag{settings.StreamingFlag(), settings.TokenizerFlag()}, settings.SelectionFlags(),
			settings.ObjectiveFlags()[:2], settings.InputFlags(), []cli.Flag{settings.PerFileFlag(), settings.MemoryFlag()}),
		Action: settings.Distinct(settings.ReadsRuns, paretoAction),
	}
}

// paretoFlags returns the flags of the rates and of the area.
func paretoFlags(category string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "gpus", Usage: "the server of all runs had `N` GPUs, or a number for each run: 4,8 (default: as many as the telemetry of the file has)", Category: category},
		&cli.StringFlag{Name: "user-rate", Usage: "the speed for a user is `KIND`: decode (1 / mean TPOT) or request (mean of output tokens / E2EL)", Value: "decode", Category: category},
		&cli.StringFlag{Name: "tokens", Usage: "the throughput of a GPU is of `KIND`: output tokens, or total, input tokens too", Value: "output", Category: category},
		&cli.StringFlag{Name: "reference", Usage: "measure the area above the point `X:Y`, in tokens/s", Value: "0:0", Category: category},
	}
}

func paretoAction(c *cli.Context) (err error) {
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	format, err := settings.CheckFormat(c, "text", "markdown", "csv", "json")
	if err != nil {
		return err
	}
	o, err := paretoOptions(c)
	if err != nil {
		return err
	}
	cfg, err := settings.ObjectiveConfig(c)
	if err != nil {
		return err
	}
	if err := settings.CheckOutput(c); err != nil {
		return err
	}
	runs, err := ahead.Runs(c)
	if err != nil {
		return err
	}
	gpus, err := gpusOf(c.String("gpus"), len(runs))
	if err != nil {
		return err
	}
	inputs, errs := reading.Analyze(c, ahead, runs, "not among the levels", func(i int) analyze.Config {
		of := cfg
		of.Economics = &analyze.EconomicsConfig{GPUs: gpus[i]}
		return of
	})
	inputs = slices.DeleteFunc(inputs, func(in report.Input) bool { return len(in.Report.Experiments) == 0 })
	if len(inputs) > 0 {
		res := pareto.Analyze(inputs, o)
		errs = append([]error{settings.Write(c, map[string]func(*pareto.Result) report.Renderer{
			"text":     func(r *pareto.Result) report.Renderer { return pareto.Text(r, settings.ConsoleWidth(c)) },
			"markdown": pareto.Markdown, "csv": pareto.CSV, "json": pareto.JSON,
		}[format](res))}, errs...)
		settings.WarnAll(c, report.Warnings(inputs, false))
	}
	return errors.Join(errs...)
}

// paretoOptions reads the flags that choose the rates and the reference.
func paretoOptions(c *cli.Context) (pareto.Options, error) {
	o, err := paretoRates(c)
	if err != nil {
		return o, err
	}
	x, y, ok := strings.Cut(c.String("reference"), ":")
	var errX, errY error
	o.UserReference, errX = strconv.ParseFloat(x, 64)
	o.RateReference, errY = strconv.ParseFloat(y, 64)
	if !ok || errX != nil || errY != nil || !(o.UserReference >= 0 && o.RateReference >= 0) || math.IsInf(o.UserReference+o.RateReference, 0) {
		return o, cmdline.Usagef("--reference %q: give two numbers from 0 on, such as 10:0", c.String("reference"))
	}
	return o, nil
}

// paretoRates reads the flags that choose the rates.
func paretoRates(c *cli.Context) (o pareto.Options, err error) {
	switch kind := c.String("user-rate"); kind {
	case "decode":
	case "request":
		o.WholeRequest = true
	default:
		return o, cmdline.Usagef("--user-rate %q: give decode or request", kind)
	}
	switch kind := c.String("tokens"); kind {
	case "output":
	case "total":
		o.TotalTokens = true
	default:
		return o, cmdline.Usagef("--tokens %q: give output or total", kind)
	}
	return o, nil
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
		if err != nil || v < 1 || v > settings.MostGPUs {
			return nil, cmdline.Usagef("--gpus %q: give whole numbers from 1 on, such as 8", text)
		}
		all[i] = v
	}
	return all, nil
}
