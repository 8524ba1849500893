package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the formats
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packageName is the name of the Debian and RPM packages.
const packageName = "pa-tools"

const homepage = "https://github.com/pa-tools/pa"

const summary = "Record load on LLM inference servers, and analyze the recordings"

// writePackages writes a .deb and a .rpm for each Linux platform.
func (r *release) writePackages() (err error) {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		contents, err := r.packageContents(p, filepath.Join(dir, p.name()))
		if err != nil {
			return err
		}
		for _, format := range []string{"deb", "rpm"} {
			info := nfpm.WithDefaults(&nfpm.Info{
				Name: packageName, Arch: p.arch, Platform: "linux",
				Version: r.version.packaged(), VersionSchema: "none", Release: "1",
				Section: "utils", Priority: "optional",
				Maintainer:  "pa-tools",
				Description: summary, Homepage: homepage, License: "Apache-2.0", MTime: r.at,
				Overridables: nfpm.Overridables{Contents: contents},
			})
			info.RPM.BuildHost = "localhost"
			packager, err := nfpm.Get(format)
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := packager.Package(info, &b); err != nil {
				return fmt.Errorf("%s of %s: %w", format, p.name(), err)
			}
			if err := r.write(packager.ConventionalFileName(info), b.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// packageContents writes the files of a package to dir, and returns where they belong.
func (r *release) packageContents(p platform, dir string) (files.Contents, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var contents files.Contents
	add := func(destination string, mode os.FileMode, content []byte) error {
		source := filepath.Join(dir, fmt.Sprint(len(contents)))
		contents = append(contents, &files.Content{
			Source: source, Destination: "/" + destination,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.at},
		})
		return os.WriteFile(source, content, 0o644)
	}
	for _, program := range programs {
		if err := add("usr/bin/"+program, 0o755, p.binaries[program]); err != nil {
			return nil, err
		}
	}
	for _, x := range r.extras {
		if x.packaged == "" {
			continue
		}
		if err := add(x.packaged, 0o644, x.content); err != nil {
			return nil, err
		}
	}
	return contents, nil
}
