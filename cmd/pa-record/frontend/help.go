package frontend

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
)

// Help returns the help page of the release that args ask for. program is the
// command that has the tool as a subcommand. The error reports a wrong release.
func (t *Tool) Help(program string, args []string) (string, error) {
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--help" || arg == "-h" })
	r, _, err := t.choose(t, args)
	if err != nil {
		return "", prefixed(t.Name, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n\n", program, t.Name, t.Usage)
	cmdline.WriteExamples(&b, t.Examples)
	usage := strings.TrimSpace(t.Name + " " + r.subcommand())
	fmt.Fprintf(&b, "Usage: %s %s [flags] [-- flags of %s]\n\n%s\n", program, usage, program, t.About)
	if r.name != "" {
		fmt.Fprintf(&b, "\nFlags of %s:\n", t.title(r))
	}
	r.options.write(&b)
	return b.String(), nil
}

// subcommand returns the tool's own subcommand, such as "profile"; "" if it has none.
func (r *release) subcommand() string {
	_, name, _ := strings.Cut(r.name, " ")
	return name
}

// write writes the options by group, in the order of each group's first option, and
// the refused options last.
func (os options) write(b *strings.Builder) {
	var groups []string
	for i := range os {
		if o := &os[i]; !slices.Contains(groups, o.group) {
			groups = append(groups, o.group)
		}
	}
	for _, g := range groups {
		fmt.Fprintf(b, "\n%s:\n", g)
		for i := range os {
			if o := &os[i]; o.group == g && o.support != refused {
				cmdline.WriteEntry(b, "  "+o.title(), o.help())
			}
		}
	}
	head := "\nRefused:\n"
	for i := range os {
		if o := &os[i]; o.support == refused {
			b.WriteString(head)
			head = ""
			cmdline.WriteEntry(b, "  "+o.title(), o.note)
		}
	}
}

// title returns the heading of the option: "-p, --measurement-interval MS".
func (o *option) title() string {
	s := strings.Join(o.names, ", ")
	if o.arg != "" {
		s += " " + o.arg
	}
	return s
}

// help describes the option, its default, and the flag of pa-record for it.
func (o *option) help() string {
	s := o.usage
	if s == "" {
		s = "does nothing: " + o.note
	}
	if o.choices != nil {
		s += ": " + cmdline.OneOf(o.choices)
	}
	if o.defaultValue != "" && !strings.Contains(s, "(default:") {
		s += " (default: " + o.defaultValue + ")"
	}
	if o.support == alias {
		s += " → " + o.note
	}
	return s
}
