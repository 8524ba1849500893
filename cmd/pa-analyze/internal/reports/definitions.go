package reports

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Definitions returns the command definitions.
func Definitions() *cli.Command {
	flags := []cli.Flag{
		settings.FormatFlag("table", "table, markdown or json"),
		&cli.StringSliceFlag{Name: "dialect", Usage: "only this `DIALECT` beside strict, or all that begin so: genai-perf-25, vllm (repeatable)", Category: "Counting"},
	}
	flags = append(append(flags, settings.OutputFlags()...), settings.WidthFlag(), settings.ExperimentFlag(), settings.MemoryFlag())
	flags = append(append(flags, settings.MeasureFlags()...), settings.TokenizerFlag())
	flags = append(flags, settings.SomeFlags(settings.DialectFlags(), "service-kind", "endpoint", "endpoint-type", "backend", "streaming", "arg")...)
	return &cli.Command{
		Name: "definitions", Usage: "metrics under every dialect, and why they differ", ArgsUsage: "FILE",
		Description: `Prints for each metric what strict and every other tool's definition give for
one load level of this file, the definition in a line, and which of its rules
made it another number than strict's: only rules that were at work on this
file, with the number of requests. Releases that agree share a row. Known
faults of a release are named. Without --tokenizer, what a tool counts with one
is n/a.`,
		Flags:  append(flags, settings.InputFlags()...),
		Action: settings.Distinct(settings.ReadsRuns, definitions),
	}
}

func definitions(c *cli.Context) error {
	format, err := settings.CheckFormat(c, "table", "markdown", "json")
	if err != nil {
		return err
	}
	selected, err := selectDialects(c.StringSlice("dialect"))
	if err != nil {
		return err
	}
	cfg, err := settings.DialectConfig(settings.NewOptions(c, nil), nil)
	if err != nil {
		return err
	}
	strict, err := settings.Config(c)
	if err != nil {
		return err
	}
	limit, err := settings.MemoryLimit(c)
	if err != nil {
		return err
	}
	strict.ValueMemory = analyze.ValueMemory(limit) / 3 // as much for the other definitions, and to sort them
	counters, err := tokenizersByReading(c, cfg.Tokenizer)
	if err != nil {
		return err
	}
	ahead := settings.OpenFiles{}
	run, err := ahead.OneRun(c)
	if err = errors.Join(err, ahead.Close()); err != nil {
		return err
	}
	err = definitionsOf(c, run, format, selected, cfg, counters, strict)
	refused := refusal(strict, counters)
	if refused == nil {
		return err
	}
	if run.CanReopen() { // other tools' counts are worth nothing, but latencies need no tokenizer
		cfg.Tokenizer, strict.Counter, strict.Tokenizer = nil, nil, nil
		err = definitionsOf(c, run, format, selected, cfg, nil, strict)
	}
	return errors.Join(err, fmt.Errorf("%s: %w: %w; figures that need token counts are n/a: check the tokenizer file", run.Name, dialect.ErrNotCounted, refused))
}

// definitionsOf reads the run and prints the table. It prints nothing if the run can be
// read again and a tokenizer could not count a text.
func definitionsOf(c *cli.Context, run settings.Input, format string, selected []*dialect.Tool, cfg dialect.Config, counters map[tokenizer.Reading]dialect.Tokenizer, strict analyze.Config) error {
	path := run.Name
	read := func(r export.Reader) error {
		cfg.FileBytes = run.Bytes()
		level, several, err := pickLevel(c, path, r.Run())
		if err != nil {
			return err
		}
		e := &r.Run().Experiments[level]
		cfg.Level = dialect.Level{Mode: e.Mode, Value: e.Value}
		sides, err := dialect.Define(c.Context, r, level, selected, func(t *dialect.Tool) dialect.Config {
			cfg := cfg
			cfg.Tokenizer = counters[tokenizer.Transformers4]
			if t.Transformers == 5 {
				cfg.Tokenizer = counters[tokenizer.Transformers5]
			}
			return cfg
		}, strict)
		if errors.Is(err, export.ErrContradiction) {
			return err
		}
		if refusal(strict, counters) != nil && run.CanReopen() {
			return nil
		}
		if several != "" {
			settings.Warnf(c, "%s", several)
		}
		settings.Warnings(c, r)
		err = errors.Join(settings.Named(path, err), settings.LeftOut(path, r, "not in the table"))
		d := &report.Definitions{Name: path, Mode: e.Mode, Value: e.Value, Width: settings.ConsoleWidth(c), Comparison: explain.Compare(sides)}
		render := map[string]func(*report.Definitions) report.Renderer{
			"table": report.DefinitionsTable, "markdown": report.DefinitionsMarkdown, "json": report.DefinitionsJSON,
		}[format]
		return errors.Join(settings.Write(c, render(d)), err)
	}
	return settings.UseMemory(c, strict.ValueMemory, func(memory *dialect.Memory) error {
		cfg.Memory = memory
		return run.Use(c, read)
	})
}

// refusal returns why the tokenizer of strict or one of counters could not count a text;
// nil if each of them counted all.
func refusal(strict analyze.Config, counters map[tokenizer.Reading]dialect.Tokenizer) error {
	if t, ok := strict.Counter.(*answer.LimitedCounter); ok && t.Err() != nil {
		return t.Err()
	}
	for _, reading := range [...]tokenizer.Reading{tokenizer.Transformers4, tokenizer.Transformers5} {
		if t, ok := counters[reading].(interface{ Err() error }); ok && t.Err() != nil {
			return t.Err()
		}
	}
	return nil
}

// tokenizersByReading returns the tokenizer of --tokenizer once for each reading, or
// nil if there is none.
func tokenizersByReading(c *cli.Context, tok dialect.Tokenizer) (map[tokenizer.Reading]dialect.Tokenizer, error) {
	if tok == nil {
		return nil, nil
	}
	as4 := dialect.Shared(tok)
	counters := map[tokenizer.Reading]dialect.Tokenizer{tokenizer.Transformers4: as4, tokenizer.Transformers5: as4}
	name := c.String("tokenizer")
	if name == "" || name == builtin.Name {
		return counters, nil
	}
	as5, err := settings.FindTokenizer(c, name, tokenizer.Transformers5)
	if err != nil {
		return nil, err
	}
	if as5.Class() != "" {
		counters[tokenizer.Transformers5] = dialect.Shared(as5)
	}
	return counters, nil
}

// selectDialects returns the dialects whose names begin with a given name; all for
// none.
func selectDialects(given []string) ([]*dialect.Tool, error) {
	known := settings.Registry().Compared()
	var names []string
	for _, t := range known {
		names = append(names, t.Name)
	}
	for _, g := range given {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, g) }) {
			return nil, cmdline.Usagef("--dialect %q: give one of %s, or how some of them begin", g, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(known, func(t *dialect.Tool) bool {
		return len(given) > 0 && !slices.ContainsFunc(given, func(g string) bool { return strings.HasPrefix(t.Name, g) })
	}), nil
}

// pickLevel returns the index of the level asked for. Without a wish it is the first
// one; if there are others, the warning says so.
func pickLevel(c *cli.Context, path string, run *export.Run) (index int, warning string, err error) {
	var all []string
	for i := range run.Experiments {
		all = append(all, run.Experiments[i].Mode+":"+run.Experiments[i].Value)
	}
	wishes := c.StringSlice("experiment")
	switch {
	case len(all) == 0:
		return 0, "", settings.Named(path, dialect.ErrNoExperiment)
	case len(wishes) == 0:
		if len(all) > 1 {
			warning = fmt.Sprintf("%s has the load levels %s; this is the first (choose with --experiment)", path, strings.Join(all, ", "))
		}
		return 0, warning, nil
	}
	for i := len(all) - 1; i >= 0; i-- { // the tools take the last one of equal levels
		if dialect.ParseLevel(wishes[0]).Matches(&run.Experiments[i]) {
			return i, "", nil
		}
	}
	return 0, "", fmt.Errorf("%s: no load level %q; the file has %s", path, wishes[0], sanitize.Text(strings.Join(all, ", ")))
}
