package layout

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goList runs "go list -deps" for Linux on x86-64 with flags, and returns a line for each package that a program
// consists of.
func goList(t *testing.T, program, flags, format string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, "./cmd/"+program)
	cmd.Dir, cmd.Stderr = "../..", os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS="+flags)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// buildFlags returns the flags that the Makefile gives to every go command.
func buildFlags(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^export GOFLAGS := (.*) \$\(GOFLAGS\)$`).FindSubmatch(text)
	if m == nil {
		t.Fatal("Makefile exports no GOFLAGS")
	}
	return string(m[1])
}

// A first build compiles all packages of both programs, which takes a minute or two of CPU time. The limits are 2 % above
// what the programs have. Raise them for a dependency that is worth its costs, and name these in docs/dependencies.md.
func TestLinkedPackages(t *testing.T) {
	for _, tt := range []struct {
		program   string
		packages  int
		kilobytes int64 // Go code, without tests and without the standard library
	}{
		{"pa-record", 530, 20300},
		{"pa-analyze", 370, 14600},
	} {
		lines := goList(t, tt.program, buildFlags(t), `{{.Dir}}{{if not .Standard}}{{range .GoFiles}}|{{.}}{{end}}{{end}}`)
		var bytes int64
		for _, line := range lines {
			parts := strings.Split(line, "|")
			for _, file := range parts[1:] {
				info, err := os.Stat(filepath.Join(parts[0], file))
				if err != nil {
					t.Fatal(err)
				}
				bytes += info.Size()
			}
		}
		if len(lines) > tt.packages || bytes > tt.kilobytes<<10 {
			t.Errorf("%s consists of %d packages with %d kB of Go code beside the standard library, want at most %d and %d",
				tt.program, len(lines), bytes>>10, tt.packages, tt.kilobytes)
		}
	}
}

// The tag tinygo is for Arrow's JSON library alone. If another module, or the standard library, begins to take
// it for the compiler TinyGo, the tag must go.
func TestTinyGoTag(t *testing.T) {
	flags := buildFlags(t)
	with, without := "-tags=tinygo,grpcnotrace", "-tags=grpcnotrace"
	if !slices.Contains(strings.Fields(flags), with) {
		t.Fatalf("GOFLAGS of the Makefile are %s, want %s in them", flags, with)
	}
	const format = `{{.ImportPath}} {{.GoFiles}} {{.SFiles}}`
	for _, program := range []string{"pa-record", "pa-analyze"} {
		before := goList(t, program, without, format)
		for _, line := range goList(t, program, with, format) {
			if !slices.Contains(before, line) && !strings.HasPrefix(line, "github.com/apache/arrow/") {
				t.Errorf("the tag tinygo changes a package of %s: %s", program, line)
			}
		}
	}
}
