package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"path"
	"time"
)

// A file is an entry of an archive.
type file struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// writeArchives writes an archive for each platform: .zip for Windows, .tar.gz for others.
func (r *release) writeArchives() error {
	for _, p := range r.platforms {
		name := r.archiveName(p)
		root := "pa_" + r.version.file() + "_" + p.name()
		var files []file
		for _, program := range programs {
			files = append(files, file{path.Join(root, program+p.suffix()), 0o755, p.binaries[program]})
		}
		for _, x := range r.extras {
			files = append(files, file{path.Join(root, x.archived), 0o644, x.content})
		}
		pack := tarball
		if p.os == "windows" {
			pack = zipped
		}
		content, err := pack(files, r.at)
		if err != nil {
			return err
		}
		if err := r.write(name, content); err != nil {
			return err
		}
	}
	return nil
}

// archiveName returns the name of the archive of a platform.
func (r *release) archiveName(p platform) string {
	name := "pa_" + r.version.file() + "_" + p.name()
	if p.os == "windows" {
		return name + ".zip"
	}
	return name + ".tar.gz"
}

// tarball returns the files as .tar.gz.
func tarball(files []file, at time.Time) ([]byte, error) {
	plain, err := tarred(files, at)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(plain); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// tarred returns the files as .tar. A name that ends with a slash is a folder.
func tarred(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipped returns the files as .zip, whose times begin in 1980.
func zipped(files []file, at time.Time) ([]byte, error) {
	if first := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(first) {
		at = first
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		entry, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
