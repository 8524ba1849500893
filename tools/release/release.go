package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// programs are the names of the programs of a release.
var programs = []string{"pa-record", "pa-analyze"}

// A release holds the parts of a release, and the files that have been written.
type release struct {
	version   version
	at        time.Time
	out       string
	platforms []platform
	modules   []goModule
	extras    []extra
	python    []file // package of the wheels
	written   []writtenFile
}

// A writtenFile is a file of the release.
type writtenFile struct {
	name  string
	bytes int
	sum   string // SHA-256, hexadecimal
}

// write writes a file of the release.
func (r *release) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(r.out, name), content, 0o644); err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	r.written = append(r.written, writtenFile{name: name, bytes: len(content), sum: hex.EncodeToString(sum[:])})
	return nil
}

// sum returns the SHA-256 of a file that was written.
func (r *release) sum(name string) string {
	i := slices.IndexFunc(r.written, func(f writtenFile) bool { return f.name == name })
	return r.written[i].sum
}

// writeSums writes SHA256SUMS, sorted by name.
func (r *release) writeSums() error {
	var b bytes.Buffer
	files := slices.SortedFunc(slices.Values(r.written), func(a, b writtenFile) int { return strings.Compare(a.name, b.name) })
	for _, f := range files {
		fmt.Fprintf(&b, "%s  %s\n", f.sum, f.name)
	}
	return r.write("SHA256SUMS", b.Bytes())
}

// A version is the version of a release.
type version struct {
	text     string // as the programs print it
	number   string // 1.2.3
	snapshot string // of a commit without a tag: dev.COMMIT, which precedes the release; else ""
}

var versionPattern = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(dev(?:\+[0-9a-f]+(?:\.dirty)?)?))?$`)

// parseVersion reads what tools/version.sh prints.
func parseVersion(text string) (version, error) {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return version{}, fmt.Errorf("version %q: expected 1.2.3 or 1.2.3-dev+COMMIT; a tag is v1.2.3", text)
	}
	return version{text: text, number: m[1], snapshot: strings.ReplaceAll(m[2], "+", ".")}, nil
}

// tag returns the tag of the release.
func (v version) tag() string { return "v" + v.text }

// checkChanges returns an error if the first heading of CHANGELOG.md is not the version that is made.
func (v version) checkChanges(root string) error {
	name := filepath.Join(root, "CHANGELOG.md")
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(content), "\n## ")
	heading, _, _ := strings.Cut(rest, "\n")
	if first, _, _ := strings.Cut(heading, " "); first != v.number {
		return fmt.Errorf("%s: the first heading is %q, the release is %s; say there what is new, and tag that commit", name, heading, v.number)
	}
	return nil
}

// pep440 returns the version as Python writes versions.
func (v version) pep440() string {
	if v.snapshot == "" {
		return v.number
	}
	return v.number + ".dev0" + strings.Replace(strings.TrimPrefix(v.snapshot, "dev"), ".", "+", 1)
}

// packaged returns the version as Debian and RPM order it: with ~, a snapshot precedes the release.
func (v version) packaged() string {
	if v.snapshot == "" {
		return v.number
	}
	return v.number + "~" + v.snapshot
}

// file returns the version as it stands in file names.
func (v version) file() string {
	if v.snapshot == "" {
		return v.number
	}
	return v.number + "-" + v.snapshot
}

// A platform is a pair of operating system and architecture, with its programs.
type platform struct {
	os, arch string
	binaries map[string][]byte // by the name of the program, without .exe
}

func (p platform) name() string { return p.os + "_" + p.arch }

// suffix is what the names of programs end with.
func (p platform) suffix() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

// findPlatforms reads the programs of each platform, sorted by name.
func findPlatforms(dir string) ([]platform, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []platform
	for _, e := range entries {
		system, arch, ok := strings.Cut(e.Name(), "_")
		if !ok || !e.IsDir() {
			return nil, fmt.Errorf("%s: expected a folder named OS_ARCH", filepath.Join(dir, e.Name()))
		}
		p := platform{os: system, arch: arch, binaries: map[string][]byte{}}
		for _, program := range programs {
			path := filepath.Join(dir, e.Name(), program+p.suffix())
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			if err := checkLinkage(content); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			p.binaries[program] = content
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no folder of a platform; make dist builds them", dir)
	}
	return all, nil
}

// checkLinkage returns an error for an ELF file that needs a dynamic loader or a library.
func checkLinkage(content []byte) error {
	if !bytes.HasPrefix(content, []byte(elf.ELFMAG)) {
		return nil
	}
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return err
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("dynamically linked: it names a dynamic loader; build with CGO_ENABLED=0")
		}
	}
	libs, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	if len(libs) > 0 {
		return fmt.Errorf("dynamically linked with %q; build with CGO_ENABLED=0", libs)
	}
	return nil
}

// An extra is a file beside the programs.
type extra struct {
	archived string // path within an archive
	packaged string // path in a Linux system; "" if it is not installed
	content  []byte
}

// extras returns the files beside the programs, which the programs of the machine at hand
// and the repository give.
func extras(ctx context.Context, host, root string, modules []goModule) ([]extra, error) {
	var all []extra
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		all = append(all, extra{name, "usr/share/doc/pa-tools/" + name, content})
	}
	all = append(all, extra{"NOTICE", "usr/share/doc/pa-tools/NOTICE", notice(modules)})
	for _, program := range programs {
		for _, f := range []struct {
			args               []string
			archived, packaged string
		}{
			{[]string{"man"}, "man/" + program + ".1", "usr/share/man/man1/" + program + ".1"},
			{[]string{"completion", "bash"}, "completions/" + program + ".bash", "usr/share/bash-completion/completions/" + program},
			{[]string{"completion", "zsh"}, "completions/_" + program, "usr/share/zsh/vendor-completions/_" + program},
			{[]string{"completion", "fish"}, "completions/" + program + ".fish", "usr/share/fish/vendor_completions.d/" + program + ".fish"},
			{[]string{"completion", "powershell"}, "completions/" + program + ".ps1", ""},
		} {
			cmd := exec.CommandContext(ctx, filepath.Join(host, program), f.args...)
			cmd.Stderr = os.Stderr
			content, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", cmd, err)
			}
			all = append(all, extra{f.archived, f.packaged, content})
		}
	}
	return all, nil
}
