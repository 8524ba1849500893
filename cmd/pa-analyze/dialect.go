package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/outfile"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/analyze/dialect/tools"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tokenizer"
)

// dialectFlags say as which tool to report, and what that tool's command line
// said.
func dialectFlags() []cli.Flag {
	const category = "As another tool"
	return []cli.Flag{
		&cli.StringFlag{Name: "dialect", Usage: "report as `TOOL` does, to the character: perf_analyzer, genai-perf-24.03 to -25.08 and -main, trtllm-1.0, trtllm-main, vllm, sglang, llm_perf-v1, llm_perf-v2, aiperf", Value: dialect.Strict, Category: category},
		&cli.StringFlag{Name: "service-kind", Usage: "what answered: `KIND` openai, triton or tensorrtllm_engine (default: as in the file)", Category: category},
		&cli.StringFlag{Name: "endpoint", Usage: "`PATH` that was asked (default: as in the file)", Category: category},
		&cli.StringFlag{Name: "endpoint-type", Usage: "`TYPE` of the endpoint: chat, completions, embeddings, … (default: by the file)", Category: category},
		&cli.StringFlag{Name: "backend", Usage: "Triton's `BACKEND`: vllm or tensorrtllm; of serving benchmarks theirs: openai-chat, …", Category: category},
		streamingFlag(),
		&cli.StringFlag{Name: "goodput", Usage: "`LIMITS` of good requests as the tool spells them, in ms: 'time_to_first_token:200 inter_token_latency:16.5', 'ttft:200 tpot:16.5'", Category: category},
		&cli.IntFlag{Name: "batch-size", Aliases: []string{"b"}, Usage: "requests were batches of `N` (perf_analyzer; default: by the file, 1)", Category: category},
		&cli.IntFlag{Name: "percentile", Usage: "report the `N`th percentile of latency; -1: the mean (perf_analyzer; default: by the file, -1)", Category: category},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "show each measurement window (perf_analyzer)", Category: category},
		&cli.BoolFlag{Name: "verbose-csv", Usage: "more columns in the CSV report (perf_analyzer)", Category: category},
		&cli.StringSliceFlag{Name: "arg", Usage: "`KEY=VALUE` of the tool's command line: percentile_metrics=ttft,e2el, save_detailed=True, … (repeatable)", Category: category},
		&cli.BoolFlag{Name: "csv-file", Usage: "besides the table, write the tool's CSV file into the folder of the export", Category: category},
	}
}

// registry returns all dialects.
func registry() *dialect.Registry { return tools.All() }

// findTool returns the dialect of that name.
func findTool(name string) (*dialect.Tool, error) {
	all := registry()
	if t := all.Find(name); t != nil && t.New != nil {
		return t, nil
	}
	names, listed := []string{dialect.Strict}, []string{dialect.Strict}
	for _, t := range all.Reports() {
		names, listed = append(names, t.Name), append(listed, t.Listed)
	}
	hint := all.Latest(name)
	if hint == "" && !strings.ContainsAny(name, "0123456789") { // a release that is not known is no typing error
		hint = cmdline.Nearest(name, names)
	}
	if hint != "" {
		hint = fmt.Sprintf("did you mean %s? ", hint)
	}
	return nil, cmdline.Usagef("--dialect %q: %sgive one of %s", name, hint, strings.Join(listed, ", "))
}

// checkStrict refuses flags that only another dialect knows.
func checkStrict(c *cli.Context) error {
	for _, name := range flagNames(dialectFlags()) {
		if c.IsSet(name) && name != "dialect" && name != "streaming" {
			return cmdline.Usagef("--%s is for reports as another tool makes them; say which with --dialect TOOL", name)
		}
	}
	return nil
}

// checkForeign refuses flags that only our own definitions know.
func checkForeign(c *cli.Context, name string) error {
	for _, flag := range ownFlags() {
		if c.IsSet(flag) {
			return cmdline.Usagef("--%s is not for --dialect %s, which reports as that tool does", flag, name)
		}
	}
	return nil
}

// ownFlags are flags that only our own definitions know.
func ownFlags() []string {
	own := slices.Concat(measureFlags(), selectionFlags(), objectiveFlags())
	return append(flagNames(own), "percentiles", "windows")
}

// checkBelongs refuses flags that other tools have, and this one has not.
func checkBelongs(c *cli.Context, t *dialect.Tool) error {
	all := registry()
	for _, name := range all.Options() {
		if !c.IsSet(name) || slices.Contains(t.Options, name) {
			continue
		}
		return cmdline.Usagef("--%s is for reports of %s, not of %s", name, cmp.Or(all.OptionOf(name), "other tools"), t.Name)
	}
	return nil
}

// someFlags returns the flags of those names, in their order.
func someFlags(flags []cli.Flag, names ...string) []cli.Flag {
	return slices.DeleteFunc(flags, func(f cli.Flag) bool { return !slices.Contains(names, f.Names()[0]) })
}

func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()[0])
	}
	return names
}

// dialectConfig reads the flags of dialectFlags for a tool, and hints for flags that were
// not given. The tool is nil if the settings are for several.
func dialectConfig(o options, t *dialect.Tool) (cfg dialect.Config, err error) {
	c := o.c
	if t != nil {
		if err := checkBelongs(c, t); err != nil {
			return cfg, err
		}
	}
	cfg.ServiceKind, cfg.Endpoint, cfg.Backend = c.String("service-kind"), c.String("endpoint"), o.text("backend", hintBackend)
	cfg.BatchSize, cfg.Percentile, cfg.Verbose, cfg.VerboseCSV = c.Int("batch-size"), c.Int("percentile"), c.Bool("verbose"), c.Bool("verbose-csv")
	if c.IsSet("batch-size") && cfg.BatchSize < 1 {
		return cfg, cmdline.Usagef("-b %d: the batch size must be at least 1", cfg.BatchSize)
	}
	if n := cfg.Percentile; c.IsSet("percentile") && n != -1 && (n < 1 || n > 99) {
		return cfg, cmdline.Usagef("--percentile %d: must be 1 to 99, or -1 for the mean", n)
	}
	cfg.EndpointType = o.text("endpoint-type", hintEndpointType)
	if t, types := cfg.EndpointType, dialect.EndpointTypes(); t != "" && !slices.Contains(types, t) {
		if !c.IsSet("endpoint-type") {
			return cfg, fmt.Errorf("the file's hint %s=%q is not known; give --endpoint-type, one of %s", hintEndpointType, t, strings.Join(types, ", "))
		}
		return cfg, cmdline.Usagef("--endpoint-type %q: give one of %s", t, strings.Join(types, ", "))
	}
	if cfg.Streaming, err = o.streaming(); err != nil {
		return cfg, err
	}
	switch levels := o.levels(); len(levels) {
	case 0:
	case 1:
		cfg.Level = dialect.ParseLevel(levels[0])
	default:
		return cfg, cmdline.Usagef("a dialect is about one load level; give --experiment once")
	}
	if cfg.Goodput, err = dialect.ParseLimits(o.text("goodput", hintGoodput)); err != nil {
		if !c.IsSet("goodput") {
			return cfg, fmt.Errorf("the file's hint %s=%q is not understood; --dialect %s reports without it", hintGoodput, o.hints[hintGoodput], dialect.Strict)
		}
		return cfg, cmdline.Usagef("--goodput %v", err)
	}
	if cfg.Args, err = dialect.ParseArgs(c.StringSlice("arg")); err != nil {
		return cfg, cmdline.Usagef("--arg %v", err)
	}
	if t != nil && t.NoArgs && cfg.Args != nil {
		return cfg, cmdline.Usagef("--arg: %s has none; what its command line said is given by flags", t.Name)
	}
	if t != nil && t.Transformers == 5 {
		o.reading = tokenizer.Transformers5
	}
	tok, called, err := o.tokenizer()
	if tok != nil {
		cfg.Tokenizer, cfg.TokenizerName = tok, called
		if c.String("tokenizer") != "" { // the name of a hint is no path
			cfg.TokenizerName = dialect.TokenizerName(called)
		}
	}
	return cfg, err
}

// dialectAction prints the report of a tool, for --dialect and for files that ask for
// it. ahead holds the files that are already open.
func dialectAction(c *cli.Context, name string, ahead openFiles) error {
	t, err := findTool(name)
	if err != nil {
		return err
	}
	if err := checkForeign(c, name); err != nil {
		return err
	}
	format, err := checkFormat(c, "table", "csv", "json")
	if err != nil {
		return err
	}
	paths, err := files(c)
	if err != nil {
		return err
	}
	if len(paths) > 1 && format != "table" {
		return cmdline.Usagef("--dialect %s writes one %s report; give one file", name, format)
	}
	if err := checkWidth(c); err != nil {
		return err
	}
	loaded := map[string]*tokenizer.Tokenizer{}
	if _, err := dialectConfig(options{c: c, loaded: loaded}, t); err != nil { // before any file is read
		return err
	}
	var out bytes.Buffer
	var errs []error
	for _, path := range paths {
		errs = append(errs, ahead.use(c, path, func(r export.Reader) error {
			cfg, err := dialectConfig(optionsOf(c, t, r.Run(), loaded), t)
			if err != nil {
				return err
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				cfg.FileBytes = info.Size()
			}
			cfg.WithoutTokenizer = true
			rep, err := dialect.Analyze(c.Context, t, r, cfg)
			advice := fmt.Sprintf("add --tokenizer NAME for the report of %s", name)
			uncounted := errors.Is(err, dialect.ErrNotCounted)
			if uncounted {
				clear(loaded) // a tokenizer that failed once counts no other file
				advice = "check the tokenizer file"
			}
			if (uncounted || errors.Is(err, dialect.ErrNoTokenizer)) && format == "table" && canReopen(path) {
				warnf(c, "%s: %s; this report is by our own definitions; %s", path, sanitize.Text(err.Error()), advice)
				return strictInstead(c, path, len(paths) > 1, &out)
			}
			warnings(c, r)
			if err = usageError(path, err); rep == nil {
				return err
			}
			for _, w := range rep.Warnings() {
				warnf(c, "%s: %s", path, sanitize.Text(w.Error()))
			}
			if len(paths) > 1 {
				fmt.Fprintf(&out, "%s\n", sanitize.Text(path))
			}
			if e := render(c, name, rep, format, &out); e != nil {
				return errors.Join(err, named(path, e))
			}
			if format == "table" && c.Bool("csv-file") {
				writeBeside(c, path, rep)
			}
			return errors.Join(err, leftOut(path, r, "not in the report"))
		}))
		if c.Err() != nil {
			break
		}
	}
	if out.Len() > 0 {
		errs = append([]error{write(c, func(w io.Writer) error {
			_, err := w.Write(out.Bytes())
			return err
		})}, errs...)
	}
	return errors.Join(errs...)
}

// canReopen reports whether path can be read a second time; a stream cannot.
func canReopen(path string) bool {
	info, err := os.Stat(path)
	return err == nil && path != "-" && (info.Mode().IsRegular() || info.IsDir())
}

// strictInstead writes the report of a file by our own definitions, because their
// latencies need no tokenizer.
func strictInstead(c *cli.Context, path string, several bool, out io.Writer) error {
	return use(c, path, func(r export.Reader) error {
		rep, err := analyze.Run(c.Context, r, analyze.Config{})
		err = errors.Join(err, leftOut(path, r, "not in the report"))
		var problem error
		rep.Experiments, problem = chosen(path, rep.Experiments, ofExperiment, c.StringSlice("experiment"))
		in := report.Input{Name: path, Report: rep}
		for _, w := range report.Warnings([]report.Input{in}, c.Bool("all-warnings")) {
			if several {
				w = sanitize.Text(path) + ": " + w
			}
			warnf(c, "%s", w)
		}
		return errors.Join(renderer(c, "table", []report.Input{in}, several)(out), err, problem)
	})
}

// render writes a report of a dialect in one of its formats.
func render(c *cli.Context, name string, rep dialect.Report, format string, w io.Writer) error {
	var err error
	switch format {
	case "csv":
		err = rep.CSV(w)
	case "json":
		err = rep.JSON(w)
	default:
		width := cmp.Or(consoleWidth(c), asNeeded)
		safe := sanitize.NewWriter(w)
		return errors.Join(rep.Console(safe, width), safe.Flush())
	}
	if errors.Is(err, dialect.ErrNoFormat) {
		return fmt.Errorf("--format %s: %s writes no such report", format, name)
	}
	return err
}

// writeBeside writes the tool's CSV file into the folder of the export, for
// --csv-file. It keeps an existing file unless --overwrite is given. Errors are
// printed as warnings, because the report is already on the console.
func writeBeside(c *cli.Context, path string, rep dialect.Report) {
	namer, ok := rep.(interface{ CSVName(stem string) string })
	if !ok || path == "-" {
		return
	}
	if isFolder(path) {
		path, _ = export.ResultFile(path) // it was opened
	}
	name := filepath.Base(path)
	for _, packed := range [...]string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	file := filepath.Join(filepath.Dir(path), namer.CSVName(strings.TrimSuffix(name, filepath.Ext(name))))
	var b bytes.Buffer
	if err := rep.CSV(&b); err != nil {
		warnf(c, "%s: %v", file, err)
		return
	}
	wrote, err := outfile.Update(file, b.Bytes(), c.Bool("overwrite"))
	switch {
	case errors.Is(err, outfile.ErrExists):
		warnf(c, "%s %v", file, err)
	case err != nil:
		warnf(c, "the CSV file is not written: %v (--format csv prints it)", err)
	case wrote:
		fmt.Fprintf(c.App.ErrWriter, "pa-analyze: wrote %s (--csv-file)\n", file)
	}
}

// usageError turns a mistake in the arguments of a dialect into a usage error. It names
// the file in all other errors.
func usageError(path string, err error) error {
	if argument := new(dialect.ArgError); errors.As(err, &argument) && !argument.Hint {
		return cmdline.Usagef("%v", argument)
	}
	if err = named(path, err); errors.Is(err, dialect.ErrNoTokenizer) {
		return cmdline.Usagef("%v; give it with --tokenizer", err)
	}
	return err
}
