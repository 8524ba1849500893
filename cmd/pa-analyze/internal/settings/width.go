package settings

import (
	"os"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/sparkline"
)

// WidthFlag is the flag for the width of tables.
func WidthFlag() cli.Flag {
	return &cli.IntFlag{Name: "width", Usage: "print for a console of `N` columns (default: the terminal's width, else $COLUMNS, else as wide as needed)", Category: "Output"}
}

// AsNeeded is a width that no line reaches, for renderers that need a number.
const AsNeeded = 1 << 20

// checkWidth refuses a --width below 1.
func checkWidth(c *cli.Context) error {
	if n := c.Int("width"); c.IsSet("width") && n < 1 {
		return cmdline.Usagef("--width %d: give a number of columns above 0", n)
	}
	return nil
}

// ConsoleWidth returns the number of columns for lines: --width, else the width of
// the terminal that the report goes to, else $COLUMNS; 0 means as many as needed.
func ConsoleWidth(c *cli.Context) int {
	if n := c.Int("width"); n > 0 {
		return n
	}
	if f := outputFile(c); f != nil {
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
func outputFile(c *cli.Context) *os.File {
	if out := c.String("output"); out != "" && out != "-" {
		return nil
	}
	f, _ := c.App.Writer.(*os.File)
	return f
}

// Sparklines reports whether tables may hold sparklines: the report goes to a terminal that
// shows their characters.
func Sparklines(c *cli.Context) bool {
	f := outputFile(c)
	return f != nil && term.IsTerminal(int(f.Fd())) && sparkline.Shown(os.Getenv)
}
