package files

import (
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/trace"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Trace returns the command trace.
func Trace() *cli.Command {
	flags := slices.Concat(settings.OutputFlags(), []cli.Flag{settings.TokenSourceFlag(), settings.StreamingFlag(), settings.TokenizerFlag()})
	return &cli.Command{
		Name: "trace", Usage: "write a run as trace events, for Perfetto", ArgsUsage: "[FILE | SHARD…]",
		Description: `Shows each request on a time axis: a process for each load level, a thread for
each slot, and in a request the slices queue, connect, TTFT, decode and end.
Stalls and failures are marked, and counters show the requests in flight, the
token events per second and the server's metrics. All requests are in it, also
requests that do not count. Open the file at ui.perfetto.dev, or in Chrome at
chrome://tracing; both read it on your machine. With -o run.json.gz it is
compressed.`,
		Flags:  append(append(flags, settings.InputFlags()...), settings.MemoryFlag()),
		Action: settings.Distinct(settings.ReadsRuns, writeTrace),
	}
}

func writeTrace(c *cli.Context) (err error) {
	tokens, err := settings.Tokens(c)
	if err != nil {
		return err
	}
	if err := settings.CheckOutput(c); err != nil {
		return err
	}
	limit, err := settings.KeepToMemoryLimit(c)
	if err != nil {
		return err
	}
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	run, err := ahead.OneRun(c)
	if err != nil {
		return err
	}
	stall := analyze.DefaultQuality()
	config := trace.Config{
		Config: answer.Config{TokenSource: tokens.TokenSource, Counter: tokens.Counter},
		Stalls: quality.Stalls{ThresholdNS: stall.StallNS, Factor: stall.StallFactor},

		MemoryLimit: limit,
	}
	if c.IsSet("streaming") {
		streaming := c.Bool("streaming")
		config.Streaming = &streaming
	}
	return ahead.Use(c, run, func(r export.Reader) error {
		err := settings.WriteRequests(c, func(out io.Writer) error {
			if !strings.HasSuffix(c.String("output"), ".gz") {
				return trace.Write(c.Context, out, r, config)
			}
			z := gzip.NewWriter(out)
			return errors.Join(trace.Write(c.Context, z, r, config), z.Close())
		})
		settings.Warnings(c, r)
		return errors.Join(err, r.Err(), settings.LeftOut(run.Name, r, "not in the trace"))
	})
}
