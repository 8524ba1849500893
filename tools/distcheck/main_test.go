package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// build compiles a one-line program for linux/amd64 with the given
// environment and returns the folder that holds it.
func build(t *testing.T, env ...string) (dir string) {
	t.Helper()
	src, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module tiny\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "linux_amd64", "tiny"), ".")
	cmd.Dir = src
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

func TestCheckStatic(t *testing.T) {
	dir := build(t, "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var out bytes.Buffer
	if err := check(dir, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "static ELF") {
		t.Errorf("check printed %q, want the words static ELF", out.String())
	}
	sums, err := os.ReadFile(filepath.Join(dir, sumsName))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(sums), "  linux_amd64/tiny\n") {
		t.Errorf("%s = %q, want one line for linux_amd64/tiny", sumsName, sums)
	}
}

func TestCheckEmpty(t *testing.T) {
	if err := check(t.TempDir(), &bytes.Buffer{}); err == nil {
		t.Error("check of an empty folder succeeded, want an error")
	}
}
