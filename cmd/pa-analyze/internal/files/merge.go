package files

import (
	"errors"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/answer"
)

// Merge returns the command merge.
func Merge() *cli.Command {
	return &cli.Command{
		Name: "merge", Usage: "write the shards of a run as one file", ArgsUsage: "SHARD… OUT",
		Description: `Each SHARD is the file that one rank of a run recorded (pa-record --rank,
--world-size), in any format, or a glob in quotes; the last argument is the whole
run to write. Its name says the format, as for convert. Times are on the clock of
rank 0, and requests have the rank that sent them. report 'shards/*.parquet' reads
shards without this step and prints the same figures.
Exit code 1: ranks are missing, or a file is cut short (the rest is written and
the message names them), or the files are not shards of one run (nothing is
written).`,
		Flags:  append([]cli.Flag{settings.OverwriteFlag()}, settings.InputFlags()...),
		Action: settings.Distinct(settings.ReadsAllButLast, merge),
	}
}

// mergeGCPercent is the growth of the heap, in percent, after which a merge collects garbage.
// All shards are open at once, so most of the heap is their pages, and there is little garbage:
// collecting it often costs a few percent of the time.
const mergeGCPercent = 15

func merge(c *cli.Context) (err error) {
	before := debug.SetGCPercent(mergeGCPercent)
	defer debug.SetGCPercent(before)
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	if c.NArg() < 2 {
		return cmdline.Usagef("%s given; pa-analyze merge takes SHARD… and OUT", plural.Of(c.NArg(), "argument"))
	}
	args := c.Args().Slice()
	in, out := args[:len(args)-1], args[len(args)-1]
	create, err := createFor(out)
	if err != nil {
		return err
	}
	if ahead.IsShard(c, out) { // without OUT the last shard stands in its place
		return cmdline.Usagef("%s is a shard, and merge writes the last argument: give the name of the whole run after the shards", out)
	}
	run, err := ahead.OnlyShards(c, in)
	if err != nil {
		return err
	}
	if err := checkConverted(c, out); err != nil {
		return err
	}
	return writeRun(c, ahead, run, out, create, answer.TokenCounting{})
}
