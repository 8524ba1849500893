package cmdline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// FuzzConfig checks that no file of --config makes the command line panic or use much memory,
// and that each error is one line that names the flag and the file.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"name: x\ncount: 3\nlist: [a, b]\nquiet: true\n", "name: {a: b}\n", "unknown: 1\n", "- a\n", "a: &a [x, x]\nlist: [*a, *a]\n",
		"name: x\n---\nname: y\n", "name: 2026-11-27\ncount: 0x10\n", "\xff", "name: !!binary aGk=\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := func() []cli.Flag {
			return []cli.Flag{&cli.StringFlag{Name: "name"}, &cli.IntFlag{Name: "count"}, &cli.StringSliceFlag{Name: "list"}, &cli.BoolFlag{Name: "quiet"}, ConfigFlag("")}
		}
		testenv.BoundMemory(t, len(text), 4<<20, 2000, func() {
			all := flags()
			app := &cli.App{Flags: all, Writer: &strings.Builder{}, ErrWriter: &strings.Builder{}, ExitErrHandler: func(*cli.Context, error) {}, Action: func(c *cli.Context) error { return setFromConfig(c, all) }}
			if err := app.Run([]string{"x", "--config", path}); err != nil && (strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "--config: ")) {
				t.Errorf("%q: error %q, want a line that names the flag", text, err)
			}
		})
	})
}
