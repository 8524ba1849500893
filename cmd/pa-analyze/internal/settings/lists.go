package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/diff"
)

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

// RunFiles returns the files of several runs: of lists with commas and globs, each file once.
// The error is a usage error.
func RunFiles(lists []string) ([]string, error) {
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

// A side is a side of a comparison on the command line.
type side struct {
	name  string
	paths []string
}

// Sides returns the files of both sides of a comparison, OLD NEW or NAME=FILES NAME=FILES with
// commas and globs, and the names of the sides if they are other than old and new. The files with
// the first name are the older side, but a side named old is always the older one, and a side
// named new the newer one. The error is a usage error.
func Sides(args []string) (names diff.Sides, older, newer []string, err error) {
	var sides []side
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
		at := slices.IndexFunc(sides, func(s side) bool { return s.name == name })
		if at < 0 {
			at = len(sides)
			sides = append(sides, side{name: name})
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
			sides = append(sides, side{name, paths})
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
