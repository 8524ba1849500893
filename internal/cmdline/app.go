package cmdline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
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
	Renamed map[string]string
	// OtherFlags returns the command of each flag, without dashes, that Commands do not list
	// because the command parses its own arguments. The error for such a flag names the
	// command. Nil means none.
	OtherFlags func() map[string]string
	// GetoptForms also accepts what getopt_long does: values joined to short
	// flags (-p1000), joined short flags (-av), long flags cut short (--stream).
	GetoptForms bool
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
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(safe, "%s: %s\n", a.Name, strings.TrimRight(line, "\n"))
	}
	if code == ExitUsage && (ue == nil || !ue.NoHelp) {
		fmt.Fprintf(safe, "run '%s --help' for usage\n", page)
	}
	return code
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
	flags := a.Flags
	if cmd != nil {
		flags, name = cmd.Flags, a.Name+" "+cmd.Name
	}
	if bare {
		name = a.Name // who gives nothing may want another command
	}
	if cmd != nil && cmd.SkipFlagParsing {
		return name, a.plain(ctx, cmd, args, stdin, stdout, stderr)
	}
	bindEnv(flags, a.envPrefix())
	named := withNames(flags)
	topic, args := helpTopic(args, named)
	if def := a.command(a.Default); topic != "" && topic != commandsTopic && cmd == nil && def != nil && len(flags) == 0 {
		cmd, flags = def, def.Flags // the app has no flags; the topics are the default command's
		named = withNames(flags)
	}
	args, err = arguments{flags: named, others: func() map[string]string { return a.otherFlags(cmd) }, unsupported: a.Unsupported, renamed: a.Renamed, getopt: a.GetoptForms}.flagsFirst(args)
	if err != nil {
		return name, err
	}
	if wants(args, "version", "") {
		return name, a.writeVersion(stdout, false)
	}
	help := wants(args, "help", "h")
	if help || a.Action == nil && cmd == nil {
		if !help {
			return name, Usagef("no command given; %s --help lists them", a.Name)
		}
		page, err := a.help(cmd, flags, topic)
		if err == nil {
			_, err = io.WriteString(stdout, page)
		}
		return name, err
	}
	action := a.Action
	if cmd != nil {
		action = cmd.Action
	}
	started := false
	usage := func(_ *cli.Context, err error, _ bool) error { return usageError(err, flags) }
	// One flat application per call: urfave's own subcommand dispatch would
	// parse parent flags by other rules.
	app := &cli.App{
		Name: name, HelpName: name, Flags: named, HideHelp: true, HideVersion: true,
		Reader: stdin, Writer: stdout, ErrWriter: stderr,
		DisableSliceFlagSeparator: true,
		OnUsageError:              usage,
		Metadata:                  map[string]any{filesKey: &commandFiles{flags: flags}},
		ExitErrHandler:            func(*cli.Context, error) {},
		Before:                    func(c *cli.Context) error { return applyConfig(c, flags) },
		Action: func(c *cli.Context) error {
			started = true
			return action(c)
		},
	}
	err = app.RunContext(ctx, append([]string{name}, args...))
	if err != nil && !started {
		err = usageError(err, flags)
	}
	return name, err
}

// plain runs a subcommand that reads its arguments itself: all of them are
// positional, --help too.
func (a App) plain(ctx context.Context, cmd *cli.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	name := a.Name + " " + cmd.Name
	app := &cli.App{
		Name: name, HelpName: name, HideHelp: true, HideVersion: true,
		Reader: stdin, Writer: stdout, ErrWriter: stderr,
		ExitErrHandler: func(*cli.Context, error) {},
		Action:         cmd.Action,
	}
	return app.RunContext(ctx, append([]string{name, "--"}, args...))
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

func isHelpOrVersion(arg string) bool {
	switch arg {
	case "--help", "-help", "-h", "--version", "-version":
		return true
	}
	return false
}

// wants reports whether a flag of one of the names stands among the flags.
func wants(args []string, long, short string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if arg == "--"+long || arg == "-"+long || short != "" && arg == "-"+short {
			return true
		}
	}
	return false
}

// The flag parser's errors for an unreadable value on the command line and in the
// environment.
var (
	valueError    = regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-([\w-]+): (.*)$`)
	variableError = regexp.MustCompile(`(?s)^could not parse (".*") as \w+ value from environment variable "(\w+)" for flag ([\w-]+): (.*)$`)
)

// usageError rewords the flag parser's errors.
func usageError(err error, flags []cli.Flag) error {
	var ue *UsageError
	if errors.As(err, &ue) {
		return err
	}
	msg := err.Error()
	const undefined = "flag provided but not defined: -"
	if name, ok := strings.CutPrefix(msg, undefined); ok {
		return Usagef("unknown flag %q", dashed(name))
	}
	const needs = "flag needs an argument: -"
	if name, ok := strings.CutPrefix(msg, needs); ok {
		return Usagef("flag %s needs a value", dashed(name))
	}
	if m := valueError.FindStringSubmatch(msg); m != nil {
		return Usagef("flag %s: %s is not a valid value: %s", dashed(m[2]), m[1], expected(lookup(flags, m[2]), m[1], m[3]))
	}
	if m := variableError.FindStringSubmatch(msg); m != nil {
		return Usagef("$%s: %s is not a valid value: %s", m[2], m[1], expected(lookup(flags, m[3]), m[1], m[4]))
	}
	return &UsageError{Msg: msg}
}

// expected returns why a flag's value is wrong, or why if it does not know better. The
// value may be in quotes.
func expected(f cli.Flag, value, why string) string {
	value = strings.Trim(value, `"`)
	switch f.(type) {
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
	return why
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

// dashed writes a flag's name as people type it: -m, --model.
func dashed(name string) string {
	name = strings.TrimLeft(name, "-")
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
