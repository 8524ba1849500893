package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/outfile"
	"github.com/pa-tools/pa/internal/sanitize"
)

// OutputFlags are the flags of every command that can write its result to a file.
func OutputFlags() []cli.Flag {
	return []cli.Flag{
		cmdline.Writes(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE` instead of standard output (-)", Category: "Output"}),
		OverwriteFlag(),
	}
}

// OverwriteFlag allows to replace existing files.
func OverwriteFlag() cli.Flag {
	return &cli.BoolFlag{Name: "overwrite", Usage: "replace the output file if it is there", Category: "Output"}
}

// CheckOutput refuses an --output that cannot or must not be written, before any work
// is done.
func CheckOutput(c *cli.Context) error {
	if out := c.String("output"); out != "" && out != "-" {
		return outfile.Check(out, c.Bool("overwrite"))
	}
	return nil
}

// Write calls f, which writes a report, with the writer that the flags of OutputFlags ask
// for.
func Write(c *cli.Context, f func(w io.Writer) error) error {
	return WriteTo(c, c.String("output"), outfile.Figures, f)
}

// WriteRequests is Write for a file that holds single requests, which only its owner may
// read.
func WriteRequests(c *cli.Context, f func(w io.Writer) error) error {
	return WriteTo(c, c.String("output"), outfile.Private, f)
}

// WriteTo calls f with a writer to a file, or to standard output for "-" and "". A new file
// gets the mode perm, see [outfile.Options].
func WriteTo(c *cli.Context, path string, perm fs.FileMode, f func(w io.Writer) error) error {
	if path == "" || path == "-" {
		return toStdout(c, f)
	}
	if err := cmdline.CheckFiles(c); err != nil { // of files that the action found, too
		return err
	}
	err := outfile.Write(c.Context, path, outfile.Options{Overwrite: c.Bool("overwrite"), Perm: perm}, f)
	if errors.Is(err, outfile.ErrNoReader) {
		return cmdline.Refusedf("%v", err)
	}
	return err
}

// toStdout calls f with the standard output. On a terminal the text passes package
// sanitize, because JSON and files in other tools' formats may hold control
// characters that a server sent. A pipe or file gets the bytes unchanged.
func toStdout(c *cli.Context, f func(w io.Writer) error) error {
	if file, ok := c.App.Writer.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return f(c.App.Writer)
	}
	w := sanitize.NewWriter(c.App.Writer)
	return errors.Join(f(w), w.Flush())
}

// FormatFlag returns --format with its value by default. formats lists the formats as the help
// shows them.
func FormatFlag(value, formats string) cli.Flag {
	return &cli.StringFlag{Name: "format", Aliases: []string{"f"}, Usage: "print as `FORMAT`: " + formats, Value: value, Category: "Output"}
}

// CheckFormat returns the value of --format. It returns a usage error if names lacks the value, or if
// --width is below 1.
func CheckFormat(c *cli.Context, names ...string) (string, error) {
	got := c.String("format")
	if slices.Contains(names, got) {
		return got, checkWidth(c)
	}
	return "", cmdline.Usagef("--format %q: give one of %s", got, strings.Join(names, ", "))
}

// NamesFlag chooses whose names JSON has.
func NamesFlag(format string) cli.Flag {
	return &cli.StringFlag{Name: "names", Usage: "with --format " + format + ": use the names of `WHOM`, pa or otel (OpenTelemetry's GenAI conventions; times in s)", Value: namesOwn, Category: "Output"}
}

// The values of --names.
const (
	namesOwn  = "pa"
	namesOTel = "otel"
)

// OTelNames reports whether --names asks for the names of OpenTelemetry. It refuses
// these names for a format other than having.
func OTelNames(c *cli.Context, format, having string) (bool, error) {
	switch name := c.String("names"); {
	case name != namesOwn && name != namesOTel:
		return false, cmdline.Usagef("--names %q: give %s or %s", name, namesOwn, namesOTel)
	case c.IsSet("names") && format != having:
		return false, cmdline.Usagef("--names is for --format %s, not for %s", having, format)
	default:
		return name == namesOTel, nil
	}
}

// Warnf prints a warning to standard error; standard output is for results only. It makes the
// text safe to print.
func Warnf(c *cli.Context, format string, args ...any) {
	fmt.Fprintf(c.App.ErrWriter, "pa-analyze: warning: %s\n", sanitize.Text(fmt.Sprintf(format, args...)))
}

// Notef prints a line on standard error that is no warning. It makes the text safe to print.
func Notef(c *cli.Context, format string, args ...any) {
	fmt.Fprintf(c.App.ErrWriter, "pa-analyze: note: %s\n", sanitize.Text(fmt.Sprintf(format, args...)))
}

// Program returns the name and the version of this program, for a page.
func Program(c *cli.Context) string { return "pa-analyze " + c.App.Version }
