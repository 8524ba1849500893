package cmdline

import "github.com/urfave/cli/v2"

// A namedFlag keeps the names of a flag, because the cli library asks all flags for their names at
// every lookup, and each flag cuts its names at a comma or blank by a regular expression. The
// fileMark says what a command does with the files that the value names.
type namedFlag struct {
	valueFlag
	names []string
	fileMark
}

// A valueFlag is a flag of the cli library that is not a list.
type valueFlag interface {
	cli.Flag
	cli.RequiredFlag
	cli.DocGenerationFlag
	cli.CategorizableFlag
	cli.ActionableFlag
}

// Names returns the name and the aliases.
func (f namedFlag) Names() []string { return f.names }

// String returns the name. The library calls it for each flag at every start and, unlike this package, makes the
// flag's line of a help page, with the regular expression once more.
func (f namedFlag) String() string { return f.names[0] }

// A namedList is a namedFlag with more than one value. It embeds the concrete type,
// because the library sets how lists are split by a method with an unexported parameter.
type namedList struct {
	*cli.StringSliceFlag
	names []string
	fileMark
}

// Names returns the name and the aliases.
func (f namedList) Names() []string { return f.names }

// String returns the name, as for a [namedFlag].
func (f namedList) String() string { return f.names[0] }

// withNames returns the flags with their names kept.
func withNames(flags []cli.Flag) []cli.Flag {
	named := make([]cli.Flag, len(flags))
	for i, f := range flags {
		named[i] = withMark(f, fileMark{})
	}
	return named
}

// withMark returns a flag with its names kept, and the mark unless it has one already.
func withMark(f cli.Flag, mark fileMark) cli.Flag {
	switch f := f.(type) {
	case namedFlag, namedList:
		return f
	case *cli.StringSliceFlag:
		return namedList{f, f.Names(), mark}
	case valueFlag:
		return namedFlag{f, f.Names(), mark}
	}
	return f
}

// unwrapped returns the flag of the cli library in a flag of this package; f itself if there is
// none.
func unwrapped(f cli.Flag) cli.Flag {
	switch f := f.(type) {
	case namedFlag:
		return f.valueFlag
	case namedList:
		return f.StringSliceFlag
	}
	return f
}
