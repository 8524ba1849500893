package cmdline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/sanitize"
)

// An App is a command with or without subcommands.
type App struct {
	Name     string
	Usage    string // one line: the purpose
	Version  string
	Examples []Example // the help page begins with them
	// CommonFlags makes the help page of a command a first screen, which shows only
	// these flags and names the topics of the rest. The key is the subcommand's name,
	// "" for the app itself. The help page of a command without an entry shows all
	// flags.
	CommonFlags map[string][]CommonFlag
	// Flags and Action belong to the command itself, not to a subcommand.
	Flags  []cli.Flag
	Action func(*cli.Context) error
	// Commands are the subcommands. Their Description is the text of their
	// help; ArgsUsage names their arguments. One with SkipFlagParsing gets its
	// arguments as they are, and has a help page of its own.
	Commands []*cli.Command
	// Default is the subcommand that is meant when the first argument names
	// none; "" means the command's own Action.
	Default string
	// Unsupported names flags that people may expect, with what to do instead;
	// giving one is a usage error that says so.
	Unsupported map[string]string
	// Renamed names flags of other programs, each with the flag of this one and a placeholder
	// for its value: "--output-tokens-mean N". The error for such a flag has its value there.
	// A command that lacks the first flag of the text does not have the entry.
	Renamed map[string]string
	// OtherFlags returns the command of each flag, without dashes, that Commands do not list
	// because the command parses its own arguments. The error for such a flag names the
	// command. Nil means none.
	OtherFlags func() map[string]string
	// OwnFlags returns the flags of a command that parses its own arguments, for the completion of
	// shells. Nil means none.
	OwnFlags func(command string) []cli.Flag
	// GetoptForms also accepts what getopt_long does: values joined to short
	// flags (-p1000), joined short flags (-av), long flags cut short (--stream).
	GetoptForms bool
	// Bare holds the values of flags that may be given without one, by name. The argument after such a flag is its value unless it begins
	// with a dash.
	Bare map[string]string
	// Reword changes an error, a warning, a note or a forecast before it is printed; nil leaves it.
	Reword func(message string) string
	// HelpPage is the command whose help a usage error names; "" means the one that was given.
	HelpPage string
}

// envPrefix returns the prefix of the flags' environment variables: "PA_RECORD_" for
// pa-record.
func (a App) envPrefix() string {
	return strings.ToUpper(strings.ReplaceAll(a.Name, "-", "_")) + "_"
}

// An Example is a command line with a description.
type Example struct{ Does, Line string }

// Run executes the command line args (args[0] is the program) and returns the
// exit code. Errors are printed to stderr, help and version to stdout. All text to
// stderr passes package sanitize; use [sanitize.Raw] of the ErrWriter for control
// sequences.
func (a App) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var rest []string
	if len(args) > 0 {
		rest = args[1:]
	}
	if a.Action != nil || len(a.Commands) > 0 {
		own := a // without the two that are added
		a.Commands = append(slices.Clone(a.Commands), own.completionCommand(), own.manCommand())
	}
	safe := sanitize.NewWriter(stderr)
	if a.Reword != nil {
		safe = sanitize.NewEditor(stderr, a.rewordRemarks)
	}
	defer func() { _ = safe.Flush() }()
	page, err := a.run(ctx, rest, stdin, stdout, safe)
	if err == nil {
		return ExitOK
	}
	code := ExitError
	var ce *CodeError
	var ue *UsageError
	switch {
	case errors.As(err, &ce):
		if code = ce.Code; ce.Err == nil {
			return code
		}
	case errors.As(err, &ue):
		code = ExitUsage
	}
	message := err.Error()
	if a.Reword != nil {
		message = a.Reword(message)
	}
	for line := range strings.Lines(message) {
		fmt.Fprintf(safe, "%s: %s\n", a.Name, strings.TrimRight(line, "\n"))
	}
	if code == ExitUsage && (ue == nil || !ue.NoHelp) {
		fmt.Fprintf(safe, "run '%s --help' for usage\n", cmp.Or(a.HelpPage, page))
	}
	return code
}

// remarks begin, after the name of the app, the lines that Reword changes.
var remarks = []string{"warning", "note", "forecast"}

// rewordRemarks rewords the lines of text that are remarks of the app.
func (a App) rewordRemarks(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(remarks, func(kind string) bool { return strings.HasPrefix(line, a.Name+": "+kind+": ") }) {
			line = a.Reword(line)
		}
		b.WriteString(line)
	}
	return b.String()
}

// run returns, beside the error, the command whose help page is about it.
func (a App) run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (name string, err error) {
	name = a.Name
	if err := a.misspelt(args); err != nil {
		return name, err
	}
	if len(args) == 2 && slices.Contains(args, "--version") && slices.Contains(args, "--json") {
		return name, a.writeVersion(stdout, true)
	}
	bare := len(args) == 0
	cmd, args := a.choose(args)
	flags, action := a.Flags, a.Action
	if cmd != nil {
		flags, action = cmd.Flags, cmd.Action
		if !bare { // who gives nothing may want another command
			name += " " + cmd.Name
		}
	}
	var set []givenFlag
	var named []cli.Flag
	if cmd == nil || !cmd.SkipFlagParsing {
		named = withNames(flags)
		topic, words := helpTopic(args, named)
		if def := a.command(a.Default); topic != "" && topic != commandsTopic && cmd == nil && def != nil && len(flags) == 0 {
			cmd, flags = def, def.Flags // the app has no flags; the topics are the default command's
			named = withNames(flags)
		}
		others := func() map[string]string { return a.otherFlags(cmd) }
		parser := arguments{flags: named, others: others, unsupported: a.Unsupported, renamed: a.Renamed, bare: a.Bare, getopt: a.GetoptForms}
		if set, args, err = parser.parse(words); err != nil {
			return name, err
		}
		switch {
		case parser.wants(words, versionWords):
			return name, a.writeVersion(stdout, false)
		case parser.wants(words, helpWords):
			page, err := a.help(cmd, flags, topic)
			if err == nil {
				_, err = io.WriteString(stdout, page)
			}
			return name, err
		case action == nil:
			return name, Usagef("no command given; %s --help lists them", a.Name)
		}
	}
	// One flat application per call, whose flags are set one by one: urfave's own parser stops at
	// the first argument that is no flag.
	app := &cli.App{
		Name: name, HelpName: name, Flags: named, HideHelp: true, HideVersion: true,
		Reader: stdin, Writer: stdout, ErrWriter: stderr,
		DisableSliceFlagSeparator: true,
		Metadata:                  map[string]any{filesKey: &commandFiles{flags: flags}},
		ExitErrHandler:            func(*cli.Context, error) {},
		Before:                    func(c *cli.Context) error { return a.setFlags(c, named, set) },
		Action:                    action,
	}
	return name, app.RunContext(ctx, append([]string{name, "--"}, args...))
}

// setFlags sets the flags of the command line, then from the environment and then from the file
// of --config the flags that are not set yet.
func (a App) setFlags(c *cli.Context, flags []cli.Flag, given []givenFlag) error {
	for i, g := range given {
		if replaced(given[:i], g) {
			fmt.Fprintf(c.App.ErrWriter, "%s: note: %s is given more than once; the last one counts\n", a.Name, Dashed(g.flag.Names()[0]))
		}
		if err := set(c, g.flag, g.value, "flag "+Dashed(g.flag.Names()[0])); err != nil {
			return err
		}
	}
	for _, f := range flags {
		variable := a.variable(f)
		if value := os.Getenv(variable); value != "" && !c.IsSet(f.Names()[0]) {
			if err := set(c, f, value, "$"+variable); err != nil {
				return err
			}
		}
	}
	return setFromConfig(c, flags)
}

// replaced reports whether next takes the place of another value of its flag among earlier ones.
func replaced(earlier []givenFlag, next givenFlag) bool {
	if _, list := next.flag.(namedList); list {
		return false
	}
	for _, g := range slices.Backward(earlier) {
		if g.flag.Names()[0] == next.flag.Names()[0] {
			return g.value != next.value
		}
	}
	return false
}

// set gives a flag a value. source is where the value comes from, for the error.
func set(c *cli.Context, f cli.Flag, value, source string) error {
	if err := c.Set(f.Names()[0], value); err != nil {
		return Usagef("%s: %q is not a valid value: %s", source, value, expected(f, value, err))
	}
	return nil
}

// variable returns the environment variable of a flag: PA_RECORD_MEASUREMENT_INTERVAL for
// --measurement-interval of pa-record.
func (a App) variable(f cli.Flag) string {
	return a.envPrefix() + strings.ToUpper(strings.ReplaceAll(f.Names()[0], "-", "_"))
}

// command returns the subcommand of that name, nil if there is none.
func (a App) command(name string) *cli.Command {
	for _, c := range a.Commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// choose splits args into the subcommand that is meant and its arguments. The word help
// before a command or a topic means --help behind it.
func (a App) choose(args []string) (*cli.Command, []string) {
	if len(args) > 0 {
		if args[0] == "help" && len(a.Commands) > 0 {
			rest := args[1:]
			switch {
			case len(rest) > 0 && slices.Contains(a.topics(nil, a.Flags), strings.ToLower(rest[0])):
				return nil, []string{"--help=" + rest[0]}
			case len(rest) > 0 && a.command(rest[0]) != nil:
				return a.choose(slices.Concat(rest[:1], []string{"--help"}, rest[1:]))
			}
			return a.choose(append([]string{"--help"}, rest...))
		}
		if c := a.command(args[0]); c != nil {
			return c, args[1:]
		}
		if isHelpOrVersion(args[0]) && a.Default != "" {
			return nil, args
		}
	}
	if len(args) == 0 && a.Action == nil && a.Default == "" {
		return nil, args
	}
	return a.command(a.Default), args
}

// Words that ask for help and for the version, where they are no flags of the command.
var (
	helpWords    = []string{"--help", "-help", "-h"}
	versionWords = []string{"--version", "-version"}
)

func isHelpOrVersion(arg string) bool {
	return slices.Contains(helpWords, arg) || slices.Contains(versionWords, arg)
}

// expected returns why a flag's value is wrong; the text of err if it does not know better.
func expected(f cli.Flag, value string, err error) string {
	switch unwrapped(f).(type) {
	case *cli.DurationFlag:
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return fmt.Sprintf("it has no unit; write %ss, %sms or %sm", value, value, value)
		}
		return "expected a duration such as 30s, 500ms or 1m30s"
	case *cli.IntFlag, *cli.Int64Flag:
		if d, err := time.ParseDuration(value); err == nil && placeholder(f) == "MS" {
			if d%time.Millisecond != 0 {
				return "expected whole milliseconds without a unit"
			}
			return fmt.Sprintf("expected milliseconds without a unit; write %d", d.Milliseconds())
		}
		return "expected a whole number"
	case *cli.Uint64Flag:
		return "expected a whole number that is not negative"
	case *cli.Float64Flag:
		return "expected a number"
	case *cli.BoolFlag:
		return "expected true or false"
	}
	return err.Error()
}

// placeholder returns the name of a flag's value on the help page: "MS" for "every `MS`";
// "" if the flag has none.
func placeholder(f cli.Flag) string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return ""
	}
	_, rest, _ := strings.Cut(d.GetUsage(), "`")
	name, _, _ := strings.Cut(rest, "`")
	return name
}

// Dashed writes a flag's name as people type it: -m, --model.
func Dashed(name string) string {
	name = strings.TrimLeft(name, "-")
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
