package settings

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze/diff"
)

// IgnoreFlag returns --ignore of commands that take several runs as one setting.
func IgnoreFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "ignore", Usage: "analyze runs together although `NAME` differs: " + strings.Join(diff.Refusals(), ", ") + " or all (repeatable)", Category: "Comparison"}
}

// CheckIgnore refuses names that --ignore does not know.
func CheckIgnore(c *cli.Context) error {
	known := append(diff.Refusals(), diff.All)
	for _, name := range c.StringSlice("ignore") {
		if !slices.Contains(known, name) {
			return cmdline.Usagef("--ignore %q: give one of %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}
