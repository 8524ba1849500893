package main

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/analyze/dialect/llmperf"
	"github.com/pa-tools/pa/pkg/analyze/dialect/serving"
	"github.com/pa-tools/pa/pkg/export"
)

// resultFlags are those of convert for result files of other tools.
func resultFlags() []cli.Flag {
	const category = "As another tool"
	flags := []cli.Flag{
		&cli.StringFlag{Name: "as", Usage: "write the result file of `TOOL`: " + strings.Join(resultNames(), ", "), Category: category},
		tokenizerFlag(),
		experimentFlag(),
	}
	for _, f := range dialectFlags() {
		switch f.Names()[0] {
		case "service-kind", "endpoint", "endpoint-type", "backend", "streaming", "goodput", "arg":
			flags = append(flags, f)
		}
	}
	return flags
}

// checkNoResult refuses flags that say how another tool's file is written, where
// none is.
func checkNoResult(c *cli.Context) error {
	for _, name := range flagNames(resultFlags()) {
		if c.IsSet(name) {
			return cmdline.Usagef("--%s is about another tool's file; give --as too", name)
		}
	}
	return nil
}

// resultNames are the tools that keep the figures of each request.
func resultNames() []string {
	var names []string
	for _, t := range serving.Tools() {
		names = append(names, t.Name)
	}
	for _, v := range llmperf.Versions() {
		names = append(names, v.Name)
	}
	return append(append(names, requestsNames()...), releaseNames())
}

// leaves returns what the result file of a tool cannot hold; ok is false for one
// that has none.
func leaves(name string) (text string, ok bool) {
	if t := serving.Find(name); t != nil {
		return t.Omits(), true
	}
	if v := llmperf.Find(name); v != nil {
		return v.Omits(), true
	}
	f, ok := requestsFiles[name]
	return f.leaves, ok
}

// convertAs writes the result file of another tool, with a list of each number of
// the requests unless --arg save_detailed says otherwise.
func convertAs(c *cli.Context, in, out string) error {
	name := c.String("as")
	if number, ok := strings.CutPrefix(name, perfAnalyzer); ok {
		return convertRelease(c, name, number, in, out)
	}
	lost, ok := leaves(name)
	if !ok {
		return cmdline.Usagef("--as %q: give one of %s", name, strings.Join(resultNames(), ", "))
	}
	if out != "-" {
		if err := checkOutput(out, c.Bool("overwrite")); err != nil {
			return err
		}
		if same(in, out) {
			return cmdline.Usagef("%s is both input and output; give another name", out)
		}
	}
	if f, ok := requestsFiles[name]; ok {
		return convertRequests(c, name, &f, in, out)
	}
	analyze, err := findDialect(name)
	if err != nil {
		return err
	}
	return use(c, in, func(r export.Reader) error {
		cfg, err := dialectConfig(sayingsOf(c, name, r.Run(), nil), name)
		if err != nil {
			return err
		}
		if serving.Find(name) != nil {
			args := map[string]string{"save_detailed": "True"}
			for key, value := range cfg.Args {
				args[key] = value
			}
			cfg.Args = args
		}
		rep, err := analyze(c.Context, r, cfg)
		warnings(c, r)
		if err = said(in, err); rep == nil {
			return err
		}
		for _, w := range rep.Warnings() {
			warnf(c, "%s: %s", in, sanitize.Text(w.Error()))
		}
		body := func(w io.Writer) error {
			b := bufio.NewWriterSize(w, 1<<16)
			return errors.Join(rep.JSON(b), b.Flush())
		}
		var problem error
		if out == "-" {
			problem = toStdout(c, body)
		} else {
			problem = writeFile(out, c.Bool("overwrite"), body)
		}
		if s, ok := rep.(*serving.Report); ok && problem == nil && s.Appended() {
			warnf(c, "%s: holds %d results, one for each load level, as the tool appends them with --append-result, and is no single JSON value; --experiment chooses one", out, len(s.Levels))
		}
		if problem == nil {
			warnf(c, "%s: a result of %s does not hold %s", out, name, lost)
		}
		return errors.Join(err, named(in, problem), leftOut(in, r, "not carried over"))
	})
}

// said turns what a dialect did not understand of the command line into a mistake
// of it.
func said(path string, err error) error {
	if argument := new(dialect.ArgError); errors.As(err, &argument) && !argument.Hint {
		return cmdline.Usagef("%v", argument)
	}
	if err = named(path, err); errors.Is(err, dialect.ErrNoTokenizer) {
		return cmdline.Usagef("%v; give it with --tokenizer", err)
	}
	return err
}
