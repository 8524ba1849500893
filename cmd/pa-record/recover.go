package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
)

// recoverCommand is "pa-record recover": it finishes what a killed run left.
func recoverCommand() *cli.Command {
	return &cli.Command{
		Name:      "recover",
		Usage:     "write the export of a run that was killed",
		ArgsUsage: "JOURNAL",
		Description: `While it records, pa-record keeps everything in a journal beside the export,
NAME.journal.arrows. When the process is killed the journal stays; this writes
the export from it, without the requests that were in flight and those of about
the last second, and then removes the journal.`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "profile-export-file", Usage: "write the export to `FILE` (repeatable; default: NAME.json)"},
			&cli.BoolFlag{Name: "overwrite", Usage: "replace an export that is already there"},
			cmdline.ConfigFlag(""),
		},
		Action: recoverRun,
	}
}

func recoverRun(c *cli.Context) error {
	if c.NArg() != 1 {
		return cmdline.Usagef("give the one journal to recover, NAME%s", journalSuffix)
	}
	path := c.Args().First()
	exports := c.StringSlice("profile-export-file")
	if len(exports) == 0 {
		name, ok := strings.CutSuffix(path, journalSuffix)
		if !ok {
			return cmdline.Usagef("%s: the name does not end in %s; say where to write with --profile-export-file", path, journalSuffix)
		}
		exports = []string{name + ".json"}
	}
	outputs, err := newOutputs(exports, c.Bool("overwrite"))
	if err != nil {
		return err
	}
	// Opening a pipe would wait for its writer.
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file; give the journal that pa-record left beside the export", path)
	}
	lock, err := os.Open(path)
	if err != nil {
		return err
	}
	if !lockFile(lock) {
		return errors.Join(fmt.Errorf("%s: a pa-record is still writing it", path), lock.Close())
	}
	if !isAt(lock, path) { // the run ended before we had the lock
		return errors.Join(fmt.Errorf("%s: gone: its run has just ended and written its export", path), lock.Close())
	}
	if st, err := lock.Stat(); err == nil && st.Size() == 0 && strings.HasSuffix(path, journalSuffix) {
		if err := removeHeld(lock, path); err != nil {
			return err
		}
		fmt.Fprintf(c.App.Writer, "%s: empty, since its run was killed before the first request; removed it, there is nothing to recover\n", path)
		return nil
	}
	killed, how := false, "the run had ended"
	written, requests, err := finalize(c.Context, path, outputs, func(run *export.Run) {
		if why, ok := endedEarly(run); ok {
			how = "the run " + recorder.EndedEarly + why
		}
		killed = run.Meta == nil || run.Meta.EndNS == 0
		if killed && run.Meta != nil {
			meta := *run.Meta
			meta.Interrupted = "killed"
			run.Meta = &meta
		}
	})
	if c.Err() != nil {
		return errors.Join(fmt.Errorf("%s is kept: %w", path, context.Cause(c.Context)), lock.Close())
	}
	if err != nil {
		return journalKept(path, requests, errors.Join(err, lock.Close()))
	}
	if killed {
		how = "the run was killed"
	}
	fmt.Fprintf(c.App.Writer, "%s: requests recovered: %d (%s); wrote %s\n", path, requests, how, strings.Join(written, ", "))
	return removeHeld(lock, path)
}
