package layout

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands' main packages hold flags, wiring and printing, in one file for each command or
// idea. Protocols, formats and statistics belong to packages of pkg: main packages do not grow.
func TestMainPackages(t *testing.T) {
	for dir, most := range map[string]int{"cmd/pa-record": 10400, "cmd/pa-analyze": 5600} {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(text, []byte("\n"))
		}
		if lines == 0 || lines > most {
			t.Errorf("package main of %s has %d lines, want 1 to %d; move code other than flags, wiring and printing to a package of pkg", dir, lines, most)
		}
	}
}
