package cmdline

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

// arguments is what parse needs to know of an [App].
type arguments struct {
	flags       []cli.Flag
	others      func() map[string]string // flags that this command lacks, with the command that has each
	unsupported map[string]string
	renamed     map[string]string
	bare        map[string]string
	getopt      bool
}

// A givenFlag is a flag of the command line.
type givenFlag struct {
	flag     cli.Flag
	name     string // as given
	value    string
	hasValue bool // the value is joined to the name
}

// parse separates args into flags and positional arguments. A flag may come after a positional
// argument; each argument after "--" is positional. parse leaves out the flags that ask for help
// or the version.
func (a arguments) parse(args []string) (set []givenFlag, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return set, append(rest, args[i+1:]...), nil
		case len(arg) < 2 || arg[0] != '-':
			rest = append(rest, arg)
			continue
		case a.asks(arg):
			continue
		}
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		found, err := a.find(arg, next)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range found {
			switch {
			case f.hasValue:
			case !takesValue(f.flag):
				f.value = "true"
			case a.isBare(f, args[i+1:]):
				f.value = a.bare[f.flag.Names()[0]]
			case i+1 == len(args):
				return nil, nil, Usagef("flag %s needs a value", Dashed(f.name))
			default:
				i++
				f.value = args[i]
			}
			set = append(set, f)
		}
	}
	return set, rest, nil
}

// isBare reports whether a flag that may be given without a value has none. next are the arguments after it.
func (a arguments) isBare(f givenFlag, next []string) bool {
	_, may := a.bare[f.flag.Names()[0]]
	return may && (len(next) == 0 || strings.HasPrefix(next[0], "-"))
}

// asks reports whether arg asks for help or the version, and is no flag of the command.
func (a arguments) asks(arg string) bool {
	return isHelpOrVersion(arg) && lookup(a.flags, strings.TrimLeft(arg, "-")) == nil
}

// wants reports whether one of words stands before "--" and is no flag.
func (a arguments) wants(args, words []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(words, arg) && a.asks(arg) })
}

// find returns the flag that arg names, or the several that joined short flags
// name. next is the argument after arg, "" for none.
func (a arguments) find(arg, next string) ([]givenFlag, error) {
	name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if f := lookup(a.flags, name); f != nil {
		return []givenFlag{{f, name, value, hasValue}}, nil
	}
	if instead := a.renamed[name]; instead != "" && a.has(instead) {
		if !hasValue && !strings.HasPrefix(next, "-") {
			value = next
		}
		return nil, Usagef("unknown flag %s; use %s", Dashed(name), withValue(instead, value))
	}
	if instead, ok := a.unsupported[name]; ok {
		return nil, Usagef("flag %s is not supported: %s", Dashed(name), instead)
	}
	if a.getopt {
		if strings.HasPrefix(arg, "--") {
			return a.cutShort(name, value, hasValue)
		}
		if found := a.joined(arg[1:]); found != nil {
			return found, nil
		}
	}
	return nil, a.unknown(name)
}

// has reports whether the command has the first flag of text: the commands of a program share renamed.
func (a arguments) has(text string) bool {
	flag, _, _ := strings.Cut(text, " ")
	return lookup(a.flags, strings.TrimLeft(flag, "-")) != nil
}

// withValue puts a number in place of the placeholder N in the text of a renamed flag. Another value
// is not repeated: it may be a secret.
func withValue(instead, value string) string {
	if _, err := strconv.ParseFloat(value, 64); err != nil || len(value) > maxShownValue {
		return instead
	}
	return strings.Replace(instead, " N", " "+value, 1)
}

// maxShownValue bounds the bytes of a number that a message repeats.
const maxShownValue = 40

// cutShort finds the one long flag that starts with name.
func (a arguments) cutShort(name, value string, hasValue bool) ([]givenFlag, error) {
	full := Abbreviated(name, allNames(a.flags))
	switch {
	case len(full) == 0 || len(name) < 2:
		return nil, a.unknown(name)
	case len(full) == 1:
		return []givenFlag{{lookup(a.flags, full[0]), name, value, hasValue}}, nil
	}
	return nil, Usagef("flag --%s is ambiguous; it may mean --%s", name, strings.Join(full, ", --"))
}

// Abbreviated returns the long flags that name may abbreviate: the names in all that
// begin with name and have more than one letter. Names have no dashes.
func Abbreviated(name string, all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(n string) bool { return len(n) < 2 || !strings.HasPrefix(n, name) })
}

// joined reads short flags without spaces: -av, -p1000. It returns nil if a letter is
// no flag.
func (a arguments) joined(letters string) []givenFlag {
	var found []givenFlag
	for _, s := range SplitShort(letters, func(letter string) (known, hasValue bool) {
		f := lookup(a.flags, letter)
		return f != nil, f != nil && takesValue(f)
	}) {
		found = append(found, givenFlag{lookup(a.flags, s.Letter), s.Letter, s.Value, s.Value != ""})
	}
	return found
}

// A ShortFlag is one of several short flags behind one dash.
type ShortFlag struct {
	Letter string
	Value  string // joined to the letter; "" for none
}

// SplitShort splits the letters behind one dash into short flags: "av" is -a -v,
// "vp1000" is -v -p 1000. flag reports whether a letter is a flag and whether that
// flag takes a value, which is then the rest of letters. SplitShort returns nil if a
// letter is no flag.
func SplitShort(letters string, flag func(letter string) (known, takesValue bool)) []ShortFlag {
	var found []ShortFlag
	for letters != "" {
		s := ShortFlag{Letter: letters[:1]}
		known, takesValue := flag(s.Letter)
		if !known {
			return nil
		}
		letters = letters[1:]
		if takesValue {
			s.Value, letters = letters, ""
		}
		found = append(found, s)
	}
	return found
}

// unknown returns the error for an unknown flag. It names the flags that may be
// meant, or the command that has the flag.
func (a arguments) unknown(name string) error {
	names := append([]string{"help", "version"}, allNames(a.flags)...) // of every command, and none of a.flags
	if likely := NearestFlags(name, names); len(likely) > 0 {
		for i, n := range likely {
			likely[i] = Dashed(n)
		}
		return Usagef("unknown flag %s; did you mean %s?", Dashed(name), OneOf(likely))
	}
	if command, ok := a.others()[name]; ok {
		return Usagef("unknown flag %s; it belongs to %s", Dashed(name), command)
	}
	return Usagef("unknown flag %s", Dashed(name))
}

// OneOf lists alternatives: "a, b or c"; "" for none.
func OneOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// otherFlags returns the flags of the program's commands except cmd, each with the
// first command that has it.
func (a App) otherFlags(cmd *cli.Command) map[string]string {
	all := map[string]string{}
	add := func(command string, flags []cli.Flag) {
		for _, f := range flags {
			for _, n := range f.Names() {
				if all[n] == "" {
					all[n] = command
				}
			}
		}
	}
	if cmd != nil {
		add(a.Name, a.Flags)
	}
	for _, c := range a.Commands {
		if c != cmd {
			add(a.Name+" "+c.Name, c.Flags)
		}
	}
	if a.OtherFlags == nil {
		return all
	}
	for name, command := range a.OtherFlags() {
		if all[name] == "" {
			all[name] = command
		}
	}
	return all
}

// misspelt returns the error for a first argument that is close to the name of
// a subcommand and neither that, nor a flag, nor a file that is there. A word
// before a file that is there is taken for a command, too.
func (a App) misspelt(args []string) error {
	if len(args) > 1 && args[0] == "help" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return nil
	}
	arg := args[0]
	var names []string
	for _, c := range a.Commands {
		if c.HasName(arg) {
			return nil
		}
		names = append(names, c.Name)
	}
	best := Nearest(arg, names)
	word := len(args) > 1 && !strings.ContainsAny(arg, "./=*?[:") && isThere(args[1])
	switch {
	case best == "" && !word, isThere(arg):
		return nil
	case best == "":
		return Usagef("unknown command %s, and no file has that name; %s --help lists the commands", arg, a.Name)
	}
	return Usagef("unknown command %s; did you mean %s?", arg, best)
}

// isThere reports whether a file or folder has the name.
func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// Nearest returns the name that an unknown name probably means: a name that differs in a
// letter or two, or has the same beginning; "" if there is none.
func Nearest(name string, names []string) string {
	best, least := "", 0
	for _, n := range names {
		d := distance(name, n)
		if len(name) > 2 && strings.HasPrefix(n, name) {
			d = min(d, 1)
		}
		if d <= min(2, len(n)/3) && (best == "" || d < least) {
			best, least = n, d
		}
	}
	return best
}

// mostLikely bounds the flags that NearestFlags returns.
const mostLikely = 3

// NearestFlags returns at most three flags that an unknown name may mean, all without
// dashes: the names with the least edit distance, if it is at most a third of the
// name's length; else the names that begin with name, or have it as a word between
// dashes. One-letter flags are never returned.
func NearestFlags(name string, names []string) []string {
	if len(name) < 2 {
		return nil
	}
	var best []string
	least := min(max(len(name)/3, 1), 4)
	for _, n := range names {
		d := distance(name, n)
		if len(n) < 2 || d > least || slices.Contains(best, n) {
			continue
		}
		if d < least {
			best = nil
		}
		best, least = append(best, n), d
	}
	if best == nil && len(name) > 2 {
		best = matching(names, func(n string) bool { return strings.HasPrefix(n, name) })
	}
	if best == nil && len(name) > 2 {
		best = matching(names, func(n string) bool { return strings.Contains("-"+n+"-", "-"+name+"-") })
	}
	return best[:min(len(best), mostLikely)]
}

// matching returns the distinct names for which like is true.
func matching(names []string, like func(string) bool) []string {
	var all []string
	for _, n := range names {
		if like(n) && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// distance returns the number of letters to insert, delete, replace or swap
// with the next one to make b of a, no letter twice.
func distance(a, b string) int {
	var before, last []int // rows i-2 and i-1: row i holds the distances of a[:i]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

func lookup(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

// allNames returns the names and aliases of all flags.
func allNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()...)
	}
	return names
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}
