package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/export/formats"
)

// hints holds the settings that the export keeps for pa-analyze, by name.
type hints map[string]string

// output reads the paths of exports and reports, and the hints for pa-analyze.
func (p *parser) output(s *settings) {
	if s.Exports = p.c.StringSlice("profile-export-file"); len(s.Exports) == 0 {
		s.Exports = []string{defaultExport}
	}
	if s.ArtifactDir != "" {
		for i, path := range s.Exports {
			if path != "" && path != "-" && !filepath.IsAbs(path) {
				s.Exports[i] = filepath.Join(s.ArtifactDir, path)
			}
		}
	}
	if s.spillDir != "" {
		if err := disk.CheckFolder(s.spillDir); err != nil {
			p.errorf("--spill-dir: %w", err)
		}
	}
	for _, text := range p.c.StringSlice("analysis-hint") {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			p.errorf("--analysis-hint %s: expected KEY=VALUE", redact.Members(text))
			continue
		}
		if kept := redact.Members(text); kept != text {
			s.note("--analysis-hint %s: the export does not keep the credential", kept)
			_, value, _ = strings.Cut(kept, "=")
		}
		if s.Hints == nil {
			s.Hints = hints{}
		}
		s.Hints[key] = value
	}
	p.csv(s)
	p.html(s)
}

// html reads --html. A page shows the runs of one process.
func (p *parser) html(s *settings) {
	if !p.c.IsSet("html") {
		return
	}
	if s.HTML == "" || s.HTML == "-" {
		p.errorf("--html %q: give the name of a file; standard output is for the console report", s.HTML)
		return
	}
	if s.ArtifactDir != "" && !filepath.IsAbs(s.HTML) {
		s.HTML = filepath.Join(s.ArtifactDir, s.HTML)
	}
}

// makeArtifactDir makes the folder of --artifact-dir, if there is one.
func (s *settings) makeArtifactDir() error {
	if s.ArtifactDir == "" {
		return nil
	}
	if err := os.MkdirAll(s.ArtifactDir, 0o777); err != nil {
		return fmt.Errorf("--artifact-dir: %w", disk.Unmade(err))
	}
	return nil
}

// csv reads -f.
func (p *parser) csv(s *settings) {
	if !p.c.IsSet("f") {
		return
	}
	if err := checkCSV(s.CSV); err != nil {
		p.errorf("-f: %w", err)
	}
}

// checkCSV refuses a file for -f that cannot be written.
func checkCSV(path string) error {
	st, err := os.Stat(path)
	switch {
	case path == "" || path == "-":
		return errors.New("give the name of a file")
	case err == nil && st.IsDir():
		return fmt.Errorf("%s is a directory; give a file name", path)
	case err == nil:
		return nil
	}
	return disk.CheckFolder(filepath.Dir(path))
}

// outputFlags returns the flags for the files that a run writes.
func (s *settings) outputFlags() []cli.Flag {
	return []cli.Flag{
		cmdline.Derives(&cli.StringSliceFlag{Name: "profile-export-file", Category: catOutput, Usage: "write the export to `FILE`; its suffix chooses the format: " + formats.Suffixes + " (repeatable; default: profile_export.json)"}),
		cmdline.Derives(&cli.StringFlag{Name: "artifact-dir", Category: catOutput, Usage: "write exports into `DIR`, and create it if needed", DefaultText: "the current one", Destination: &s.ArtifactDir}),
		cmdline.Derives(&cli.StringFlag{Name: "spill-dir", Category: catOutput, Usage: "continue the journal in `DIR` if the folder of the export fails (disk full, folder removed)", DefaultText: "the folder for temporary files", Destination: &s.spillDir}),
		&cli.StringSliceFlag{Name: "analysis-hint", Category: catOutput, Usage: "keep the setting `KEY=VALUE` in the export as a default for pa-analyze: dialect, experiment, tokenizer, goodput, … (repeatable)"},
		&cli.BoolFlag{Name: "report", Category: catOutput, Usage: "after the run, print the report of the export as pa-analyze does; for a command line of another tool, that tool's report", Destination: &s.Report},
		&cli.BoolFlag{Name: "keep-media", Category: catOutput, Usage: "keep the bytes of images and audio in answers; without it the export has their sizes, the SHA-256 of images and the times of audio", Destination: &s.KeepMedia},
		cmdline.Derives(&cli.StringFlag{Name: "html", Category: catOutput, Usage: "after the run, write a page with charts and a waterfall to `FILE`, as pa-analyze html makes it from the export", Destination: &s.HTML}),
		cmdline.Derives(&cli.StringFlag{Name: "f", Category: catOutput, Usage: "write the report as perf_analyzer's CSV to `FILE`, replacing it; an ensemble gets one more for each of its models", Destination: &s.CSV}),
		&cli.BoolFlag{Name: "verbose-csv", Category: catOutput, Usage: "more columns in the CSV report", Destination: &s.VerboseCSV},
		&cli.BoolFlag{Name: "calibrate", Category: catOutput, Usage: "before the load, measure for a few seconds the error of this machine's times and keep it in the export; see pa-record calibrate", Destination: &s.Calibrate},
		&cli.BoolFlag{Name: "overwrite", Category: catOutput, Usage: "replace an export that already exists", Destination: &s.overwrite},
	}
}

// displayFlags returns the flags of a run's printed output.
func (s *settings) displayFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Category: catLook, Usage: "also print perf_analyzer's report for OpenAI servers, and each window", Destination: &s.verbose},
		&cli.StringFlag{Name: "ui", Category: catLook, Usage: "`KIND` of progress on standard error: auto (a bar on a terminal, else plain), plain (a line every 10 s) or none", Value: uiAuto, Destination: &s.ui},
		&cli.BoolFlag{Name: "quiet", Category: catLook, Usage: "no progress and no final message on standard error", Destination: &s.quiet},
		&cli.BoolFlag{Name: "dry-run", Category: catLook, Usage: "print the resolved plan as JSON and send nothing", Destination: &s.dryRun},
		cmdline.ConfigFlag(catLook),
	}
}

// outputFiles holds the files of --html and -f, and exports that are pipes or devices. They
// are opened before anything is sent, so that a mistake is known then and the reader of a
// pipe stays.
type outputFiles struct {
	html *disk.Output            // nil: no page
	csv  map[string]*disk.Output // of -f, by path
	// exports are held until their run opens them.
	exports map[string]*disk.Output // by path
}

// openOutputs opens the outputs of all runs. The error is of type *cmdline.UsageError.
func openOutputs(ctx context.Context, s *settings, runs []plannedRun) (_ *outputFiles, err error) {
	o := &outputFiles{csv: map[string]*disk.Output{}, exports: map[string]*disk.Output{}}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	noFile := slices.ContainsFunc(runs, func(r plannedRun) bool { return firstRegular(r.Exports) == "" })
	for _, reads := range []struct {
		flag  string
		given bool
	}{{"html", s.HTML != ""}, {"report", s.Report}} {
		if reads.given && noFile {
			return nil, cmdline.Refusedf("--%s reads the export, and a pipe or a device cannot be read again; give a file as --profile-export-file too", reads.flag)
		}
	}
	if s.HTML != "" {
		if o.html, err = disk.OpenOutput(ctx, s.HTML, disk.Options{Overwrite: s.overwrite}); err != nil {
			return nil, cmdline.Refusedf("--html %v", err)
		}
	}
	for i := range runs {
		if path := runs[i].CSV; path != "" && o.csv[path] == nil {
			if o.csv[path], err = disk.OpenOutput(ctx, path, csvOptions()); err != nil {
				return nil, cmdline.Refusedf("-f: %v", err)
			}
		}
		for _, path := range runs[i].Exports {
			if o.exports[path] != nil || !disk.IsSpecial(path) {
				continue
			}
			if o.exports[path], err = disk.OpenOutput(ctx, path, disk.Options{Overwrite: true}); err != nil {
				return nil, cmdline.Refusedf("--profile-export-file %v", err)
			}
		}
	}
	return o, nil
}

// csvOptions are the options of the files of -f, which like perf_analyzer replaces them.
func csvOptions() disk.Options {
	return disk.Options{Overwrite: true, Perm: disk.Figures}
}

// firstRegular returns the first path that is a regular file, or none yet; "" if there is
// none.
func firstRegular(paths []string) string {
	for _, path := range paths {
		if !disk.IsSpecial(path) {
			return path
		}
	}
	return ""
}

// opened closes the exports of a run, which has opened them itself.
func (o *outputFiles) opened(run *plannedRun) {
	for _, path := range run.Exports {
		_ = o.exports[path].Close()
	}
}

// close closes what was not written.
func (o *outputFiles) close() {
	_ = o.html.Close()
	for _, files := range []map[string]*disk.Output{o.csv, o.exports} {
		for _, f := range files {
			_ = f.Close()
		}
	}
}
