//go:build realservers

package realservers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
)

// installed remembers, per command line, what an install script printed.
var installed sync.Map // string → func() ([]byte, error)

// install runs realservers/<script> once per process and returns its standard
// output. The scripts do nothing where the same version is installed already.
func install(tb testing.TB, script string, args ...string) string {
	tb.Helper()
	path := filepath.Join(golden.Root(tb), "realservers", script)
	key := strings.Join(append([]string{path}, args...), " ")
	once, _ := installed.LoadOrStore(key, sync.OnceValues(func() ([]byte, error) {
		cmd := exec.Command(path, args...)
		cmd.Stderr = os.Stderr // progress and errors of a step that can take minutes
		return cmd.Output()
	}))
	out, err := once.(func() ([]byte, error))()
	if err != nil {
		tb.Fatalf("%s: %v\n%s", key, err, out)
	}
	return strings.TrimSpace(string(out))
}

// home returns the folder that the install scripts fill.
func home(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv("REALSERVERS_HOME"); dir != "" {
		return dir
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, ".cache", "pa-realservers")
}
