package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tool"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// registry returns all dialects. It makes the registry once, because the flags of several commands list them.
var registry = sync.OnceValue(tool.Dialects)

// toolFlags are the flags for reports of another tool, and for the arguments of that
// tool's command line. streaming is for our own definitions.
func toolFlags(to *dialect.Config, streaming **bool) []cli.Flag {
	checkPercentile := func(_ *cli.Context, n int) error {
		return refuse(n != -1 && (n < 1 || n > 99), "--percentile %d: must be 1 to 99, or -1 for the mean", n)
	}
	return slices.Concat([]cli.Flag{
		&cli.StringFlag{Name: "dialect", Usage: "report as `TOOL` does, to the character: " + registry().Names(), Value: dialect.Strict, Category: catTools},
	}, serverFlags(to, streaming), []cli.Flag{
		goodputFlag(),
		&cli.IntFlag{Name: "batch-size", Aliases: []string{"b"}, Usage: "requests were batches of `N` (perf_analyzer; default: as the file says, else 1)", Category: catTools, Destination: &to.BatchSize, Action: atLeast(1, "-b %d: the batch size must be at least 1")},
		&cli.IntFlag{Name: "percentile", Usage: "report the `N`th percentile of latency; -1: the mean (perf_analyzer; default: as the file says, else -1)", Category: catTools, Destination: &to.Percentile, Action: checkPercentile},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "show each measurement window (perf_analyzer)", Category: catTools, Destination: &to.Verbose},
		&cli.BoolFlag{Name: "verbose-csv", Usage: "more columns in the CSV report (perf_analyzer)", Category: catTools, Destination: &to.VerboseCSV},
		argFlag(to),
		&cli.BoolFlag{Name: "csv-file", Usage: "besides the table, write the tool's CSV file into the folder of the export", Category: catTools},
	})
}

// serverFlags describe the server of a run, which some tools report. --streaming is also for ours.
func serverFlags(to *dialect.Config, ours ...**bool) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "service-kind", Usage: "`KIND` of server: openai, triton or tensorrtllm_engine (default: as in the file)", Category: catTools, Destination: &to.ServiceKind},
		&cli.StringFlag{Name: "endpoint", Usage: "`PATH` of the requests (default: as in the file)", Category: catTools, Destination: &to.Endpoint},
		choice(&cli.StringFlag{Name: "endpoint-type", Usage: "`TYPE` of the endpoint: chat, completions, embeddings, … (default: as the file says)", Category: catTools}, dialect.EndpointTypes()...),
		&cli.StringFlag{Name: "backend", Usage: "`BACKEND` of Triton: vllm or tensorrtllm; of a serving benchmark its own --backend: openai-chat, …", Category: catTools},
		streamingFlag(append(ours, &to.Streaming)...),
	}
}

// goodputFlag limits what a good request is. Hints of a file have it too, so it is read with them.
func goodputFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "goodput", Usage: "`LIMITS` of good requests as the tool spells them, in ms: 'time_to_first_token:200 inter_token_latency:16.5', 'ttft:200 tpot:16.5'", Category: catTools,
		Action: func(_ *cli.Context, text string) error {
			_, err := dialect.ParseLimits(text)
			return refuse(err != nil, "--goodput %v", err)
		},
	}
}

// argFlag takes arguments of the tool's command line.
func argFlag(to *dialect.Config) cli.Flag {
	return &cli.StringSliceFlag{
		Name: "arg", Usage: "`KEY=VALUE` of the tool's command line: percentile_metrics=ttft,e2el, save_detailed=True, … (repeatable)", Category: catTools,
		Action: func(_ *cli.Context, texts []string) (err error) {
			to.Args, err = dialect.ParseArgs(texts)
			return refuse(err != nil, "--arg %v", err)
		},
	}
}

// findTool returns the dialect called name. Its error suggests similar names.
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
	if hint == "" && !strings.ContainsAny(name, "0123456789") { // a name with digits is an unknown release rather than a typing error
		hint = cmdline.Nearest(name, names)
	}
	if hint != "" {
		hint = fmt.Sprintf("did you mean %s? ", hint)
	}
	return nil, cmdline.Usagef("--dialect %q: %sgive one of %s", name, hint, strings.Join(listed, ", "))
}

// ownFlag returns a flag that was given and that no other tool's report has; "" for none.
func (c *call) ownFlag() string {
	return cmp.Or(c.given("from", "token-source", "include-warmup"), c.givenIn(catSelection, catObjective, catMetrics, catQuality, catEconomics), c.given("percentiles", "names"))
}

// checkStrict refuses the flags that need --dialect.
func (c *call) checkStrict() error {
	for _, f := range c.App.Flags {
		if name := f.Names()[0]; name != "dialect" && categoryOf(f) == catTools && c.IsSet(name) {
			return cmdline.Usagef("--%s works only with the report of another tool; add --dialect TOOL", name)
		}
	}
	return nil
}

// checkTool refuses a dialect that does not exist, and the flags that do not apply to a report of another tool.
func (c *call) checkTool(name string) error {
	if _, err := findTool(name); err != nil {
		return err
	}
	if f := c.ownFlag(); f != "" {
		return cmdline.Usagef("--%s is not for --dialect %s, which reports as that tool does", f, name)
	}
	formats := []string{"table", "csv", "json"}
	return refuse(!slices.Contains(formats, c.String("format")), "--format %q: give one of %s", c.String("format"), strings.Join(formats, ", "))
}

// toolReport prints the report of a tool, for --dialect and for files that ask for it.
func (c *call) toolReport(files fileNames, name string, flags dialect.Config, memoryLimit int64) error {
	t, err := findTool(name)
	if err != nil {
		return err
	}
	loaded := map[string]*tokenizer.Tokenizer{}
	if _, err := (toolOptions{call: c, flags: flags, tool: t, loaded: loaded}).config(); err != nil { // before any file is read
		return err
	}
	runs, err := c.runs(files)
	if err != nil {
		return err
	}
	format := c.String("format")
	if len(runs) > 1 && format != "table" {
		return cmdline.Usagef("--dialect %s writes one %s report; give one file", name, format)
	}
	var out bytes.Buffer
	var beside []besideFile
	errs := c.useEach(runs, func(run recording, r export.Reader) error {
		return c.useMemory(analyze.ValueMemory(memoryLimit)/2, func(memory *dialect.Memory) error { // as much to sort them
			d := dialectReport{call: c, flags: flags, tool: t, run: run, format: format, several: len(runs) > 1, loaded: loaded, memory: memory, out: &out, beside: &beside}
			return d.write(r)
		})
	})
	if err := c.writeBeside(beside); err != nil {
		return err
	}
	if out.Len() > 0 {
		write := c.write
		if format == "json" { // of some tools it holds the answers
			write = c.writeRequests
		}
		errs = append([]error{write(func(w io.Writer) error {
			_, err := w.Write(out.Bytes())
			return err
		})}, errs...)
	}
	return errors.Join(errs...)
}

// useMemory calls f with a Memory for the values of other tools' definitions, of at most
// maxBytes, and warns if they did not fit although no file took them.
func (c *call) useMemory(maxBytes int64, f func(*dialect.Memory) error) error {
	memory := dialect.NewMemory(maxBytes)
	err := f(memory)
	if full := memory.Full(); full != nil {
		c.warnf("the analysis takes more memory than the limit: %v", full)
	}
	return errors.Join(err, memory.Close())
}

// A dialectReport writes the report of a tool on one run.
type dialectReport struct {
	*call
	flags   dialect.Config
	tool    *dialect.Tool
	run     recording
	format  string
	several bool // there are reports on other files
	loaded  map[string]*tokenizer.Tokenizer
	memory  *dialect.Memory
	out     io.Writer
	beside  *[]besideFile
}

// write analyzes the file that r reads, and writes the report to d.out.
func (d *dialectReport) write(r export.Reader) error {
	cfg, err := d.optionsOf(d.flags, d.tool, r.Run(), d.loaded).config()
	if err != nil {
		return err
	}
	cfg.FileBytes = d.run.bytes()
	cfg.WithoutTokenizer, cfg.Memory = true, d.memory
	rep, err := dialect.Analyze(d.Context, d.tool, r, cfg)
	advice := fmt.Sprintf("add --tokenizer NAME for the report of %s", d.tool.Name)
	uncounted := errors.Is(err, dialect.ErrNotCounted)
	if uncounted {
		clear(d.loaded) // a tokenizer that failed once counts no other file
		advice = "check the tokenizer file"
	}
	if (uncounted || errors.Is(err, dialect.ErrNoTokenizer)) && d.format == "table" && d.run.canReopen() {
		d.warnf("%s: %v; this report uses pa-analyze's own definitions; %s", d.run.name, err, advice)
		return d.strictInstead()
	}
	d.warnings(r)
	if err = toolError(d.run.name, err); rep == nil {
		return err
	}
	for _, w := range rep.Warnings() {
		d.warnf("%s: %v", d.run.name, w)
	}
	if d.several {
		fmt.Fprintf(d.out, "%s\n", sanitize.Text(d.run.name))
	}
	if e := d.render(rep); e != nil {
		return errors.Join(err, named(d.run.name, e))
	}
	if d.format == "table" && d.Bool("csv-file") {
		d.addBeside(d.run.paths[0], rep)
	}
	return errors.Join(err, leftOut(d.run.name, r, "not in the report"))
}

// strictInstead writes the report of the run by our own definitions, because their
// latencies need no tokenizer. It reads the files again.
func (d *dialectReport) strictInstead() error {
	return d.use(d.run, func(r export.Reader) error {
		rep, err := analyze.Run(d.Context, r, analyze.Config{})
		if errors.Is(err, export.ErrContradiction) {
			return err
		}
		err = errors.Join(err, leftOut(d.run.name, r, "not in the report"))
		var problem error
		rep.Experiments, problem = chooseLevels(d.run.name, rep.Experiments, experimentLevel, d.StringSlice("experiment"))
		in := []report.Input{{Name: d.run.name, Report: rep}}
		for _, w := range report.Warnings(in, d.Bool("all-warnings")) {
			if d.several {
				w = d.run.name + ": " + w
			}
			d.warnf("%s", w)
		}
		return errors.Join(d.renderer("table", false, in, d.several)(d.out), err, problem)
	})
}

// render writes the tool's report in the format.
func (d *dialectReport) render(rep dialect.Report) error {
	var err error
	switch d.format {
	case "csv":
		err = rep.CSV(d.out)
	case "json":
		err = rep.JSON(d.out)
	default:
		width := cmp.Or(d.width(), asNeeded)
		var text strings.Builder
		err := rep.Console(&text, width)
		if needed := columnsNeeded(rep, text.String()); err == nil && needed > width {
			d.warnf("the table needs %d columns and has %d, so text is cut; give --width %d, or --format csv", needed, width, needed)
		}
		safe := sanitize.NewWriter(d.out)
		_, writeErr := io.WriteString(safe, text.String())
		return errors.Join(err, writeErr, safe.Flush())
	}
	if errors.Is(err, dialect.ErrNoFormat) {
		return fmt.Errorf("--format %s: %s writes no such report", d.format, d.tool.Name)
	}
	return err
}

// columnsNeeded returns the width of the whole console report if text is cut in printed, the
// report in fewer columns; else 0.
func columnsNeeded(rep dialect.Report, printed string) int {
	const cut = "…"
	var whole strings.Builder
	if !strings.Contains(printed, cut) || rep.Console(&whole, asNeeded) != nil ||
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
		d.warnf("%s: %v", file, err)
		return
	}
	if !slices.ContainsFunc(*d.beside, func(f besideFile) bool { return f.path == file && bytes.Equal(f.content, b.Bytes()) }) {
		*d.beside = append(*d.beside, besideFile{file, b.Bytes()})
	}
}

// writeBeside writes the files of --csv-file. It keeps an existing file unless --overwrite is
// given. Its error says that a file is an input or another output; other errors are printed as
// warnings, because the report has the numbers.
func (c *call) writeBeside(all []besideFile) error {
	for _, f := range all {
		cmdline.Files(c.commandLine).Writes("--csv-file", f.path)
	}
	if err := cmdline.CheckFiles(c.commandLine); err != nil {
		return err
	}
	for _, f := range all {
		wrote, err := disk.Update(c.Context, f.path, f.content, c.Bool("overwrite"))
		switch {
		case errors.Is(err, disk.ErrExists):
			c.warnf("%s %v", f.path, err)
		case err != nil:
			c.warnf("the CSV file is not written: %v (--format csv prints it)", err)
		case wrote:
			fmt.Fprintf(c.App.ErrWriter, "pa-analyze: wrote %s (--csv-file)\n", f.path)
		}
	}
	return nil
}
