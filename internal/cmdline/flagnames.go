package cmdline

import "github.com/urfave/cli/v2"

// A namedFlag keeps the names of a flag. For every lookup, the cli library asks all flags
// for their names. The flags compute their names by a regular expression, which takes a
// third of the CPU time of a short run.
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
		switch f := f.(type) {
		case *cli.StringSliceFlag:
			named[i] = namedList{f, f.Names()}
		case valueFlag:
			named[i] = namedFlag{f, f.Names()}
		default:
			named[i] = f
		}
	}
	return named
}
