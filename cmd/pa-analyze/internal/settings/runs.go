package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// An Input is a run to read: a file, or the shards of a run.
type Input struct {
	// Name names the run in reports and messages: the file, the glob of the shards, or the
	// first shard and the number of others.
	Name string
	// Paths are the files: one, unless they are shards.
	Paths []string
	// unread are the errors of opening further files, which may be shards of the run.
	unread []error
	merge  bool // Paths are shards
}

// FileInput returns the Input of one file.
func FileInput(path string) Input { return Input{Name: path, Paths: []string{path}} }

// PerFileFlag returns --per-file, which does not join shards.
func PerFileFlag() cli.Flag {
	return &cli.BoolFlag{Name: "per-file", Usage: "report each shard of a run by itself, instead of all as one run", Category: "Input"}
}

// A Grouping says which shards become one Input.
type Grouping int

const (
	// OneRun takes all shards as one run. Shards of several runs are an error.
	OneRun Grouping = iota
	// ByRun makes an Input for each run.
	ByRun
	// PerFile makes an Input for each file.
	PerFile
)

// Inputs returns the runs in the files, in the order of their first files. It opens several
// files to see whether they are shards, and keeps them open in o. name is the name of an Input
// of all files, "" for none. The error says which files are not shards of one run.
func (o OpenFiles) Inputs(c *cli.Context, name string, paths []string, how Grouping) ([]Input, error) {
	var all []Input
	if len(paths) == 1 || how == PerFile {
		for _, p := range paths {
			all = append(all, FileInput(p))
		}
		return all, nil
	}
	groups := map[string]int{} // index in all by run
	others := 0                // open files that are no shards
	var unread []error
	var failed []string // the files of unread
	for _, path := range paths {
		r, err := o.look(c, path)
		if err != nil {
			if c.Err() != nil {
				return nil, err
			}
			unread, failed = append(unread, err), append(failed, path)
			all = append(all, FileInput(path))
			continue
		}
		meta, err := shards.Of(shards.Shard{Name: path, Reader: r})
		if err != nil {
			return nil, err
		}
		if meta == nil {
			if others++; others > mostOpen && path != "-" {
				delete(o, path)
				if err := r.Close(); err != nil {
					return nil, err
				}
			}
			all = append(all, FileInput(path))
			continue
		}
		key := meta.Run
		if how == OneRun {
			key = ""
		}
		at, ok := groups[key]
		if !ok {
			at = len(all)
			groups[key] = at
			all = append(all, Input{Name: path, merge: true})
		}
		all[at].Paths = append(all[at].Paths, path)
	}
	for _, at := range groups {
		in := &all[at]
		switch n := len(in.Paths) - 1; {
		case name != "" && len(in.Paths)+len(failed) == len(paths):
			in.Name = name
		case n > 0:
			in.Name += " and " + plural.Of(n, "other shard")
		}
	}
	if len(groups) == 1 && len(unread) > 0 {
		// A file that cannot be opened does not say whether it is a shard. Beside shards it is
		// taken for one: its rank is missing.
		kept := all[:0]
		for _, in := range all {
			if in.merge {
				in.unread = unread
			} else if slices.Contains(failed, in.Name) {
				continue
			}
			kept = append(kept, in)
		}
		all = kept
	}
	for i := range all {
		if err := o.check(c, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// check returns an error if the shards of an Input are not of one run. A single shard stays
// what it is: a file.
func (o OpenFiles) check(c *cli.Context, in *Input) error {
	if !in.merge {
		return nil
	}
	if len(in.Paths) == 1 && len(in.unread) == 0 {
		in.merge = false
		return nil
	}
	if _, err := shards.Merge(o.shards(in)); err != nil {
		conflict := new(shards.ConflictError)
		if errors.As(err, &conflict) {
			advice := "give the shards of one run"
			if slices.Contains(FlagNames(c.Command.Flags), "per-file") {
				advice += ", or --per-file for a report of each"
			}
			return fmt.Errorf("%w; %s", err, advice)
		}
		return err
	}
	return nil
}

// shards returns the open files of an Input.
func (o OpenFiles) shards(in *Input) []shards.Shard {
	var all []shards.Shard
	for _, p := range in.Paths {
		all = append(all, shards.Shard{Name: p, Reader: o[p]})
	}
	return all
}

// errNoRequest is the error of a file that holds levels but no request.
var errNoRequest = errors.New("holds no request that can be read: nothing was measured; give a recording with requests")

// noRequest returns errNoRequest if f read a run to its end, without an error, and found nothing.
func noRequest(name string, err error, readers ...export.Reader) error {
	if err == nil && !slices.ContainsFunc(readers, func(r export.Reader) bool { return !export.Empty(r) }) {
		return Named(name, errNoRequest)
	}
	return err
}

// Use opens the files of an Input that are not open, gives their run to f, and closes it. A run
// that f reads to its end has to hold a request. The error of a run with missing shards names them.
func (o OpenFiles) Use(c *cli.Context, in Input, f func(export.Reader) error) (err error) {
	if !in.merge {
		r, lookErr := o.look(c, in.Paths[0])
		if lookErr != nil {
			return lookErr
		}
		delete(o, in.Paths[0])
		defer func() { err = errors.Join(err, r.Close()) }()
		return noRequest(in.Name, f(r), r)
	}
	var parts []export.Reader
	for _, p := range in.Paths {
		part, err := o.look(c, p)
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	r, err := shards.Merge(o.shards(&in))
	if err != nil {
		return err
	}
	for _, p := range in.Paths {
		delete(o, p)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = noRequest(in.Name, f(r), parts...)
	if unread := r.Err(); errors.Is(unread, export.ErrContradiction) {
		return unread // f may have named it once more
	}
	return errors.Join(append([]error{err}, append(in.unread, Named(in.Name, r.Missing()))...)...)
}

// Use gives the run of an Input to f.
func (in Input) Use(c *cli.Context, f func(export.Reader) error) (err error) {
	o := OpenFiles{}
	defer func() { err = errors.Join(err, o.Close()) }()
	return o.Use(c, in, f)
}

// Runs returns the runs that the arguments of a command name, at least one.
func (o OpenFiles) Runs(c *cli.Context) ([]Input, error) {
	return o.RunsOf(c, c.Args().Slice())
}

// RunsOf returns the runs that these arguments name, at least one; without arguments the default file.
func (o OpenFiles) RunsOf(c *cli.Context, args []string) ([]Input, error) {
	args = orDefault(args)
	paths, err := files(c, args)
	if err != nil {
		return nil, err
	}
	how := OneRun
	if c.Bool("per-file") {
		how = PerFile
	}
	return o.Inputs(c, soleName(args), paths, how)
}

// soleName returns the argument if it is the only one, for the name of what it matches.
func soleName(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return ""
}

// OneRun returns the only run that the arguments of a command name, or the default file.
func (o OpenFiles) OneRun(c *cli.Context) (Input, error) {
	if c.NArg() == 0 {
		return FileInput(defaultFile), nil
	}
	return o.OneOf(c, c.Args().Slice())
}

// OneOf returns the only run that files or globs name: a file, or shards.
func (o OpenFiles) OneOf(c *cli.Context, args []string) (Input, error) {
	paths, err := expandAll(args)
	if err != nil {
		return Input{}, err
	}
	all, err := o.Inputs(c, soleName(args), paths, OneRun)
	switch {
	case err != nil:
		return Input{}, err
	case len(all) != 1:
		return Input{}, cmdline.Usagef("%d files given; %s takes one, or the shards of one run", len(paths), c.App.Name)
	}
	return all[0], nil
}

// OnlyShards returns the run whose shards files or globs name. The error is a usage error for a
// file that is a whole run.
func (o OpenFiles) OnlyShards(c *cli.Context, args []string) (Input, error) {
	paths, err := expandAll(args)
	if err != nil {
		return Input{}, err
	}
	var unread []error
	for _, path := range paths {
		r, err := o.look(c, path)
		if err != nil {
			unread = append(unread, err) // the merge names it beside the missing rank
			continue
		}
		if meta, err := shards.Of(shards.Shard{Name: path, Reader: r}); err == nil && meta == nil {
			return Input{}, cmdline.Usagef("%s is a whole run, not a shard (it has no pa.shard): merge takes the files that the ranks of one run wrote; pa-analyze report FILE… reports several runs, and convert writes one in another format", path)
		}
	}
	if len(unread) == len(paths) {
		return Input{}, errors.Join(unread...)
	}
	in, err := o.OneOf(c, args)
	in.merge = err == nil
	return in, err
}

// IsShard reports whether a file exists and is a shard of a run.
func (o OpenFiles) IsShard(c *cli.Context, path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	r, err := o.look(c, path)
	if err != nil {
		return false
	}
	meta, err := shards.Of(shards.Shard{Name: path, Reader: r})
	return err == nil && meta != nil
}

// Bytes returns the size of all files; 0 if one of them is no regular file.
func (in Input) Bytes() int64 {
	var sum int64
	for _, p := range in.Paths {
		info, err := os.Stat(p)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		sum += info.Size()
	}
	return sum
}

// CanReopen reports whether the files can be read a second time; a stream cannot.
func (in Input) CanReopen() bool {
	for _, p := range in.Paths {
		info, err := os.Stat(p)
		if err != nil || p == "-" || !info.Mode().IsRegular() && !info.IsDir() {
			return false
		}
	}
	return true
}
