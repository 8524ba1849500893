package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// wheelTags names the platforms of wheels as Python does. The Linux programs are static,
// so that any libc will do. Programs of Go 1.27 need macOS 13.
var wheelTags = map[string][]string{
	"linux_amd64":   {"manylinux_2_17_x86_64", "musllinux_1_1_x86_64"},
	"linux_arm64":   {"manylinux_2_17_aarch64", "musllinux_1_1_aarch64"},
	"darwin_amd64":  {"macosx_13_0_x86_64"},
	"darwin_arm64":  {"macosx_13_0_arm64"},
	"windows_amd64": {"win_amd64"},
	"windows_arm64": {"win_arm64"},
}

// writeWheels writes a Python wheel for each platform. The wheel installs both programs as
// scripts, and the package pa; its name makes "uvx pa-analyze" work. The layout is PyPA's
// binary distribution format 1.0.
func (r *release) writeWheels() error {
	const name = "pa_analyze"
	v := r.version.pep440()
	for _, p := range r.platforms {
		tags, ok := wheelTags[p.name()]
		if !ok {
			return fmt.Errorf("%s: no Python tag is known for this platform; add it to the table of tags", p.name())
		}
		info, data := name+"-"+v+".dist-info/", name+"-"+v+".data/"
		files := slices.Clone(r.python)
		for _, program := range programs {
			files = append(files, file{data + "scripts/" + program + p.suffix(), 0o755, p.binaries[program]})
		}
		var readme string
		for _, x := range r.extras {
			switch x.archived {
			case "README.md":
				readme = string(x.content)
			case "LICENSE", "NOTICE":
				files = append(files, file{info + "licenses/" + x.archived, 0o644, x.content})
			}
		}
		metadata := "Metadata-Version: 2.4\nName: pa-analyze\nVersion: " + v + "\nSummary: " + summary +
			"\nHome-page: " + homepage + "\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\nLicense-File: NOTICE\n" +
			"Requires-Python: >=3.8\nProvides-Extra: notebook\nRequires-Dist: pandas; extra == \"notebook\"\n" +
			"Requires-Dist: pyarrow; extra == \"notebook\"\nDescription-Content-Type: text/markdown\n\n" + readme
		wheel := "Wheel-Version: 1.0\nGenerator: pa release\nRoot-Is-Purelib: false\n"
		for _, t := range tags {
			wheel += "Tag: py3-none-" + t + "\n"
		}
		files = append(files, file{info + "METADATA", 0o644, []byte(metadata)}, file{info + "WHEEL", 0o644, []byte(wheel)})
		record := info + "RECORD"
		files = append(files, file{record, 0o644, recordOf(files, record)})
		content, err := zipped(files, r.at)
		if err != nil {
			return err
		}
		if err := r.write(name+"-"+v+"-py3-none-"+strings.Join(tags, ".")+".whl", content); err != nil {
			return err
		}
	}
	return nil
}

// recordOf returns the list of the files of a wheel with their digests. The list itself has
// none.
func recordOf(files []file, self string) []byte {
	var b bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	fmt.Fprintf(&b, "%s,,\n", self)
	return b.Bytes()
}

// pythonPackage returns the files of the Python package pa of the repository.
func pythonPackage(root string) (files []file, err error) {
	inside, err := os.ReadDir(filepath.Join(root, "python", "pa"))
	if err != nil {
		return nil, err
	}
	for _, f := range inside {
		if f.IsDir() { // __pycache__
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, "python", "pa", f.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{"pa/" + f.Name(), 0o644, content})
	}
	return files, nil
}
