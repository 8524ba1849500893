package main

import (
	"cmp"
	"runtime/debug"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/answer"
)

// mergeCommand returns the command merge.
func mergeCommand() *cli.Command {
	return &cli.Command{
		Name: "merge", Usage: "write the shards of a run as one file", ArgsUsage: "SHARD… OUT",
		Description: `Each SHARD is the file that one rank of a run recorded (pa-record --rank,
--world-size), in any format, or a glob in quotes; the last argument is the whole
run to write. Its name says the format, as for convert. Times are on the clock of
rank 0, and requests have the rank that sent them. report 'shards/*.parquet' reads
shards without this step and prints the same figures.
With --clients each file is a whole run of a client, also of another tool: clients
that loaded one server at the same time, each with a load of its own. Levels
belong together by their loads, have to overlap in time, and their loads add up.
--clock-bound says how far the clients' clocks differ; files of one machine need
none.
Exit code 1: ranks are missing, or a file is cut short (the rest is written and
the message names them), or the files are not shards of one run (nothing is
written).`,
		Flags: append([]cli.Flag{
			overwriteFlag(),
			&cli.BoolFlag{Name: "clients", Usage: "the files are whole runs of several clients at the same time, whose loads add up", Category: catInput},
			&cli.DurationFlag{Name: "clock-bound", Usage: "the clocks of the clients differ by at most `TIME`, such as 1ms; with --clients", Category: catInput, Action: atLeast(time.Duration(0), "--clock-bound %v: give a time, such as 1ms")},
		}, inputFlags()...),
		Action: action(copiedFiles(true, "SHARD… and OUT"), (*call).merge),
	}
}

// mergeGCPercent is the growth of the heap, in percent, after which a merge collects garbage.
// All shards are open at once, so most of the heap is their pages, and there is little garbage:
// collecting it often costs a few percent of the time.
const mergeGCPercent = 15

// merge writes the shards of a run as one file.
func (c *call) merge(args copyArguments) error {
	before := debug.SetGCPercent(mergeGCPercent)
	defer debug.SetGCPercent(before)
	create, err := createFor(args.out)
	if err != nil {
		return err
	}
	if c.isShard(args.out) { // without OUT the last shard stands in its place
		return cmdline.Usagef("%s is a shard, and merge writes the last argument: give the name of the whole run after the shards", args.out)
	}
	if err := c.checkPath(args.out); err != nil {
		return err
	}
	run := recording{name: cmp.Or(args.in.name, args.in.paths[0]+" and other clients"), paths: args.in.paths, clients: c.Bool("clients")}
	if !run.clients {
		if c.IsSet("clock-bound") {
			return cmdline.Usagef("--clock-bound needs --clients; shards record how far their clocks differ")
		}
		if run, err = c.onlyShards(args.in); err != nil {
			return err
		}
	}
	return c.writeRun(run, args.out, create, answer.TokenCounting{})
}
