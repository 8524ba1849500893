package cmdline

import (
	"slices"
	"testing"

	"github.com/urfave/cli/v2"
)

// withNames keeps the names of every type of flag, marked ones too, and unwrapped finds the flag.
func TestWithNames(t *testing.T) {
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
		&cli.PathFlag{Name: "path", Aliases: aliases},
		&cli.StringFlag{Name: "alone"},
	} {
		marked := f
		switch f.(type) {
		case *cli.StringFlag, *cli.StringSliceFlag:
			marked = Writes(f)
		}
		for _, given := range []cli.Flag{f, marked} {
			named := withNames([]cli.Flag{given})[0]
			if got, want := named.Names(), f.Names(); !slices.Equal(got, want) {
				t.Errorf("%T: names %q, want %q", given, got, want)
			}
			if got := unwrapped(named); got != f {
				t.Errorf("%T: unwrapped %T", given, got)
			}
		}
	}
}
