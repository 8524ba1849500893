package main

import (
	"bytes"
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
	"golang.org/x/term"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/analyze/dialect/genaiperf"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
)

// strictDialect is what reports speak by default: our own definitions.
const strictDialect = "strict"

// dialectFlags say as which tool to report, and what that tool's command line
// said.
func dialectFlags() []cli.Flag {
	const category = "As another tool"
	return []cli.Flag{
		&cli.StringFlag{Name: "dialect", Usage: "report as `TOOL` does, to the character: genai-perf-24.03 to genai-perf-25.08, genai-perf-main", Value: strictDialect, Category: category},
		&cli.StringFlag{Name: "service-kind", Usage: "what answered: `KIND` openai, triton or tensorrtllm_engine (default: as in the file)", Category: category},
		&cli.StringFlag{Name: "endpoint", Usage: "`PATH` that was asked (default: as in the file)", Category: category},
		&cli.StringFlag{Name: "endpoint-type", Usage: "`TYPE` of the endpoint: chat, completions, embeddings, … (default: by the file)", Category: category},
		&cli.StringFlag{Name: "backend", Usage: "Triton's `BACKEND`: vllm or tensorrtllm", Category: category},
		&cli.BoolFlag{Name: "streaming", Usage: "answers were streamed; --streaming=false: not (default: by the file)", Category: category},
		&cli.StringFlag{Name: "goodput", Usage: "`LIMITS` of good requests as the tool spells them: 'time_to_first_token:200 inter_token_latency:16.5' (ms)", Category: category},
		&cli.StringSliceFlag{Name: "arg", Usage: "`KEY=VALUE` of the tool's command line (repeatable)", Category: category},
		&cli.IntFlag{Name: "width", Usage: "print for a console of `N` columns (default: the terminal's, $COLUMNS, 80)", Category: category},
		&cli.BoolFlag{Name: "csv-file", Usage: "with the table, write the tool's CSV file beside the export, as it does; --csv-file=false: do not", Value: true, Category: category},
	}
}

// A dialectFunc reads a run as a tool does.
type dialectFunc func(context.Context, export.Reader, dialect.Config) (dialect.Report, error)

// findDialect returns the dialect of that name.
func findDialect(name string) (dialectFunc, error) {
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
	return nil, cmdline.Usagef("--dialect %q: give one of %s", name, strings.Join(dialectNames(), ", "))
}

func dialectNames() []string {
	names := []string{strictDialect}
	for _, r := range genaiperf.Releases() {
		names = append(names, "genai-perf-"+r.Name)
	}
	return append(names, "genai-perf-latest")
}

// checkStrict refuses flags that only another dialect knows.
func checkStrict(c *cli.Context) error {
	for _, name := range flagNames(dialectFlags()) {
		if c.IsSet(name) && name != "dialect" {
			return cmdline.Usagef("--%s says what another tool's command line said; give --dialect too", name)
		}
	}
	return nil
}

// checkForeign refuses flags that only our own definitions know.
func checkForeign(c *cli.Context) error {
	own := slices.Concat(measureFlags(), selectionFlags(), objectiveFlags())
	for _, name := range append(flagNames(own), "percentiles", "windows") {
		if c.IsSet(name) {
			return cmdline.Usagef("--%s is not for --dialect %s, which reports as that tool does", name, c.String("dialect"))
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

// dialectConfig reads the flags of dialectFlags.
func dialectConfig(c *cli.Context) (cfg dialect.Config, err error) {
	cfg.ServiceKind, cfg.Endpoint, cfg.Backend = c.String("service-kind"), c.String("endpoint"), c.String("backend")
	cfg.EndpointType = c.String("endpoint-type")
	if t := cfg.EndpointType; t != "" && !slices.Contains(genaiperf.EndpointTypes, t) {
		return cfg, cmdline.Usagef("--endpoint-type %q: give one of %s", t, strings.Join(genaiperf.EndpointTypes, ", "))
	}
	if c.IsSet("streaming") {
		streaming := c.Bool("streaming")
		cfg.Streaming = &streaming
	}
	switch levels := c.StringSlice("experiment"); len(levels) {
	case 0:
	case 1:
		mode, value, ok := strings.Cut(levels[0], ":")
		if !ok {
			mode, value = "", levels[0]
		}
		cfg.Level = dialect.Level{Mode: mode, Value: value}
	default:
		return cfg, cmdline.Usagef("--dialect %s reports one load level; give --experiment once", c.String("dialect"))
	}
	if cfg.Goodput, err = limits(c.String("goodput")); err != nil {
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
	if c.String("tokenizer") != "" {
		tok, err := openTokenizer(c)
		if err != nil {
			return cfg, err
		}
		cfg.Tokenizer = tok
	}
	return cfg, nil
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

// dialectAction is report --dialect.
func dialectAction(c *cli.Context) error {
	analyze, err := findDialect(c.String("dialect"))
	if err != nil {
		return err
	}
	if err := checkForeign(c); err != nil {
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
		return cmdline.Usagef("--dialect %s writes one %s report; give one file", c.String("dialect"), format)
	}
	width := c.Int("width")
	if c.IsSet("width") && width < 1 {
		return cmdline.Usagef("--width %d: give a number of columns", width)
	}
	cfg, err := dialectConfig(c)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	var errs []error
	for _, path := range paths {
		errs = append(errs, use(c, path, func(r export.Reader) error {
			if info, err := os.Stat(path); err == nil {
				cfg.FileBytes = info.Size()
			}
			rep, err := analyze(c.Context, r, cfg)
			warnings(c, r)
			err = named(path, err)
			if errors.Is(err, dialect.ErrNoTokenizer) {
				return cmdline.Usagef("%v; give it with --tokenizer", err)
			}
			if rep == nil {
				return err
			}
			for _, w := range rep.Warnings() {
				warnf(c, "%s: %s", path, report.Plain(w.Error()))
			}
			if len(paths) > 1 {
				fmt.Fprintf(&out, "%s\n", report.Plain(path))
			}
			if e := render(c, rep, format, width, &out); e != nil {
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

// render writes a report in one of its formats.
func render(c *cli.Context, rep dialect.Report, format string, width int, w io.Writer) error {
	var err error
	switch format {
	case "csv":
		err = rep.CSV(w)
	case "json":
		err = rep.JSON(w)
	default:
		if width == 0 {
			width = consoleWidth(c)
		}
		return rep.Console(w, width)
	}
	if errors.Is(err, dialect.ErrNoFormat) {
		return fmt.Errorf("--format %s: %s writes no such report", format, c.String("dialect"))
	}
	return err
}

// consoleWidth returns the width of the terminal, else of $COLUMNS, else 80.
func consoleWidth(c *cli.Context) int {
	if f, ok := c.App.Writer.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return 80
}

// writeBeside writes the CSV file that the tool writes beside the export. One
// that is there stays as it is, unless --overwrite is given. What goes wrong is
// a warning: the report is on the console.
func writeBeside(c *cli.Context, path string, rep dialect.Report) {
	namer, ok := rep.(interface{ CSVName(stem string) string })
	if !ok || path == "-" {
		return
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
	if old, err := os.ReadFile(beside); err == nil && !c.Bool("overwrite") {
		if !bytes.Equal(old, b.Bytes()) {
			warnf(c, "%s is there and says something else; it stays as it is (--overwrite replaces it)", beside)
		}
		return
	}
	if err := writeFile(beside, true, func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	}); err != nil {
		warnf(c, "the CSV file is not written: %v (--format csv prints it)", err)
	}
}
