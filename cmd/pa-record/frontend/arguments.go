package frontend

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/internal/sanitize"
)

// arguments holds a parsed command line of one release of a tool.
type arguments struct {
	options options
	given   map[*option][]string // values by option; an option that takes no value has one ""
	rest    []string             // what follows "--"
	cut     bool                 // a name was cut short
}

// An unknownError is about an option that the table lacks.
type unknownError struct {
	name   string
	likely []string // flags that may be meant; nil if that is not clear
}

func (e *unknownError) Error() string {
	if e.likely == nil {
		return "unknown flag " + e.name
	}
	return "unknown flag " + e.name + "; did you mean " + cmdline.OneOf(e.likely) + "?"
}

// unknown returns the error for an option of that name.
func (os options) unknown(name string) error {
	likely := cmdline.NearestFlags(strings.TrimLeft(name, "-"), os.long())
	for i, n := range likely {
		likely[i] = "--" + n
	}
	return &unknownError{name, likely}
}

// parse reads a command line by the rules of argparse: long names may be abbreviated,
// values may be joined by "=" or to a short name, and options without a value may share a
// dash. An argument that looks like a negative number is a value. All mistakes are
// reported at once.
func (os options) parse(args []string) (*arguments, error) {
	a := &arguments{options: os, given: map[*option][]string{}}
	var errs []error
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			a.rest = args[i+1:]
			break
		}
		if !os.isOption(arg) {
			errs = append(errs, fmt.Errorf("unexpected argument %q", clip(arg)))
			continue
		}
		found, err := os.resolve(arg)
		if err != nil {
			errs = append(errs, err)
			// The arguments after an unknown option may be its values.
			for i+1 < len(args) && args[i+1] != "--" && !os.isOption(args[i+1]) {
				i++
			}
			continue
		}
		for _, g := range found {
			a.cut = a.cut || g.cut
			values := g.values
			for g.option.arg != "" && i+1 < len(args) && args[i+1] != "--" && !os.isOption(args[i+1]) &&
				(len(values) == 0 || g.option.list && !g.joined) {
				i++
				values = append(values, args[i])
			}
			if err := a.add(g.option, values); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return a, errors.Join(errs...)
}

var negativeNumber = regexp.MustCompile(`^-\d+$|^-\d*\.\d+$`)

// isOption reports whether arg names an option, known or not.
func (os options) isOption(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' {
		return false
	}
	if os.find(arg) != nil {
		return true
	}
	if negativeNumber.MatchString(arg) {
		return false
	}
	if strings.Contains(arg, " ") {
		_, err := os.resolve(arg)
		return err == nil
	}
	return true
}

// A named is an option on the command line with the value joined to it, as in
// --name=value or -p1000.
type named struct {
	option *option
	values []string
	joined bool
	cut    bool // by a part of its name
}

// resolve returns the option that arg names, or the several that share a dash.
func (os options) resolve(arg string) ([]named, error) {
	if o := os.find(arg); o != nil {
		return []named{{option: o}}, nil
	}
	name, value, joined := strings.Cut(arg, "=")
	one := func(g named) ([]named, error) {
		if joined {
			g.values, g.joined = []string{value}, true
		}
		if joined && g.option.arg == "" {
			return nil, fmt.Errorf("%s takes no value", name)
		}
		return []named{g}, nil
	}
	if joined {
		if o := os.find(name); o != nil {
			return one(named{option: o})
		}
	}
	if !strings.HasPrefix(arg, "--") {
		if found := os.short(arg[1:]); found != nil {
			return found, nil
		}
		return nil, os.unknown(name)
	}
	switch full := cmdline.Abbreviated(name[2:], os.long()); len(full) {
	case 0:
		return nil, os.unknown(name)
	case 1:
		return one(named{option: os.find("--" + full[0]), cut: true})
	default:
		return nil, fmt.Errorf("%s is ambiguous; it may mean --%s", name, strings.Join(full, ", --"))
	}
}

// long returns the long names of all options, without dashes.
func (os options) long() []string {
	var long []string
	for i := range os {
		for _, n := range os[i].names {
			if word, ok := strings.CutPrefix(n, "--"); ok {
				long = append(long, word)
			}
		}
	}
	return long
}

// short splits the letters after a single dash into options (-p1000, -vp1000). It returns
// nil if they are not known short options.
func (os options) short(letters string) []named {
	var found []named
	for _, s := range cmdline.SplitShort(letters, func(letter string) (known, takesValue bool) {
		o := os.find("-" + letter)
		return o != nil, o != nil && o.arg != ""
	}) {
		g := named{option: os.find("-" + s.Letter)}
		if s.Value != "" {
			g.values, g.joined = []string{strings.TrimPrefix(s.Value, "=")}, true
		}
		found = append(found, g)
	}
	return found
}

// add notes an option with its values, after it has checked them.
func (a *arguments) add(o *option, values []string) error {
	if o.support == refused {
		return fmt.Errorf("%s is not supported: %s", o.name(), o.note)
	}
	if o.arg == "" {
		a.given[o] = []string{""}
		return nil
	}
	if len(values) == 0 {
		return fmt.Errorf("%s needs a value", o.name())
	}
	for _, v := range values {
		if err := o.check(v); err != nil {
			return err
		}
	}
	if o.repeat {
		values = append(a.given[o], values...)
	}
	a.given[o] = values
	return nil
}

// check returns an error if the option cannot have the value.
func (o *option) check(value string) error {
	switch o.kind {
	case whole, natural, positive:
		n, err := parseWhole(value)
		switch {
		case err != nil:
			return fmt.Errorf("%s %s: expected a whole number", o.name(), clip(value))
		case o.kind == natural && n < 0:
			return fmt.Errorf("%s %d: must not be negative", o.name(), n)
		case o.kind == positive && n < 1:
			return fmt.Errorf("%s %d: must be at least 1", o.name(), n)
		}
	case number, above:
		f, err := parseNumber(value)
		switch {
		case err != nil:
			return fmt.Errorf("%s %s: expected a number", o.name(), clip(value))
		case o.kind == above && !(f > 0 && f <= math.MaxFloat64):
			return fmt.Errorf("%s %s: must be above 0", o.name(), clip(value))
		}
	}
	if o.choices != nil && !slices.Contains(o.choices, value) {
		return fmt.Errorf("%s %s: expected %s", o.name(), clip(value), cmdline.OneOf(o.choices))
	}
	return nil
}

// parseWhole parses an integer like Python's int, but refuses underscores.
func parseWhole(s string) (int, error) {
	return strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(s), "+"))
}

// parseNumber parses a float like Python's float, but refuses underscores. Like Python,
// it refuses hexadecimal.
func parseNumber(s string) (float64, error) {
	s = strings.TrimSpace(s)
	f, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) && math.IsInf(f, 0) {
		err = nil // Python says inf, too
	}
	if strings.ContainsAny(s, "xXpP_") {
		err = strconv.ErrSyntax
	}
	return f, err
}

// parseWholes reads a list of positive whole numbers.
func parseWholes(s string) ([]int, error) {
	var all []int
	for _, field := range strings.Split(s, ",") {
		n, err := parseWhole(field)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a positive whole number", clip(field))
		}
		all = append(all, n)
	}
	return all, nil
}

// has reports whether the option was given.
func (a *arguments) has(name string) bool {
	_, ok := a.given[a.options.must(name)]
	return ok
}

// values returns the values that the command line gives the option; nil if it was not
// given.
func (a *arguments) values(name string) []string { return a.given[a.options.must(name)] }

// text returns the option's last value, else the tool's default.
func (a *arguments) text(name string) string {
	o := a.options.must(name)
	if values := a.given[o]; len(values) > 0 {
		return values[len(values)-1]
	}
	return o.defaultValue
}

// whole returns the option's value as an integer; 0 if it was not given and has no
// default.
func (a *arguments) whole(name string) int {
	n, err := parseWhole(a.text(name))
	if err != nil {
		return 0 // only of an option without a default: values were checked
	}
	return n
}

// number returns the option's value as a float; 0 if it was not given and has no default.
func (a *arguments) number(name string) float64 {
	f, err := parseNumber(a.text(name))
	if err != nil {
		return 0
	}
	return f
}

// clip bounds foreign text in messages, and hides credentials in it.
func clip(s string) string { return sanitize.Clip(redact.Members(s), 80) }
