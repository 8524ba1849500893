package main

import (
	"bytes"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// writeImage writes an OCI image of the Linux platforms as an archive of its layout: both
// programs, the certificates of public authorities, a folder for temporary files, and
// /data, in which the programs begin. No base image is below it.
func (r *release) writeImage() (err error) {
	index := v1.ImageIndex(mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	found := false
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		found = true
		image, err := r.image(p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}}})
	}
	if !found {
		return nil
	}
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The outer index of the layout names the image by its version.
	outer, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := outer.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version.file()})); err != nil {
		return err
	}
	var files []file
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, file{filepath.ToSlash(name), 0o644, content})
		return err
	})
	if err != nil {
		return err
	}
	content, err := tarred(files, r.at)
	if err != nil {
		return err
	}
	return r.write("pa_"+r.version.file()+"_image.tar", content)
}

// image returns the image of one platform.
func (r *release) image(p platform) (v1.Image, error) {
	base := []file{
		{"data/", 0o1777, nil},
		{"etc/", 0o755, nil},
		{"etc/ssl/", 0o755, nil},
		{"etc/ssl/certs/", 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, authorities()},
		{"tmp/", 0o1777, nil},
	}
	own := []file{{"usr/", 0o755, nil}, {"usr/bin/", 0o755, nil}}
	for _, program := range programs {
		own = append(own, file{"usr/bin/" + program, 0o755, p.binaries[program]})
	}
	for _, x := range r.extras {
		if x.archived == "LICENSE" || x.archived == "NOTICE" {
			base = append(base, file{x.archived, 0o644, x.content})
		}
	}
	config := &v1.ConfigFile{
		OS: p.os, Architecture: p.arch, Created: v1.Time{Time: r.at}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Env: []string{"PATH=/usr/bin"}, WorkingDir: "/data", User: "65532:65532",
			Cmd: []string{"pa-analyze", "--help"},
			Labels: map[string]string{
				"org.opencontainers.image.title": "pa", "org.opencontainers.image.description": summary,
				"org.opencontainers.image.version": r.version.text, "org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.source": homepage,
			},
		},
	}
	image, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), config)
	if err != nil {
		return nil, err
	}
	for _, files := range [][]file{base, own} {
		slices.SortStableFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
		content, err := tarball(files, r.at)
		if err != nil {
			return nil, err
		}
		plain, err := tarred(files, r.at)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{
			Layer:   layer{static.NewLayer(content, types.OCILayer), static.NewLayer(plain, types.OCIUncompressedLayer)},
			History: v1.History{Created: v1.Time{Time: r.at}, CreatedBy: "pa release"},
		}); err != nil {
			return nil, err
		}
	}
	return image, nil
}

// A layer is a compressed layer that knows its content without compression.
type layer struct {
	v1.Layer
	plain v1.Layer
}

// DiffID implements v1.Layer: the digest of the content without compression.
func (l layer) DiffID() (v1.Hash, error) { return l.plain.DiffID() }

// authorities returns the certificates of the authorities that Mozilla trusts, as PEM. An
// authority that is trusted under conditions only is left out.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	return b.Bytes()
}
