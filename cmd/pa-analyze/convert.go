package main

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// convertCommand returns the command convert.
func convertCommand() *cli.Command {
	var source answer.TokenSource
	var foreign dialect.Config
	flags := []cli.Flag{overwriteFlag(), tokenSourceFlag(&source), &cli.StringFlag{Name: "as", Usage: "write the result file of `TOOL`: " + resultNames(), Category: catTools}, tokenizerFlag(), experimentFlag()}
	return &cli.Command{
		Name: "convert", Usage: "write a run in another format", ArgsUsage: "IN OUT",
		Description: `IN is any file that report reads; the end of OUT's name says what is written:
.json, .json.gz, .json.zst (profile_export.json), .parquet or .arrow; - is
profile_export.json on standard output. Nothing is lost on the way: a file of
perf_analyzer comes back byte for byte. If a file breaks off, convert
writes all whole requests, leaves out requests that cannot be read, and ends
with exit code 1.
.parquet and .arrow also hold columns that are computed from the answers. With
--tokenizer the columns output_tokens, input_tokens and tpot_ns are counted by
that tokenizer where the server does not say them; --token-source tokenizer
counts all outputs. report with the same flags uses these columns.
With --as TOOL, OUT is the result file of that tool, with the figures of each
request; a warning says what it cannot hold. The summaries of AIPerf and
inference-perf are written beside their file of requests. For TensorRT-LLM,
vLLM, SGLang and llm_perf, report --dialect TOOL --format json prints the same
file. --as perf_analyzer-24.03 writes profile_export.json as that release did.`,
		Flags: slices.Concat(flags, serverFlags(&foreign), []cli.Flag{goodputFlag(), argFlag(&foreign)}, inputFlags()),
		Action: action(copiedFiles(false, "IN and OUT"), func(c *call, args copyArguments) error {
			if c.IsSet("as") {
				return c.convertAs(args, foreign)
			}
			return c.convert(args, source)
		}),
	}
}

// convert writes a run in another of our own formats.
func (c *call) convert(args copyArguments, source answer.TokenSource) error {
	if f := c.resultFlag(); f != "" { // a tokenizer also counts for the derived columns of a table
		return cmdline.Usagef("--%s applies only to another tool's file; add --as", f)
	}
	create, noFormat := createFor(args.out)
	if noFormat != nil && !strings.HasSuffix(args.out, ".csv") { // which figures have
		return noFormat
	}
	if f := c.given("tokenizer", "token-source"); f != "" && !formats.HasDerived(args.out) {
		return cmdline.Usagef("--%s: %s has no derived columns; drop the flag, or give a name that ends in .parquet or .arrow", f, args.out)
	}
	if err := c.checkPath(args.out); err != nil {
		return err
	}
	tokens, err := c.tokens(source)
	if err != nil {
		return err
	}
	if s := c.statedAt(args.in.paths[0]); s != nil && len(args.in.paths) == 1 {
		return c.convertStated(s, args.out)
	}
	run, err := c.run(args.in)
	if err := cmp.Or(noFormat, err); err != nil {
		return err
	}
	return c.writeRun(run, args.out, create, tokens)
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
func (c *call) writeRun(run recording, out string, create formats.Create, tokens answer.TokenCounting) error {
	return c.use(run, func(r export.Reader) error {
		var deriver *answer.Deriver
		write := func(w io.Writer) error {
			b := bufio.NewWriterSize(w, 1<<16)
			deriver = answer.NewTokenDeriver(export.Preview(r), tokens)
			dst, err := create(b, deriver)
			if err != nil {
				return err
			}
			if err := export.CopyPreview(c.Context, dst, r); err != nil {
				return err
			}
			return b.Flush()
		}
		err := c.writeTo(out, disk.Private, write)
		if errors.Is(err, export.ErrRunChanged) { // the run is complete now
			err = c.writeTo(out, disk.Private, write)
		}
		c.warnings(r)
		if counter, ok := tokens.Counter.(*answer.LimitedCounter); ok && counter.Err() != nil {
			c.warnf("%s: the tokenizer could not count texts of %s, whose token counts are missing, so report will count again: %v; check the tokenizer file",
				out, plural.GroupedOf(int(deriver.Derivation().NotCounted), "request"), counter.Err())
		}
		return errors.Join(named(out, err), r.Err(), leftOut(run.name, r, "not carried over"))
	})
}

// resultFlag returns a flag about another tool's file, besides --as and --tokenizer, that was
// given; "" for none.
func (c *call) resultFlag() string {
	return c.given("experiment", "service-kind", "endpoint", "endpoint-type", "backend", "streaming", "goodput", "arg")
}

// resultNames lists the tools whose result files can be written.
func resultNames() string {
	var names []string
	for _, t := range registry().Results() {
		names = append(names, t.Result.Listed)
	}
	return strings.Join(names, ", ")
}

// convertAs writes the result file of another tool, and the files that the tool keeps
// beside it. Standard output gets the result file only.
func (c *call) convertAs(args copyArguments, foreign dialect.Config) error {
	name, in, out := c.String("as"), args.in.name, args.out
	t := registry().Find(name)
	if t == nil || t.Result == nil {
		return cmdline.Usagef("--as %q: give one of %s", name, resultNames())
	}
	if c.IsSet("token-source") {
		return cmdline.Usagef("--token-source applies to the derived columns of .parquet and .arrow; drop it, or drop --as")
	}
	result := t.Result
	if f := cmp.Or(c.given("tokenizer"), c.resultFlag()); f != "" && result.WholeRun {
		return cmdline.Usagef("--%s: a file of %s holds the whole run as it is; drop it", f, t.Family)
	}
	if err := c.checkPath(out); err != nil {
		return err
	}
	if out != "-" && !strings.HasSuffix(out, result.Ending) {
		return cmdline.Usagef("%s: what %s reads ends in %s; give such a name", out, name, result.Ending)
	}
	if err := (toolOptions{call: c, flags: foreign, tool: t}).check(); err != nil {
		return err
	}
	return c.useOne(args.in, func(_ recording, r export.Reader) error {
		var cfg dialect.Config
		var err error
		if !result.WholeRun {
			if cfg, err = c.optionsOf(foreign, t, r.Run(), nil).config(); err != nil {
				return err
			}
		}
		if out != "-" && result.Companions != nil {
			companions := result.Companions(out, r.Run())
			for _, path := range companions {
				cmdline.Files(c.commandLine).WritesFor("the output", "a summary", path)
			}
			if err := cmdline.CheckFiles(c.commandLine); err != nil {
				return err
			}
			for _, path := range companions {
				if err := c.checkPath(path); err != nil {
					return err
				}
			}
		}
		var written *dialect.Written
		err = c.writeTo(out, disk.Private, func(w io.Writer) (err error) {
			return c.useMemory(analyze.ValueMemory(analyze.DefaultMemoryLimit)/2, func(memory *dialect.Memory) error {
				cfg.Memory = memory
				b := bufio.NewWriterSize(w, 1<<16)
				if written, err = dialect.WriteResult(c.Context, t, r, cfg, out, b); err != nil {
					return err
				}
				return b.Flush()
			})
		})
		c.warnings(r)
		if _, ok := errors.AsType[*disk.OutputError](err); err != nil && !ok {
			err = toolError(in, err)
		}
		if err != nil {
			return errors.Join(err, named(in, r.Err()))
		}
		for _, w := range written.Warnings {
			c.warnf("%s: %v", in, w)
		}
		var problems []error
		if out != "-" {
			for _, b := range written.Companions {
				problems = append(problems, c.writeTo(b.Path, disk.Private, b.Write))
			}
		}
		if written.Note != "" {
			c.warnf("%s: %s", out, written.Note)
		}
		if result.Omits != "" {
			c.warnf("%s: a result of %s does not hold %s", out, name, result.Omits)
		}
		return errors.Join(append(slices.Clip(problems), r.Err(), leftOut(in, r, "not carried over"))...)
	})
}
