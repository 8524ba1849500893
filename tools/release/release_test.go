package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestVersion(t *testing.T) {
	for _, tt := range []struct{ text, file, python, packaged string }{
		{"1.2.3", "1.2.3", "1.2.3", "1.2.3"},
		{"1.2.3-dev+abc1234", "1.2.3-dev.abc1234", "1.2.3.dev0+abc1234", "1.2.3~dev.abc1234"},
		{"1.2.3-dev+abc1234.dirty", "1.2.3-dev.abc1234.dirty", "1.2.3.dev0+abc1234.dirty", "1.2.3~dev.abc1234.dirty"},
		{"1.2.3-dev", "1.2.3-dev", "1.2.3.dev0", "1.2.3~dev"},
	} {
		v, err := parseVersion(tt.text)
		if got := [3]string{v.file(), v.pep440(), v.packaged()}; err != nil || got != [3]string{tt.file, tt.python, tt.packaged} {
			t.Errorf("%s: %q, %v, want %q, %q, %q", tt.text, got, err, tt.file, tt.python, tt.packaged)
		}
	}
	for _, text := range []string{"", "v1.2.3", "1.2", "-dev+abc1234", "1.2.3-rc1", "abc1234"} {
		if v, err := parseVersion(text); err == nil {
			t.Errorf("%q is version %+v", text, v)
		}
	}
}

// A release is the one that CHANGELOG.md begins with.
func TestCheckChanges(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte("# Changes\n\n## 1.2.3 (2026-01-01)\n\n## 1.2.2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for number, ok := range map[string]bool{"1.2.3": true, "1.2.2": false, "1.2": false} {
		if err := (version{number: number}).checkChanges(dir); (err == nil) != ok {
			t.Errorf("%s: %v", number, err)
		}
	}
}

// The shell of every distribution that CI uses is dynamically linked; a program without cgo
// is not.
func TestLinkage(t *testing.T) {
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkLinkage(shell); err == nil {
		t.Error("/bin/sh passes as static")
	}
	if err := checkLinkage(ownProgram(t)); err != nil {
		t.Error(err)
	}
	if err := checkLinkage([]byte("MZ not ELF")); err != nil {
		t.Error(err)
	}
}

// ownProgram returns a static program of this module.
func ownProgram(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// A wheel lists each of its files with its digest, marks its programs as executable, and has
// the tags of its name.
func TestWheel(t *testing.T) {
	r := testRelease(t)
	if err := r.writeWheels(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(r.out, "pa_analyze-1.2.3-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range z.File {
		entry, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(entry)
		if err != nil {
			t.Fatal(err)
		}
		texts[f.Name] = string(text)
		if script := strings.Contains(f.Name, "/scripts/"); script != (f.Mode()&0o111 != 0) {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
	}
	for _, name := range []string{"pa/__init__.py", "pa/py.typed", "pa/report.py"} {
		if _, ok := texts[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	const record = "pa_analyze-1.2.3.dist-info/RECORD"
	for line := range strings.Lines(texts[record]) {
		parts := strings.Split(strings.TrimSpace(line), ",")
		sum := sha256.Sum256([]byte(texts[parts[0]]))
		want := fmt.Sprintf("%s,sha256=%s,%d", parts[0], base64.RawURLEncoding.EncodeToString(sum[:]), len(texts[parts[0]]))
		if parts[0] == record {
			want = record + ",,"
		}
		if strings.TrimSpace(line) != want {
			t.Errorf("RECORD has %q, want %q", line, want)
		}
		delete(texts, parts[0])
	}
	if len(texts) > 0 {
		t.Errorf("RECORD lacks %q", slices.Sorted(maps.Keys(texts)))
	}
	if _, err := os.Stat(filepath.Join(r.out, "pa_analyze-1.2.3-py3-none-win_arm64.whl")); err != nil {
		t.Error(err)
	}
}

// testRelease returns a release of short texts in place of programs.
func testRelease(t *testing.T) *release {
	t.Helper()
	r := &release{version: version{text: "1.2.3", number: "1.2.3"}, at: time.Unix(1800000000, 0).UTC(), out: t.TempDir()}
	for _, name := range []string{"darwin_arm64", "linux_amd64", "windows_arm64"} {
		system, arch, _ := strings.Cut(name, "_")
		r.platforms = append(r.platforms, platform{os: system, arch: arch, binaries: map[string][]byte{"pa-record": []byte("record"), "pa-analyze": []byte("analyze")}})
	}
	r.modules = []goModule{{path: "example.org/m", version: "v1.0.0", sum: "h1:x", licence: "MIT", texts: []licenceText{{"LICENSE", "the text"}}}}
	r.extras = []extra{
		{"LICENSE", "usr/share/doc/pa-tools/LICENSE", []byte("Apache")},
		{"NOTICE", "", notice(r.modules)},
		{"README.md", "", []byte("# pa")},
		{"man/pa-record.1", "usr/share/man/man1/pa-record.1", []byte(".TH")},
	}
	var err error
	if r.python, err = pythonPackage("../.."); err != nil {
		t.Fatal(err)
	}
	return r
}

// The same source gives the same bytes, and SHA256SUMS holds the sum of each file.
func TestReproducible(t *testing.T) {
	var sums []string
	for range 2 {
		r := testRelease(t)
		for _, write := range []func() error{r.writeArchives, r.writePackages, r.writeWheels, r.writeImage, r.writeSBOM, r.writeFormula, r.writeSums} {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(text))
		for line := range strings.Lines(string(text)) {
			sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
			content, err := os.ReadFile(filepath.Join(r.out, name))
			if got := fmt.Sprintf("%x", sha256.Sum256(content)); err != nil || got != sum {
				t.Errorf("%s: %v, %s, want %s", name, err, got, sum)
			}
		}
		if n := strings.Count(string(text), "\n"); n != 3+2+3+1+1+1 {
			t.Errorf("%d files:\n%s", n, text)
		}
	}
	if sums[0] != sums[1] {
		t.Errorf("the second release differs:\n%s\n%s", sums[0], sums[1])
	}
}

func TestNoPlatforms(t *testing.T) {
	if _, err := findPlatforms(t.TempDir()); err == nil || !strings.Contains(err.Error(), "make dist") {
		t.Errorf("an empty folder: %v", err)
	}
}

// A module with a licence that is not permissive, or with none, is refused.
func TestLicences(t *testing.T) {
	license, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, file, text, want string }{
		{"apache", "LICENSE", string(license), ""},
		{"none", "main.go", "package main", "no known licence"},
		{"gpl", "COPYING", "This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.", "not among the permissive licences"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tt.file), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := goModule{path: "example.org/m", version: "v1.0.0"}
		err := m.readLicences(dir)
		if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && (tt.want == "" || !strings.Contains(got, tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if tt.name == "apache" && m.licence != "Apache-2.0" {
			t.Errorf("licence %q", m.licence)
		}
	}
}
