package files

import (
	"bufio"
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/outfile"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
)

// Convert returns the command convert.
func Convert() *cli.Command {
	return &cli.Command{
		Name: "convert", Usage: "write a run in another format", ArgsUsage: "IN OUT",
		Description: `IN is any file that report reads; the end of OUT's name says what is written:
.json, .json.gz, .json.zst (profile_export.json), .parquet or .arrow; - is
profile_export.json on standard output. Nothing is lost on the way: a file of
perf_analyzer comes back byte for byte. Of a file that breaks off all whole
requests are written, and requests that cannot be read are left out; the exit
code is 1 then.
.parquet and .arrow also hold columns that are computed from the answers. With
--tokenizer the columns output_tokens, input_tokens and tpot_ns are counted by
that tokenizer where the server does not say them; --token-source tokenizer
counts all outputs. report with the same flags uses these columns.
With --as OUT is a result file of that tool, with the figures of each request,
as report --dialect TOOL --format json writes it or, of AIPerf, GuideLLM and
inference-perf, the file of its requests, with their summaries beside it; a
warning says what it cannot hold. --as perf_analyzer-24.03 writes
profile_export.json as that release did.`,
		Flags:  append(append([]cli.Flag{settings.OverwriteFlag(), settings.TokenSourceFlag()}, resultFlags()...), settings.InputFlags()...),
		Action: settings.Distinct(settings.ReadsAllButLast, convert),
	}
}

func convert(c *cli.Context) (err error) {
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	if c.NArg() != 2 {
		return cmdline.Usagef("%s given; pa-analyze convert takes IN and OUT", plural.Of(c.NArg(), "argument"))
	}
	in, out := c.Args().Get(0), c.Args().Get(1)
	if c.IsSet("as") {
		return convertAs(c, ahead, in, out)
	}
	if err := checkNoResult(c); err != nil {
		return err
	}
	create, err := createFor(out)
	if err != nil {
		return err
	}
	for _, flag := range [...]string{"tokenizer", "token-source"} {
		if c.IsSet(flag) && !formats.HasDerived(out) {
			return cmdline.Usagef("--%s: %s has no derived columns; drop the flag, or give a name that ends in .parquet or .arrow", flag, out)
		}
	}
	if err := checkConverted(c, out); err != nil {
		return err
	}
	tokens, err := settings.Tokens(c)
	if err != nil {
		return err
	}
	run, err := ahead.OneOf(c, []string{in})
	if err != nil {
		return err
	}
	return writeRun(c, ahead, run, out, create, tokens)
}

// createFor returns what writes the format of a file with this name. The error is a usage
// error.
func createFor(out string) (formats.Create, error) {
	create, ok := formats.ForName(out)
	switch {
	case out == "-":
		return formats.JSON, nil
	case !ok:
		return nil, cmdline.Usagef("%s: cannot tell the format from the name; end it in %s", out, formats.Suffixes)
	}
	return create, nil
}

// writeRun writes a run into the file out, or onto standard output. tokens says how the
// derived columns count.
func writeRun(c *cli.Context, ahead settings.OpenFiles, run settings.Input, out string, create formats.Create, tokens answer.TokenCounting) error {
	return ahead.Use(c, run, func(r export.Reader) error {
		var deriver *answer.Deriver
		write := func(w io.Writer) error {
			b := bufio.NewWriterSize(w, 1<<16)
			deriver = answer.NewTokenDeriver(export.Preview(r), tokens)
			dst, err := create(b, deriver)
			if err != nil {
				return err
			}
			return errors.Join(export.CopyPreview(c.Context, dst, r), b.Flush())
		}
		err := settings.WriteTo(c, out, outfile.Private, write)
		if errors.Is(err, export.ErrRunChanged) { // the run is complete now
			err = settings.WriteTo(c, out, outfile.Private, write)
		}
		settings.Warnings(c, r)
		if counter, ok := tokens.Counter.(*answer.LimitedCounter); ok && counter.Err() != nil {
			settings.Warnf(c, "%s: the tokenizer could not count texts of %s, whose token counts are missing, so report will count again: %v; check the tokenizer file",
				out, plural.GroupedOf(int(deriver.Derivation().NotCounted), "request"), counter.Err())
		}
		return errors.Join(settings.Named(out, err), r.Err(), settings.LeftOut(run.Name, r, "not carried over"))
	})
}

// checkConverted refuses an output that cannot or must not be written.
func checkConverted(c *cli.Context, out string) error {
	if out == "-" {
		return nil
	}
	return outfile.Check(out, c.Bool("overwrite"))
}
