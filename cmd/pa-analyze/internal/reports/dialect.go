package reports

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/outfile"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// dialectAction prints the report of a tool, for --dialect and for files that ask for
// it. ahead holds the files that are already open.
func dialectAction(c *cli.Context, name string, ahead settings.OpenFiles) error {
	t, err := settings.FindTool(name)
	if err != nil {
		return err
	}
	if err := settings.CheckForeign(c, name); err != nil {
		return err
	}
	format, err := settings.CheckFormat(c, "table", "csv", "json")
	if err != nil {
		return err
	}
	runs, err := ahead.Runs(c)
	if err != nil {
		return err
	}
	if len(runs) > 1 && format != "table" {
		return cmdline.Usagef("--dialect %s writes one %s report; give one file", name, format)
	}
	limit, err := settings.MemoryLimit(c)
	if err != nil {
		return err
	}
	loaded := map[string]*tokenizer.Tokenizer{}
	if _, err := settings.DialectConfig(settings.NewOptions(c, loaded), t); err != nil { // before any file is read
		return err
	}
	var out bytes.Buffer
	var beside []besideFile
	var errs []error
	for _, run := range runs {
		errs = append(errs, ahead.Use(c, run, func(r export.Reader) error {
			return settings.UseMemory(c, analyze.ValueMemory(limit)/2, func(memory *dialect.Memory) error { // as much to sort them
				d := dialectReport{c: c, tool: t, run: run, format: format, several: len(runs) > 1, loaded: loaded, memory: memory, out: &out, beside: &beside}
				return d.write(r)
			})
		}))
		if c.Err() != nil {
			break
		}
	}
	if err := writeBeside(c, beside); err != nil {
		return err
	}
	if out.Len() > 0 {
		write := settings.Write
		if format == "json" { // of some tools it holds the answers
			write = settings.WriteRequests
		}
		errs = append([]error{write(c, func(w io.Writer) error {
			_, err := w.Write(out.Bytes())
			return err
		})}, errs...)
	}
	return errors.Join(errs...)
}

// A dialectReport writes the report of a tool on one run.
type dialectReport struct {
	c       *cli.Context
	tool    *dialect.Tool
	run     settings.Input
	format  string
	several bool // there are reports on other files
	loaded  map[string]*tokenizer.Tokenizer
	memory  *dialect.Memory
	out     io.Writer
	beside  *[]besideFile
}

// write analyzes the file that r reads, and writes the report to d.out.
func (d *dialectReport) write(r export.Reader) error {
	cfg, err := settings.DialectConfig(settings.OptionsOf(d.c, d.tool, r.Run(), d.loaded), d.tool)
	if err != nil {
		return err
	}
	cfg.FileBytes = d.run.Bytes()
	cfg.WithoutTokenizer, cfg.Memory = true, d.memory
	rep, err := dialect.Analyze(d.c.Context, d.tool, r, cfg)
	advice := fmt.Sprintf("add --tokenizer NAME for the report of %s", d.tool.Name)
	uncounted := errors.Is(err, dialect.ErrNotCounted)
	if uncounted {
		clear(d.loaded) // a tokenizer that failed once counts no other file
		advice = "check the tokenizer file"
	}
	if (uncounted || errors.Is(err, dialect.ErrNoTokenizer)) && d.format == "table" && d.run.CanReopen() {
		settings.Warnf(d.c, "%s: %v; this report is by our own definitions; %s", d.run.Name, err, advice)
		return strictInstead(d.c, d.run, d.several, d.out)
	}
	settings.Warnings(d.c, r)
	if err = settings.DialectError(d.run.Name, err); rep == nil {
		return err
	}
	for _, w := range rep.Warnings() {
		settings.Warnf(d.c, "%s: %v", d.run.Name, w)
	}
	if d.several {
		fmt.Fprintf(d.out, "%s\n", sanitize.Text(d.run.Name))
	}
	if e := render(d.c, d.tool.Name, rep, d.format, d.out); e != nil {
		return errors.Join(err, settings.Named(d.run.Name, e))
	}
	if d.format == "table" && d.c.Bool("csv-file") {
		d.addBeside(d.run.Paths[0], rep)
	}
	return errors.Join(err, settings.LeftOut(d.run.Name, r, "not in the report"))
}

// strictInstead writes the report of a run by our own definitions, because their
// latencies need no tokenizer.
func strictInstead(c *cli.Context, run settings.Input, several bool, out io.Writer) error {
	path := run.Name
	return run.Use(c, func(r export.Reader) error {
		rep, err := analyze.Run(c.Context, r, analyze.Config{})
		if errors.Is(err, export.ErrContradiction) {
			return err
		}
		err = errors.Join(err, settings.LeftOut(path, r, "not in the report"))
		var problem error
		rep.Experiments, problem = settings.Chosen(path, rep.Experiments, settings.OfExperiment, c.StringSlice("experiment"))
		in := report.Input{Name: path, Report: rep}
		for _, w := range report.Warnings([]report.Input{in}, c.Bool("all-warnings")) {
			if several {
				w = path + ": " + w
			}
			settings.Warnf(c, "%s", w)
		}
		return errors.Join(renderer(c, "table", false, []report.Input{in}, several)(out), err, problem)
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
		width := cmp.Or(settings.ConsoleWidth(c), settings.AsNeeded)
		var text strings.Builder
		err := rep.Console(&text, width)
		if needed := columnsNeeded(rep, text.String()); err == nil && needed > width {
			settings.Warnf(c, "the table needs %d columns and has %d, so text is cut; give --width %d, or --format csv", needed, width, needed)
		}
		safe := sanitize.NewWriter(w)
		_, writeErr := io.WriteString(safe, text.String())
		return errors.Join(err, writeErr, safe.Flush())
	}
	if errors.Is(err, dialect.ErrNoFormat) {
		return fmt.Errorf("--format %s: %s writes no such report", format, name)
	}
	return err
}

// columnsNeeded returns the width of the whole console report if text is cut in printed, the
// report in fewer columns; else 0.
func columnsNeeded(rep dialect.Report, printed string) int {
	const cut = "…"
	var whole strings.Builder
	if !strings.Contains(printed, cut) || rep.Console(&whole, settings.AsNeeded) != nil ||
		strings.Count(printed, cut) <= strings.Count(whole.String(), cut) {
		return 0
	}
	longest := 0
	for line := range strings.Lines(whole.String()) {
		longest = max(longest, utf8.RuneCountInString(strings.TrimRight(line, " \n")))
	}
	return longest
}

// A besideFile is the tool's CSV file in the folder of an export, for --csv-file.
type besideFile struct {
	path    string
	content []byte
}

// addBeside adds the CSV file of a report on the export at path to d.beside.
func (d *dialectReport) addBeside(path string, rep dialect.Report) {
	namer, ok := rep.(interface{ CSVName(stem string) string })
	if !ok || path == "-" {
		return
	}
	if settings.IsFolder(path) {
		path, _ = export.ResultFile(path) // it was opened
	}
	name := filepath.Base(path)
	for _, packed := range [...]string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	file := filepath.Join(filepath.Dir(path), namer.CSVName(strings.TrimSuffix(name, filepath.Ext(name))))
	var b bytes.Buffer
	if err := rep.CSV(&b); err != nil {
		settings.Warnf(d.c, "%s: %v", file, err)
		return
	}
	if !slices.ContainsFunc(*d.beside, func(f besideFile) bool { return f.path == file && bytes.Equal(f.content, b.Bytes()) }) {
		*d.beside = append(*d.beside, besideFile{file, b.Bytes()})
	}
}

// writeBeside writes the files of --csv-file. It keeps an existing file unless --overwrite is
// given. Its error says that a file is an input or another output; other errors are printed as
// warnings, because the report has the numbers.
func writeBeside(c *cli.Context, all []besideFile) error {
	for _, f := range all {
		cmdline.Files(c).Writes("--csv-file", f.path)
	}
	if err := cmdline.CheckFiles(c); err != nil {
		return err
	}
	for _, f := range all {
		wrote, err := outfile.Update(c.Context, f.path, f.content, c.Bool("overwrite"))
		switch {
		case errors.Is(err, outfile.ErrExists):
			settings.Warnf(c, "%s %v", f.path, err)
		case err != nil:
			settings.Warnf(c, "the CSV file is not written: %v (--format csv prints it)", err)
		case wrote:
			fmt.Fprintf(c.App.ErrWriter, "pa-analyze: wrote %s (--csv-file)\n", f.path)
		}
	}
	return nil
}
