package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

func reportCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "format", Aliases: []string{"f"}, Usage: "print as `FORMAT`: table, csv, json or markdown", Value: "table", Category: "Output"},
		&cli.BoolFlag{Name: "all-warnings", Usage: "print every warning of every level and file (default: one line for similar warnings)", Category: "Output"},
		&cli.BoolFlag{Name: "percentiles", Usage: "show p1 to p99.9 in the table instead of p50 to p99 (csv and json always hold all)", Category: "Output"},
	}
	flags = append(append(flags, outputFlags()...), widthFlag(), experimentFlag())
	flags = append(append(flags, measureFlags()...), tokenizerFlag())
	flags = append(flags, selectionFlags()...)
	flags = append(flags, &cli.StringFlag{Name: "windows", Usage: "show each level over time, in windows of `LENGTH`: 10s, or recorded for those of the recorder", Category: "Part of the run"})
	flags = append(append(flags, objectiveFlags()...), dialectFlags()...)
	return &cli.Command{
		Name: "report", Usage: "latencies, tokens and throughputs of each load level", ArgsUsage: "[FILE…]",
		Description: `FILE is a profile_export.json, plain, .gz or .zst, or another recorded format;
the default is profile_export.json, and - is standard input.

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
--format json prints one object for one file, an array for several.`,
		Flags:  append(flags, inputFlags()...),
		Action: reportAction,
	}
}

// measureFlags say how requests are measured.
func measureFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "from", Usage: "count latencies from `WHEN`: start (first byte left), sent (last byte), issued (before connecting) or scheduled", Value: "start", Category: "What to count"},
		&cli.StringFlag{Name: "token-source", Usage: "take output tokens from `SOURCE`: usage, tokenizer or responses (default: usage where there is one, else --tokenizer if given, else responses)", Category: "What to count"},
		&cli.BoolFlag{Name: "include-warmup", Usage: "count warm-up requests too", Category: "What to count"},
	}
}

// streamingFlag is the flag that says whether answers were streamed, for our own
// definitions and for other tools' definitions.
func streamingFlag() cli.Flag {
	return &cli.BoolFlag{Name: "streaming", Usage: "treat answers as streamed; --streaming=false: as not streamed, without TTFT, TTST, ITL and TPOT (default: as the file says)", Category: "What to count"}
}

// config turns the flags of measureFlags and selectionFlags, --streaming and
// --tokenizer, into a Config.
func config(c *cli.Context) (cfg analyze.Config, err error) {
	if cfg.From, err = answer.ParseFrom(c.String("from")); err != nil {
		return cfg, cmdline.Usagef("--from %v", err)
	}
	if s := c.String("token-source"); s != "" {
		if cfg.TokenSource, err = answer.ParseTokenSource(s); err != nil {
			return cfg, cmdline.Usagef("--token-source %v", err)
		}
	}
	if err := counter(c, &cfg); err != nil {
		return cfg, err
	}
	cfg.IncludeWarmup = c.Bool("include-warmup")
	if c.IsSet("streaming") {
		streaming := c.Bool("streaming")
		cfg.Streaming = &streaming
	}
	cfg.Selection, err = selection(c)
	return cfg, err
}

func reportAction(c *cli.Context) (err error) {
	ahead := openFiles{}
	defer func() { err = errors.Join(err, ahead.close()) }()
	if name := selectDialect(c, ahead); name != dialect.Strict {
		return dialectAction(c, name, ahead)
	}
	if err := checkStrict(c); err != nil {
		return err
	}
	format, err := checkFormat(c, "table", "csv", "json", "markdown")
	if err != nil {
		return err
	}
	if err := checkWidth(c); err != nil {
		return err
	}
	cfg, err := reportConfig(c)
	if err != nil {
		return err
	}
	paths, err := files(c)
	if err != nil {
		return err
	}
	if err := checkOutput(c); err != nil {
		return err
	}
	var inputs []report.Input
	var errs []error
	for _, path := range paths {
		errs = append(errs, ahead.use(c, path, func(r export.Reader) error {
			rep, err := analyze.Run(c.Context, r, cfg)
			err = errors.Join(err, leftOut(path, r, "not in the report"))
			if err == nil && len(r.Run().Experiments) == 0 {
				inputs = append(inputs, report.Input{Name: path, Report: rep})
				return fmt.Errorf("%s: holds no experiment: nothing was measured", path)
			}
			var problem error
			if rep.Experiments, problem = chosen(path, rep.Experiments, ofExperiment, c.StringSlice("experiment")); problem != nil {
				if err = errors.Join(err, problem); len(rep.Experiments) == 0 {
					return err
				}
			}
			inputs = append(inputs, report.Input{Name: path, Report: rep})
			return err
		}))
		if c.Err() != nil {
			break
		}
	}
	if len(inputs) > 0 {
		errs = append([]error{write(c, renderer(c, format, inputs, len(paths) > 1))}, errs...)
		if format != "json" && format != "markdown" { // which hold them
			for _, w := range report.Warnings(inputs, c.Bool("all-warnings")) {
				warnf(c, "%s", w)
			}
		}
	}
	err = errors.Join(errs...)
	if !c.Bool("slo-gate") {
		return err
	}
	var missed []error
	for _, in := range inputs {
		missed = append(missed, gate(in)...)
	}
	switch {
	case missed == nil:
		return err
	case err != nil: // what failed may be why
		return errors.Join(append([]error{err}, missed...)...)
	}
	return &cmdline.CodeError{Code: cmdline.ExitGate, Err: errors.Join(missed...)}
}

// reportConfig turns the flags of a report into a Config.
func reportConfig(c *cli.Context) (analyze.Config, error) {
	cfg, err := config(c)
	if err != nil {
		return cfg, err
	}
	if cfg.Windows, err = windows(c); err != nil {
		return cfg, err
	}
	return cfg, objective(c, &cfg)
}

// renderer returns what writes the reports. several says that more than one
// file was named, even if fewer could be read: the layout must not depend on
// that.
func renderer(c *cli.Context, format string, inputs []report.Input, several bool) report.Renderer {
	switch {
	case format == "csv":
		return report.CSV(inputs)
	case format == "json" && several:
		return report.JSONArray(inputs)
	case format == "json":
		return report.JSON(inputs[0])
	case format == "markdown":
		return report.Markdown(inputs)
	}
	return report.Table(inputs, report.Options{Percentiles: c.Bool("percentiles"), AllWarnings: c.Bool("all-warnings"), Width: consoleWidth(c)})
}
