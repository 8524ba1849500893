package outfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pa-tools/pa/internal/regular"
)

// Files holds the files that a command line reads and writes, so that [Files.Check] can refuse
// an output that is an input or another output. The zero value holds none. Pipes, devices,
// folders, "" and "-" (a standard stream) are left out, because nothing in them can be lost.
type Files struct {
	reads, writes []use
	families      []family
}

// A use is a file with what uses it.
type use struct {
	flag string // "--input-data", or what else people call it
	what string // what of the flag it is: "the journal"; "" for the file that the flag names
	path string // as given

	// Set by resolve.
	resolved bool
	exempt   bool   // nothing in it can be lost
	real     string // absolute and without symbolic links, as far as they lead
	info     fs.FileInfo
}

// A family is all files of a folder whose names match.
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
	if info, err := os.Stat(path); path == "" || path == "-" || err == nil && !info.Mode().IsRegular() {
		return // written in place, or refused
	}
	if target, err := Resolve(path); err == nil && !regular.Inherited(path) {
		f.WritesFor(flag, "the unfinished file", partialName(target, 1))
	}
}

// WritesFor adds a file that the command writes because of a flag that names another file.
// what says which: "the journal".
func (f *Files) WritesFor(flag, what, path string) {
	if !regular.Inherited(path) {
		f.writes = append(f.writes, use{flag: flag, what: what, path: path})
	}
}

// WritesSome adds the files that the command may write beside path: the names in the folder of
// path for which match is true. flag and what are as for WritesFor.
func (f *Files) WritesSome(flag, what, path string, match func(name string) bool) {
	f.families = append(f.families, family{use{flag: flag, what: what, path: path}, match})
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
	info, err := os.Stat(u.path)
	if err == nil && !info.Mode().IsRegular() {
		u.exempt = true
		return
	}
	if u.real = realPath(u.path); err == nil {
		u.info = info
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
		for j := range f.reads {
			if in := &f.reads[j]; out.same(in) {
				return fmt.Errorf("%s: the same file as %s, which would be lost; give %s another file", out, in, out.flag)
			}
		}
		for j := range writes[:i] {
			if before := &writes[j]; out.same(before) {
				return fmt.Errorf("%s: the same file as %s; give each a file of its own", out, before)
			}
		}
	}
	return nil
}

// CheckRead returns the error of Check for a further file that the command reads. It keeps
// nothing of the file.
func (f *Files) CheckRead(flag, path string) error {
	one := Files{writes: f.writes}
	one.Reads(flag, path)
	return one.Check()
}

// namesIn returns the names of the files in a folder: those that exist, and those of others.
func namesIn(dir string, others []use) []string {
	var names []string
	inside, _ := os.ReadDir(dir) // without a folder there are none
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
			u := use{flag: f.flag, what: f.what, path: filepath.Join(filepath.Dir(f.path), name)}
			u.resolve()
			all = append(all, u)
		}
	}
	return all
}

// String returns "--html a.html", or "the journal of --profile-export-file, a.journal.arrows".
func (u *use) String() string {
	if u.what == "" {
		return u.flag + " " + u.path
	}
	return u.what + " of " + u.flag + ", " + u.path
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
	return follow(path, maxLinks)
}

// follow is realPath for an absolute path and a number of links.
func follow(path string, links int) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	dir, name := filepath.Split(filepath.Clean(path))
	if name == "" || links == 0 {
		return path
	}
	dir = follow(filepath.Clean(dir), links)
	path = filepath.Join(dir, name)
	to, err := os.Readlink(path)
	if err != nil {
		return path
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return follow(to, links-1)
}
