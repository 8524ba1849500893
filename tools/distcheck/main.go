// Command distcheck looks at a folder of release binaries, one subfolder per
// platform, and writes SHA256SUMS beside them.
//
//	go run ./distcheck ../dist
//
// Every regular file below the folder is summed. An ELF file that asks for a
// dynamic loader or a shared library is an error: the Linux binaries must run
// on any distribution.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const sumsName = "SHA256SUMS"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: distcheck FOLDER")
		os.Exit(2)
	}
	if err := check(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "distcheck:", err)
		os.Exit(1)
	}
}

// check reports each file of dir on w and writes dir/SHA256SUMS, sorted by
// path. It fails on the first dynamically linked ELF file, and when there is
// no file at all.
func check(dir string, w io.Writer) error {
	var sums bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == sumsName {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		kind, err := linkage(data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), filepath.ToSlash(name))
		fmt.Fprintf(w, "%-44s %5.1f MB  %s\n", filepath.ToSlash(name), float64(len(data))/1e6, kind)
		return nil
	})
	if err != nil {
		return err
	}
	if sums.Len() == 0 {
		return fmt.Errorf("%s: no files", dir)
	}
	return os.WriteFile(filepath.Join(dir, sumsName), sums.Bytes(), 0o644)
}

// linkage returns "static ELF" or "not ELF", and an error for an ELF file that
// is dynamically linked.
func linkage(data []byte) (string, error) {
	if !bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
		return "not ELF", nil
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return "", errors.New("dynamically linked: it names a dynamic loader; build with CGO_ENABLED=0")
		}
	}
	libs, err := f.ImportedLibraries()
	if err != nil {
		return "", err
	}
	if len(libs) > 0 {
		return "", fmt.Errorf("dynamically linked with %q; build with CGO_ENABLED=0", libs)
	}
	return "static ELF", nil
}
