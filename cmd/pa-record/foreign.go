package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-record/frontend"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/internal/sanitize"
)

// foreignCommands returns the subcommands that take the command lines of other tools.
func foreignCommands(env environment) []*cli.Command {
	var all []*cli.Command
	for _, tool := range frontend.Tools() {
		all = append(all, &cli.Command{
			Name: tool.Name, Usage: tool.Usage, SkipFlagParsing: true,
			Action: func(c *cli.Context) error { return runForeign(c, tool, env) },
		})
	}
	return all
}

// runForeign prints the pa-record command that equals a command line of tool, and runs it.
func runForeign(c *cli.Context, tool *frontend.Tool, env environment) error {
	args := c.Args().Slice()
	theirs := args
	if i := slices.Index(args, "--"); i >= 0 {
		theirs = args[:i] // the rest is for pa-record
	}
	switch {
	case slices.ContainsFunc(theirs, func(arg string) bool { return arg == "--help" || arg == "-h" }):
		page, err := tool.Help("pa-record", theirs)
		if err != nil {
			return &cmdline.UsageError{Msg: err.Error()}
		}
		_, err = io.WriteString(c.App.Writer, page)
		return err
	case slices.Contains(theirs, "--version"):
		_, err := fmt.Fprintf(c.App.Writer, "pa-record %s\n", version)
		return err
	}
	cmd, err := tool.Parse(args)
	if err != nil {
		return &cmdline.UsageError{Msg: err.Error()}
	}
	stderr := c.App.ErrWriter
	canonical := append([]string{"pa-record"}, cmd.Args...)
	fmt.Fprintf(stderr, "pa-record: %s: equivalent command:\n%s\n", cmd.Tool, commandLines(redact.Args(canonical)))
	for _, note := range cmd.Notes {
		fmt.Fprintf(stderr, "pa-record: note: %s\n", note)
	}
	app := recordApp(canonical, env, cmd.Reports)
	app.Reword = cmd.InToolsWords
	if len(theirs) == len(args) {
		app.HelpPage = "pa-record " + tool.Name
	}
	if code := app.Run(c.Context, canonical, c.App.Reader, c.App.Writer, stderr); code != 0 {
		return &cmdline.CodeError{Code: code} // the run has printed the error
	}
	return nil
}

// commandLines returns a command for a shell, with one flag per line.
func commandLines(args []string) string {
	var b strings.Builder
	b.WriteString("  " + args[0])
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "-") {
			b.WriteString(" \\\n   ")
		}
		b.WriteString(" " + sanitize.ShellWord(arg))
	}
	return b.String()
}
