package main

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// reportFlags are the flags of the commands that report runs: which levels, which definitions, which part.
func (a *analysis) reportFlags() []cli.Flag {
	return slices.Concat(
		[]cli.Flag{experimentFlag()}, a.measureFlags(), []cli.Flag{tokenizerFlag()}, a.selectionFlags(),
		[]cli.Flag{windowsFlag(&a.Windows, "show each level over time, in windows of `LENGTH`: 10s, or recorded, the recorder's own windows")},
		a.objectiveFlags(), []cli.Flag{a.objectiveGateFlag(), a.metricsFlag()}, a.qualityFlags(), a.economicsFlags(), a.sessionFlags(),
	)
}

// reportCommand returns the command report.
func reportCommand() *cli.Command {
	a := newAnalysis()
	var tool dialect.Config
	otel := false
	flags := []cli.Flag{
		formatFlag("table", "csv", "json", "markdown", "html"),
		&cli.BoolFlag{Name: "all-warnings", Usage: "print every warning of every level and file (default: one line for similar warnings)", Category: catOutput},
		&cli.BoolFlag{Name: "percentiles", Usage: "show p1 to p99.9 in the table instead of p50 to p99, and on a terminal histograms of TTFT and ITL (csv and json always hold all)", Category: catOutput},
	}
	flags = slices.Concat(flags, outputFlags(), []cli.Flag{namesFlag("json", &otel), widthFlag()}, a.reportFlags(), toolFlags(&tool, &a.Streaming), inputFlags(), []cli.Flag{perFileFlag(), memoryFlag(&a.MemoryLimit)})
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
		Flags: flags,
		Action: action(allFiles, func(c *call, files fileNames) error {
			page := c.String("format") == "html" // by our own definitions, whatever the files ask for
			if !page {
				name := c.String("dialect")
				if !c.IsSet("dialect") {
					name = c.hintedDialect(files)
				}
				if name != dialect.Strict {
					return c.toolReport(files, name, tool, a.MemoryLimit)
				}
				if err := c.checkStrict(); err != nil {
					return err
				}
			}
			cfg, err := a.config(c)
			switch {
			case err != nil:
				return err
			case page:
				return c.writePage(files, cfg)
			}
			return c.report(files, cfg, otel)
		}, checkReport, a.check),
	}
}

// checkReport refuses flags that the definitions of the command line do not have, and a page that
// cannot be written. Without --dialect, the files may ask for a tool.
func checkReport(c *call) error {
	name := c.String("dialect")
	switch {
	case c.String("format") == "html":
		if c.IsSet("dialect") && name != dialect.Strict {
			return cmdline.Usagef("--format html shows pa-analyze's own definitions; --dialect %s has no page", name)
		}
		if err := c.checkStrict(); err != nil {
			return err
		}
		return c.checkPage()
	case name != dialect.Strict:
		return c.checkTool(name)
	case c.IsSet("dialect") || c.ownFlag() != "": // no tool, whatever the files ask for
		return c.checkStrict()
	}
	return nil
}

// report reports runs by our own definitions.
func (c *call) report(files fileNames, cfg analyze.Config, otel bool) error {
	switch all, err := c.statedIn(files.paths); {
	case err != nil:
		return err
	case all != nil:
		return c.reportStated(all)
	}
	runs, err := c.runs(files)
	if err != nil {
		return err
	}
	format := c.String("format")
	cfg.Curve = format == "table" && c.Bool("percentiles") && c.sparklines() // for histograms
	inputs, errs := c.analyzeRuns(runs, "not in the report", func(int) analyze.Config { return cfg })
	if len(inputs) > 0 {
		errs = append([]error{c.write(c.renderer(format, otel, inputs, len(runs) > 1))}, errs...)
		if format != "json" && format != "markdown" { // JSON and Markdown hold the warnings
			c.warnAll(report.Warnings(inputs, c.Bool("all-warnings")))
		}
		c.noteIdleFlags(inputs, format)
	}
	return c.gateObjectives(inputs, errors.Join(errs...))
}

// gateObjectives returns err, or with --slo-gate the error about levels that miss their objective.
func (c *call) gateObjectives(inputs []report.Input, err error) error {
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
func (c *call) renderer(format string, otel bool, inputs []report.Input, several bool) report.Renderer {
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
	return report.Table(inputs, report.Options{Percentiles: c.Bool("percentiles"), AllWarnings: c.Bool("all-warnings"), Width: c.width(), Sparklines: c.sparklines()})
}

// noteIdleFlags names the flags of the command line that have no effect on a report of these inputs.
func (c *call) noteIdleFlags(inputs []report.Input, format string) {
	if c.String("tokenizer") != "" {
		for i := range inputs {
			if why := uncounted(inputs[i].Report); why != "" {
				c.notef("%s: --tokenizer has no effect: %s", inputs[i].Name, why)
			}
		}
	}
	paused := func(in report.Input) bool {
		return slices.ContainsFunc(in.Report.Experiments, func(x analyze.Experiment) bool { return len(x.Pauses) > 0 })
	}
	if c.Bool("without-pauses") && !slices.ContainsFunc(inputs, paused) {
		c.notef("--without-pauses has no effect: no level was paused")
	}
	if c.Bool("percentiles") && format != "table" {
		c.notef("--percentiles has no effect: it belongs to --format table; --format %s always has all percentiles", format)
	}
	if c.Bool("all-warnings") && (format == "json" || format == "markdown") {
		c.notef("--all-warnings has no effect: --format %s holds the same warnings without it", format)
	}
	if c.Bool("all-warnings") && format == "html" {
		c.notef("--all-warnings has no effect: a page has one line for similar warnings")
	}
}

// uncounted returns why the tokenizer counted no tokens of any level; "" if it counted some.
func uncounted(rep *analyze.Report) string {
	usage, responses := false, false
	for i := range rep.Experiments {
		if x := rep.Experiments[i].Sessions; x != nil && x.Cache.Known > 0 {
			return ""
		}
		switch rep.Experiments[i].TokenSource {
		case answer.TokenTokenizer, answer.TokenMixed:
			return ""
		case answer.TokenUsage, answer.TokenStated:
			usage = true
		case answer.TokenResponses:
			responses = true
		}
	}
	switch {
	case usage:
		return "the file holds the numbers of tokens; --token-source tokenizer counts them in the texts"
	case responses:
		return "the file holds no texts of answers to count tokens in"
	}
	return "" // there are no numbers of tokens, and a warning says why
}
