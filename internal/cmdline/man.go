package cmdline

import (
	"fmt"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/urfave/cli/v2"
)

// manCommand returns the hidden command that prints the manual page, for packages.
func (a App) manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page", Hidden: true,
		Action: func(c *cli.Context) error {
			_, err := c.App.Writer.Write(md2man.Render([]byte(a.manMarkdown())))
			return err
		},
	}
}

// manMarkdown returns the manual page in the Markdown that md2man reads.
func (a App) manMarkdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %s 1\n\n# NAME\n\n%s - %s\n\n# SYNOPSIS\n\n", a.Name, a.Name, a.Usage)
	if a.Action != nil || a.Default != "" {
		fmt.Fprintf(&b, "**%s** [flags] [arguments]\n\n", a.Name)
	}
	if len(a.Commands) > 0 {
		fmt.Fprintf(&b, "**%s** *COMMAND* [flags] [arguments]\n\n", a.Name)
	}
	if len(a.Examples) > 0 {
		b.WriteString("# EXAMPLES\n\n")
		for _, e := range a.Examples {
			fmt.Fprintf(&b, "%s:\n\n```\n%s\n```\n\n", manText(e.Does), e.Line)
		}
	}
	if len(a.Flags) > 0 {
		b.WriteString("# FLAGS\n\n")
		manFlags(&b, a.Flags)
	}
	if len(a.Commands) > 0 {
		b.WriteString("# COMMANDS\n\n")
	}
	for _, c := range a.Commands {
		if c.Hidden {
			continue
		}
		fmt.Fprintf(&b, "## %s %s\n\n", c.Name, manText(c.ArgsUsage))
		fmt.Fprintf(&b, "%s.\n\n", manText(c.Usage))
		if d := strings.TrimSpace(c.Description); d != "" {
			fmt.Fprintf(&b, "```\n%s\n```\n\n", d)
		}
		manFlags(&b, c.Flags)
	}
	fmt.Fprintf(&b, "# ENVIRONMENT\n\nEvery flag can be set by an environment variable: **%s** and the flag's name in capitals, with underscores in place of dashes.\n\n", a.envPrefix())
	b.WriteString("# EXIT STATUS\n\n0: done. 1: the work failed, or a file is damaged. 2: wrong usage. 3: a gate was not met. 130: interrupted.\n")
	return b.String()
}

// manFlags writes the flags of a command by category, as definition lists.
func manFlags(b *strings.Builder, flags []cli.Flag) {
	order, byCategory := categorized(flags)
	for _, category := range order {
		if len(order) > 1 {
			fmt.Fprintf(b, "### %s\n\n", manText(category))
		}
		for _, f := range byCategory[category] {
			if names, usage, ok := flagEntry(f); ok {
				fmt.Fprintf(b, "**%s**\n: %s\n\n", manText(names), manText(strings.Join(strings.Fields(usage), " ")))
			}
		}
	}
}

// manText protects the characters that Markdown gives a meaning.
func manText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `_`, `\_`, "`", "\\`", `<`, `\<`, `>`, `\>`, `[`, `\[`, `]`, `\]`, `|`, `\|`, `#`, `\#`, `~`, `\~`).Replace(s)
}
