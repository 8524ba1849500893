package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/pa-tools/pa/internal/cmdline"
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

// checkOutput refuses a path that cannot or must not be written, before any
// work is done.
func checkOutput(path string, overwrite bool) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s: is a directory; give a file name", path)
	case err == nil && !overwrite:
		return fmt.Errorf("%s: is there already; give --overwrite to replace it", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: the folder %s does not exist", path, filepath.Dir(path))
	}
	return nil
}

// writeFile gives w a file that takes the name path when f returns nil: a
// reader of path sees all of it or nothing.
func writeFile(path string, overwrite bool, f func(w io.Writer) error) (err error) {
	if err := checkOutput(path, overwrite); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // a pipe, /dev/null
		return writeInPlace(path, f)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	b := bufio.NewWriterSize(tmp, 1<<18)
	err = errors.Join(f(b), b.Flush(), tmp.Chmod(0o644), tmp.Sync())
	// Windows renames no file that is open.
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

func writeInPlace(path string, f func(w io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f(file), file.Close())
}

// write gives f what the flags of outputFlags ask for.
func write(c *cli.Context, f func(w io.Writer) error) error {
	path := c.String("output")
	if path == "" || path == "-" {
		return toStdout(c, f)
	}
	return writeFile(path, c.Bool("overwrite"), f)
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
	for _, n := range names {
		if n == got {
			return got, nil
		}
	}
	return "", cmdline.Usagef("--format %q: give one of %s", got, strings.Join(names, ", "))
}
