//go:build dist

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// These tests install what make dist made and run it, as a user would. make test-dist runs
// them. They need dpkg-deb, rpm2cpio, cpio, Python and skopeo.

// dist is the folder of the release.
func dist(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../dist")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// one returns the one file of the release that the pattern matches.
func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v; make dist first", pattern, found, err)
	}
	return found[0]
}

// sh runs a line of shell in dir and returns what it prints.
func sh(t *testing.T, dir, line string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-ec", line, "sh"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", line, args, err, out)
	}
	return string(out)
}

// works records a run with the programs in bin and reports it.
func works(t *testing.T, bin string) {
	t.Helper()
	out := sh(t, t.TempDir(), `"$1/pa-record" --version --json
"$1/pa-record" -u 'sim://?ttft=1ms&itl=1ms&output_tokens=4' --request-count 8 --quiet
"$1/pa-analyze" profile_export.json`, bin)
	if !strings.Contains(out, `"version": "`) || !strings.Contains(out, "TTFT") {
		t.Errorf("%s: %s", bin, out)
	}
}

func TestArchive(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, `tar xzf "$1"`, one(t, "pa_*_linux_"+runtime.GOARCH+".tar.gz"))
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	works(t, found[0])
	sh(t, found[0], `for f in LICENSE NOTICE README.md CHANGELOG.md man/pa-record.1 completions/_pa-analyze; do test -s $f; done`)
}

func TestDebianPackage(t *testing.T) {
	dir := t.TempDir()
	deb := one(t, "pa-tools_*_"+runtime.GOARCH+".deb")
	sh(t, dir, `dpkg-deb -x "$1" .; dpkg-deb -I "$1" >/dev/null`, deb)
	works(t, filepath.Join(dir, "usr/bin"))
	if os.Getuid() == 0 && os.Getenv("CI") != "" { // a machine that is thrown away
		sh(t, dir, `dpkg -i "$1"; command -v pa-record; man -w pa-record 2>/dev/null || true; dpkg -r pa-tools`, deb)
	}
}

func TestRPMPackage(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, `rpm -qp --info "$1" >/dev/null 2>&1; rpm2cpio "$1" | cpio -id --quiet --no-absolute-filenames`, one(t, "pa-tools-*.x86_64.rpm"))
	works(t, filepath.Join(dir, "usr/bin"))
}

// The wheel installs in a fresh virtual environment, by pip and by uvx.
func TestPythonWheel(t *testing.T) {
	dir := t.TempDir()
	sh(t, dir, `python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check --no-index --find-links "$1" pa-analyze
venv/bin/pip install -q --disable-pip-version-check uv
venv/bin/pip check`, dist(t))
	works(t, filepath.Join(dir, "venv/bin"))
	sh(t, dir, `venv/bin/pa-record -u 'sim://?ttft=1ms&itl=1ms&output_tokens=4' --request-count 8 --quiet
PATH=/usr/bin:/bin venv/bin/python -c 'import pa; run = pa.read("profile_export.json"); assert run.report.experiments[0].requests.ok == len(run.requests) == 8'`)
	out := sh(t, dir, `UV_CACHE_DIR=$PWD/cache UV_PYTHON_DOWNLOADS=never venv/bin/uvx --no-index --find-links "$1" pa-analyze --version`, dist(t))
	if !strings.Contains(out, "pa-analyze ") {
		t.Errorf("uvx: %s", out)
	}
	sh(t, dir, `venv/bin/pip uninstall -q -y pa-analyze; test ! -e venv/bin/pa-record`)
}

// A second tool reads the image, and its programs run with nothing around them.
func TestImage(t *testing.T) {
	image := one(t, "pa_*_image.tar")
	dir := t.TempDir()
	out := sh(t, dir, `skopeo inspect --override-os linux --override-arch "$2" "oci-archive:$1"
skopeo --insecure-policy copy -q --override-os linux --override-arch "$2" "oci-archive:$1" dir:image
mkdir root; for layer in $(python3 -c 'import json; print(*[l["digest"].split(":")[1] for l in json.load(open("image/manifest.json"))["layers"]])'); do tar xzf image/$layer -C root; done`, image, runtime.GOARCH)
	if !strings.Contains(out, `"org.opencontainers.image.licenses": "Apache-2.0"`) {
		t.Errorf("skopeo: %s", out)
	}
	sh(t, dir, `test -s root/etc/ssl/certs/ca-certificates.crt; test -s root/LICENSE; test -d root/tmp`)
	works(t, filepath.Join(dir, "root/usr/bin"))
	// Only root may change the root folder: another user becomes root in a namespace.
	inImage := []string{"chroot", filepath.Join(dir, "root"), "/usr/bin/pa-analyze", "--version"}
	if os.Getuid() != 0 {
		inImage = append([]string{"unshare", "--map-root-user"}, inImage...)
	}
	cmd := exec.CommandContext(t.Context(), inImage[0], inImage[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "pa-analyze ") {
		t.Errorf("in the image alone: %v: %s", err, out)
	}
}

// The checksums are right by another tool, and the bill of materials names what the
// programs contain.
func TestSumsAndParts(t *testing.T) {
	sh(t, dist(t), `sha256sum -c --quiet SHA256SUMS`)
	bom, err := os.ReadFile(one(t, "pa_*_sbom.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"bomFormat": "CycloneDX"`, `"purl": "pkg:golang/google.golang.org/grpc@`, `"purl": "pkg:golang/std@`, `"purl": "pkg:npm/uplot@`, `"expression": "Apache-2.0"`} {
		if !strings.Contains(string(bom), want) {
			t.Errorf("the bill of materials lacks %s", want)
		}
	}
}

// "go install …@latest" works through a module proxy, which here is a folder with the
// commit at hand as version v0.1.0. The other modules come from the module cache. Without the debugging
// information, which -s drops anyway, the standard library is the one that make has compiled.
func TestGoInstall(t *testing.T) {
	const version = "v0.1.0"
	dir := t.TempDir()
	proxy := filepath.Join(dir, "proxy", ownModule, "@v")
	if err := os.MkdirAll(proxy, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	sh(t, dir, `mkdir tree; git -C "$1" archive HEAD | tar x -C tree`, root)
	if err := zip.CreateFromDir(&archive, module.Version{Path: ownModule, Version: version}, filepath.Join(dir, "tree")); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".mod": mod, version + ".zip": archive.Bytes(),
		version + ".info": []byte(`{"Version":"` + version + `"}`),
	} {
		if err := os.WriteFile(filepath.Join(proxy, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, dir, `downloads=$(go env GOMODCACHE)/cache/download
export GOPROXY="file://$PWD/proxy,file://$downloads" GOMODCACHE="$PWD/mod" GOBIN="$PWD/bin" GOSUMDB=off GOFLAGS='-trimpath -modcacherw -buildvcs=false -gcflags=all=-dwarf=false' CGO_ENABLED=0
go install -ldflags '-s -w' `+ownModule+`/cmd/pa-record@latest `+ownModule+`/cmd/pa-analyze@latest`)
	works(t, filepath.Join(dir, "bin"))
	if out := sh(t, dir, `bin/pa-analyze --version`); out != "pa-analyze "+version[1:]+"\n" {
		t.Errorf("version: %s", out)
	}
}
