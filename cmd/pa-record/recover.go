package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// recoverCommand is "pa-record recover", which writes the exports of a killed run.
func recoverCommand() *cli.Command {
	return &cli.Command{
		Name:      "recover",
		Usage:     "write the export of a run that was killed",
		ArgsUsage: "JOURNAL",
		Description: `While it records, pa-record keeps everything in a journal beside the export,
NAME.journal. When the process is killed the journal stays; this writes
the export from it and then removes the journal. The requests in flight and
the requests of about the last second are missing.`,
		Flags: []cli.Flag{
			cmdline.Derives(&cli.StringSliceFlag{Name: "profile-export-file", Usage: "write the export to `FILE` (repeatable; default: NAME.json)"}),
			&cli.BoolFlag{Name: "overwrite", Usage: "replace an export that already exists"},
			cmdline.ConfigFlag(""),
		},
		Action: recoverRun,
	}
}

// recoverRun runs the command recover: it writes the exports of a journal that a killed run left.
func recoverRun(c *cli.Context) error {
	if c.NArg() != 1 {
		return cmdline.Usagef("give the one journal to recover, NAME%s", journal.Suffix)
	}
	path := c.Args().First()
	_, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	exports := c.StringSlice("profile-export-file")
	if len(exports) == 0 {
		name, ok := strings.CutSuffix(path, journal.Suffix)
		if beside := journal.PathFor(path); !ok && isFile(beside) {
			return cmdline.Refusedf("%s is not a journal; the journal %s lies beside it: %s", path, beside, recoverCommandOf(beside, nil))
		}
		if !ok && missing {
			return missingJournal(path, path)
		}
		if !ok {
			return cmdline.Usagef("%s: the name does not end in %s; say where to write with --profile-export-file", path, journal.Suffix)
		}
		exports = []string{name + ".json"}
	}
	cmdline.ReadsFile(c, "the journal", path)
	addExports(c, exports)
	if err := cmdline.CheckFiles(c); err != nil {
		return err
	}
	if missing {
		return missingJournal(path, exports[0])
	}
	files, err := newExports(exports, c.Bool("overwrite"))
	if err != nil {
		return err
	}
	rec, err := journal.Recover(c.Context, path, files)
	if rec == nil || rec.Empty && err != nil {
		return recoverError(path, err)
	}
	if rec.Empty {
		fmt.Fprintf(c.App.Writer, "%s: empty, since its run was killed before the first request; removed it, there is nothing to recover\n", path)
		return nil
	}
	how := "the run had ended"
	switch {
	case rec.Killed:
		how = "the run was killed"
	case rec.EndedEarly != "":
		how = "the run " + recorder.EndedEarly + rec.EndedEarly
	}
	fmt.Fprintf(c.App.Writer, "%s: requests recovered: %d (%s); wrote %s\n", path, rec.Requests, how, strings.Join(rec.Exports, ", "))
	return err
}

// missingJournal says why there may be no journal at path, whose export is at export.
func missingJournal(path, export string) error {
	if isFile(export) {
		return fmt.Errorf("%s: no such file, but %s is there: the run has ended, or was recovered already", path, export)
	}
	return fmt.Errorf("%s: no such file; check the path (a run that was killed leaves its journal beside the export)", path)
}

// isFile reports whether path is a regular file that exists.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// recoverError adds to an error of the recovery of a journal what to do.
func recoverError(path string, err error) error {
	if kept := (*journal.KeptError)(nil); errors.As(err, &kept) && kept.Requests == 0 && diskAdvice(err, "") == "" {
		return &keptError{oneLine(kept.Err) + "; the journal is kept", kept} // another try does no better
	}
	var fe *journal.FileError
	if !errors.As(err, &fe) {
		return journalKept(err, nil)
	}
	switch {
	case errors.Is(fe, journal.ErrNotRegular):
		return fmt.Errorf("%s: not a regular file; give the journal that pa-record left beside the export", fe.Path)
	case errors.Is(fe, journal.ErrBusy):
		return fmt.Errorf("%s: pa-record is still writing it", fe.Path)
	case errors.Is(fe, journal.ErrNoReader):
		return cmdline.Refusedf("--profile-export-file %v; %s is kept", fe, path)
	case errors.Is(fe, journal.ErrEnded):
		return fmt.Errorf("%s: removed, because its run has just ended and written its export", fe.Path)
	}
	return err
}
