package frontend

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
)

// A Tool is a program whose command lines are understood.
type Tool struct {
	Name  string // of pa-record's subcommand
	Usage string // what it is for, in a line
	About string // the text of its help page

	// Examples are the first that the help page shows.
	Examples []cmdline.Example

	releases []*release
	// choose returns the release that a command line is written for, and what
	// is left of it.
	choose func(t *Tool, args []string) (*release, []string, error)
}

// A release is one form of a tool's command lines.
type release struct {
	name    string // "24.04"; "" when there is but one
	options options
	// translate says what the arguments stand for. They are checked one by one;
	// how they fit together is not.
	translate func(b *builder, a *arguments)
}

// Tools returns all of them.
func Tools() []*Tool { return []*Tool{GenAIPerf(), BenchmarkServing(), LLMPerf()} }

// Parse reads a command line without the tool's name. An error is a mistake in
// it, or what pa-record cannot do; all are reported at once.
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
	b.finish(a.rest)
	return &b.Command, nil
}

// title is the tool with its release.
func (t *Tool) title(r *release) string {
	return strings.TrimSpace(t.Name + " " + r.name)
}

// prefixed puts a name before each of the errors.
func prefixed(name string, err error) error {
	var all []error
	for line := range strings.Lines(err.Error()) {
		all = append(all, fmt.Errorf("%s: %s", name, strings.TrimRight(line, "\n")))
	}
	return errors.Join(all...)
}

// onlyRelease is choose for a tool with one release.
func onlyRelease(t *Tool, args []string) (*release, []string, error) {
	return t.releases[0], args, nil
}

// unknown returns the names of the options of args that the release lacks, and
// whether others are there but cut short.
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
