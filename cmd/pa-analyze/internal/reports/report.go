package reports

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/reading"
	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// analysisFlags are the flags of the commands that report runs: which levels, which definitions, which part.
func analysisFlags() []cli.Flag {
	return slices.Concat(
		[]cli.Flag{settings.ExperimentFlag()}, settings.MeasureFlags(), []cli.Flag{settings.TokenizerFlag()}, settings.SelectionFlags(),
		[]cli.Flag{&cli.StringFlag{Name: "windows", Usage: "show each level over time, in windows of `LENGTH`: 10s, or recorded, the recorder's own windows", Category: "Selection"}},
		settings.ObjectiveFlags(), []cli.Flag{settings.MetricsFlag()}, settings.QualityParameterFlags(), settings.EconomicsFlags(),
	)
}

// Report returns the command report.
func Report() *cli.Command {
	flags := []cli.Flag{
		settings.FormatFlag("table", "table, csv, json, markdown or html"),
		&cli.BoolFlag{Name: "all-warnings", Usage: "print every warning of every level and file (default: one line for similar warnings)", Category: "Output"},
		&cli.BoolFlag{Name: "percentiles", Usage: "show p1 to p99.9 in the table instead of p50 to p99, and on a terminal histograms of TTFT and ITL (csv and json always hold all)", Category: "Output"},
	}
	flags = slices.Concat(flags, settings.OutputFlags(), []cli.Flag{settings.NamesFlag("json"), settings.WidthFlag()}, analysisFlags(), settings.DialectFlags())
	return &cli.Command{
		Name: "report", Usage: "latencies, tokens and throughputs of each level", ArgsUsage: "[FILE…]",
		Description: `FILE is a profile_export.json, plain, .gz or .zst, or another recorded format;
the default is profile_export.json, and - is standard input. A glob in quotes
('shards/*.parquet') is all files that match. The files that several ranks
recorded of one run (pa-record --world-size) are one run: see merge.

A token event is a response that adds output. Responses that hold only a role,
usage, a keep-alive or [DONE] do not count.
  TTFT   first token event - start    TTFAT  first answer token - start
  TTST   second token event - first   ITL    gaps of token events, pooled
  TPOT   (last - first) / (tokens-1)  E2EL   last response of any kind - start
Percentiles are exact and interpolate linearly (type 7). Requests that failed,
warmed up or came late are counted but are in no latency.

--slo takes conditions on each request, joined by &&, ||, ! and (). ttft, ttfat,
ttst, tpot, e2el, itl_mean, itl_min, itl_max, itl_p50, itl_p99, … are compared
with durations; output_tokens, input_tokens, reasoning_tokens, cached_tokens and
output_tokens_per_s with numbers. A failed request does not meet the SLO.

A file that pa-record genai-perf, benchmark_serving or llm_perf wrote is
reported as that tool does. Flags override what the file asks for; --dialect
strict reports by the definitions above.

Exit code 1: a file is cut short or damaged, holds no experiment, or a level
lacks the part asked for; the rest is reported. Exit code 3: --slo-gate failed.
--format json prints one object for one run, an array for several. --format html
writes the page of pa-analyze html.`,
		Flags:  append(append(flags, settings.InputFlags()...), settings.PerFileFlag(), settings.MemoryFlag()),
		Action: settings.Distinct(settings.ReadsRuns, reportAction),
	}
}

func reportAction(c *cli.Context) (err error) {
	if c.String("format") == "html" {
		return htmlAction(c)
	}
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	if name := settings.SelectDialect(c, ahead); name != dialect.Strict {
		return dialectAction(c, name, ahead)
	}
	if err := settings.CheckStrict(c); err != nil {
		return err
	}
	format, err := settings.CheckFormat(c, "table", "csv", "json", "markdown", "html")
	if err != nil {
		return err
	}
	otel, err := settings.OTelNames(c, format, "json")
	if err != nil {
		return err
	}
	cfg, err := settings.ReportConfig(c)
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
	cfg.Curve = format == "table" && c.Bool("percentiles") && settings.Sparklines(c) // for histograms
	inputs, errs := reading.Analyze(c, ahead, runs, "not in the report", func(int) analyze.Config { return cfg })
	if len(inputs) > 0 {
		errs = append([]error{settings.Write(c, renderer(c, format, otel, inputs, len(runs) > 1))}, errs...)
		if format != "json" && format != "markdown" { // JSON and Markdown hold the warnings
			settings.WarnAll(c, report.Warnings(inputs, c.Bool("all-warnings")))
		}
		noteIdleFlags(c, inputs, format)
	}
	return gateObjectives(c, inputs, errors.Join(errs...))
}

// gateObjectives returns err, or with --slo-gate the error about levels that miss their objective.
func gateObjectives(c *cli.Context, inputs []report.Input, err error) error {
	if !c.Bool("slo-gate") {
		return err
	}
	var missed []error
	for _, in := range inputs {
		missed = append(missed, report.MissedObjectives(in)...)
	}
	switch {
	case missed == nil:
		return err
	case err != nil: // what failed may be why
		return errors.Join(append([]error{err}, missed...)...)
	}
	return &cmdline.CodeError{Code: cmdline.ExitGate, Err: errors.Join(missed...)}
}

// renderer returns what writes the reports. several says that more than one
// run was named, even if fewer could be read: the layout must not depend on
// that. otel asks for the names of OpenTelemetry.
func renderer(c *cli.Context, format string, otel bool, inputs []report.Input, several bool) report.Renderer {
	switch {
	case format == "csv":
		return report.CSV(inputs)
	case otel && several:
		return report.OTelJSONArray(inputs)
	case otel:
		return report.OTelJSON(inputs[0])
	case format == "json" && several:
		return report.JSONArray(inputs)
	case format == "json":
		return report.JSON(inputs[0])
	case format == "markdown":
		return report.Markdown(inputs)
	}
	return report.Table(inputs, report.Options{Percentiles: c.Bool("percentiles"), AllWarnings: c.Bool("all-warnings"), Width: settings.ConsoleWidth(c), Sparklines: settings.Sparklines(c)})
}
