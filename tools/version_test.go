package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The version is the tag of the commit, or else the next release in CHANGELOG.md with the commit.
func TestVersion(t *testing.T) {
	dir := t.TempDir()
	script, err := os.ReadFile("version.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"tools/version.sh": string(script), "CHANGELOG.md": "# Changes\n\n## 1.3.0\n\n## 1.2.3 (2026-01-01)\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, do, want string }{
		{"outside git", `:`, `1\.3\.0-dev`},
		{"no tag", `git init -q; git add .; git -c user.name=a -c user.email=a@example.test commit -qm a`, `1\.3\.0-dev\+[0-9a-f]{10}`},
		{"a tag of something else", `git tag other`, `1\.3\.0-dev\+[0-9a-f]{10}`},
		{"a tag", `git tag v1.3.0`, `1\.3\.0`},
		{"a changed tree", `echo >>CHANGELOG.md`, `1\.3\.0-dev\+[0-9a-f]{10}\.dirty`},
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", tt.do+"\nsh tools/version.sh")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || !regexp.MustCompile(`^`+tt.want+`$`).MatchString(got) {
			t.Errorf("%s: %q, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}
