package cmdline

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// Widths of a help page, in columns.
const (
	pageWidth = 79
	flagWidth = 30 // of the column of flag names
)

// allTopics is the topic for the whole page.
const allTopics = "all"

// helpTopic returns the topic of --help=TOPIC, with --help as the only remaining
// argument. Without --help=TOPIC it returns "" and args.
func helpTopic(args []string, flags []cli.Flag) (topic string, rest []string) {
	if lookup(flags, "help") != nil {
		return "", args
	}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if t, ok := strings.CutPrefix(arg, "--help="); ok {
			return strings.ToLower(t), []string{"--help"}
		}
	}
	return "", args
}

// help returns the help page of the app, or of one subcommand. topic is the beginning
// of a category of flags, and selects that part of the page; "" and "all" select the
// whole page. help returns an error if no category begins with topic.
func (a App) help(cmd *cli.Command, flags []cli.Flag, topic string) (string, error) {
	var b strings.Builder
	if topic != "" && topic != allTopics {
		categories, byCategory := categorized(flags)
		var topics []string
		for _, c := range categories {
			if strings.HasPrefix(strings.ToLower(c), topic) {
				writeCategory(&b, c, byCategory[c])
			}
			word, _, _ := strings.Cut(strings.ToLower(c), " ")
			topics = append(topics, strings.TrimRight(word, ","))
		}
		if b.Len() == 0 {
			return "", Refusedf("--help=%s: no such topic; there are %s and %s", topic, strings.Join(topics, ", "), allTopics)
		}
		return strings.TrimPrefix(b.String(), "\n"), nil
	}
	switch {
	case cmd != nil:
		fmt.Fprintf(&b, "%s %s: %s\n\nUsage: %s %s [flags]", a.Name, cmd.Name, cmd.Usage, a.Name, cmd.Name)
		if cmd.ArgsUsage != "" {
			b.WriteString(" " + cmd.ArgsUsage)
		}
		b.WriteString("\n")
		if cmd.Description != "" {
			b.WriteString("\n" + strings.TrimRight(cmd.Description, "\n") + "\n")
		}
	default:
		fmt.Fprintf(&b, "%s: %s\n\n", a.Name, a.Usage)
		WriteExamples(&b, a.Examples)
		a.usageLines(&b)
	}
	writeFlags(&b, flags)
	fmt.Fprintf(&b, "\nEvery flag can be set by an environment variable, e.g. %s.\n", envExample(a.envPrefix(), flags))
	return b.String(), nil
}

// WriteExamples writes the part of a help page with examples, if there are any.
func WriteExamples(b *strings.Builder, all []Example) {
	if len(all) == 0 {
		return
	}
	b.WriteString("Examples:\n")
	for _, e := range all {
		fmt.Fprintf(b, "  # %s\n  %s\n", e.Does, strings.ReplaceAll(e.Line, "\n", "\n  "))
	}
	b.WriteString("\n")
}

func (a App) usageLines(b *strings.Builder) {
	if a.Action != nil || a.Default != "" {
		line := a.Name + " [flags]"
		if a.Default != "" {
			line = fmt.Sprintf("%s [%s] [flags] FILE…", a.Name, a.Default)
		}
		fmt.Fprintf(b, "Usage: %s\n", line)
	}
	if len(a.Commands) == 0 {
		return
	}
	b.WriteString("\nCommands:\n")
	for _, c := range a.Commands {
		WriteEntry(b, "  "+c.Name, c.Usage)
	}
	fmt.Fprintf(b, "\n'%s COMMAND --help' describes one of them.\n", a.Name)
}

// writeFlags lists flags by category.
func writeFlags(b *strings.Builder, flags []cli.Flag) {
	order, byCategory := categorized(flags)
	for _, c := range order {
		writeCategory(b, c, byCategory[c])
	}
}

// categorized returns the visible flags by category, and the categories in the
// order in which they first appear.
func categorized(flags []cli.Flag) (order []string, byCategory map[string][]cli.Flag) {
	byCategory = map[string][]cli.Flag{}
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); ok && !v.IsVisible() {
			continue
		}
		category := "Flags"
		if c, ok := f.(cli.CategorizableFlag); ok && c.GetCategory() != "" {
			category = c.GetCategory()
		}
		if byCategory[category] == nil {
			order = append(order, category)
		}
		byCategory[category] = append(byCategory[category], f)
	}
	return order, byCategory
}

// writeCategory lists the flags of a category.
func writeCategory(b *strings.Builder, category string, flags []cli.Flag) {
	fmt.Fprintf(b, "\n%s:\n", category)
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		value, usage := unquote(d.GetUsage())
		if def := strings.Trim(d.GetDefaultText(), "\" "); d.TakesValue() && def != "" && def != "0" {
			usage += " (default: " + def + ")"
		}
		WriteEntry(b, "  "+flagNames(f.Names(), d.TakesValue(), value), usage)
	}
}

// flagNames writes "-m, --model NAME": short names first.
func flagNames(names []string, takesValue bool, value string) string {
	var short, long []string
	for _, n := range names {
		if len(n) == 1 {
			short = append(short, "-"+n)
		} else {
			long = append(long, "--"+n)
		}
	}
	s := strings.Join(append(short, long...), ", ")
	if takesValue {
		if value == "" {
			value = "VALUE"
		}
		s += " " + value
	}
	return s
}

// unquote takes the value's name, in back quotes, out of a usage text.
func unquote(usage string) (value, text string) {
	before, rest, ok := strings.Cut(usage, "`")
	if !ok {
		return "", usage
	}
	value, after, ok := strings.Cut(rest, "`")
	if !ok {
		return "", usage
	}
	return value, before + value + after
}

// WriteEntry writes a line of a help page: a name and its wrapped text in two columns.
func WriteEntry(b *strings.Builder, name, text string) {
	lines := wrap(text, pageWidth-flagWidth)
	if len([]rune(name)) > flagWidth-2 {
		b.WriteString(name + "\n")
		name = ""
	}
	for _, l := range lines {
		fmt.Fprintf(b, "%-*s%s\n", flagWidth, name, l)
		name = ""
	}
}

// wrap breaks text at spaces into lines of at most width runes.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		switch {
		case line == "":
			line = w
		case len([]rune(line))+1+len([]rune(w)) > width:
			lines = append(lines, line)
			line = w
		default:
			line += " " + w
		}
	}
	return append(lines, line)
}

func envExample(prefix string, flags []cli.Flag) string {
	if len(flags) == 0 {
		return prefix + "FORMAT"
	}
	return envName(prefix, flags[0])
}
