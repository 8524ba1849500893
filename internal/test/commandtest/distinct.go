package commandtest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// CheckMarks fails for a flag with a text, of any of a program's commands, that neither is marked
// with cmdline.Reads, Writes or Derives nor stands in withoutFiles, the names of the flags whose
// text names no file. It also fails for a name in withoutFiles that no such flag has.
func CheckMarks(t *testing.T, commands map[string][]cli.Flag, withoutFiles []string) {
	t.Helper()
	unmarked := map[string]bool{}
	for command, flags := range commands {
		for _, f := range flags {
			switch f.(type) {
			case *cli.StringFlag, *cli.StringSliceFlag:
				name := f.Names()[0]
				unmarked[name] = true
				if !slices.Contains(withoutFiles, name) {
					t.Errorf("%s --%s: does its value name a file? Mark it with cmdline.Reads, Writes or Derives where it is declared, or add it to the flags without files", command, name)
				}
			}
		}
	}
	for _, name := range withoutFiles {
		if !unmarked[name] {
			t.Errorf("the flags without files have %s, which is no such flag", name)
		}
	}
}

// Ways to give one file by two names, for [Alias]. Both names exist.
var Ways = []string{"one path", "another spelling", "link to kept", "link to other", "hard link"}

// Dangling is the way of a link to a file that does not exist.
const Dangling = "dangling link"

// Alias makes the names kept and other in dir lead to one file with this text. It returns the
// name to give instead of other, which for the first two of [Ways] is a spelling of kept.
func Alias(t *testing.T, dir, how, kept, other, text string) (given string) {
	t.Helper()
	a, b := filepath.Join(dir, kept), filepath.Join(dir, other)
	var err error
	switch how {
	case "one path":
		Put(t, a, text)
		return kept
	case "another spelling":
		Put(t, a, text)
		return "." + string(filepath.Separator) + kept
	case "link to other":
		a, b = b, a
		fallthrough
	case "link to kept":
		Put(t, a, text)
		err = link(os.Symlink, a, b)
	case "hard link":
		Put(t, a, text)
		err = link(os.Link, a, b)
	case Dangling:
		err = link(os.Symlink, a, b)
	default:
		t.Fatalf("no such way: %s", how)
	}
	if err != nil {
		testenv.Lacks(t, "the right to make links: %v", err)
	}
	return other
}

// link makes a link at path, in place of a file that is there.
func link(make func(old, name string) error, to, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	_ = os.Remove(path) // mostly there is none
	return make(to, path)
}

// CachedCommit is the commit of everything in the cache of [Folder].
const CachedCommit = "0123456789012345678901234567890123456789"

// Folder makes a folder for an input of this name, with the files that the command needs to find
// the input: "tok/…" is a file of a tokenizer, and "models--…" or "datasets--…" a file of Hugging
// Face's cache, which the folder then is.
func Folder(t *testing.T, input string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("HF_HUB_CACHE", dir)
	t.Setenv("HF_HOME", dir)
	switch top, _, _ := strings.Cut(input, "/"); {
	case strings.Contains(top, "--"):
		Put(t, filepath.Join(dir, top, "refs", "main"), CachedCommit)
	case top == "tok":
		Put(t, filepath.Join(dir, top, "tokenizer.json"), "{}")
	}
	return dir
}

// Put writes a file that a program can be, and makes its folder.
func Put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // G306: a program for --nvidia-smi
		t.Fatal(err)
	}
}

// Refused expects of a command line a usage error that names the file and both flags, and that the
// files in dir stay as they are. run runs the command line.
func Refused(t *testing.T, dir string, flags []string, name string, run func() (code int, stdout, stderr string)) {
	t.Helper()
	before := contents(t, dir)
	code, stdout, stderr := run()
	if code != cmdline.ExitUsage || stdout != "" || !strings.Contains(stderr, ": the same file as ") || !strings.Contains(stderr, filepath.Base(name)) {
		t.Errorf("exit code %d, want %d and a message that names %s: %s", code, cmdline.ExitUsage, name, stderr)
	}
	for _, f := range flags {
		if !strings.Contains(stderr, f+" ") && !strings.Contains(stderr, f+",") {
			t.Errorf("the message does not name %s: %s", f, stderr)
		}
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("files %q, want them as they were: %q", after, before)
	}
}

// contents returns the text of each file below dir, and where each link leads.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if to, err := os.Readlink(path); err == nil {
			all[path] = "-> " + to
			return nil
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
