package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/tool"
)

// mostOpen is the largest number of files that are kept open, besides shards.
const mostOpen = 64

// unreadableStdin is standard input that could not be opened. It can be read only once, so each further attempt to
// open it returns the first error.
type unreadableStdin struct {
	export.Reader
	err error
}

// Close does nothing.
func (unreadableStdin) Close() error { return nil }

// keepOpen opens a file that is not open, and keeps it open.
func (c *call) keepOpen(path string) (export.Reader, error) {
	if r, ok := c.open[path]; ok {
		if x, is := r.(unreadableStdin); is {
			return nil, x.err
		}
		return r, nil
	}
	r, err := c.openFile(path)
	switch {
	case err == nil:
		c.open[path] = r
	case path == "-":
		c.open[path] = unreadableStdin{err: err}
	}
	return r, err
}

// openFile opens a file, or standard input for "-".
func (c *call) openFile(path string) (export.Reader, error) {
	o := export.Opener{
		Formats: append(formats.Readers(), tool.Formats()...),
		Limits:  export.Limits{MaxValueBytes: c.Int64("max-value"), MaxMemoryBytes: c.Int64("memory-limit")},
		Stdin:   c.App.Reader,
		Beside:  c.Bool("beside"),

		MaxSpoolBytes: c.Int64("max-spool"), MaxRatio: c.Int("max-ratio"),
	}
	r, err := o.Open(c.Context, path)
	if err != nil {
		return nil, cmp.Or(recoverable(path, err), err)
	}
	if o.Beside || isFolder(path) {
		if err := c.addSummaries(path, r); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		return r, nil
	}
	// Only files that the command line names are opened.
	if names := export.SummaryNames(r, path); names != nil {
		files, what := strings.Join(names, " and "), ""
		switch run := r.Run(); {
		case slices.ContainsFunc(run.Experiments, func(e export.Experiment) bool { return e.Mode == "" }):
			what = "load"
		case run.Meta == nil || run.Meta.Model == "":
			what = "model"
		}
		switch {
		case what == "":
		case export.SummaryPaths(r, path) == nil:
			c.warnf("%s: the %s of the run is n/a: the tool writes the %s into %s, which is not in the folder", path, what, what, files)
		default:
			c.warnf("%s: the %s of the run is n/a: the tool writes it into %s of the same folder; add --beside to read that, too", path, what, files)
		}
	}
	return r, nil
}

// addSummaries adds the summaries beside the file at path, which r reads, to the files that the command reads. The error
// says that the command would overwrite one of them.
func (c *call) addSummaries(path string, r export.Reader) error {
	for _, name := range export.SummaryPaths(r, resultOf(path)) {
		cmdline.ReadsFile(c.commandLine, "--beside", name)
	}
	return cmdline.CheckFiles(c.commandLine)
}

// recoverable returns an error that names the journal of a file that cannot be opened because its
// run was killed; nil for any other file.
func recoverable(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || isFolder(path) {
		return nil
	}
	journal := formats.JournalPath(path)
	if info, err := os.Stat(journal); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	words := []string{"pa-record", "recover", sanitize.PathArgument(journal)}
	if _, ok := formats.ForName(path); ok && filepath.Ext(path) != ".json" { // which recover writes by itself
		words = append(words, "--profile-export-file", sanitize.PathArgument(path))
	}
	return fmt.Errorf("%s: no such file yet; %s beside it is the journal of a run that was killed or has not ended: %s", path, journal, sanitize.Command(words...))
}

// isFolder reports whether path names a folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// resultOf returns the file of requests in a folder, or path if it is no such folder.
func resultOf(path string) string {
	if !isFolder(path) {
		return path
	}
	if file, err := export.ResultFile(path); err == nil {
		return file
	}
	return path
}
