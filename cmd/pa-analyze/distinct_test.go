package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/test/commandtest"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// flagsWithoutFiles are the flags with a text that names no file. TestFlagsSayTheirFiles fails for
// any other flag unless cmdline.Reads, Writes or Derives marks it where it is declared.
var flagsWithoutFiles = strings.Fields(`
	format names experiment from token-source window trim-start trim-end windows slo slo-target metrics
	dialect service-kind endpoint endpoint-type backend goodput arg as
	primary fail-on require inconclusive margin pair exclude-run ignore runs effect change power allow accept-noise profile gpus user-rate tokens reference x y figure sort engine to time`)

// Each flag with a text says what its command does with the file that the text may name.
func TestFlagsSayTheirFiles(t *testing.T) {
	t.Parallel()
	commands := map[string][]cli.Flag{}
	for _, c := range analyzeApp().Commands {
		commands[c.Name] = c.Flags
	}
	commandtest.CheckMarks(t, commands, flagsWithoutFiles)
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
	"avg-first-token": {"FILE"}, "avg-token-to-token": {"FILE"}, "validate": {"FILE"}, "sql": {}, "write": {"--to influx FILE", "--to influx other FILE"},
	"rig":   {"FILE", "other,FILE", "other 'DIR/i*'"},
	"plan":  {"FILE", "other,FILE", "other 'DIR/i*'"},
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
			add("models--a--b/snapshots/"+commandtest.CachedCommit+"/tokenizer.json", "a/b")
			add("token", "a/b")
		default:
			add("in", "FILE")
		}
	}
	return all
}

// lastArgument is the flag of an output that is the last argument.
const lastArgument = "the output"

// distinctOutputs returns the outputs of a command, from the flags that it really has.
func distinctOutputs(c *cli.Command) (all []distinctFile) {
	if c.Name == "convert" || c.Name == "merge" {
		all = append(all, distinctFile{flag: lastArgument, name: "out.json"})
	}
	for _, f := range c.Flags {
		if name := f.Names()[0]; cmdline.FileUseOf(f) == cmdline.WritesFiles {
			all = append(all, distinctFile{flag: "--" + name, name: name + ".out", args: []string{"--" + name, "FILE"}})
		}
	}
	return all
}

// refuses runs pa-analyze and expects a usage error that names both flags and the file, before
// anything is written.
func refuses(t *testing.T, dir string, flags []string, name string, args ...string) {
	t.Helper()
	commandtest.Refused(t, dir, flags, name, func() (code int, stdout, stderr string) {
		got := exec(t, "", args...)
		return got.code, got.stdout, got.stderr
	})
}

// No output of any command is one of its inputs: for each pair of flags and arguments that the
// commands have, and each way to name a file. make test takes one way of three for each pair.
func TestOutputsAreNoInputs(t *testing.T) {
	testenv.NoRace(t)
	n := 0
	for _, c := range analyzeApp().Commands {
		for _, in := range distinctInputs(t, c) {
			for _, out := range distinctOutputs(c) {
				for _, how := range commandtest.Ways {
					if in.flag == "--baseline" && how == "link to other" {
						continue // links there are not read
					}
					if n++; n%testenv.Stride(3) > 0 {
						continue
					}
					dir := commandtest.Folder(t, in.name)
					output := commandtest.Alias(t, dir, how, in.name, out.name, "{}")
					input := in.arguments(dir, in.name)
					if out.flag == lastArgument {
						input[len(input)-1] = dir + string(filepath.Separator) + output
					}
					args := slices.Concat([]string{c.Name, "--overwrite"}, out.arguments(dir, output), input)
					refuses(t, dir, []string{in.flag, out.flag}, output, args...)
				}
			}
		}
	}
	if n < 440 {
		t.Errorf("%d pairs, want 440 or more", n)
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
				for _, how := range append([]string{commandtest.Dangling}, commandtest.Ways...) {
					n++
					dir := t.TempDir()
					first := outputs[j].name
					second := commandtest.Alias(t, dir, how, first, outputs[i].name, "{}")
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
	if n < 6 {
		t.Errorf("%d pairs, want 6 or more", n)
	}
}

// Standard input is an input if it is a file.
func TestOutputIsNotStandardInput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.json")
	commandtest.Put(t, path, "{}")
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
