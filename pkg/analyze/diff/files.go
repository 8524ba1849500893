package diff

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
)

// ParseSides returns the files of both sides of a comparison: OLD NEW, or old=FILES
// new=FILES with commas and globs. Errors are mistakes of the command line.
func ParseSides(args []string) (older, newer []string, err error) {
	named := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "old=") || strings.HasPrefix(a, "new=") })
	if !named {
		if len(args) != 2 {
			return nil, nil, fmt.Errorf("%s given; diff OLD NEW takes two, and diff old=FILES new=FILES several a side", plural.Of(len(args), "file"))
		}
		args = []string{"old=" + args[0], "new=" + args[1]}
	}
	for _, a := range args {
		side, list, ok := strings.Cut(a, "=")
		if !ok || side != "old" && side != "new" {
			return nil, nil, fmt.Errorf("%q: with old= or new= each argument starts with one of them", a)
		}
		paths, err := Expand(list)
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
			return nil, nil, fmt.Errorf("no %s file given; give %s=FILES", side, side)
		}
		if p, twice := duplicate(paths); twice {
			return nil, nil, fmt.Errorf("%s is given twice as %s: a run counts once", p, side)
		}
	}
	if slices.Contains(older, "-") && slices.Contains(newer, "-") {
		return nil, nil, fmt.Errorf("standard input can be read only once; give - once")
	}
	return older, newer, nil
}

// Expand returns the files of a list with commas and globs. The name of an existing file
// is no pattern, and "-" is standard input. A file without a glob need not exist. The error
// names an empty part, a glob that is malformed, or a glob that matches no file.
func Expand(list string) ([]string, error) {
	if _, err := os.Stat(list); err == nil || list == "-" {
		return []string{list}, nil
	}
	var all []string
	for part := range strings.SplitSeq(list, ",") {
		if part == "" {
			return nil, fmt.Errorf("%q: a file name is missing", list)
		}
		if _, err := os.Stat(part); err == nil || !strings.ContainsAny(part, "*?[") {
			all = append(all, part)
			continue
		}
		matches, err := filepath.Glob(part)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q: %w", part, err)
		case len(matches) == 0:
			return nil, fmt.Errorf("%q: no file matches", part)
		}
		all = append(all, matches...)
	}
	return all, nil
}

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
