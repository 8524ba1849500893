package layout

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands' main packages hold flags, wiring and printing, a file for each command. Code with a
// subject of its own gets a package of its own.
func TestMainPackages(t *testing.T) {
	for dir, most := range map[string]int{"cmd/pa-record": 3000, "cmd/pa-analyze": 5100} {
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
			t.Errorf("package main of %s has %d lines, want 1 to %d; move code other than flags, wiring and printing into a package", dir, lines, most)
		}
	}
}
