package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/regular"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/analyze/dialect/aiperf"
	"github.com/pa-tools/pa/pkg/analyze/dialect/genaiperf"
	"github.com/pa-tools/pa/pkg/analyze/dialect/llmperf"
	"github.com/pa-tools/pa/pkg/analyze/dialect/perfanalyzer"
	"github.com/pa-tools/pa/pkg/analyze/dialect/serving"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tokenizer"
)

// strictDialect is what reports speak by default: our own definitions.
const strictDialect = "strict"

// dialectFlags say as which tool to report, and what that tool's command line
// said.
func dialectFlags() []cli.Flag {
	const category = "As another tool"
	return []cli.Flag{
		&cli.StringFlag{Name: "dialect", Usage: "report as `TOOL` does, to the character: perf_analyzer, genai-perf-24.03 to -25.08 and -main, trtllm-1.0, trtllm-main, vllm, sglang, llm_perf-v1, llm_perf-v2, aiperf", Value: strictDialect, Category: category},
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

// A dialectFunc reads a run as a tool does.
type dialectFunc func(context.Context, export.Reader, dialect.Config) (dialect.Report, error)

// perfAnalyzer is the dialect of the release that wrote the file; with a release
// behind a dash, of that one.
const perfAnalyzer = "perf_analyzer"

// aiperfDialect is AIPerf's.
const aiperfDialect = "aiperf"

// findDialect returns the dialect of that name. It returns no report, and an error that
// wraps dialect.ErrNotCounted, where the tokenizer could not count a text.
func findDialect(name string) (dialectFunc, error) {
	read, err := unchecked(name)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, r export.Reader, cfg dialect.Config) (dialect.Report, error) {
		checked := dialect.Checked(cfg.Tokenizer)
		if checked != nil {
			cfg.Tokenizer = checked
		}
		rep, err := read(ctx, r, cfg)
		if refused := checked.Err(); refused != nil {
			return nil, refused
		}
		return rep, err
	}, nil
}

// unchecked returns the dialect of that name, which trusts every count.
func unchecked(name string) (dialectFunc, error) {
	if number, ok := strings.CutPrefix(name, perfAnalyzer); ok {
		if release, ok := perfanalyzer.Find(strings.TrimPrefix(number, "-")); ok || number == "" {
			return func(ctx context.Context, r export.Reader, cfg dialect.Config) (dialect.Report, error) {
				rep, err := perfanalyzer.Analyze(ctx, release, r, cfg)
				if rep == nil {
					return nil, err
				}
				return rep, err
			}, nil
		}
	}
	if number, ok := strings.CutPrefix(name, "genai-perf-"); ok {
		if release, ok := genaiperf.Find(number); ok {
			return func(ctx context.Context, r export.Reader, cfg dialect.Config) (dialect.Report, error) {
				rep, err := genaiperf.Analyze(ctx, release, r, cfg)
				if rep == nil {
					return nil, err
				}
				return rep, err
			}, nil
		}
	}
	if tool := serving.Find(name); tool != nil {
		return func(ctx context.Context, r export.Reader, cfg dialect.Config) (dialect.Report, error) {
			rep, err := serving.Analyze(ctx, tool, r, cfg)
			if rep == nil {
				return nil, err
			}
			return rep, err
		}, nil
	}
	if version := llmperf.Find(name); version != nil {
		return func(ctx context.Context, r export.Reader, cfg dialect.Config) (dialect.Report, error) {
			rep, err := llmperf.Analyze(ctx, version, r, cfg)
			if rep == nil {
				return nil, err
			}
			return rep, err
		}, nil
	}
	if name == aiperfDialect {
		return func(ctx context.Context, r export.Reader, cfg dialect.Config) (dialect.Report, error) {
			rep, err := aiperf.Analyze(ctx, r, cfg)
			if rep == nil {
				return nil, err
			}
			return rep, err
		}, nil
	}
	hint := ""
	if likely := likelyDialect(name); likely != "" {
		hint = fmt.Sprintf("did you mean %s? ", likely)
	}
	return nil, cmdline.Usagef("--dialect %q: %sgive one of %s", name, hint, strings.Join(dialectNames(), ", "))
}

// likelyDialect returns the dialect that an unknown name may mean: the latest release of
// a tool that is named without one, else the dialect with the most similar name; "" for
// none.
func likelyDialect(name string) string {
	names := slices.DeleteFunc(dialectNames(), func(n string) bool { return strings.Contains(n, " ") })
	for _, n := range slices.Backward(names) {
		if strings.HasPrefix(n, strings.ReplaceAll(name, "_", "-")+"-") || strings.HasPrefix(n, name+"-") {
			return n
		}
	}
	if strings.ContainsAny(name, "0123456789") {
		return "" // a release that is not known is no typing error
	}
	return cmdline.Nearest(name, names)
}

func dialectNames() []string {
	oldest, latest := perfanalyzer.Releases()[0], perfanalyzer.Latest()
	names := []string{strictDialect, perfAnalyzer, fmt.Sprintf("%s-%s to -%s", perfAnalyzer, oldest.Name, latest.Name)}
	for _, r := range genaiperf.Releases() {
		names = append(names, "genai-perf-"+r.Name)
	}
	names = append(names, "genai-perf-latest")
	for _, t := range serving.Tools() {
		names = append(names, t.Name)
	}
	for _, v := range llmperf.Versions() {
		names = append(names, v.Name)
	}
	return append(names, aiperfDialect)
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

// checkBelongs refuses flags of dialects that belong to another one.
func checkBelongs(c *cli.Context, dialect string) error {
	others, whose := []string{"batch-size", "percentile", "verbose", "verbose-csv"}, perfAnalyzer
	if strings.HasPrefix(dialect, perfAnalyzer) {
		others, whose = []string{"endpoint", "endpoint-type", "backend", "goodput", "tokenizer"}, "other tools"
	}
	for _, name := range others {
		if c.IsSet(name) {
			return cmdline.Usagef("--%s is for reports of %s, not of %s", name, whose, dialect)
		}
	}
	return nil
}

func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()[0])
	}
	return names
}

// dialectConfig reads the flags of dialectFlags, and hints where they are silent.
func dialectConfig(s sayings, name string) (cfg dialect.Config, err error) {
	c := s.c
	if err := checkBelongs(c, name); err != nil {
		return cfg, err
	}
	cfg.ServiceKind, cfg.Endpoint, cfg.Backend = c.String("service-kind"), c.String("endpoint"), s.text("backend", hintBackend)
	cfg.BatchSize, cfg.Percentile, cfg.Verbose, cfg.VerboseCSV = c.Int("batch-size"), c.Int("percentile"), c.Bool("verbose"), c.Bool("verbose-csv")
	if c.IsSet("batch-size") && cfg.BatchSize < 1 {
		return cfg, cmdline.Usagef("-b %d: the batch size must be at least 1", cfg.BatchSize)
	}
	if n := cfg.Percentile; c.IsSet("percentile") && n != -1 && (n < 1 || n > 99) {
		return cfg, cmdline.Usagef("--percentile %d: must be 1 to 99, or -1 for the mean", n)
	}
	cfg.EndpointType = s.text("endpoint-type", hintEndpointType)
	if t := cfg.EndpointType; t != "" && !slices.Contains(genaiperf.EndpointTypes, t) {
		if !c.IsSet("endpoint-type") {
			return cfg, fmt.Errorf("the file's hint %s=%q is not known; give --endpoint-type, one of %s", hintEndpointType, t, strings.Join(genaiperf.EndpointTypes, ", "))
		}
		return cfg, cmdline.Usagef("--endpoint-type %q: give one of %s", t, strings.Join(genaiperf.EndpointTypes, ", "))
	}
	if cfg.Streaming, err = s.streaming(); err != nil {
		return cfg, err
	}
	switch levels := s.levels(); len(levels) {
	case 0:
	case 1:
		mode, value, ok := strings.Cut(levels[0], ":")
		if !ok {
			mode, value = "", levels[0]
		}
		cfg.Level = dialect.Level{Mode: mode, Value: value}
	default:
		return cfg, cmdline.Usagef("a dialect is about one load level; give --experiment once")
	}
	if cfg.Goodput, err = limits(s.text("goodput", hintGoodput)); err != nil {
		if !c.IsSet("goodput") {
			return cfg, fmt.Errorf("the file's hint %s=%q is not understood; --dialect %s reports without it", hintGoodput, s.hints[hintGoodput], strictDialect)
		}
		return cfg, err
	}
	for _, arg := range c.StringSlice("arg") {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return cfg, cmdline.Usagef("--arg %q: give KEY=VALUE", arg)
		}
		if cfg.Args == nil {
			cfg.Args = map[string]string{}
		}
		cfg.Args[key] = value
	}
	if strings.HasPrefix(name, "genai-perf-") && cfg.Args != nil {
		return cfg, cmdline.Usagef("--arg: %s has none; what its command line said is given by flags", name)
	}
	s.reading = readingOf(name)
	tok, called, err := s.tokenizer()
	if tok != nil {
		cfg.Tokenizer, cfg.TokenizerName = tok, called
		if c.String("tokenizer") != "" { // the name of a hint is no path
			cfg.TokenizerName = tokenizerName(called)
		}
	}
	return cfg, err
}

// readingOf returns the reading of tokenizer files that the tool of a dialect uses.
func readingOf(name string) tokenizer.Reading {
	if dialect.TransformersRelease(name) >= 5 {
		return tokenizer.Transformers5
	}
	return tokenizer.Transformers4
}

// tokenizerName is what a report calls a tokenizer: a local file is named by its
// folder.
func tokenizerName(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	if !info.IsDir() && filepath.Base(path) == "tokenizer.json" {
		path = filepath.Dir(path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}

// limits reads --goodput.
func limits(text string) ([]dialect.Limit, error) {
	var all []dialect.Limit
	for _, l := range strings.Fields(text) {
		name, number, ok := strings.Cut(l, ":")
		value, err := strconv.ParseFloat(number, 64)
		if !ok || err != nil || !(value >= 0) {
			return nil, cmdline.Usagef("--goodput %q: give pairs such as request_latency:300, of a metric and a number of 0 or more", l)
		}
		all = append(all, dialect.Limit{Metric: name, Value: value})
	}
	return all, nil
}

// dialectAction is report --dialect, and that of files that ask for one. ahead are
// those of the files that are open.
func dialectAction(c *cli.Context, name string, ahead openings) error {
	read, err := findDialect(name)
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
	if _, err := dialectConfig(sayings{c: c, loaded: loaded}, name); err != nil { // before any file is read
		return err
	}
	var out bytes.Buffer
	var errs []error
	for _, path := range paths {
		errs = append(errs, ahead.use(c, path, func(r export.Reader) error {
			cfg, err := dialectConfig(sayingsOf(c, name, r.Run(), loaded), name)
			if err != nil {
				return err
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				cfg.FileBytes = info.Size()
			}
			cfg.WithoutTokenizer = true
			rep, err := read(c.Context, r, cfg)
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
			if err = said(path, err); rep == nil {
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
	beside := filepath.Join(filepath.Dir(path), namer.CSVName(strings.TrimSuffix(name, filepath.Ext(name))))
	var b bytes.Buffer
	if err := rep.CSV(&b); err != nil {
		warnf(c, "%s: %v", beside, err)
		return
	}
	if info, err := os.Lstat(beside); err == nil {
		if !info.Mode().IsRegular() {
			warnf(c, "the CSV file is not written: %v", regular.Check(beside, info))
			return
		}
		if old, err := os.ReadFile(beside); !c.Bool("overwrite") {
			if err != nil || !bytes.Equal(old, b.Bytes()) {
				warnf(c, "%s exists with other content and stays as it is (--overwrite replaces it)", beside)
			}
			return
		}
	}
	if err := writeFile(beside, true, func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	}); err != nil {
		warnf(c, "the CSV file is not written: %v (--format csv prints it)", err)
		return
	}
	fmt.Fprintf(c.App.ErrWriter, "pa-analyze: wrote %s (--csv-file)\n", beside)
}
