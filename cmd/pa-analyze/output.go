package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/outfile"
	"github.com/pa-tools/pa/internal/sanitize"
)

// outputFlags are those of every command that can write its result to a file.
func outputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE` instead of standard output (-)", Category: "Output"},
		overwriteFlag(),
	}
}

func overwriteFlag() cli.Flag {
	return &cli.BoolFlag{Name: "overwrite", Usage: "replace the output file if it is there", Category: "Output"}
}

// checkOutput refuses an --output that cannot or must not be written, before any work
// is done.
func checkOutput(c *cli.Context) error {
	if out := c.String("output"); out != "" && out != "-" {
		return outfile.Check(out, c.Bool("overwrite"))
	}
	return nil
}

// write calls f with the writer that the flags of outputFlags ask for.
func write(c *cli.Context, f func(w io.Writer) error) error {
	return writeTo(c, c.String("output"), f)
}

// writeTo calls f with a writer to a file, or to standard output for "-" and "".
func writeTo(c *cli.Context, path string, f func(w io.Writer) error) error {
	if path == "" || path == "-" {
		return toStdout(c, f)
	}
	return outfile.Write(path, c.Bool("overwrite"), f)
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

// checkFormat returns a usage error unless the flag's value is one of names.
func checkFormat(c *cli.Context, names ...string) (string, error) {
	got := c.String("format")
	if slices.Contains(names, got) {
		return got, nil
	}
	return "", cmdline.Usagef("--format %q: give one of %s", got, strings.Join(names, ", "))
}
