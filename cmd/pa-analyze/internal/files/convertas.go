package files

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/outfile"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// resultFlags are the flags of convert for result files of other tools.
func resultFlags() []cli.Flag {
	const category = "Dialect"
	flags := []cli.Flag{
		&cli.StringFlag{Name: "as", Usage: "write the result file of `TOOL`: " + resultNames(), Category: category},
		settings.TokenizerFlag(),
		settings.ExperimentFlag(),
	}
	return append(flags, settings.SomeFlags(settings.DialectFlags(), "service-kind", "endpoint", "endpoint-type", "backend", "streaming", "goodput", "arg")...)
}

// checkNoResult refuses flags that say how another tool's file is written if there is
// no --as. A tokenizer also counts for the derived columns of a table.
func checkNoResult(c *cli.Context) error {
	for _, name := range settings.FlagNames(resultFlags()) {
		if name != "tokenizer" && c.IsSet(name) {
			return cmdline.Usagef("--%s is about another tool's file; give --as too", name)
		}
	}
	return nil
}

// resultNames lists the tools whose result files can be written.
func resultNames() string {
	var names []string
	for _, t := range settings.Registry().Results() {
		names = append(names, t.Result.Listed)
	}
	return strings.Join(names, ", ")
}

// convertAs writes the result file of another tool, and the files that the tool keeps
// beside it. Standard output gets the result file only.
func convertAs(c *cli.Context, ahead settings.OpenFiles, in, out string) error {
	name := c.String("as")
	t := settings.Registry().Find(name)
	if t == nil || t.Result == nil {
		return cmdline.Usagef("--as %q: give one of %s", name, resultNames())
	}
	if c.IsSet("token-source") {
		return cmdline.Usagef("--token-source is about the derived columns of .parquet and .arrow; drop it, or drop --as")
	}
	result := t.Result
	for _, flag := range settings.FlagNames(resultFlags()) {
		if result.WholeRun && flag != "as" && c.IsSet(flag) {
			return cmdline.Usagef("--%s: a file of %s holds the whole run as it is; drop it", flag, t.Family)
		}
	}
	if err := checkConverted(c, out); err != nil {
		return err
	}
	if out != "-" && !strings.HasSuffix(out, result.Ending) {
		return cmdline.Usagef("%s: what %s reads ends in %s; give such a name", out, name, result.Ending)
	}
	run, err := ahead.OneOf(c, []string{in})
	if err != nil {
		return err
	}
	return ahead.Use(c, run, func(r export.Reader) error {
		var cfg dialect.Config
		var err error
		if !result.WholeRun {
			if cfg, err = settings.DialectConfig(settings.OptionsOf(c, t, r.Run(), nil), t); err != nil {
				return err
			}
		}
		if out != "-" && result.Companions != nil {
			companions := result.Companions(out, r.Run())
			for _, path := range companions {
				cmdline.Files(c).WritesFor("the output", "a summary", path)
			}
			if err := cmdline.CheckFiles(c); err != nil {
				return err
			}
			for _, path := range companions {
				if err := outfile.Check(path, c.Bool("overwrite")); err != nil {
					return err
				}
			}
		}
		var written *dialect.Written
		err = settings.WriteTo(c, out, outfile.Private, func(w io.Writer) (err error) {
			return settings.UseMemory(c, analyze.ValueMemory(analyze.DefaultMemoryLimit)/2, func(memory *dialect.Memory) error {
				cfg.Memory = memory
				b := bufio.NewWriterSize(w, 1<<16)
				if written, err = dialect.WriteResult(c.Context, t, r, cfg, out, b); err != nil {
					return err
				}
				return b.Flush()
			})
		})
		settings.Warnings(c, r)
		if err != nil {
			return errors.Join(settings.DialectError(in, err), settings.Named(in, r.Err()))
		}
		for _, w := range written.Warnings {
			settings.Warnf(c, "%s: %v", in, w)
		}
		var problems []error
		if out != "-" {
			for _, b := range written.Companions {
				problems = append(problems, settings.WriteTo(c, b.Path, outfile.Private, b.Write))
			}
		}
		if written.Note != "" {
			settings.Warnf(c, "%s: %s", out, written.Note)
		}
		if result.Omits != "" {
			settings.Warnf(c, "%s: a result of %s does not hold %s", out, name, result.Omits)
		}
		return errors.Join(append(slices.Clip(problems), r.Err(), settings.LeftOut(in, r, "not carried over"))...)
	})
}
