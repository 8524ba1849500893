package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

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

// definitionsCommand returns the command definitions.
func definitionsCommand() *cli.Command {
	a := newAnalysis()
	var flags dialect.Config
	var selected []*dialect.Tool
	var limit int64
	readDialects := func(_ *cli.Context, given []string) (err error) {
		selected, err = selectDialects(given)
		return err
	}
	own := slices.Concat([]cli.Flag{
		formatFlag("table", "markdown", "json"),
		&cli.StringSliceFlag{Name: "dialect", Usage: "only this `DIALECT` beside strict, or all that begin so: genai-perf-25, vllm (repeatable)", Category: catCounting, Action: readDialects},
	}, outputFlags(), []cli.Flag{widthFlag(), experimentFlag(), memoryFlag(&limit)}, a.measureFlags(), []cli.Flag{tokenizerFlag()})
	return &cli.Command{
		Name: "definitions", Usage: "metrics under every dialect, and why they differ", ArgsUsage: "FILE",
		Description: `Prints the value of each metric for one load level of FILE, by our own
definition (strict) and by the definition of each other tool. Below a value
stand its definition (=) and the rules that make it differ from strict's in this
file, with the number of requests (≠). Releases with the same values share a
row. Known faults of a release are named. Without --tokenizer, values that a
tool computes with a tokenizer are n/a.`,
		Flags: slices.Concat(own, serverFlags(&flags, &a.Streaming), []cli.Flag{argFlag(&flags)}, inputFlags()),
		Action: action(oneRunFiles, func(c *call, files fileNames) error {
			if selected == nil {
				selected = registry().Compared()
			}
			cfg, err := toolOptions{call: c, flags: flags}.config()
			if err != nil {
				return err
			}
			strict, err := a.config(c)
			if err != nil {
				return err
			}
			strict.ValueMemory = analyze.ValueMemory(limit) / 3 // as much for the other definitions, and to sort them
			return c.definitions(files, selected, cfg, strict)
		}),
	}
}

// definitions prints the metrics of the run in files by the definitions of the selected tools. If the tokenizer cannot
// count a text, it prints them without token counts and returns an error.
func (c *call) definitions(files fileNames, selected []*dialect.Tool, cfg dialect.Config, strict analyze.Config) error {
	if s := c.statedAt(files.paths[0]); s != nil {
		return c.definitionsStated(s)
	}
	counters, err := c.tokenizersByReading(cfg.Tokenizer)
	if err != nil {
		return err
	}
	run, err := c.run(files)
	if err != nil {
		return err
	}
	err = c.definitionsOf(run, selected, cfg, counters, strict)
	refused := refusal(strict, counters)
	if refused == nil {
		return err
	}
	if run.canReopen() { // other tools' counts are worth nothing, but latencies need no tokenizer
		cfg.Tokenizer, strict.Counter, strict.Tokenizer = nil, nil, nil
		err = c.definitionsOf(run, selected, cfg, nil, strict)
	}
	return errors.Join(err, fmt.Errorf("%s: %w: %w; figures that need token counts are n/a: check the tokenizer file", run.name, dialect.ErrNotCounted, refused))
}

// definitionsOf reads the run and prints the table. It prints nothing if the run can be
// read again and a tokenizer could not count a text.
func (c *call) definitionsOf(run recording, selected []*dialect.Tool, cfg dialect.Config, counters map[tokenizer.Reading]dialect.Tokenizer, strict analyze.Config) error {
	path := run.name
	read := func(r export.Reader) error {
		cfg.FileBytes = run.bytes()
		level, several, err := c.pickLevel(path, r.Run())
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
		if refusal(strict, counters) != nil && run.canReopen() {
			return nil
		}
		if several != "" {
			c.warnf("%s", several)
		}
		c.warnings(r)
		err = errors.Join(named(path, err), leftOut(path, r, "not in the table"))
		d := &report.Definitions{Name: path, Mode: e.Mode, Value: e.Value, Width: c.width(), Comparison: explain.Compare(sides)}
		render := map[string]func(*report.Definitions) report.Renderer{
			"table": report.DefinitionsTable, "markdown": report.DefinitionsMarkdown, "json": report.DefinitionsJSON,
		}[c.String("format")]
		return errors.Join(c.write(render(d)), err)
	}
	return c.useMemory(strict.ValueMemory, func(memory *dialect.Memory) error {
		cfg.Memory = memory
		return c.use(run, read)
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
func (c *call) tokenizersByReading(tok dialect.Tokenizer) (map[tokenizer.Reading]dialect.Tokenizer, error) {
	if tok == nil {
		return nil, nil
	}
	as4 := dialect.Shared(tok)
	counters := map[tokenizer.Reading]dialect.Tokenizer{tokenizer.Transformers4: as4, tokenizer.Transformers5: as4}
	name := c.String("tokenizer")
	if name == "" || name == builtin.Name {
		return counters, nil
	}
	as5, err := c.findTokenizer(name, tokenizer.Transformers5)
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
	known := registry().Compared()
	var names []string
	for _, t := range known {
		names = append(names, t.Name)
	}
	for _, g := range given {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, g) }) {
			return nil, cmdline.Usagef("--dialect %q: give one of %s, or the beginning of several", g, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(known, func(t *dialect.Tool) bool {
		return len(given) > 0 && !slices.ContainsFunc(given, func(g string) bool { return strings.HasPrefix(t.Name, g) })
	}), nil
}

// pickLevel returns the index of the level asked for. Without a wish it is the first
// one; if there are others, the warning says so.
func (c *call) pickLevel(path string, run *export.Run) (index int, warning string, err error) {
	var all []string
	for i := range run.Experiments {
		all = append(all, run.Experiments[i].Mode+":"+run.Experiments[i].Value)
	}
	wishes := c.StringSlice("experiment")
	switch {
	case len(all) == 0:
		return 0, "", named(path, dialect.ErrNoExperiment)
	case len(wishes) == 0:
		if len(all) > 1 {
			warning = fmt.Sprintf("%s has the load levels %s; these are the definitions of the first (--experiment chooses another)", path, strings.Join(all, ", "))
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
