package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// A recording is a run to read: a file, or the shards of a run.
type recording struct {
	// name names the run in reports and messages: the file, the glob of the shards, or the
	// first shard and the number of others.
	name string
	// paths are the files: one, unless they are shards.
	paths []string
	// unread are the errors of opening further files, which may be shards of the run.
	unread []error
	merge  bool // paths are shards
	// clients says that paths are whole runs that several clients made at the same time.
	clients bool
}

// fileRecording returns the recording in one file.
func fileRecording(path string) recording { return recording{name: path, paths: []string{path}} }

// A grouping says which shards become one recording.
type grouping int

const (
	oneRun  grouping = iota // all shards; shards of several runs are an error
	byRun                   // the shards of each run
	perFile                 // each file is a recording of its own
)

// recordings returns the runs in files, in the order of their first files. It opens several files
// to see whether they are shards, and keeps them open. The error says which files are not shards
// of one run.
func (c *call) recordings(files fileNames, how grouping) ([]recording, error) {
	var all []recording
	if len(files.paths) == 1 || how == perFile {
		for _, p := range files.paths {
			all = append(all, fileRecording(p))
		}
		return all, nil
	}
	groups := map[string]int{} // index in all by run
	others := 0                // open files that are no shards
	var unread []error
	var failed []string // the files of unread
	for _, path := range files.paths {
		r, err := c.keepOpen(path)
		if err != nil {
			if c.Err() != nil {
				return nil, err
			}
			unread, failed = append(unread, err), append(failed, path)
			all = append(all, fileRecording(path))
			continue
		}
		meta, err := shards.Of(shards.Shard{Name: path, Reader: r})
		if err != nil {
			return nil, err
		}
		if meta == nil {
			if others++; others > mostOpen && path != "-" {
				delete(c.open, path)
				if err := r.Close(); err != nil {
					return nil, err
				}
			}
			all = append(all, fileRecording(path))
			continue
		}
		key := meta.Run
		if how == oneRun {
			key = ""
		}
		at, ok := groups[key]
		if !ok {
			at = len(all)
			groups[key] = at
			all = append(all, recording{name: path, merge: true})
		}
		all[at].paths = append(all[at].paths, path)
	}
	for _, at := range groups {
		run := &all[at]
		switch n := len(run.paths) - 1; {
		case files.name != "" && len(run.paths)+len(failed) == len(files.paths):
			run.name = files.name
		case n > 0:
			run.name += " and " + plural.Of(n, "other shard")
		}
	}
	if len(groups) == 1 && len(unread) > 0 {
		// A file that cannot be opened does not say whether it is a shard. Beside shards it is
		// taken for one: its rank is missing.
		kept := all[:0]
		for _, run := range all {
			if run.merge {
				run.unread = unread
			} else if slices.Contains(failed, run.name) {
				continue
			}
			kept = append(kept, run)
		}
		all = kept
	}
	for i := range all {
		if err := c.checkShards(&all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkShards returns an error if the shards of a recording are not of one run. A single shard
// stays what it is: a file.
func (c *call) checkShards(run *recording) error {
	if !run.merge {
		return nil
	}
	if len(run.paths) == 1 && len(run.unread) == 0 {
		run.merge = false
		return nil
	}
	_, err := shards.Merge(c.shards(run))
	if errors.As(err, new(*shards.ConflictError)) {
		advice := "give the shards of one run" + c.exampleRun(run)
		if c.has("per-file") {
			advice += ", or --per-file for a report of each"
		}
		return fmt.Errorf("%w; %s", err, advice)
	}
	return err
}

// exampleRun returns ", such as " and the shards of the first run of several runs, as the ranks of
// pa-record --repeat write them; "" if all are of one run, or if that run has no other shard.
func (c *call) exampleRun(run *recording) string {
	var first string
	var names []string
	for i, s := range c.shards(run) {
		meta, err := shards.Of(s)
		if err != nil {
			return ""
		}
		if i == 0 {
			first = meta.Run
		}
		if meta.Run == first {
			names = append(names, s.Name)
		}
	}
	const most = 3 // names that a message lists
	switch n := len(names); {
	case n == 1 || n == len(run.paths):
		return ""
	case n > most:
		names = append(names[:most-1:most-1], plural.Of(n-most+1, "other"))
	}
	last := len(names) - 1
	return ", such as " + strings.Join(names[:last], ", ") + " and " + names[last]
}

// shards returns the open files of a recording.
func (c *call) shards(run *recording) []shards.Shard {
	var all []shards.Shard
	for _, p := range run.paths {
		all = append(all, shards.Shard{Name: p, Reader: c.open[p]})
	}
	return all
}

// errNoRequest is the error of a file that holds levels but no request.
var errNoRequest = errors.New("holds no request that can be read: nothing was measured; give a recording with requests")

// noRequest returns errNoRequest if f read a run to its end, without an error, and found nothing.
func noRequest(name string, err error, readers ...export.Reader) error {
	if err == nil && !slices.ContainsFunc(readers, func(r export.Reader) bool { return !export.Empty(r) }) {
		return named(name, errNoRequest)
	}
	return err
}

// use opens the files of a recording that are not open, passes a reader of the run to f, and closes it. A run
// that f reads to its end has to hold a request. The error of a run with missing shards names them.
func (c *call) use(run recording, f func(export.Reader) error) (err error) {
	var parts []export.Reader
	for _, p := range run.paths {
		part, err := c.keepOpen(p)
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	r, missing := parts[0], func() error { return nil }
	switch {
	case run.clients:
		merged, err := c.mergeClients(&run)
		if err != nil {
			return err
		}
		r = merged
	case run.merge:
		merged, err := shards.Merge(c.shards(&run))
		if err != nil {
			return err
		}
		r, missing = merged, merged.Missing
	}
	for _, p := range run.paths {
		delete(c.open, p)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = noRequest(run.name, f(r), parts...)
	if unread := r.Err(); (run.merge || run.clients) && errors.Is(unread, export.ErrContradiction) {
		return unread // f may have named it once more
	}
	return errors.Join(append([]error{err}, append(run.unread, named(run.name, missing()))...)...)
}

// mergeClients returns a reader of the files of several clients as one run.
func (c *call) mergeClients(run *recording) (export.Reader, error) {
	cfg := shards.ClientConfig{BoundNS: -1}
	if c.IsSet("clock-bound") {
		cfg.BoundNS = c.Duration("clock-bound").Nanoseconds()
	}
	merged, err := shards.MergeClients(c.Context, c.shards(run), cfg)
	if e := new(shards.ClientError); errors.As(err, &e) && e.NeedsBound {
		return nil, cmdline.Usagef("%v: give --clock-bound, such as 1ms for machines that PTP or a good NTP server keeps together", err)
	}
	if err != nil {
		return nil, err // not a nil *shards.Reader in an interface
	}
	return merged, nil
}

// useEach calls use for one run after the other, until the command is interrupted. It returns their errors.
func (c *call) useEach(runs []recording, f func(run recording, r export.Reader) error) (errs []error) {
	for i, run := range runs {
		if i > 0 && c.Err() != nil {
			return append(errs, c.Err())
		}
		errs = append(errs, c.use(run, func(r export.Reader) error { return f(run, r) }))
	}
	return errs
}

// runs returns the runs in files, at least one: with --per-file each file, else all shards as one.
func (c *call) runs(files fileNames) ([]recording, error) {
	if c.Bool("per-file") {
		return c.recordings(files, perFile)
	}
	return c.recordings(files, oneRun)
}

// useOne calls use for the only run in files.
func (c *call) useOne(files fileNames, f func(run recording, r export.Reader) error) error {
	run, err := c.run(files)
	if err != nil {
		return err
	}
	return c.use(run, func(r export.Reader) error { return f(run, r) })
}

// run returns the only run in files: a file, or shards.
func (c *call) run(files fileNames) (recording, error) {
	all, err := c.recordings(files, oneRun)
	switch {
	case err != nil:
		return recording{}, err
	case len(all) != 1:
		return recording{}, cmdline.Usagef("%d files given; %s takes one, or the shards of one run", len(files.paths), c.App.Name)
	}
	return all[0], nil
}

// onlyShards returns the run of shards. The error is a usage error for a file that is a whole run.
func (c *call) onlyShards(files fileNames) (recording, error) {
	var unread []error
	for _, path := range files.paths {
		r, err := c.keepOpen(path)
		if err != nil {
			unread = append(unread, err) // the merge names it beside the missing rank
			continue
		}
		if meta, err := shards.Of(shards.Shard{Name: path, Reader: r}); err == nil && meta == nil {
			return recording{}, cmdline.Usagef("%s is a whole run, not a shard (it has no pa.shard): merge joins the files of the ranks of one run, or with --clients whole runs of simultaneous clients; to report several runs use pa-analyze report FILE…, to change a format pa-analyze convert", path)
		}
	}
	if len(unread) == len(files.paths) {
		return recording{}, errors.Join(unread...)
	}
	run, err := c.run(files)
	run.merge = err == nil
	return run, err
}

// isShard reports whether a file exists and is a shard of a run.
func (c *call) isShard(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	r, err := c.keepOpen(path)
	if err != nil {
		return false
	}
	meta, err := shards.Of(shards.Shard{Name: path, Reader: r})
	return err == nil && meta != nil
}

// bytes returns the size of all files; 0 if one of them is no regular file.
func (r recording) bytes() int64 {
	var sum int64
	for _, p := range r.paths {
		info, err := os.Stat(p)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		sum += info.Size()
	}
	return sum
}

// canReopen reports whether the files can be read a second time; a stream cannot.
func (r recording) canReopen() bool {
	for _, p := range r.paths {
		info, err := os.Stat(p)
		if err != nil || p == "-" || !info.Mode().IsRegular() && !info.IsDir() {
			return false
		}
	}
	return true
}
