package main

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-record/simserver"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/test/commandtest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// flagsWithoutFiles are the flags with a text that names no file, beside the flags that TestEveryFlag tries
// with a value that is no file of its own (@NAME). TestFlagsSayTheirFiles fails for any other flag unless
// cmdline.Reads, Writes or Derives marks it where it is declared.
var flagsWithoutFiles = strings.Fields(`
	model model-selection-strategy model-version url service-kind endpoint protocol header return-header request-parameter
	connection-reuse transport source-ip proxy ssl-https-client-certificate-type ssl-https-private-key-type
	max-error-rate max-overflow-rate on-session-failure barrier start-at grpc-compression-algorithm bls-composing-models input-tensor-format output-tensor-format shared-memory trace-level
	analysis-hint metrics-url ui
	realtime-dialect triton-model ttft itl output-tokens vocabulary server-details fault ledger-content
	service format`)

// triedWithoutFile returns the flags with a text that TestEveryFlag tries with a value that is no file.
func triedWithoutFile(flags []cli.Flag) (names []string) {
	words := strings.Fields(strings.Join(flagValues, " "))
	for _, f := range flags {
		switch f.(type) {
		case *cli.StringFlag, *cli.StringSliceFlag:
			name := f.Names()[0]
			if at := slices.Index(words, "--"+name); at >= 0 && !strings.HasPrefix(words[at+1], "@") {
				names = append(names, name)
			}
		}
	}
	return names
}

// commands returns the flags of each command, by its name; "" is a run.
func commands() map[string][]cli.Flag {
	app := wholeApp(nil, environment{})
	all := map[string][]cli.Flag{"": app.Flags}
	for _, c := range app.Commands {
		all[c.Name] = c.Flags
	}
	return all
}

// Each flag with a text says what its command does with the file that the text may name.
func TestFlagsSayTheirFiles(t *testing.T) {
	t.Parallel()
	without := slices.Concat(flagsWithoutFiles, triedWithoutFile(commands()[""]))
	for _, a := range simserver.APIs {
		without = append(without, a.Flag)
	}
	commandtest.CheckMarks(t, commands(), without)
}

// A distinctFile is a file that a command line reads or writes.
type distinctFile struct {
	flag string // as messages name it
	name string // of the file, in the folder of the test
	// args are the arguments, in which FILE stands for the path of the flag's own file.
	args []string
	own  string // name of the flag's own file; "" for name
	mode string // further arguments, by which the flag means this file
	text string // content of an input
}

// arguments returns the arguments for the file in dir.
func (f *distinctFile) arguments(dir string) []string {
	name := f.own
	if name == "" {
		name = f.name
	}
	args := append(slices.Clone(f.args), strings.Fields(f.mode)...)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "FILE", dir+string(filepath.Separator)+name)
		args[i] = strings.ReplaceAll(args[i], "DIR", dir)
	}
	return args
}

// distinctOutputs returns the outputs of a command, from the flags that it really has.
func distinctOutputs(command string, flags []cli.Flag) (all []distinctFile) {
	for _, f := range flags {
		name := f.Names()[0]
		flag := "--" + name
		if len(name) == 1 {
			flag = "-" + name
		}
		add := func(name, own string, args ...string) {
			all = append(all, distinctFile{flag: flag, name: name, own: own, args: args[:2], mode: strings.Join(args[2:], " ")})
		}
		switch cmdline.FileUseOf(f) {
		case cmdline.WritesFiles:
			add(name+".json", "", flag, "FILE")
			continue
		case cmdline.DerivesFiles:
		default:
			continue
		}
		switch {
		case command == "inputs", name == "spill-dir": // writes only --output; a journal there has a new name
		case name == "artifact-dir":
			all = append(all,
				distinctFile{flag: "--profile-export-file", name: "a.json", args: []string{flag, "DIR", "--profile-export-file", "a.json"}},
				distinctFile{flag: "--html", name: "a.html", args: []string{flag, "DIR", "--html", "a.html"}})
		case name == "profile-export-file":
			add("e.json", "", flag, "FILE")
			add("e.json.pa-partial", "e.json", flag, "FILE")
			if command == "recover" {
				continue
			}
			add("e.journal", "e.json", flag, "FILE")
			add("e.2.json", "e.json", flag, "FILE", "--repeat", "2")
			add("e.old.2.json", "e.json", flag, "FILE", "--repeat", "2", "-u", "old=a:1", "-u", "new=a:2")
			add("e.rank1.json", "e.json", flag, "FILE", "--rank", "1", "--world-size", "2", "--start-at", "2100-01-01T00:00:00Z", "--request-count", "2")
		case name == "f":
			add("f.csv", "", flag, "FILE")
			add("f.2.csv", "f.csv", flag, "FILE", "--repeat", "2")
			add("model.f.csv", "f.csv", flag, "FILE", "--service-kind", "triton")
		default:
			add(name+".json", "", flag, "FILE")
		}
	}
	return all
}

// distinctInputs returns the inputs of a command, from the flags that it really has.
func distinctInputs(command string, flags []cli.Flag) (all []distinctFile) {
	for _, f := range flags {
		name := f.Names()[0]
		if cmdline.FileUseOf(f) != cmdline.ReadsFiles {
			continue
		}
		in := distinctFile{flag: "--" + name, name: "in", args: []string{"--" + name, "FILE"}, text: "in"}
		switch name {
		case "agent-system-tokens", "agent-group-tokens", "agent-session-tokens", "agent-tasks", "agent-turns", "agent-task-tokens", "agent-tool-tokens", "agent-answer-tokens",
			"agent-tool-delay", "agent-think-time", "agent-subagents", "agent-subagent-after", "agent-subagent-turns", "agent-subagent-tokens":
			in.args[1], in.text = "50%:histogram:FILE", "10,1\n"
			if slices.Contains([]string{"agent-tasks", "agent-turns", "agent-task-tokens", "agent-tool-tokens", "agent-answer-tokens", "agent-subagent-turns"}, name) {
				in.args[1] = "histogram:FILE" // never 0
			}
			in.args = append(in.args, "--agents", "1", "--service-kind", "openai")
			if name == "agent-group-tokens" {
				in.args = append(in.args, "--agent-groups", "1")
			}
		case "config":
			in.text = "{}\n"
		case "request-intervals":
			in.text = "1000\n"
		case "nvidia-smi":
			in.args = append(in.args, "--collect-metrics")
		case "synthetic-input-tokens":
			in.args[1], in.text = "histogram:FILE", "10,1\n"
		case "output-tokens":
			in.args[1], in.text = "histogram:FILE", "10,1\n"
			in.args = append(in.args, "--synthetic-input-tokens", "10")
		case "dataset":
			// The folder of the test is Hugging Face's cache, with a link to the file.
			in.args[1] = "sharegpt"
			in.name = "datasets--anon8231489123--ShareGPT_Vicuna_unfiltered/snapshots/" + commandtest.CachedCommit + "/x.json"
		case "input-data":
			all = append(all, distinctFile{flag: "--input-data", name: "data/in.json", args: []string{"--input-data", "DIR/data"}, text: "in"})
		case "tokenizer":
			all = append(all,
				distinctFile{flag: "--tokenizer", name: "tok/tokenizer_config.json", own: "tok/tokenizer.json", args: []string{"--tokenizer", "FILE"}, text: "in"},
				distinctFile{flag: "--tokenizer", name: "tok/tokenizer.json", args: []string{"--tokenizer", "DIR/tok"}, text: "in"})
			if command == "sim" { // it takes no names
				break
			}
			all = append(all,
				distinctFile{flag: "--tokenizer", name: "models--a--b/snapshots/" + commandtest.CachedCommit + "/tokenizer.json", args: []string{"--tokenizer", "a/b"}, text: "in"},
				distinctFile{flag: "--tokenizer", name: "token", args: []string{"--tokenizer", "a/b"}, text: "in"})
		}
		all = append(all, in)
	}
	if command == "recover" {
		all = append(all, distinctFile{flag: "the journal", name: "in.journal", args: []string{"FILE"}, text: "in"})
	}
	return all
}

// refuses runs pa-record and expects a usage error that names both flags and the file, before
// anything is written.
func refuses(t *testing.T, dir string, flags []string, name string, args ...string) {
	t.Helper()
	commandtest.Refused(t, dir, flags, name, func() (code int, stdout, stderr string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // of a run that should never begin
		defer cancel()
		code, stdout, stderr = inProcess(ctx, t, args...)
		if ctx.Err() != nil {
			t.Fatalf("%q: begins to run", args)
		}
		return code, stdout, stderr
	})
}

// No output of any command is one of its inputs: for each pair of flags that the commands have,
// and each way to name a file. make test takes one way of three for each pair.
func TestOutputsAreNoInputs(t *testing.T) {
	testenv.NoRace(t)
	n := 0
	all := commands()
	for _, command := range slices.Sorted(maps.Keys(all)) {
		for _, in := range distinctInputs(command, all[command]) {
			for _, out := range distinctOutputs(command, all[command]) {
				if strings.Contains(out.mode, "triton") && (in.flag == "--api-key-file" || strings.HasPrefix(in.flag, "--agent-")) {
					continue // they exclude each other
				}
				for i, how := range commandtest.Ways {
					if i < 2 && in.name != "in" {
						continue // the name of the input is given
					}
					if n++; n%testenv.Stride(7) > 0 {
						continue
					}
					dir := commandtest.Folder(t, in.name)
					given := in
					given.name = commandtest.Alias(t, dir, how, out.name, in.name, in.text)
					line := distinctLine(command, given.arguments(dir), out.arguments(dir))
					refuses(t, dir, []string{in.flag, out.flag}, out.name, line...)
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("%d pairs, want 1000 or more", n)
	}
}

// No output of any command is another one: for each pair of outputs of the flags that the commands
// have, also if no file is there yet.
func TestOutputsAreDistinct(t *testing.T) {
	t.Parallel()
	n := 0
	all := commands()
	for _, command := range slices.Sorted(maps.Keys(all)) {
		outputs := distinctOutputs(command, all[command])
		for i := range outputs {
			for j := range outputs[:i] {
				a, b := outputs[j], outputs[i]
				switch {
				case a.mode != b.mode && !strings.Contains(a.mode+b.mode, "triton") && (b.flag != "--html" || a.mode != "--repeat 2"):
					continue // one command line cannot have both
				case a.flag == "--html" && b.flag == "--html", strings.Contains(a.mode+b.mode, "triton") && a.mode != "" && b.mode != "":
					continue
				case a.flag == "-f" && b.flag == "-f" && a.mode != "" && a.mode != b.mode:
					continue
				case isJournal(a.name) && isJournal(b.name):
					continue // the second export has no journal
				}
				if a.flag == b.flag && a.flag != "--profile-export-file" {
					a.args, a.mode = nil, "" // given once
				} else if !slices.Contains(b.args, "DIR") {
					b.name = "b" + b.name
					if b.own != "" {
						b.own = "b" + b.own
					}
				}
				if isJournal(b.name) {
					a, b = b, a // the first export has the journal
				}
				if strings.HasPrefix(b.name, "bmodel.") {
					b.name = "model." + b.own
				}
				for _, how := range []string{commandtest.Dangling, "link to kept", "hard link"} {
					n++
					dir := t.TempDir()
					commandtest.Alias(t, dir, how, a.name, b.name, "out")
					refuses(t, dir, []string{a.flag, b.flag}, b.name, distinctLine(command, a.arguments(dir), b.arguments(dir))...)
				}
			}
		}
	}
	if n < 60 {
		t.Errorf("%d pairs, want 60 or more", n)
	}
}

func isJournal(name string) bool { return strings.HasSuffix(name, journal.Suffix) }

// distinctLine returns the command line of a command with these arguments.
func distinctLine(command string, args ...[]string) []string {
	var line []string
	if command != "" {
		line = append(line, command)
	}
	all := slices.Concat(args...)
	if command == "" || command == "inputs" {
		kind := []string{"--service-kind", "openai"}
		if slices.Contains(all, "--service-kind") {
			kind = nil
		}
		line = append(line, kind...)
		if !slices.Contains(all, "-u") {
			line = append(line, "-u", "127.0.0.1:1")
		}
		line = append(line, "-m", "m")
	}
	if command == "sim" {
		line = append(line, "--stop-at-eof")
	} else {
		line = append(line, "--overwrite")
	}
	if line = append(line, all...); command == "recover" && !slices.ContainsFunc(line, isJournal) {
		line = append(line, "other"+journal.Suffix)
	}
	return line
}
