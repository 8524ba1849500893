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

// Sides returns the files of both sides of a comparison: OLD NEW, or old=FILES new=FILES with
// commas and globs. The error is a usage error.
func Sides(args []string) (older, newer []string, err error) {
	named := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "old=") || strings.HasPrefix(a, "new=") })
	if !named {
		if len(args) != 2 {
			return nil, nil, cmdline.Usagef("%s given; diff OLD NEW takes two, and diff old=FILES new=FILES several a side", plural.Of(len(args), "file"))
		}
		args = []string{"old=" + args[0], "new=" + args[1]}
	}
	for _, a := range args {
		side, list, ok := strings.Cut(a, "=")
		if !ok || side != "old" && side != "new" {
			return nil, nil, cmdline.Usagef("%q: with old= or new= each argument starts with one of them", a)
		}
		paths, err := expandList(list)
		if err != nil {
			return nil, nil, err
		}
		if side == "old" {
			older = append(older, paths...)
		} else {
			newer = append(newer, paths...)
		}
	}
	for i, side := range [...]string{"old", "new"} {
		paths := [...][]string{older, newer}[i]
		if len(paths) == 0 {
			return nil, nil, cmdline.Usagef("no %s file given; give %s=FILES", side, side)
		}
		if p, twice := duplicate(paths); twice {
			return nil, nil, cmdline.Usagef("%s is given twice as %s: a run counts once", p, side)
		}
	}
	if slices.Contains(older, "-") && slices.Contains(newer, "-") {
		return nil, nil, cmdline.Usagef("standard input can be read only once; give - once")
	}
	return older, newer, nil
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
