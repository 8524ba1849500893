package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/testenv"
)

// flagsWithoutFiles are the flags with a text that names no file. TestFlagsSayTheirFiles fails for
// any other flag unless cmdline.Reads, Writes or Derives marks it where it is declared.
var flagsWithoutFiles = strings.Fields(`
	format names experiment from token-source window trim-start trim-end windows slo slo-target metrics
	dialect service-kind endpoint endpoint-type backend goodput arg as
	primary fail-on ignore runs effect allow profile gpus user-rate tokens reference x y sort engine`)

// Each flag with a text says what its command does with the file that the text may name.
func TestFlagsSayTheirFiles(t *testing.T) {
	t.Parallel()
	without := map[string]bool{}
	for _, c := range analyzeApp().Commands {
		for _, f := range c.Flags {
			name := f.Names()[0]
			switch f.(type) {
			case *cli.StringFlag, *cli.StringSliceFlag:
				without[name] = true
				if !slices.Contains(flagsWithoutFiles, name) {
					t.Errorf("pa-analyze %s --%s: does its value name a file? Mark it with cmdline.Reads, Writes or Derives where it is declared, or add it to flagsWithoutFiles", c.Name, name)
				}
			}
		}
	}
	for _, name := range flagsWithoutFiles {
		if !without[name] {
			t.Errorf("flagsWithoutFiles has %s, which is no such flag", name)
		}
	}
}

// A distinctFile is a file that a command line reads or writes, by its name in the folder of the
// test.
type distinctFile struct {
	flag string   // as messages name it
	name string   // "in" for an input of any name
	args []string // FILE stands for the path, DIR for the folder
}

func (f *distinctFile) arguments(dir, name string) []string {
	args := slices.Clone(f.args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "FILE", dir+string(filepath.Separator)+name)
		args[i] = strings.ReplaceAll(args[i], "DIR", dir)
	}
	return args
}

// distinctArguments holds the command lines of each command, with FILE as an argument that it
// reads. Commands whose arguments are no files have none.
var distinctArguments = map[string][]string{
	"report": {"FILE", "FILE other", "'DIR/i*'"}, "html": {"FILE", "other FILE"}, "check": {"FILE", "other FILE"}, "pareto": {"FILE", "other FILE"},
	"requests": {"FILE"}, "trace": {"FILE"}, "definitions": {"FILE"}, "tokenize": {"FILE"},
	"avg-first-token": {"FILE"}, "avg-token-to-token": {"FILE"}, "validate": {"FILE"}, "sql": {},
	"rig":   {"FILE", "other,FILE", "other 'DIR/i*'"},
	"trend": {"FILE", "label=FILE", "label=other,FILE", "other label='DIR/i*'"},
	"plot":  {"cdf FILE", "sweep other FILE", "scatter 'DIR/i*'", "trend label=FILE"},
	"diff":  {"FILE other", "other FILE", "old=FILE new=other", "old=other new=o2,FILE", "old=other new='DIR/i*'", "old=o1 old=FILE new=other"},
	"merge": {"FILE other out.json", "other FILE out.json"}, "convert": {"FILE out.json"},
}

// distinctInputs returns the inputs of a command: its arguments, and the flags that it really has.
func distinctInputs(t *testing.T, c *cli.Command) (all []distinctFile) {
	t.Helper()
	lines, known := distinctArguments[c.Name]
	if !known {
		t.Errorf("pa-analyze %s: add its arguments to distinctArguments", c.Name)
	}
	for _, line := range lines {
		in := distinctFile{flag: "the argument", name: "in", args: strings.Fields(strings.ReplaceAll(line, "'", ""))}
		all = append(all, in)
	}
	others := []string{}
	if len(lines) > 0 { // an argument that is no output
		others = strings.Fields(strings.ReplaceAll(strings.ReplaceAll(lines[0], "FILE", "run.json"), "'", ""))
	}
	for _, f := range c.Flags {
		name := f.Names()[0]
		if cmdline.FileUseOf(f) != cmdline.ReadsFiles {
			continue
		}
		add := func(file, value string) {
			all = append(all, distinctFile{flag: "--" + name, name: file, args: append([]string{"--" + name, value}, others...)})
		}
		switch name {
		case "baseline":
			add("points/1/run.json", "DIR/points")
		case "tokenizer":
			add("in", "FILE")
			add("tok/tokenizer.json", "DIR/tok")
			add("tok/config.json", "DIR/tok/tokenizer.json")
			add("models--a--b/snapshots/"+cachedCommit+"/tokenizer.json", "a/b")
			add("token", "a/b")
		default:
			add("in", "FILE")
		}
	}
	return all
}

// cachedCommit is the commit of what is in Hugging Face's cache.
const cachedCommit = "0123456789012345678901234567890123456789"

// distinctOutputs returns the outputs of a command, from the flags that it really has.
func distinctOutputs(c *cli.Command) (all []distinctFile) {
	for _, f := range c.Flags {
		if name := f.Names()[0]; cmdline.FileUseOf(f) == cmdline.WritesFiles {
			all = append(all, distinctFile{flag: "--" + name, name: name + ".out", args: []string{"--" + name, "FILE"}})
		}
	}
	return all
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lead makes two names in dir lead to one file, and returns the names to be given.
func lead(t *testing.T, dir, how, input, output string) (in, out string) {
	t.Helper()
	a, b := filepath.Join(dir, input), filepath.Join(dir, output)
	var err error
	switch how {
	case "one path":
		putFile(t, a, "{}")
		return input, input
	case "another spelling":
		putFile(t, a, "{}")
		return input, "." + string(filepath.Separator) + input
	case "symlink from the output":
		putFile(t, a, "{}")
		err = os.Symlink(a, b)
	case "symlink from the input":
		putFile(t, b, "{}")
		if err = os.MkdirAll(filepath.Dir(a), 0o700); err == nil {
			err = os.Symlink(b, a)
		}
	case "hard link":
		putFile(t, a, "{}")
		err = os.Link(a, b)
	case "dangling link":
		err = os.Symlink(a, b)
	}
	if err != nil {
		testenv.Lacks(t, "the right to make links: %v", err)
	}
	return input, output
}

// refuses runs pa-analyze and expects a usage error that names both flags and the file, before
// anything is written.
func refuses(t *testing.T, dir string, flags []string, name string, args ...string) {
	t.Helper()
	before := contents(t, dir)
	got := exec(t, "", args...)
	if got.code != cmdline.ExitUsage || got.stdout != "" || !strings.Contains(got.stderr, ": the same file as ") || !strings.Contains(got.stderr, filepath.Base(name)) {
		t.Errorf("%q: exit code %d, want %d and a message that names %s: %s", args, got.code, cmdline.ExitUsage, name, got.stderr)
	}
	for _, f := range flags {
		if !strings.Contains(got.stderr, f+" ") {
			t.Errorf("%q: the message does not name %s: %s", args, f, got.stderr)
		}
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("%q: files %q, want them as they were: %q", args, after, before)
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

// No output of any command is one of its inputs: for each pair of flags and arguments that the
// commands have, and each way to name a file. make test takes one way of three for each pair.
func TestOutputsAreNoInputs(t *testing.T) {
	n := 0
	for _, c := range analyzeApp().Commands {
		for _, in := range distinctInputs(t, c) {
			for _, out := range distinctOutputs(c) {
				for _, how := range []string{"one path", "another spelling", "symlink from the output", "symlink from the input", "hard link"} {
					if in.flag == "--baseline" && how == "symlink from the input" {
						continue // links there are not read
					}
					if n++; n%testenv.Stride(3) > 0 {
						continue
					}
					dir := t.TempDir()
					t.Setenv("HF_HUB_CACHE", dir)
					t.Setenv("HF_HOME", dir)
					if strings.HasPrefix(in.name, "models--") {
						putFile(t, filepath.Join(dir, "models--a--b", "refs", "main"), cachedCommit)
					}
					if strings.HasPrefix(in.name, "tok/") {
						putFile(t, filepath.Join(dir, "tok", "tokenizer.json"), "{}")
					}
					if how == "symlink from the input" {
						_ = os.Remove(filepath.Join(dir, in.name))
					}
					input, output := lead(t, dir, how, in.name, out.name)
					args := slices.Concat([]string{c.Name, "--overwrite"}, out.arguments(dir, output), in.arguments(dir, input))
					refuses(t, dir, []string{in.flag, out.flag}, output, args...)
				}
			}
		}
	}
	if n < 400 {
		t.Errorf("%d pairs, want 400 or more", n)
	}
}

// The output of convert and merge is their last argument.
func TestLastArgumentIsNoInput(t *testing.T) {
	n := 0
	for _, c := range analyzeApp().Commands {
		if c.Name != "convert" && c.Name != "merge" {
			continue
		}
		for _, in := range distinctInputs(t, c) {
			for _, how := range []string{"one path", "another spelling", "symlink from the output", "symlink from the input", "hard link"} {
				n++
				dir := t.TempDir()
				t.Setenv("HF_HUB_CACHE", dir)
				t.Setenv("HF_HOME", dir)
				if strings.HasPrefix(in.name, "models--") {
					putFile(t, filepath.Join(dir, "models--a--b", "refs", "main"), cachedCommit)
				}
				if strings.HasPrefix(in.name, "tok/") {
					putFile(t, filepath.Join(dir, "tok", "tokenizer.json"), "{}")
				}
				if how == "symlink from the input" {
					_ = os.Remove(filepath.Join(dir, in.name))
				}
				input, output := lead(t, dir, how, in.name, "out.json")
				args := in.arguments(dir, input)
				args[len(args)-1] = dir + string(filepath.Separator) + output
				refuses(t, dir, []string{in.flag, "the output"}, output, slices.Concat([]string{c.Name, "--overwrite"}, args)...)
			}
		}
	}
	if n < 40 {
		t.Errorf("%d pairs, want 40 or more", n)
	}
}

// No output of any command is another one, also if no file is there yet.
func TestOutputsAreDistinct(t *testing.T) {
	t.Parallel()
	n := 0
	for _, c := range analyzeApp().Commands {
		outputs := distinctOutputs(c)
		for i := range outputs {
			for j := range outputs[:i] {
				for _, how := range []string{"one path", "another spelling", "dangling link", "symlink from the output", "hard link"} {
					n++
					dir := t.TempDir()
					first, second := lead(t, dir, how, outputs[j].name, outputs[i].name)
					if how == "one path" {
						if err := os.Remove(filepath.Join(dir, first)); err != nil {
							t.Fatal(err)
						}
					}
					args := slices.Concat([]string{c.Name, "--overwrite"}, outputs[j].arguments(dir, first), outputs[i].arguments(dir, second), strings.Fields(strings.ReplaceAll(distinctArguments[c.Name][0], "FILE", "run.json")))
					refuses(t, dir, []string{outputs[j].flag, outputs[i].flag}, second, args...)
				}
			}
		}
	}
	if n < 5 {
		t.Errorf("%d pairs, want 5 or more", n)
	}
}

// Standard input is an input if it is a file.
func TestOutputIsNotStandardInput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.json")
	putFile(t, path, "{}")
	for _, command := range []string{"report", "html", "requests", "tokenize", "trace"} {
		stdin, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr strings.Builder
		code := run(t.Context(), []string{"pa-analyze", command, "-", "--overwrite", "-o", path}, stdin, &stdout, &stderr)
		if err := stdin.Close(); err != nil {
			t.Fatal(err)
		}
		if want := "--output " + path + ": the same file as the argument -, which would be lost"; code != cmdline.ExitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, want %d and %q: %s", command, code, cmdline.ExitUsage, want, &stderr)
		}
	}
}
