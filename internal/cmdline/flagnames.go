package cmdline

import "github.com/urfave/cli/v2"

// namesOf returns the name and the aliases of a flag. The flags here have no commas or blanks in
// them. The flag's own method cuts each name at a comma or blank by a regular expression, which
// takes a fifth of the CPU time of reading a command line.
func namesOf(f cli.Flag) []string {
	switch f := unmarked(f).(type) {
	case *cli.StringFlag:
		return joined(f.Name, f.Aliases)
	case *cli.StringSliceFlag:
		return joined(f.Name, f.Aliases)
	case *cli.BoolFlag:
		return joined(f.Name, f.Aliases)
	case *cli.IntFlag:
		return joined(f.Name, f.Aliases)
	case *cli.Int64Flag:
		return joined(f.Name, f.Aliases)
	case *cli.Uint64Flag:
		return joined(f.Name, f.Aliases)
	case *cli.Float64Flag:
		return joined(f.Name, f.Aliases)
	case *cli.DurationFlag:
		return joined(f.Name, f.Aliases)
	}
	return f.Names()
}

func joined(name string, aliases []string) []string {
	return append([]string{name}, aliases...)
}

// A namedFlag keeps the names of a flag, because the cli library asks all flags for their
// names at every lookup.
type namedFlag struct {
	valueFlag
	names []string
}

// A valueFlag is a flag of the cli library that is not a list.
type valueFlag interface {
	cli.Flag
	cli.RequiredFlag
	cli.DocGenerationFlag
	cli.ActionableFlag
}

// Names returns the name and the aliases.
func (f namedFlag) Names() []string { return f.names }

// A namedList is a namedFlag with more than one value. It embeds the concrete type,
// because the library sets how lists are split by a method with an unexported parameter.
type namedList struct {
	*cli.StringSliceFlag
	names []string
}

// Names returns the name and the aliases.
func (f namedList) Names() []string { return f.names }

// withNames returns the flags with their names kept.
func withNames(flags []cli.Flag) []cli.Flag {
	named := make([]cli.Flag, len(flags))
	for i, f := range flags {
		switch f := unmarked(f).(type) {
		case *cli.StringSliceFlag:
			named[i] = namedList{f, namesOf(f)}
		case valueFlag:
			named[i] = namedFlag{f, namesOf(f)}
		default:
			named[i] = f
		}
	}
	return named
}
