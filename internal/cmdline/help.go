package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Widths of a help page, in columns.
const (
	pageWidth = 79
	flagWidth = 30 // of the column of flag names
)

// Topics that are no category of flags.
const (
	allTopics     = "all"      // the whole page
	commandsTopic = "commands" // the subcommands, with what each is for
)

// helpTopic finds --help=TOPIC and --help TOPIC in args. It returns the topic in lower
// case and --help as the only remaining argument; without a topic, "" and args.
func helpTopic(args []string, flags []cli.Flag) (topic string, rest []string) {
	if lookup(flags, "help") != nil {
		return "", args
	}
	for i, arg := range args {
		if arg == "--" {
			break
		}
		t, ok := strings.CutPrefix(arg, "--help=")
		if !ok && arg == "--help" && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			t, ok = args[i+1], true
		}
		if ok {
			return strings.ToLower(t), []string{"--help"}
		}
	}
	return "", args
}

// topicOf returns the topic that selects a category of flags: its first word, in lower
// case.
func topicOf(category string) string {
	word, _, _ := strings.Cut(strings.ToLower(category), " ")
	return strings.TrimRight(word, ",")
}

// topics returns the topics of a help page: a topic for each category of flags, and
// for the page of the app one for its subcommands.
func (a App) topics(cmd *cli.Command, flags []cli.Flag) []string {
	var topics []string
	for _, c := range categorized(flags) {
		topics = append(topics, topicOf(c.Name))
	}
	if cmd == nil && len(a.Commands) > 0 {
		topics = append(topics, commandsTopic)
	}
	return topics
}

// help returns the help page of the app, or of the subcommand cmd. topic is the
// beginning of a category of flags and selects that part of the page. The topic "all"
// selects the whole page. The topic "" selects the first screen if [App.CommonFlags]
// has one, else the whole page. help returns an error if topic selects nothing.
func (a App) help(cmd *cli.Command, flags []cli.Flag, topic string) (string, error) {
	var b strings.Builder
	if topic != "" && topic != allTopics {
		if err := a.writeTopic(&b, cmd, flags, topic); err != nil {
			return "", err
		}
		return strings.TrimPrefix(b.String(), "\n"), nil
	}
	name := a.Name
	if cmd != nil {
		name += " " + cmd.Name
	}
	common := a.CommonFlags[strings.TrimPrefix(strings.TrimPrefix(name, a.Name), " ")]
	short := topic == "" && common != nil
	switch {
	case cmd != nil:
		fmt.Fprintf(&b, "%s: %s\n\nUsage: %s [flags]", name, cmd.Usage, name)
		if cmd.ArgsUsage != "" {
			b.WriteString(" " + cmd.ArgsUsage)
		}
		b.WriteString("\n")
		description := strings.TrimRight(cmd.Description, "\n")
		if short { // its first paragraph
			description, _, _ = strings.Cut(description, "\n\n")
		}
		if description != "" {
			b.WriteString("\n" + description + "\n")
		}
	default:
		fmt.Fprintf(&b, "%s: %s\n\n", a.Name, a.Usage)
		WriteExamples(&b, a.Examples)
		if !short {
			a.usageLines(&b)
		}
	}
	if short {
		if cmd != nil {
			b.WriteString("\n")
		}
		writeCommon(&b, common, flags)
		a.writeWhereNext(&b, cmd, flags, name)
		return b.String(), nil
	}
	for _, c := range categorized(flags) {
		c.write(&b)
	}
	if len(flags) > 0 || cmd != nil {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "Every flag can be set by an environment variable, e.g. %s.\n", a.envExample(flags))
	return b.String(), nil
}

// writeTopic writes the part of a help page that topic selects.
func (a App) writeTopic(b *strings.Builder, cmd *cli.Command, flags []cli.Flag, topic string) error {
	topics := a.topics(cmd, flags)
	exact := slices.Contains(topics, topic)
	for _, c := range categorized(flags) {
		if !exact && strings.HasPrefix(strings.ToLower(c.Name), topic) || topicOf(c.Name) == topic {
			c.write(b)
		}
	}
	if b.Len() > 0 {
		return nil
	}
	if !exact {
		return Refusedf("--help %s: no such topic; expected one of %s", topic, strings.Join(append(topics, allTopics), ", "))
	}
	a.usageLines(b) // the only topic that is no category
	return nil
}

// A CommonFlag is a flag that most people need.
type CommonFlag struct {
	Name  string // the flag's first name, without dashes
	Usage string // one line; names the value in back quotes as the flag's usage does
}

// writeCommon lists the flags that most people need.
func writeCommon(b *strings.Builder, common []CommonFlag, flags []cli.Flag) {
	b.WriteString("Flags that most people need:\n")
	for _, c := range common {
		f := lookup(flags, c.Name)
		if f == nil {
			panic("cmdline: no flag --" + c.Name + " for the first screen of the help") // a programmer's mistake
		}
		value, usage := unquote(c.Usage)
		WriteEntry(b, "  "+flagNames(f.Names(), takesValue(f), value), usage)
	}
}

// writeWhereNext ends a first screen: it names the commands and the topics.
func (a App) writeWhereNext(b *strings.Builder, cmd *cli.Command, flags []cli.Flag, name string) {
	b.WriteString("\n")
	if cmd == nil && len(a.Commands) > 0 {
		var names []string
		for _, c := range a.Commands {
			if !c.Hidden {
				names = append(names, c.Name)
			}
		}
		writeList(b, "Commands: ", strings.Join(names, ", ")+fmt.Sprintf(" ('%s COMMAND --help')", name))
	}
	topics := append(a.topics(cmd, flags), allTopics)
	writeList(b, "Topics:   ", strings.Join(topics, ", ")+fmt.Sprintf(" ('%s --help TOPIC')", name))
	fmt.Fprintf(b, "Every flag can be set by an environment variable, e.g. %s.\n", a.envExample(flags))
}

// writeList writes a title and wrapped text beside it.
func writeList(b *strings.Builder, title, text string) {
	for i, line := range wrap(text, pageWidth-len(title)) {
		if i > 0 {
			title = strings.Repeat(" ", len(title))
		}
		b.WriteString(title + line + "\n")
	}
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
	b.WriteString("Commands:\n")
	for _, c := range a.Commands {
		if !c.Hidden {
			WriteEntry(b, "  "+c.Name, c.Usage)
		}
	}
	fmt.Fprintf(b, "\n'%s COMMAND --help' describes one of them.\n", a.Name)
}

// A category is a group of flags in help and manual pages.
type category struct {
	Name  string
	Flags []entry
}

// An entry is a flag in help and manual pages.
type entry struct{ Names, Usage string }

// categorized returns the visible flags by category, in the order in which these first appear.
func categorized(flags []cli.Flag) (all []category) {
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		x, categorizable := f.(cli.CategorizableFlag)
		if !ok || categorizable && !x.IsVisible() {
			continue
		}
		name := "Flags"
		if categorizable && x.GetCategory() != "" {
			name = x.GetCategory()
		}
		at := slices.IndexFunc(all, func(c category) bool { return c.Name == name })
		if at < 0 {
			at = len(all)
			all = append(all, category{Name: name})
		}
		value, usage := unquote(d.GetUsage())
		if def := strings.Trim(d.GetDefaultText(), "\" "); d.TakesValue() && def != "" && def != "0" {
			usage += " (default: " + def + ")"
		}
		all[at].Flags = append(all[at].Flags, entry{flagNames(f.Names(), d.TakesValue(), value), usage})
	}
	return all
}

// write lists the flags of a category.
func (c category) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s:\n", c.Name)
	for _, e := range c.Flags {
		WriteEntry(b, "  "+e.Names, e.Usage)
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

// envExample returns an environment variable of the flags.
func (a App) envExample(flags []cli.Flag) string {
	if len(flags) == 0 {
		return a.envPrefix() + "FORMAT"
	}
	return a.variable(flags[0])
}
