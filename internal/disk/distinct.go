package disk

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Files holds the files that a command line reads and writes, so that [Files.Check] can refuse
// an output that is an input or another output. The zero value holds none. Check ignores pipes,
// devices, folders, "" and "-" (a standard stream), because nothing in them can be lost.
type Files struct {
	reads, writes []use
	families      []family
}

// A use is a file that a flag or an argument names.
type use struct {
	flag string // "--input-data", or "the argument"
	role string // "the journal", for a file that the flag implies; "" for the file that it names
	path string // as given

	// Set by resolve.
	resolved bool
	exempt   bool        // Check ignores the file
	real     string      // the result of realPath
	info     fs.FileInfo // nil for a file that does not exist
}

// A family is all files of a folder with certain names.
type family struct {
	use
	match func(name string) bool
}

// Reads adds a file that the command reads. flag names the flag, or the argument.
func (f *Files) Reads(flag, path string) { f.reads = append(f.reads, use{flag: flag, path: path}) }

// ReadsOpen adds an open file that the command reads, such as standard input.
func (f *Files) ReadsOpen(flag string, file *os.File) {
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		f.reads = append(f.reads, use{flag: flag, path: "-", info: info, resolved: true})
	}
}

// Writes adds a file that the command writes, also if it does not exist, and the name that the
// file has until it is complete. flag names the flag, or the argument.
func (f *Files) Writes(flag, path string) {
	f.WritesFor(flag, "", path)
	if path == "" || path == "-" || IsSpecial(path) {
		return // there is no unfinished file
	}
	if target, err := Resolve(path); err == nil {
		f.WritesFor(flag, "the unfinished file", partialName(target, 1))
	}
}

// WritesFor adds a file that the command writes because of a flag that names another file.
// role says what the file is: "the journal".
func (f *Files) WritesFor(flag, role, path string) {
	if _, inherited := inherited(path); !inherited {
		f.writes = append(f.writes, use{flag: flag, role: role, path: path})
	}
}

// WritesSome adds the files that the command may write beside path: all files in the folder of
// path whose names match. flag and role are as for WritesFor.
func (f *Files) WritesSome(flag, role, path string, match func(name string) bool) {
	f.families = append(f.families, family{use{flag: flag, role: role, path: path}, match})
}

// resolve finds out which file u is, once.
func (u *use) resolve() {
	if u.resolved {
		return
	}
	u.resolved = true
	if u.path == "" || u.path == "-" {
		u.exempt = true
		return
	}
	u.real = realPath(u.path)
	if info, err := os.Stat(u.path); err == nil {
		u.info, u.exempt = info, !info.Mode().IsRegular()
	}
}

// Check returns an error if a file that is written is also read, or written twice. Files are
// the same if their paths lead to one place, also through symbolic links and where no file is
// yet, or if they are hard links. The error names both flags and the file.
func (f *Files) Check() error {
	if len(f.writes) == 0 && len(f.families) == 0 {
		return nil
	}
	for _, all := range [][]use{f.reads, f.writes} {
		for i := range all {
			all[i].resolve()
		}
	}
	others := slices.Concat(f.reads, f.writes)
	writes := slices.Clone(f.writes)
	folders := map[string][]string{} // names in the folders of families
	for i := range f.families {
		x := &f.families[i]
		if x.resolve(); x.exempt {
			continue
		}
		dir := filepath.Dir(x.real)
		if _, known := folders[dir]; !known {
			folders[dir] = namesIn(dir, others)
		}
		writes = append(writes, x.members(folders[dir])...)
	}
	for i := range writes {
		out := &writes[i]
		if in := out.among(f.reads); in != nil {
			return lostError(out, in)
		}
		if before := out.among(writes[:i]); before != nil {
			return fmt.Errorf("%s: the same file as %s; give each a file of its own", out, before)
		}
	}
	return nil
}

// CheckRead returns the error of Check for a further file that the command reads. It keeps
// nothing of the file.
func (f *Files) CheckRead(flag, path string) error {
	in := use{flag: flag, path: path}
	in.resolve()
	for i := range f.writes {
		f.writes[i].resolve()
	}
	if out := in.among(f.writes); out != nil {
		return lostError(out, &in)
	}
	return nil
}

func lostError(out, in *use) error {
	return fmt.Errorf("%s: the same file as %s, which would be lost; give %s another file", out, in, out.flag)
}

// namesIn returns the names of the files that exist in a folder or that others would create
// there.
func namesIn(dir string, others []use) []string {
	var names []string
	inside, _ := os.ReadDir(dir) // a folder that does not exist has no files
	for _, e := range inside {
		names = append(names, e.Name())
	}
	for i := range others {
		if in, name := filepath.Split(others[i].real); filepath.Clean(in) == dir {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// members returns the files of a family among the names in its folder.
func (f *family) members(names []string) []use {
	var all []use
	for _, name := range names {
		if f.match(name) {
			u := use{flag: f.flag, role: f.role, path: filepath.Join(filepath.Dir(f.path), name)}
			u.resolve()
			all = append(all, u)
		}
	}
	return all
}

// String returns "--html a.html", or "the journal of --profile-export-file, a.journal".
func (u *use) String() string {
	if u.role == "" {
		return u.flag + " " + u.path
	}
	return u.role + " of " + u.flag + ", " + u.path
}

// among returns the first of others that is the same file as u; nil if none is.
func (u *use) among(others []use) *use {
	for i := range others {
		if u.same(&others[i]) {
			return &others[i]
		}
	}
	return nil
}

// same reports whether both are one file.
func (u *use) same(other *use) bool {
	switch {
	case u.exempt || other.exempt:
		return false
	case u.real != "" && u.real == other.real:
		return true
	}
	return u.info != nil && other.info != nil && os.SameFile(u.info, other.info)
}

// realPath returns the place to which a path leads, absolute and without symbolic links. The
// place need not exist, and neither need its folder.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if target, err := Resolve(path); err == nil {
		path = target
	}
	missing := "" // the end of path that does not exist
	for dir := path; ; dir = filepath.Dir(dir) {
		if there, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(there, missing)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		missing = filepath.Join(filepath.Base(dir), missing)
	}
}
