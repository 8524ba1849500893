package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/shell"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/tool"
)

// defaultFile is what perf_analyzer's scripts read.
const defaultFile = "profile_export.json"

// InputFlags are the flags of every command that reads files.
func InputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "beside", Usage: "also read the tool's summary and settings from the folder of the file (a folder as FILE implies it)", Category: "Input"},
		&cli.Int64Flag{Name: "max-value", Usage: "refuse a single value of more than `BYTES`", Value: export.DefaultMaxValueBytes, Category: "Input"},
		&cli.Int64Flag{Name: "max-spool", Usage: "keep at most `BYTES` of standard input or of a decompressed file in $TMPDIR (default: half of its free space, at most 64 GiB)", Category: "Input"},
		&cli.IntFlag{Name: "max-ratio", Usage: "refuse a compressed file that decompresses to more than `N` times its size; -1: no limit", Value: export.DefaultMaxRatio, Category: "Input"},
	}
}

// openFile opens a file, or standard input for "-".
func openFile(c *cli.Context, path string) (export.Reader, error) {
	limit := c.Int64("max-value")
	if limit <= 0 {
		return nil, cmdline.Usagef("--max-value %d: give a number of bytes above 0", limit)
	}
	if n := c.Int64("max-spool"); n < 0 {
		return nil, cmdline.Usagef("--max-spool %d: give a number of bytes above 0", n)
	}
	o := export.Opener{
		Formats: append(formats.Readers(), tool.Formats()...),
		Limits:  export.Limits{MaxValueBytes: limit, MaxMemoryBytes: c.Int64("memory-limit")},
		Stdin:   c.App.Reader,
		Beside:  c.Bool("beside"),

		MaxSpoolBytes: c.Int64("max-spool"), MaxRatio: c.Int("max-ratio"),
	}
	r, err := o.Open(c.Context, path)
	if err != nil {
		return nil, cmp.Or(recoverable(path, err), err)
	}
	if o.Beside || IsFolder(path) {
		if err := readsSummaries(c, path, r); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		return r, nil
	}
	// Only files that the command line names are opened.
	if names := export.SummaryNames(r, path); names != nil {
		files := strings.Join(names, " and ")
		if export.SummaryPaths(r, path) == nil {
			Warnf(c, "%s: the load of the run is n/a: the tool writes the load into %s, which is not in the folder", path, files)
		} else {
			Warnf(c, "%s: the load of the run is n/a: the tool writes it into %s of the same folder; add --beside to read that, too", path, files)
		}
	}
	return r, nil
}

// recoverable returns an error that names the journal of a file that cannot be opened because its
// run was killed; nil for any other file.
func recoverable(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || IsFolder(path) {
		return nil
	}
	journal := formats.JournalPath(path)
	if info, err := os.Stat(journal); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	words := []string{"pa-record", "recover", shell.File(journal)}
	if _, ok := formats.ForName(path); ok && filepath.Ext(path) != ".json" { // which recover writes by itself
		words = append(words, "--profile-export-file", shell.File(path))
	}
	return fmt.Errorf("%s: no such file yet, but %s lies beside it, the journal of a run that was killed or has not ended: %s", path, journal, shell.Command(words...))
}

// IsFolder reports whether path names a folder.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// orDefault returns args, or the default file if there are none and the working directory has it.
func orDefault(args []string) []string {
	if len(args) > 0 {
		return args
	}
	if _, err := os.Stat(defaultFile); err == nil {
		return []string{defaultFile}
	}
	return nil
}

// Files returns the files that a command reads, at least one, with the matches of globs.
func Files(c *cli.Context) ([]string, error) { return files(c, orDefault(c.Args().Slice())) }

// files returns the files that these arguments name.
func files(c *cli.Context, args []string) ([]string, error) {
	paths, err := expandAll(args)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		if err := recoverable(defaultFile, fs.ErrNotExist); err != nil {
			return nil, err
		}
		return nil, cmdline.Usagef("no file given, and there is no %s in the working directory; %s FILE… reads another", defaultFile, c.App.Name)
	}
	stdin := 0
	for _, a := range paths {
		if a == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return nil, cmdline.Usagef("standard input can be read only once; give - once")
	}
	return paths, nil
}

// Warnings prints the reader's warnings.
func Warnings(c *cli.Context, r export.Reader) {
	for _, w := range r.Warnings() {
		Warnf(c, "%s", w)
	}
}

// LeftOut is the error for a file with requests that could not be read, which
// the warnings locate; nil for any other.
func LeftOut(path string, r export.Reader, consequence string) error {
	n := 0
	for i := range r.Run().Experiments {
		counted, excluded := r.Skipped(i)
		n += counted + excluded
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s cannot be read: %s; see the warning", path, plural.Of(n, "request"), consequence)
}

// Named puts the name of the file before an error that does not begin with it.
func Named(path string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), path+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// WarnAll prints a warning for each text.
func WarnAll(c *cli.Context, texts []string) {
	for _, w := range texts {
		Warnf(c, "%s", w)
	}
}

// WarnEach prints a warning about the file for each error.
func WarnEach(c *cli.Context, path string, all []error) {
	for _, err := range all {
		Warnf(c, "%v", Named(path, err))
	}
}
