package frontend

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/py"
)

// A Command is the translation of a tool's command line.
type Command struct {
	// Tool names the tool and its release: "genai-perf 24.04".
	Tool string
	// Args are the arguments of pa-record.
	Args []string
	// Notes describe what pa-record does differently from the tool.
	Notes []string
	// Reports holds the pa-analyze command lines that produce the tool's output and
	// files.
	Reports [][]string

	theirs  map[string]string // flag of the tool, or what it is, by the one of pa-record that it became, where they differ
	unasked map[string]bool   // flags of pa-record that follow from no flag that the user wrote
	advice  [][2]string       // words of pa-record, and the tool's
}

var (
	flagName    = regexp.MustCompile(`\B--?[a-z][a-z0-9-]*`)
	flagsOfNote = regexp.MustCompile(`^--?[a-z][a-z0-9-]*(, --[a-z][a-z0-9-]*)*`)
	withoutUse  = regexp.MustCompile(`^pa-record: note: (--[a-z][a-z0-9-]*) has no effect`)
	printed     = regexp.MustCompile(`\bpa-(record|analyze) `) // begins a command line
)

// InToolsWords names in an error, a warning or a note of pa-record the flags that the user wrote, up to the first command line in it.
// It returns "" for the note that a flag has no effect if no option that the user wrote became the flag.
func (c *Command) InToolsWords(message string) string {
	if m := withoutUse.FindStringSubmatch(message); m != nil && c.unasked[m[1]] {
		return ""
	}
	rest := ""
	if at := printed.FindStringIndex(message); at != nil {
		message, rest = message[:at[0]], message[at[0]:]
	}
	for _, x := range c.advice {
		message = strings.ReplaceAll(message, x[0], x[1])
	}
	return flagName.ReplaceAllStringFunc(message, func(flag string) string { return cmp.Or(c.theirs[flag], flag) }) + rest
}

// nameTheirs notes what the given options became, and which flags follow from none. A flag that several of them became, or
// that the user also wrote, keeps its name. Names that the translation noted stay.
func (b *builder) nameTheirs(a *arguments) {
	if b.theirs == nil {
		b.theirs = map[string]string{}
	}
	if slices.Contains(b.Args, "--request-template") { // which no tool has
		b.theirs["--request-template"] = "the request template of " + strings.Fields(b.Tool)[0]
	}
	for _, first := range []bool{true, false} { // an option's first flag says more about it than the others
		for i := range a.options {
			o := &a.options[i]
			if _, given := a.given[o]; !given || o.support != alias {
				continue
			}
			for j, flag := range strings.Split(flagsOfNote.FindString(o.note), ", ") {
				_, own := a.given[a.options.find(flag)] // the user wrote this name too
				other, taken := b.theirs[flag]
				switch {
				case own || first != (j == 0):
				case !taken:
					b.theirs[flag] = o.name()
				case first && other != o.name():
					b.theirs[flag] = flag
				}
			}
		}
	}
	b.unasked = map[string]bool{}
	for _, arg := range b.Args {
		b.unasked[arg] = strings.HasPrefix(arg, "--")
	}
	for o := range a.given {
		for _, flag := range append(strings.Split(flagsOfNote.FindString(o.note), ", "), o.names...) {
			delete(b.unasked, flag)
		}
	}
	for _, arg := range a.rest {
		name, _, _ := strings.Cut(arg, "=")
		delete(b.theirs, name)
		delete(b.unasked, name)
	}
}

// A builder collects the flags, hints and notes of a Command.
type builder struct {
	Command
	hints []hintValue
	errs  []error
}

type hintValue struct{ key, value string }

// flag adds a flag without a value.
func (b *builder) flag(name string) { b.Args = append(b.Args, name) }

// set adds a flag with its value.
func (b *builder) set(name, value string) { b.Args = append(b.Args, name, value) }

// setWhole adds a flag with an integer.
func (b *builder) setWhole(name string, n int) { b.set(name, fmt.Sprint(n)) }

// setNumber adds a flag with a float, written as Python does: 3 is 3.0.
func (b *builder) setNumber(name string, f float64) { b.set(name, py.Repr(f)) }

// tokenizer adds the tokenizer of prompts and report. given is false for the tool's
// default tokenizer, which may be missing on this machine.
func (b *builder) tokenizer(name string, given bool) {
	flag, hint := "--default-tokenizer", "default_tokenizer"
	if given {
		flag, hint = "--tokenizer", "tokenizer"
	}
	b.set(flag, name)
	b.hint(hint, name)
}

// export adds the export file and returns its path. As the tools do, it replaces an
// existing file. pa-record creates folder; "" means the current one.
func (b *builder) export(folder, file string) string {
	if folder != "" {
		b.set("--artifact-dir", folder)
	}
	b.set("--profile-export-file", file)
	b.flag("--overwrite")
	if folder == "" {
		return file
	}
	return path.Join(folder, file)
}

// checkStddev reports a standard deviation larger than the mean, with which one
// length in six would be negative. option is the flag of the mean.
func (b *builder) checkStddev(option string, mean, stddev int) {
	b.refuse(stddev > mean, "%s %d: larger than the mean, %d", strings.TrimSuffix(option, "-mean")+"-stddev", stddev, mean)
}

// hint adds a hint for pa-analyze. An empty value adds none.
func (b *builder) hint(key, value string) {
	if value != "" {
		b.hints = append(b.hints, hintValue{key, value})
	}
}

// errorf adds a mistake in the command line.
func (b *builder) errorf(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

// refuse is errorf where something is wrong.
func (b *builder) refuse(wrong bool, format string, args ...any) {
	if wrong {
		b.errorf(format, args...)
	}
}

// notef adds a note about a difference from the tool.
func (b *builder) notef(format string, args ...any) {
	b.Notes = append(b.Notes, fmt.Sprintf(format, args...))
}

// finish adds the hints and the arguments after "--". The arguments come last because a
// later flag replaces an earlier one.
func (b *builder) finish(rest []string) {
	b.replaceTokenizer(rest)
	if !slices.ContainsFunc(rest, func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return strings.HasPrefix(arg, "-") && name == "prompts"
	}) {
		b.set("--prompts", "restart") // the tools send the same prompts in each stage and run
	}
	for _, h := range b.hints {
		b.set("--analysis-hint", h.key+"="+h.value)
	}
	b.Args = append(b.Args, rest...)
}

// replaceTokenizer replaces the tool's tokenizer by one given after "--". pa-record
// accepts only one of --tokenizer and --default-tokenizer, and the report counts
// with the tokenizer of the run.
func (b *builder) replaceTokenizer(rest []string) {
	flag, name := "", ""
	for i, arg := range rest {
		given, value, joined := strings.Cut("--"+strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || given != "--tokenizer" && given != "--default-tokenizer" {
			continue
		}
		if !joined {
			if i+1 == len(rest) {
				return // a mistake, which pa-record reports
			}
			value = rest[i+1]
		}
		flag, name = given, value
	}
	if flag == "" {
		return
	}
	var replaced []string
	for i := 0; i+1 < len(b.Args); i++ {
		if b.Args[i] == "--tokenizer" || b.Args[i] == "--default-tokenizer" {
			replaced = append(replaced, b.Args[i+1])
			b.Args = slices.Delete(b.Args, i, i+2)
			i--
		}
	}
	for i, h := range b.hints {
		// GenAI-Perf 24.03 counts with a tokenizer that no flag names; that hint stays.
		if (h.key == "tokenizer" || h.key == "default_tokenizer") && slices.Contains(replaced, h.value) {
			key := "tokenizer"
			if flag == "--default-tokenizer" {
				key = "default_tokenizer"
			}
			b.hints[i] = hintValue{key, name}
		}
	}
}
