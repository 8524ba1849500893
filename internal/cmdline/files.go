package cmdline

import (
	"os"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/disk"
)

// A FileUse says what a command does with the files that the values of a flag name.
type FileUse int

// What a command does with the files of a flag.
const (
	NoFiles      FileUse = iota // the values name no files
	ReadsFiles                  // see [Reads]
	WritesFiles                 // see [Writes]
	DerivesFiles                // see [Derives]
)

// fileMark says what a command does with the files that a flag names.
type fileMark struct {
	use   FileUse
	files func(value string) []string // the files that a value stands for; nil: the value is the path
}

func (m fileMark) mark() fileMark { return m }

// markOf returns the mark of a flag.
func markOf(f cli.Flag) fileMark {
	if marked, ok := f.(interface{ mark() fileMark }); ok {
		return marked.mark()
	}
	return fileMark{}
}

// Reads marks a flag whose values name files that the command reads, so that [Files] has them.
// files returns the paths that a value stands for; nil: the value is the path, and "-" is
// standard input. f is a string or a list of strings.
func Reads(f cli.Flag, files func(value string) []string) cli.Flag {
	return marked(f, ReadsFiles, files)
}

// Writes marks a flag whose values are paths of files that the command writes, so that [Files]
// has them.
func Writes(f cli.Flag) cli.Flag { return marked(f, WritesFiles, nil) }

// Derives marks a flag from whose values the command makes the paths of files that it writes.
// The command adds these paths to [Files] itself.
func Derives(f cli.Flag) cli.Flag { return marked(f, DerivesFiles, nil) }

func marked(f cli.Flag, use FileUse, files func(string) []string) cli.Flag {
	switch f.(type) {
	case *cli.StringFlag, *cli.StringSliceFlag:
		return withMark(f, fileMark{use, files})
	}
	panic("cmdline: flag " + f.Names()[0] + " has no text that could name a file") // a programmer's mistake
}

// FileUseOf returns what a command does with the files of a flag.
func FileUseOf(f cli.Flag) FileUse { return markOf(f).use }

// commandFiles holds the files of the command line that is running.
type commandFiles struct {
	flags []cli.Flag
	files *disk.Files // nil before the first call of Files
}

// filesKey is the key of the commandFiles in the metadata of a cli.App.
const filesKey = "files"

// Files returns the files that the flags of the command line name. A command adds the files of
// its arguments and the files that it derives, and calls [CheckFiles] before it writes. Every
// call for one command line returns the same Files.
func Files(c *cli.Context) *disk.Files {
	all, ok := c.App.Metadata[filesKey].(*commandFiles)
	if !ok { // not an App's
		return &disk.Files{}
	}
	if all.files != nil {
		return all.files
	}
	all.files = &disk.Files{}
	for _, f := range all.flags {
		mark := markOf(f)
		if mark.use == NoFiles {
			continue
		}
		name := f.Names()[0]
		values := []string{c.String(name)}
		if _, list := f.(namedList); list {
			values = c.StringSlice(name)
		}
		for _, v := range values {
			mark.add(c, all.files, Dashed(name), v)
		}
	}
	return all.files
}

// add adds the files that a value of a flag names.
func (m fileMark) add(c *cli.Context, to *disk.Files, flag, value string) {
	switch {
	case value == "" || m.use == DerivesFiles:
	case m.use == WritesFiles:
		to.Writes(flag, value)
	case m.files == nil:
		ReadsFile(c, flag, value)
	default:
		for _, path := range m.files(value) {
			ReadsFile(c, flag, path)
		}
	}
}

// ReadsFile adds a file to [Files] that the command reads; "-" is standard input. flag names
// the flag or the argument.
func ReadsFile(c *cli.Context, flag, path string) {
	if path != "-" {
		Files(c).Reads(flag, path)
		return
	}
	if stdin, ok := c.App.Reader.(*os.File); ok && stdin != nil {
		Files(c).ReadsOpen(flag, stdin)
	}
}

// CheckFiles returns a usage error if a file that the command writes is one that it reads, or
// is written twice: see [disk.Files.Check].
func CheckFiles(c *cli.Context) error { return fileError(Files(c).Check()) }

// CheckRead is CheckFiles for a further file that the command reads: see
// [disk.Files.CheckRead].
func CheckRead(c *cli.Context, flag, path string) error {
	return fileError(Files(c).CheckRead(flag, path))
}

func fileError(err error) error {
	if err == nil {
		return nil
	}
	return &UsageError{Msg: err.Error(), NoHelp: true}
}
