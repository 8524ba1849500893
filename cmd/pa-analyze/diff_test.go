package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestDiffScripts(t *testing.T) {
	program.Scripts(t, testscript.Params{Dir: "testdata/diff", UpdateScripts: *update})
}
