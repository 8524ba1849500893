package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
)

// A goModule is a Go module that a program of the release contains, or the standard library, or a
// library of JavaScript for pages.
type goModule struct {
	path, version, sum string
	url                string // package URL
	licence            string // SPDX expression
	texts              []licenceText
}

// A licenceText is a licence file of a module.
type licenceText struct{ name, text string }

// permissive lists the licences that a dependency may have. HPND, NCSA and OpenSSL stand in
// Arrow's file, which lists the licences of Arrow's code in all languages.
var permissive = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "HPND", "ISC", "MIT", "NCSA", "OpenSSL", "Unlicense", "Zlib"}

// ownModule is the module of the programs.
const ownModule = "github.com/pa-tools/pa"

// modulesOf returns the modules in the programs of all platforms, sorted by path, with their
// licences from the module cache, and what else the programs contain. It refuses a licence that is
// not permissive, or not known.
func modulesOf(ctx context.Context, root string, platforms []platform) ([]goModule, error) {
	found, goRelease := map[string]goModule{}, ""
	for _, p := range platforms {
		for _, program := range programs {
			info, err := buildinfo.Read(bytes.NewReader(p.binaries[program]))
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", program, p.name(), err)
			}
			goRelease = strings.TrimPrefix(info.GoVersion, "go")
			for _, d := range info.Deps {
				if d.Replace != nil {
					d = d.Replace
				}
				found[d.Path] = goModule{path: d.Path, version: d.Version, sum: d.Sum, url: "pkg:golang/" + d.Path + "@" + d.Version}
			}
		}
	}
	dirs, err := moduleFolders(ctx, root)
	if err != nil {
		return nil, err
	}
	std := goModule{path: "std", version: goRelease, url: "pkg:golang/std@" + goRelease}
	found[std.path] = std
	uplot, folder, err := uPlot(root)
	if err != nil {
		return nil, err
	}
	found[uplot.path], dirs[uplot.path+"@"+uplot.version] = uplot, folder
	var all []goModule
	var problems []error
	for _, m := range found {
		dir, ok := dirs[m.path+"@"+m.version]
		if !ok {
			problems = append(problems, fmt.Errorf("%s %s: not in the module graph of %s", m.path, m.version, root))
			continue
		}
		if err := m.readLicences(dir); err != nil {
			problems = append(problems, err)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b goModule) int { return strings.Compare(a.path, b.path) })
	return all, errors.Join(problems...)
}

// uPlot returns the library of plots that the pages of pa-analyze contain, and its folder.
func uPlot(root string) (m goModule, folder string, err error) {
	folder = filepath.Join(root, "pkg/analyze/page/third_party/uplot")
	name := filepath.Join(folder, "uPlot.iife.min.js")
	script, err := os.ReadFile(name)
	if err != nil {
		return goModule{}, "", err
	}
	version := regexp.MustCompile(`uPlot \(v([\d.]+)\)`).FindSubmatch(script)
	if version == nil {
		return goModule{}, "", fmt.Errorf("%s: expected a comment with its version, such as uPlot (v1.6.32)", name)
	}
	v := string(version[1])
	return goModule{path: "uplot", version: v, url: "pkg:npm/uplot@" + v}, folder, nil
}

// moduleFolders returns the folder of each module in the module cache, and of the standard library, by path@version.
func moduleFolders(ctx context.Context, root string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-json", "all")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	cmd = exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	env, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	goroot, goRelease, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	dirs := map[string]string{"std@" + strings.TrimPrefix(goRelease, "go"): goroot}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Version, Dir string }
		if err := d.Decode(&m); err == io.EOF {
			return dirs, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", cmd, err)
		}
		dirs[m.Path+"@"+m.Version] = m.Dir
	}
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)
	readmeFile  = regexp.MustCompile(`(?i)^readme(\..*)?$`)
	patents     = regexp.MustCompile(`(?i)patent`) // grants of patents, which go with a licence
)

// readLicences reads the licence files at the root of the module, or its README if there is
// no such file.
func (m *goModule) readLicences(dir string) error {
	var names, refused []string
	for _, pattern := range []*regexp.Regexp{licenceFile, readmeFile} {
		files, err := matchingFiles(dir, pattern)
		if err != nil {
			return err
		}
		for _, f := range files {
			m.texts = append(m.texts, f)
			for _, match := range licensecheck.Scan([]byte(f.text)).Match {
				switch {
				case match.IsURL, patents.MatchString(match.ID), slices.Contains(names, match.ID):
				case slices.Contains(permissive, match.ID):
					names = append(names, match.ID)
				default:
					refused = append(refused, f.name+" is "+match.ID)
				}
			}
		}
		if len(files) > 0 {
			break
		}
	}
	if refused != nil {
		return fmt.Errorf("%s %s: %s: not among the permissive licences", m.path, m.version, strings.Join(refused, ", "))
	}
	if len(names) == 0 {
		return fmt.Errorf("%s %s: no known licence in %s", m.path, m.version, dir)
	}
	slices.Sort(names)
	m.licence = strings.Join(names, " AND ")
	return nil
}

// matchingFiles returns the regular files of dir whose names match.
func matchingFiles(dir string, pattern *regexp.Regexp) ([]licenceText, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []licenceText
	for _, e := range entries {
		if !pattern.MatchString(e.Name()) || !e.Type().IsRegular() || filepath.Ext(e.Name()) == ".go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, licenceText{e.Name(), string(text)})
	}
	return all, nil
}

// notice returns the licences of all modules as text.
func notice(modules []goModule) []byte {
	var b bytes.Buffer
	b.WriteString("pa-record and pa-analyze contain Go's standard library (std), uPlot, and these modules.\n\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "  %s %s  (%s)\n", m.path, m.version, m.licence)
	}
	for _, m := range modules {
		for _, t := range m.texts {
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("-", 78), m.path, m.version, t.name, strings.TrimSpace(t.text))
		}
	}
	return b.Bytes()
}

// writeSBOM writes the modules as a bill of materials.
func (r *release) writeSBOM() error {
	bom := cdx.NewBOM()
	own := cdx.Component{
		BOMRef: "pkg:golang/" + ownModule + "@" + r.version.tag(), Type: cdx.ComponentTypeApplication,
		Name: ownModule, Version: r.version.text, PackageURL: "pkg:golang/" + ownModule + "@" + r.version.tag(),
	}
	bom.Metadata = &cdx.Metadata{Timestamp: r.at.Format("2006-01-02T15:04:05Z"), Component: &own}
	var parts []cdx.Component
	var refs []string
	for _, m := range r.modules {
		part := cdx.Component{
			BOMRef: m.url, Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: m.url,
			Licenses: &cdx.Licenses{{Expression: m.licence}},
		}
		if m.sum != "" {
			part.Properties = &[]cdx.Property{{Name: "go:sum", Value: m.sum}}
		}
		parts, refs = append(parts, part), append(refs, m.url)
	}
	bom.Components = &parts
	bom.Dependencies = &[]cdx.Dependency{{Ref: own.BOMRef, Dependencies: &refs}}
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return r.write("pa_"+r.version.file()+"_sbom.cdx.json", b.Bytes())
}
