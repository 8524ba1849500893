package main

import (
	"errors"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/publish"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// writeCommand returns the command write.
func writeCommand() *cli.Command {
	a := newAnalysis()
	var form *publish.Form
	var at time.Time
	var names []string
	for _, f := range publish.Forms {
		names = append(names, f.Name)
	}
	to := parsed(&form, publish.Find, &cli.StringFlag{Name: "to", Usage: "write as `FORM`: " + cmdline.OneOf(names), Category: catOutput})
	when := parsed(&at, func(text string) (time.Time, error) {
		t, err := time.Parse(time.RFC3339, text)
		return t, refuse(text != "" && err != nil, "--time %q: give a time such as 2026-01-31T12:00:00Z", text)
	}, &cli.StringFlag{Name: "time", Usage: "give the figures this `TIME`, such as 2026-01-31T12:00:00Z (default: the time of each level in the file)", Category: catOutput})
	folder := cmdline.Derives(&cli.StringFlag{Name: "folder", Usage: "with --to mlflow: write into the folder `DIR`, such as mlruns", Category: catOutput})
	flags := slices.Concat([]cli.Flag{to, folder, when}, outputFlags(), []cli.Flag{experimentFlag()}, a.measureOwnFlags(), a.selectionFlags(), a.objectiveFlags(),
		[]cli.Flag{a.metricsFlag()}, a.qualityFlags(), a.economicsFlags(), a.sessionFlags(), inputFlags(), []cli.Flag{perFileFlag(), memoryFlag(&a.MemoryLimit)})
	return &cli.Command{
		Name: "write", Usage: "write figures for Prometheus, MLflow and others", ArgsUsage: "[FILE…]",
		Description: `FILE is any file that report reads, also a result that holds figures only.
pa-analyze writes files and opens no connection.
  openmetrics  promtool tsdb create-blocks-from openmetrics OUT DATA
  otlp-json    the receiver otlpjsonfile of OpenTelemetry's Collector
  mlflow       the folder of MLflow's file store: --folder mlruns
  pytorch-hud  upload_benchmark_results.py of PyTorch's benchmark database
  influx       influx write, Telegraf
Names and units are the same in all forms; times are seconds. Figures that
another tool states keep its numbers, and their names begin with stated_.`,
		Flags: flags,
		Action: analyzed(a, allFiles, func(c *call, files fileNames, cfg analyze.Config) error { return c.publish(files, cfg, form, at) }, func(c *call) error {
			switch {
			case form == nil:
				return cmdline.Usagef("write needs --to: %s", cmdline.OneOf(names))
			case form.Files != nil && (c.String("folder") == "" || c.IsSet("output")):
				return cmdline.Usagef("--to %s writes a folder: give --folder, such as --folder mlruns, and no --output", form.Name)
			case !form.NeedsTime && c.IsSet("time"):
				return cmdline.Usagef("--time: %s holds no times; drop it", form.Name)
			case form.Files == nil && c.IsSet("folder"):
				return cmdline.Usagef("--folder is for --to mlflow; %s is one file: give -o", form.Name)
			}
			return nil
		}),
	}
}

// publish writes the figures of the runs in files.
func (c *call) publish(files fileNames, cfg analyze.Config, form *publish.Form, at time.Time) error {
	all, err := c.statedIn(files.paths)
	if err != nil {
		return err
	}
	var runs []*publish.Run
	var errs []error
	for _, s := range all {
		runs = append(runs, publish.Stated(s))
	}
	if all != nil {
		if err := c.refuseStated(all[0]); err != nil {
			return err
		}
	}
	if all == nil {
		recordings, err := c.runs(files)
		if err != nil {
			return err
		}
		cfg.Bounds = publish.Bounds
		var inputs []report.Input
		inputs, errs = c.analyzeRuns(recordings, "not in the figures", func(int) analyze.Config { return cfg })
		for _, in := range inputs {
			runs = append(runs, publish.Report(in))
		}
		c.warnAll(report.Warnings(inputs, false))
	}
	notes, err := form.Prepare(runs, at)
	for _, note := range notes {
		c.notef("%s", note)
	}
	switch {
	case len(runs) == 0:
	case err != nil:
	case form.Files != nil:
		err = form.WriteFolder(c.String("folder"), runs, func(path string, write func(io.Writer) error) error { return c.writeTo(path, disk.Figures, write) })
	default:
		err = c.write(form.Write(runs))
	}
	return errors.Join(append(errs, err)...)
}
