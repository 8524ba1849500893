package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/export"
)

// write calls f, which writes a report, with the writer that the flags of outputFlags ask for.
func (c *call) write(f func(w io.Writer) error) error {
	return c.writeTo(c.String("output"), disk.Figures, f)
}

// writeRequests is write for a file that holds single requests, which only its owner may read.
func (c *call) writeRequests(f func(w io.Writer) error) error {
	return c.writeTo(c.String("output"), disk.Private, f)
}

// writeTo calls f with a writer to a file, or to standard output for "-" and "". A new file
// gets the mode perm, see [disk.Options].
func (c *call) writeTo(path string, perm fs.FileMode, f func(w io.Writer) error) error {
	if path == "" || path == "-" {
		return c.toStdout(f)
	}
	if err := cmdline.CheckFiles(c.commandLine); err != nil { // of files that the action found, too
		return err
	}
	if err := c.checkPath(path); err != nil {
		return err
	}
	err := disk.Write(c.Context, path, disk.Options{Overwrite: c.Bool("overwrite"), Perm: perm}, f)
	if errors.Is(err, disk.ErrNoReader) {
		return cmdline.Refusedf("%v", err)
	}
	if full, ok := errors.AsType[*disk.OutputError](err); ok {
		return full // says it once, and not what was being written
	}
	return err
}

// toStdout calls f with the standard output. On a terminal the text passes package
// sanitize, because JSON and files in other tools' formats may hold control
// characters that a server sent. A pipe or file gets the bytes unchanged.
func (c *call) toStdout(f func(w io.Writer) error) error {
	if file, ok := c.App.Writer.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return f(c.App.Writer)
	}
	w := sanitize.NewWriter(c.App.Writer)
	return errors.Join(f(w), w.Flush())
}

// asNeeded is a width that no line reaches, for renderers that need a number.
const asNeeded = 1 << 20

// width returns the number of columns for lines: --width, else the width of the terminal that the
// report goes to, else $COLUMNS; 0 means as many as needed.
func (c *call) width() int {
	if n := c.Int("width"); n > 0 {
		return n
	}
	if f := c.outputFile(); f != nil {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return 0
}

// outputFile returns standard output, if the report goes there and it is a file; else nil.
func (c *call) outputFile() *os.File {
	if out := c.String("output"); out != "" && out != "-" {
		return nil
	}
	f, _ := c.App.Writer.(*os.File)
	return f
}

// sparklines reports whether tables may hold sparklines: the report goes to a terminal that
// shows their characters.
func (c *call) sparklines() bool {
	f := c.outputFile()
	return f != nil && term.IsTerminal(int(f.Fd())) && sheet.ShowsSparklines(os.Getenv)
}

// warnf prints a warning to standard error; standard output is for results only. It makes the
// text safe to print.
func (c *call) warnf(format string, args ...any) {
	fmt.Fprintf(c.App.ErrWriter, "pa-analyze: warning: %s\n", sanitize.Text(fmt.Sprintf(format, args...)))
}

// notef prints a line on standard error that is no warning. It makes the text safe to print.
func (c *call) notef(format string, args ...any) {
	fmt.Fprintf(c.App.ErrWriter, "pa-analyze: note: %s\n", sanitize.Text(fmt.Sprintf(format, args...)))
}

// warnAll prints a warning for each text.
func (c *call) warnAll(texts []string) {
	for _, w := range texts {
		c.warnf("%s", w)
	}
}

// warnEach prints a warning about the file for each error.
func (c *call) warnEach(path string, all []error) {
	for _, err := range all {
		c.warnf("%v", named(path, err))
	}
}

// warnings prints the reader's warnings.
func (c *call) warnings(r export.Reader) {
	for _, w := range r.Warnings() {
		c.warnf("%s", w)
	}
}

// leftOut is the error for a file with requests that could not be read, which
// the warnings locate; nil for any other.
func leftOut(path string, r export.Reader, consequence string) error {
	n := 0
	for i := range r.Run().Experiments {
		counted, excluded := r.Skipped(i)
		n += counted + excluded
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s cannot be read: %s; see the warning", path, plural.Of(n, "request"), consequence)
}

// named puts the name of the file before an error that does not begin with it.
func named(path string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), path+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
