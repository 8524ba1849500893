package settings

import (
	"os"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/pa-tools/pa/internal/cmdline"
)

// WidthFlag is the flag for the width of tables.
func WidthFlag() cli.Flag {
	return &cli.IntFlag{Name: "width", Usage: "print for a console of `N` columns (default: the terminal's width, else $COLUMNS, else as wide as needed)", Category: "Output"}
}

// AsNeeded is a width that no line reaches, for renderers that need a number.
const AsNeeded = 1 << 20

// CheckWidth refuses a --width below 1.
func CheckWidth(c *cli.Context) error {
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
	if out := c.String("output"); out == "" || out == "-" {
		if f, ok := c.App.Writer.(*os.File); ok {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
				return w
			}
		}
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return 0
}
