package cmdline

import (
	"slices"
	"testing"

	"github.com/urfave/cli/v2"
)

// namesOf returns the same names as the cli library, for every type of flag.
func TestNamesOf(t *testing.T) {
	aliases := []string{"n", "other-name"}
	for _, f := range []cli.Flag{
		&cli.StringFlag{Name: "text", Aliases: aliases},
		&cli.StringSliceFlag{Name: "list", Aliases: aliases},
		&cli.BoolFlag{Name: "yes", Aliases: aliases},
		&cli.IntFlag{Name: "int", Aliases: aliases},
		&cli.Int64Flag{Name: "int64", Aliases: aliases},
		&cli.Uint64Flag{Name: "uint64", Aliases: aliases},
		&cli.Float64Flag{Name: "float64", Aliases: aliases},
		&cli.DurationFlag{Name: "duration", Aliases: aliases},
		&cli.PathFlag{Name: "a-type-that-namesOf-does-not-know", Aliases: aliases},
		&cli.StringFlag{Name: "alone"},
	} {
		if got, want := namesOf(f), f.Names(); !slices.Equal(got, want) {
			t.Errorf("%T: names %q, want %q", f, got, want)
		}
	}
}
