package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/diff"
)

// defaultFile is what perf_analyzer's scripts read.
const defaultFile = "profile_export.json"

// fileNames are the files that arguments name.
type fileNames struct {
	name  string // the only argument, such as a glob, or the side of a comparison; "" for none
	paths []string
}

// reads adds files of arguments to the files that the command reads.
func (c *call) reads(paths []string) {
	for _, path := range paths {
		cmdline.ReadsFile(c.commandLine, "the argument", resultOf(path))
	}
}

// filesOf returns the files that these arguments name, with the matches of globs.
func (c *call) filesOf(args []string) (files fileNames, err error) {
	if len(args) == 1 {
		files.name = args[0]
	}
	files.paths, err = expandAll(args)
	c.reads(files.paths)
	return files, err
}

// allFiles returns the files that all arguments name, or the default file.
func allFiles(c *call) (fileNames, error) { return c.someFiles(c.Args().Slice()) }

// someFiles returns the files that these arguments name, or the default file. There is none if the
// working directory does not have it.
func (c *call) someFiles(args []string) (fileNames, error) {
	if len(args) == 0 {
		if _, err := os.Stat(defaultFile); err == nil {
			args = []string{defaultFile}
		}
	}
	files, err := c.filesOf(args)
	switch {
	case err != nil:
		return files, err
	case len(files.paths) == 0:
		if err := recoverable(defaultFile, fs.ErrNotExist); err != nil {
			return files, err
		}
		return files, cmdline.Usagef("no file given, and there is no %s in the working directory; %s FILE… reads another", defaultFile, c.App.Name)
	case len(slices.DeleteFunc(slices.Clone(files.paths), func(path string) bool { return path != "-" })) > 1:
		return files, cmdline.Usagef("standard input can be read only once; give - once")
	}
	return files, nil
}

// oneRunFiles returns the files of the only run that the arguments name, or the default file.
func oneRunFiles(c *call) (fileNames, error) {
	if c.NArg() == 0 {
		return c.filesOf([]string{defaultFile})
	}
	return c.filesOf(c.Args().Slice())
}

// listedFiles returns the files of arguments that are lists with commas.
func listedFiles(c *call) (fileNames, error) {
	paths, err := listed(c.Args().Slice())
	c.reads(paths)
	return fileNames{paths: paths}, err
}

// copyArguments are the arguments of a command whose last argument is its output.
type copyArguments struct {
	in  fileNames
	out string
}

// copiedFiles returns the arguments of such a command: two, or with several also more. takes says
// which, for the error.
func copiedFiles(several bool, takes string) func(*call) (copyArguments, error) {
	return func(c *call) (args copyArguments, err error) {
		if c.NArg() < 2 || c.NArg() > 2 && !several {
			return args, cmdline.Usagef("%s given; %s takes %s", plural.Of(c.NArg(), "argument"), c.App.Name, takes)
		}
		last := c.NArg() - 1
		args.out = c.Args().Get(last)
		cmdline.Files(c.commandLine).Writes("the output", args.out)
		args.in, err = c.filesOf(c.Args().Slice()[:last])
		return args, err
	}
}

// matches returns the files that a name or a glob stands for. The name of an existing file is
// no glob, and a name without a glob need not exist. The error wraps filepath.ErrBadPattern for
// a malformed glob, or says that no file matches.
func matches(name string) ([]string, error) {
	if _, err := os.Stat(name); err == nil || !strings.ContainsAny(name, "*?[") {
		return []string{name}, nil
	}
	all, err := filepath.Glob(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q: %w", name, err)
	case len(all) == 0:
		return nil, fmt.Errorf("%q: no file matches", name)
	}
	return all, nil
}

// expand returns the files that an argument names. A malformed glob is the name of a file that
// does not exist. The error is a usage error.
func expand(arg string) ([]string, error) {
	paths, err := matches(arg)
	switch {
	case errors.Is(err, filepath.ErrBadPattern):
		return []string{arg}, nil
	case err != nil:
		return nil, cmdline.Usagef("%v", err)
	}
	return paths, nil
}

// expandAll returns the files that all arguments name.
func expandAll(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		some, err := expand(arg)
		if err != nil {
			return nil, err
		}
		paths = append(paths, some...)
	}
	return paths, nil
}

// expandList returns the files of a list of names and globs with commas. The name of an
// existing file is no list, and "-" is standard input. The error is a usage error.
func expandList(list string) ([]string, error) {
	if _, err := os.Stat(list); err == nil || list == "-" {
		return []string{list}, nil
	}
	var all []string
	for part := range strings.SplitSeq(list, ",") {
		if part == "" {
			return nil, cmdline.Usagef("%q: a file name is missing", list)
		}
		some, err := matches(part)
		if err != nil {
			return nil, cmdline.Usagef("%v", err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// listed returns the files of several runs: of lists with commas and globs, each file once.
// The error is a usage error.
func listed(lists []string) ([]string, error) {
	var paths []string
	for _, list := range lists {
		some, err := expandList(list)
		if err != nil {
			return nil, err
		}
		paths = append(paths, some...)
	}
	if p, twice := duplicate(paths); twice {
		return nil, cmdline.Usagef("%s is given twice: a run counts once", p)
	}
	return paths, nil
}

// sides are the arguments of diff.
type sides struct {
	names        diff.Sides
	older, newer []string
}

// sidesOf returns the files of both sides of a comparison, OLD NEW or NAME=FILES NAME=FILES with
// commas and globs, and the names of the sides if they are other than old and new. The files with
// the first name are the older side, but a side named old is always the older one, and a side
// named new the newer one. The error is a usage error.
func sidesOf(args []string) (names diff.Sides, older, newer []string, err error) {
	var sides []fileNames
	unnamed := 0
	for _, arg := range args {
		name, list, named := cutSide(arg)
		if !named {
			unnamed++
			continue
		}
		paths, err := expandList(list)
		if err != nil {
			return names, nil, nil, err
		}
		at := slices.IndexFunc(sides, func(s fileNames) bool { return s.name == name })
		if at < 0 {
			at = len(sides)
			sides = append(sides, fileNames{name: name})
		}
		sides[at].paths = append(sides[at].paths, paths...)
	}
	switch {
	case len(sides) == 0 && len(args) != 2:
		return names, nil, nil, cmdline.Usagef("%s given; diff OLD NEW takes two, and diff old=FILES new=FILES several a side", plural.Of(len(args), "file"))
	case len(sides) == 0:
		for i, name := range [...]string{sideOld, sideNew} {
			paths, err := expandList(args[i])
			if err != nil {
				return names, nil, nil, err
			}
			sides = append(sides, fileNames{name, paths})
		}
	case unnamed > 0:
		i := slices.IndexFunc(args, func(arg string) bool { _, _, named := cutSide(arg); return !named })
		return names, nil, nil, cmdline.Usagef("%q has no name and %s= has one: give each file the name of its side, such as %s=FILES", args[i], sides[0].name, sides[0].name)
	case len(sides) == 1 && sides[0].name == sideOld:
		return names, nil, nil, cmdline.Usagef("no new file given; give new=FILES")
	case len(sides) == 1 && sides[0].name == sideNew:
		return names, nil, nil, cmdline.Usagef("no old file given; give old=FILES")
	case len(sides) == 1:
		return names, nil, nil, cmdline.Usagef("no file to compare %s with; give one side another name, NAME=FILES", sides[0].name)
	case len(sides) > 2:
		return names, nil, nil, cmdline.Usagef("the files have %d names, %s=, %s= and %s=; diff compares two sides", len(sides), sides[0].name, sides[1].name, sides[2].name)
	}
	if sides[0].name == sideNew || sides[1].name == sideOld {
		slices.Reverse(sides)
	}
	for _, s := range sides {
		if p, twice := duplicate(s.paths); twice {
			return names, nil, nil, cmdline.Usagef("%s is given twice as %s: a run counts once", p, s.name)
		}
	}
	older, newer = sides[0].paths, sides[1].paths
	if slices.Contains(older, "-") && slices.Contains(newer, "-") {
		return names, nil, nil, cmdline.Usagef("standard input can be read only once; give - once")
	}
	if names = (diff.Sides{Old: sides[0].name, New: sides[1].name}); names.Old == sideOld && names.New == sideNew {
		names = diff.Sides{}
	}
	return names, older, newer, nil
}

// The names of sides that have none of their own.
const (
	sideOld = "old"
	sideNew = "new"
)

// cutSide splits NAME=FILES. named is false for a name of an existing file with "=", and for a
// path whose folder has one.
func cutSide(arg string) (name, list string, named bool) {
	if _, err := os.Stat(arg); err == nil {
		return "", arg, false
	}
	name, list, named = strings.Cut(arg, "=")
	if !named || name == "" || strings.ContainsAny(name, `/\*?[,`) {
		return "", arg, false
	}
	return name, list, true
}

// duplicate returns the first path that repeats an earlier path.
func duplicate(paths []string) (string, bool) {
	seen := map[string]bool{}
	for _, p := range paths {
		clean := filepath.Clean(p)
		if seen[clean] {
			return p, true
		}
		seen[clean] = true
	}
	return "", false
}

// labeledFiles is an argument of trend: files, and the label of their point, "" for none.
type labeledFiles struct {
	label string
	files []string
}

// labelPattern matches the label of an argument with its =.
var labelPattern = regexp.MustCompile(`^[^/\\=*?\[\]]+=`)

// labeled returns the files of such arguments, and adds them to the files that the command reads.
func (c *call) labeled(args []string) ([]labeledFiles, error) {
	all, err := labeledOf(args)
	for _, a := range all {
		c.reads(a.files)
	}
	return all, err
}

// labeledOf returns the files of arguments such as v1.2=runs/v1.2.*.json. The name of
// an existing file has no label. Its errors are usage errors.
func labeledOf(args []string) ([]labeledFiles, error) {
	if len(args) == 0 {
		return nil, cmdline.Usagef("no runs given; give files, globs or LABEL=FILES")
	}
	var all []labeledFiles
	var seen []string
	for _, arg := range args {
		var x labeledFiles
		if _, err := os.Stat(arg); err != nil {
			if label := labelPattern.FindString(arg); label != "" {
				if label == arg {
					return nil, cmdline.Usagef("%s: give the files of the point after the =, such as %s'runs/*.json'", arg, label)
				}
				x.label = strings.TrimSuffix(label, "=")
				arg = arg[len(label):]
			}
		}
		var err error
		if x.files, err = listed([]string{arg}); err != nil {
			return nil, err
		}
		if _, err := listed(append(slices.Clone(seen), x.files...)); err != nil {
			return nil, err
		}
		seen = append(seen, x.files...)
		all = append(all, x)
	}
	return all, nil
}
