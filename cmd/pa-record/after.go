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

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/page"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
	"github.com/pa-tools/pa/pkg/tool"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/perfanalyzer"
)

// mostSummarized is the largest number of responses of a run whose figures are
// printed at its end. Exact percentiles take 8 bytes of memory for each response and
// 100 for each request, and as much time as pa-analyze takes.
const mostSummarized = 8_000_000

// A runSummary computes the figures of a run while its exports are written. They equal
// the figures that pa-analyze computes from the export.
type runSummary struct {
	ctx       context.Context // its end cancels the computation
	responses int64           // number in the run so far
	most      int64           // mostSummarized, except in tests

	unstreamed string // advice for answers that were not streamed; "" prints no note

	done bool // report and err are set
	// report is nil if there are no figures; err then says why.
	report *analyze.Report
	err    error
}

// newSummary returns the summary of a run. The end of ctx cancels its computation. unstreamed is the
// advice for answers that were not streamed; "" prints no note about them.
func newSummary(ctx context.Context, unstreamed string) *runSummary {
	return &runSummary{ctx: ctx, most: mostSummarized, unstreamed: unstreamed}
}

// add counts the responses of a request of the run.
func (s *runSummary) add(q *export.Request) { s.responses += int64(len(q.Responses)) }

// openReader opens the journal of a run.
type openReader = func(context.Context) (export.Reader, error)

// compute computes the figures from the journal that open opens.
func (s *runSummary) compute(open openReader) {
	s.done = true
	if s.responses > s.most {
		s.err = fmt.Errorf("more than %s responses", plural.Grouped(s.most))
		return
	}
	if s.report, s.err = analyzeJournal(s.ctx, open); errors.Is(s.err, context.Canceled) {
		s.err = errors.New("a second signal ended the run")
	}
}

// analyzeJournal returns the report that pa-analyze computes from an export of the
// journal that open opens.
func analyzeJournal(ctx context.Context, open openReader) (*analyze.Report, error) {
	r, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	rep, err := analyze.Run(ctx, r, analyze.Config{Phases: true})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	_ = err // the export reports a cut journal; the figures cover the rows that it has
	return rep, nil
}

// countsResponses reports whether the figures of a level count each response as a token, because
// the server counted none and no tokenizer did.
func (s *runSummary) countsResponses() bool {
	return s.report != nil && slices.ContainsFunc(s.report.Experiments, func(e analyze.Experiment) bool {
		return e.OK > 0 && e.TokenSource == answer.TokenResponses
	})
}

// print writes the figures of a run, one line for each level. It prints nothing for
// a run that measured nothing. shown says that perf_analyzer's console was printed
// before.
func (s *runSummary) print(stdout, stderr io.Writer, index runIndex, shown bool) {
	switch {
	case !s.done:
	case s.err != nil:
		fmt.Fprintf(stderr, "pa-record: note: %sno figures: %v; pa-analyze report computes them\n", index.prefix(), s.err)
	case slices.ContainsFunc(s.report.Experiments, func(e analyze.Experiment) bool { return e.OK > 0 }):
		switch {
		case shown:
			fmt.Fprintln(stdout)
		case index.total > 0:
			fmt.Fprintln(stdout, index.title())
		}
		_ = report.Brief(s.report)(stdout) // an error shows when stdout is flushed, as with all results
		for _, line := range report.ServerTimes(s.report) {
			fmt.Fprintln(stdout, line)
		}
		warn := func(lines []string) {
			for _, line := range lines {
				fmt.Fprintf(stderr, "pa-record: warning: %s%s\n", index.prefix(), line)
			}
		}
		note := func(text string) { fmt.Fprintf(stderr, "pa-record: note: %s%s\n", index.prefix(), text) }
		if text := sentTwice(s.report); text != "" {
			note(text)
		}
		warn(s.warnings(func(w *analyze.Warning) bool { return w.Kind == analyze.KindCache }))
		notStreamed := s.warnings(func(w *analyze.Warning) bool { return w.Kind == analyze.KindNotStreamed })
		if warn(notStreamed); notStreamed == nil && hasUnstreamed(s.report) && s.unstreamed != "" {
			note("the answers were not streamed, so there is no TTFT and no ITL; " + s.unstreamed)
		}
		warn(s.warnings(func(w *analyze.Warning) bool {
			return w.Sub == analyze.SubAskedInput || w.Sub == analyze.SubAskedOutput
		}))
	}
}

// sentTwice returns a note about levels whose prompts the server had in its cache because the
// level itself had sent them before; "" if there is none.
func sentTwice(rep *analyze.Report) string {
	where, worst, levels := "", 0.0, 0
	for i := range rep.Experiments {
		e := &rep.Experiments[i]
		if e.Cached == nil || e.Cached.Twice <= figure.CachedThreshold {
			continue
		}
		if levels++; e.Cached.Twice > worst {
			where, worst = report.LevelName(e), e.Cached.Twice
		}
	}
	share, sender := fmt.Sprintf("%.0f %%", 100*worst), "the level"
	switch {
	case levels == 0:
		return ""
	case levels > 1:
		where += " and " + plural.Of(levels-1, "other level")
		share, sender = "up to "+share, "each"
	}
	return fmt.Sprintf("%s: %s of the input tokens were in the server's cache, because %s sent prompts more than once; give it more: --num-dataset-entries N generates more, or give more input data", where, share, sender)
}

// warnings returns the warnings about levels for which keep is true, with one line for all
// warnings about the same subject.
func (s *runSummary) warnings(keep func(*analyze.Warning) bool) []string {
	only := analyze.Report{Run: s.report.Run}
	for _, e := range s.report.Experiments {
		e.Warnings = slices.DeleteFunc(slices.Clone(e.Warnings), func(err error) bool { return !keep(analyze.AsWarning(err)) })
		only.Experiments = append(only.Experiments, e)
	}
	return report.Warnings([]report.Input{{Report: &only}}, false)
}

// hasUnstreamed reports whether a level has answers with output tokens but no TTFT: they
// were not streamed.
func hasUnstreamed(rep *analyze.Report) bool {
	return slices.ContainsFunc(rep.Experiments, func(e analyze.Experiment) bool {
		return e.OK > 0 && e.Throughput.OutputTokens.OK && e.Metric(answer.TTFT) == nil
	})
}

// printReport prints the report of --report from the exports of the runs, also if the last run
// failed or was interrupted: our table, or the report of the tool whose command line was given. The
// printed command of pa-analyze prints the same report. printReport prints nothing without an export.
func (r *repeatedRun) printReport(ctx context.Context) error {
	if !r.s.Report || len(r.done) == 0 {
		return nil
	}
	ctx, release := withCause(ctx, errSecondSignalWriting)
	defer release()
	fmt.Fprintln(r.stdout)
	write := r.strictReport
	if name := r.s.Hints["dialect"]; name != "" && name != dialect.Strict {
		write = r.toolReport
	}
	if err := write(ctx); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}

// strictReport prints our table of all runs.
func (r *repeatedRun) strictReport(ctx context.Context) error {
	var cfg analyze.Config
	if name := r.countsWith(); name != "" {
		tok, err := r.loadTokenizer(ctx, name, tokenizer.Transformers4)
		if err != nil {
			return err
		}
		cfg.Counter, cfg.Tokenizer = &answer.LimitedCounter{Tokenizer: tok}, &analyze.Tokenizer{Name: name, SHA256: tok.Hash()}
	}
	var inputs []report.Input
	err := r.readExports(ctx, func(path string, x export.Reader) error {
		rep, err := analyze.Run(ctx, x, cfg)
		if rep != nil {
			inputs = append(inputs, report.Input{Name: path, Report: rep})
		}
		return err
	})
	if len(inputs) > 0 {
		err = errors.Join(err, report.Table(inputs, report.Options{})(r.stdout))
		for _, w := range report.Warnings(inputs, false) {
			if !strings.Contains(r.warned.String(), ": "+w+"\n") { // with or without a level before it
				fmt.Fprintf(r.stderr, "pa-record: warning: %s\n", w)
			}
		}
	}
	return err
}

// toolReport prints the report of the tool whose command line was given, of each run.
func (r *repeatedRun) toolReport(ctx context.Context) error {
	t := tool.Dialects().Find(r.s.Hints["dialect"])
	if t == nil || t.New == nil {
		return fmt.Errorf("--analysis-hint dialect=%s: no such report; %s", r.s.Hints["dialect"], tool.Dialects().Names())
	}
	cfg, err := r.dialectConfig(ctx, t)
	if err != nil {
		return err
	}
	return r.readExports(ctx, func(path string, x export.Reader) error {
		if len(r.done) > 1 {
			fmt.Fprintln(r.stdout, path)
		}
		rep, err := dialect.Analyze(ctx, t, x, cfg)
		if rep == nil {
			return err
		}
		for _, w := range rep.Warnings() {
			fmt.Fprintf(r.stderr, "pa-record: warning: %s: %v\n", path, w)
		}
		return errors.Join(err, rep.Console(r.stdout, widestReport))
	})
}

// widestReport is a width that no line of a tool's report reaches.
const widestReport = 1 << 20

// dialectConfig returns the settings of a tool's report, from the hints that the exports keep.
func (r *repeatedRun) dialectConfig(ctx context.Context, t *dialect.Tool) (cfg dialect.Config, err error) {
	hints := r.s.Hints
	cfg.Backend, cfg.EndpointType, cfg.WithoutTokenizer = hints["backend"], hints["endpoint_type"], true
	if text, ok := hints["streaming"]; ok {
		streaming, err := strconv.ParseBool(text)
		if err != nil {
			return cfg, fmt.Errorf("--analysis-hint streaming=%s: expected true or false", text)
		}
		cfg.Streaming = &streaming
	}
	if level := hints["experiment"]; level != "" {
		cfg.Level = dialect.ParseLevel(level)
	}
	if cfg.Goodput, err = dialect.ParseLimits(hints["goodput"]); err != nil {
		return cfg, fmt.Errorf("--analysis-hint goodput: %w", err)
	}
	reading := tokenizer.Transformers4
	if t.Transformers == 5 {
		reading = tokenizer.Transformers5
	}
	if name := hints["tokenizer"]; name != "" {
		tok, err := r.loadTokenizer(ctx, name, reading)
		if err != nil {
			return cfg, err
		}
		cfg.Tokenizer, cfg.TokenizerName = tok, dialect.TokenizerName(name)
		return cfg, nil
	}
	if name := hints["default_tokenizer"]; name != "" {
		tok, err := r.loadTokenizer(ctx, name, reading)
		if err != nil {
			fmt.Fprintf(r.stderr, "pa-record: warning: --report: %v; token counts are from the built-in tokenizer\n", err)
			if tok, err = builtin.Load(); err != nil {
				return cfg, err
			}
		}
		cfg.Tokenizer, cfg.TokenizerName = tok, name
	}
	return cfg, nil
}

// loadTokenizer loads the tokenizer of the command line, which the run may not have needed.
func (r *repeatedRun) loadTokenizer(ctx context.Context, name string, reading tokenizer.Reading) (*tokenizer.Tokenizer, error) {
	tok, err := findTokenizer(ctx, r.env.getenv, name, reading)
	if err != nil {
		return nil, fmt.Errorf("%w; --tokenizer built-in needs no file", err)
	}
	for _, note := range tok.Notes() {
		fmt.Fprintf(r.stderr, "pa-record: note: tokenizer %s: %s\n", name, note)
	}
	return tok, nil
}

// readExports gives the exports of the runs to read, one after the other.
func (r *repeatedRun) readExports(ctx context.Context, read func(path string, x export.Reader) error) error {
	opener := export.Opener{Formats: formats.Readers()}
	var errs []error
	for _, done := range r.done {
		x, err := opener.Open(ctx, done.export)
		if err == nil {
			err = errors.Join(read(done.export, x), x.Close())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// page writes the page of --html from the exports of the runs, also if the last run failed or was
// interrupted. It writes none if there is no export.
func (r *repeatedRun) page(ctx context.Context) error {
	if r.s.HTML == "" || len(r.done) == 0 {
		return nil
	}
	ctx, release := withCause(ctx, errSecondSignalWriting)
	defer release()
	var runs []page.Run
	err := r.readExports(ctx, func(path string, x export.Reader) error {
		run, err := page.Collect(ctx, path, x, analyze.Config{})
		if run.Run != nil {
			runs = append(runs, run)
		}
		return err
	})
	if len(runs) > 0 {
		err = errors.Join(err, r.outputs.html.Write(ctx, page.HTML(page.New("pa-record "+version, runs))))
	}
	if err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	if !r.s.quiet {
		fmt.Fprintf(r.stderr, "pa-record: wrote the page %s\n", r.s.HTML)
	}
	return nil
}

// writeCSV writes the file of -f, which is open at path, and one beside it for each composing
// model of an ensemble. Like perf_analyzer it overwrites existing files. It returns the names
// of the files.
func writeCSV(ctx context.Context, file *disk.Output, path string, s *perfanalyzer.Settings, levels []perfanalyzer.Level) (written []string, err error) {
	var b bytes.Buffer
	if err := s.WriteCSV(&b, levels); err != nil || b.Len() == 0 {
		return nil, err
	}
	files := append([]perfanalyzer.ModelFile{{Content: b.Bytes()}}, s.ComposingCSV(levels)...)
	for _, f := range files {
		write := func(w io.Writer) error {
			_, err := w.Write(f.Content)
			return err
		}
		name := path
		if f.Name == "" {
			err = file.Write(ctx, write)
		} else {
			name = filepath.Join(filepath.Dir(path), filepath.Base(f.Name)+"."+filepath.Base(path))
			err = disk.Write(ctx, name, csvOptions(), write)
		}
		if err != nil {
			return written, fmt.Errorf("-f: %w", err)
		}
		written = append(written, name)
	}
	return written, nil
}

// analyzeCommand returns a command of pa-analyze for files of this run, to paste into a
// shell. It adds the tokenizer, which the files do not name.
func (r *repeatedRun) analyzeCommand(words ...string) string {
	command := sanitize.Command(append([]string{"pa-analyze"}, words...)...)
	if name := r.countsWith(); name != "" {
		command += " " + sanitize.Command("--tokenizer", sanitize.PathArgument(name))
	}
	return command
}

// countsWith returns the tokenizer that reports of this run must be given to count tokens;
// "" if they need none.
func (r *repeatedRun) countsWith() string {
	name := r.s.Hints["tokenizer"] // of the other tool's report: a hint opens no path
	if r.s.Hints["dialect"] == "" && (r.uncounted || !r.s.ownSummary()) {
		name = r.s.Tokenizer
	}
	if byDefault := r.s.Hints["default_tokenizer"]; name == "" && isTokenizerPath(byDefault) {
		name = byDefault
	}
	if name == builtin.Name {
		return ""
	}
	return name
}

// isTokenizerPath reports whether a tokenizer lies at the path name.
func isTokenizerPath(name string) bool {
	_, err := os.Stat(name)
	return err == nil && len(tokenizer.FilesAt(name)) > 0
}

// reportCommand returns the command that reports an export.
func (r *repeatedRun) reportCommand(export string) string {
	return r.analyzeCommand("report", sanitize.PathArgument(export))
}

// readIt returns the words before the command that reports an export. A run of Triton prints the
// console of perf_analyzer, which has neither TTFT nor ITL.
func (r *repeatedRun) readIt() string {
	if !r.s.ownSummary() && r.s.Streaming && r.s.Hints["dialect"] == "" {
		return "for TTFT and ITL read it with"
	}
	return "read it with"
}

// furtherReports returns the commands that write another tool's files from the written
// exports. It leaves out the plain report.
func (r *repeatedRun) furtherReports(written []string) []string {
	var all []string
	for _, args := range r.reports {
		if len(args) < 3 || !slices.Contains(written, filepath.Clean(args[1])) && !slices.Contains(written, args[1]) {
			continue
		}
		// The tool replaces its file, too.
		words := append([]string{args[0], sanitize.PathArgument(args[1])}, args[2:]...)
		all = append(all, r.analyzeCommand(append(words, "--overwrite")...))
	}
	return all
}

// comparison returns the command that compares two series of exports, each with a label.
func (r *repeatedRun) comparison(oldLabel, older, newLabel, newer string) string {
	return r.analyzeCommand("diff", oldLabel+"="+older, newLabel+"="+newer)
}
