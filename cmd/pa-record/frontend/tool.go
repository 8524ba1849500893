package frontend

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
)

// A Tool is a load generator whose command lines pa-record accepts.
type Tool struct {
	Name  string // name of the pa-record subcommand
	Usage string // one line for the list of subcommands
	About string // text of the help page

	// Examples come first on the help page.
	Examples []cmdline.Example

	// releases returns the releases. Its first call makes them, because most runs of pa-record
	// use no front end.
	releases func() []*release
	// choose returns the release of a command line, and the arguments without the name of
	// the release.
	choose func(t *Tool, args []string) (*release, []string, error)
}

// A release describes the command line of one release of a tool.
type release struct {
	name    string // "24.04"; "" for the only release of a tool
	options options
	// translate adds the flags of pa-record to b. Each argument was checked by
	// itself; translate checks their combination.
	translate func(b *builder, a *arguments)
}

// Tools returns all tools in the order of the help page.
func Tools() []*Tool { return []*Tool{GenAIPerf(), BenchmarkServing(), LLMPerf()} }

// Parse translates a command line, given without the tool's name. The error joins
// all mistakes in it and everything that pa-record does not support.
func (t *Tool) Parse(args []string) (*Command, error) {
	r, args, err := t.choose(t, args)
	if err != nil {
		return nil, prefixed(t.Name, err)
	}
	name := t.title(r)
	a, err := r.options.parse(args)
	if err != nil {
		return nil, prefixed(name, err)
	}
	b := &builder{Command: Command{Tool: name}}
	r.translate(b, a)
	if err := errors.Join(b.errs...); err != nil {
		return nil, prefixed(name, err)
	}
	b.nameTheirs(a)
	b.finish(a.rest)
	return &b.Command, nil
}

// Flags returns the long flags of all releases, without dashes.
func (t *Tool) Flags() []string {
	var all []string
	for _, r := range t.releases() {
		for _, o := range r.options {
			for _, n := range o.names {
				if long, ok := strings.CutPrefix(n, "--"); ok && !slices.Contains(all, long) {
					all = append(all, long)
				}
			}
		}
	}
	return all
}

// CommandOfFlags returns the long flags of all tools, without dashes, each with the first command that takes it.
func CommandOfFlags() map[string]string {
	all := map[string]string{}
	for _, tool := range Tools() {
		for _, name := range tool.Flags() {
			if all[name] == "" {
				all[name] = "pa-record " + tool.Name
			}
		}
	}
	return all
}

// Flags returns the flags of the tool with this name that all releases together accept, each name once.
func Flags(tool string) (all []cli.Flag) {
	seen := map[string]bool{}
	for _, t := range Tools() {
		if t.Name != tool {
			continue
		}
		for _, r := range t.releases() {
			for _, o := range r.options {
				names := slices.DeleteFunc(slices.Clone(o.names), func(n string) bool { return seen[n] })
				if o.support == refused || len(names) == 0 {
					continue
				}
				for i, n := range names {
					seen[n] = true
					names[i] = strings.TrimLeft(n, "-")
				}
				if o.arg == "" {
					all = append(all, &cli.BoolFlag{Name: names[0], Aliases: names[1:], Usage: o.usage})
				} else {
					all = append(all, &cli.StringFlag{Name: names[0], Aliases: names[1:], Usage: o.usage})
				}
			}
		}
	}
	return all
}

// title returns the name of the tool and its release.
func (t *Tool) title(r *release) string {
	return strings.TrimSpace(t.Name + " " + r.name)
}

// prefixed puts name before each line of err.
func prefixed(name string, err error) error {
	var all []error
	for line := range strings.Lines(err.Error()) {
		all = append(all, fmt.Errorf("%s: %s", name, strings.TrimRight(line, "\n")))
	}
	return errors.Join(all...)
}

// onlyRelease is choose for a tool with one release.
func onlyRelease(t *Tool, args []string) (*release, []string, error) {
	return t.releases()[0], args, nil
}

// unknown returns the options in args that the release lacks. cut reports whether
// some other option is abbreviated.
func (r *release) unknown(args []string) (names []string, cut bool) {
	a, err := r.options.parse(args)
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, err := range joined.Unwrap() {
			var u *unknownError
			if errors.As(err, &u) {
				names = append(names, u.name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), a.cut
}
