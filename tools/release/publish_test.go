//go:build dist

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The formula names archives of the release with their sums, and installs files that they have.
// No Homebrew is needed.
func TestFormula(t *testing.T) {
	text, err := os.ReadFile(one(t, "pa.rb"))
	if err != nil {
		t.Fatal(err)
	}
	archives := regexp.MustCompile(`url "https://\S+/([^/"]+)"\s+sha256 "([0-9a-f]{64})"`).FindAllStringSubmatch(string(text), -1)
	unix, err := filepath.Glob(filepath.Join(dist(t), "pa_*.tar.gz"))
	if err != nil || len(archives) == 0 || len(archives) != len(unix) {
		t.Fatalf("%d archives in the formula, want the %d that are not for Windows; %v", len(archives), len(unix), err)
	}
	for _, a := range archives {
		file := filepath.Join(dist(t), a[1])
		content, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(content)); sum != a[2] {
			t.Errorf("%s: the formula says %s, it has %s", a[1], a[2], sum)
		}
		dir := t.TempDir()
		sh(t, dir, `tar xzf "$1" --strip-components 1
for f in pa-record pa-analyze man/pa-record.1 man/pa-analyze.1; do test -s $f; done
for p in pa-record pa-analyze; do test -s completions/$p.bash; test -s completions/_$p; test -s completions/$p.fish; done`, file)
	}
}

// A workflow is the part of a workflow of GitHub that the test runs.
type workflow struct {
	Jobs map[string]struct {
		Steps []struct {
			Name string
			Run  string
			With map[string]string
		}
	}
}

// stubs record how the steps that publish call other programs. They fail for files that do
// not exist.
const stubs = `mkdir bin
cat >bin/gh <<'END'
#!/bin/sh
echo "gh $*" >>calls
while [ $# -gt 0 ]; do case $1 in
	--notes-file) test -s "$2" || exit 1; shift ;;
	dist/*) test -s "$1" || exit 1 ;;
esac; shift; done
END
cat >bin/skopeo <<'END'
#!/bin/sh
echo "skopeo $*" >>calls
for a; do case $a in oci-archive:*) test -s "${a#oci-archive:}" || exit 1 ;; esac; done
END
chmod +x bin/*`

// The steps of the release workflow that publish run on what make dist made, with programs in
// place of gh and skopeo that publish nothing.
func TestReleaseWorkflow(t *testing.T) {
	text, err := os.ReadFile("../../.github/workflows/release.yml")
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir, `cp -al "$1/dist" . 2>/dev/null || cp -a "$1/dist" .; cp "$1/CHANGELOG.md" .
`+stubs, root)
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	published, wheels := 0, ""
	for _, s := range w.Jobs["release"].Steps {
		if dir := s.With["packages-dir"]; dir != "" {
			wheels = dir
		}
		if targets, ok := strings.CutPrefix(s.Run, "make "); ok {
			for _, target := range strings.Fields(targets) {
				if !strings.Contains(string(makefile), "\n"+target+":") {
					t.Errorf("the Makefile has no target %s", target)
				}
			}
			continue
		}
		if !strings.Contains(s.Run, "dist") {
			continue
		}
		published++
		sh(t, dir, `export PATH="$PWD/bin:$PATH" GITHUB_REF_NAME=v1.2.3 GITHUB_ACTOR=somebody GITHUB_REPOSITORY=pa-tools/pa TOKEN=token
bash -eo pipefail -c "$1"`, s.Run)
	}
	if published != 3 || wheels == "" {
		t.Errorf("%d steps publish, wheels from %q; want the files, the image and the wheels", published, wheels)
	}
	calls := sh(t, dir, `cat calls; ls "$1"`, wheels)
	for _, want := range []string{
		"gh release create v1.2.3 --verify-tag", "SHA256SUMS", "pa.rb", "_sbom.cdx.json", ".deb", ".rpm", ".whl", "windows_amd64.zip",
		"skopeo copy --all oci-archive:dist/pa_", "docker://ghcr.io/pa-tools/pa:1.2.3", "docker://ghcr.io/pa-tools/pa:latest",
	} {
		if !strings.Contains(calls, want) {
			t.Errorf("the steps do not publish %s:\n%s", want, calls)
		}
	}
	if made := sh(t, dist(t), "ls *.whl"); !strings.HasSuffix(calls, made) {
		t.Errorf("%s has not the wheels\n%s", wheels, made)
	}
}
