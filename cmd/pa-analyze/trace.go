package main

import (
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/trace"
	"github.com/pa-tools/pa/pkg/export"
)

// traceCommand returns the command trace.
func traceCommand() *cli.Command {
	var config trace.Config
	return &cli.Command{
		Name: "trace", Usage: "write a run as trace events, for Perfetto", ArgsUsage: "[FILE | SHARD…]",
		Description: `Shows each request on a time axis: a process for each load level, a thread for
each slot, and in a request the slices queue, connect, TTFT, decode and end.
Stalls and failures are marked, and counters show the requests in flight, the
token events per second and the server's metrics. The sessions of a level are a
process of their own, with a thread for each agent. All requests are in it, also
requests that do not count. Open the file at ui.perfetto.dev, or in Chrome at
chrome://tracing; both read it on your machine. -o run.json.gz compresses it.`,
		Flags: slices.Concat(outputFlags(), []cli.Flag{tokenSourceFlag(&config.TokenSource), streamingFlag(&config.Streaming), tokenizerFlag()}, inputFlags(), []cli.Flag{memoryFlag(&config.MemoryLimit)}),
		Action: action(oneRunFiles, func(c *call, files fileNames) error {
			tokens, err := c.tokens(config.TokenSource)
			if err != nil {
				return err
			}
			keepToMemory(config.MemoryLimit)
			stall := quality.Default()
			config.Counter, config.Stalls = tokens.Counter, quality.Stalls{ThresholdNS: stall.StallNS, Factor: stall.StallFactor}
			return c.writeTrace(files, config)
		}),
	}
}

// writeTrace writes the trace of the run in files, compressed if the name of the output ends in .gz.
func (c *call) writeTrace(files fileNames, config trace.Config) error {
	return c.useOne(files, func(run recording, r export.Reader) error {
		var lacks []string
		err := c.writeRequests(func(out io.Writer) (err error) {
			if !strings.HasSuffix(c.String("output"), ".gz") {
				lacks, err = trace.Write(c.Context, out, r, config)
				return err
			}
			z := gzip.NewWriter(out)
			lacks, err = trace.Write(c.Context, z, r, config)
			return errors.Join(err, z.Close())
		})
		c.warnings(r)
		c.warnAll(lacks)
		return errors.Join(err, r.Err(), leftOut(run.name, r, "not in the trace"))
	})
}
