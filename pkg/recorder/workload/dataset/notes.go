package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// Notes returns what a user may want to know about how the files were read, a
// line each.
func (s *Set) Notes() []string {
	var all []string
	for _, f := range s.files {
		note := func(format string, args ...any) {
			all = append(all, f.src.name+": "+fmt.Sprintf(format, args...))
		}
		if d, ok := f.rows.(*document); ok && d.member != "" && len(d.unused) > 0 {
			note("not used: %s", strings.Join(quoteAll(d.unused), ", "))
		}
		if p, ok := f.rows.(*parquet); ok && len(p.leftOut) > 0 {
			note("columns of types that are not read: %s", strings.Join(quoteAll(p.leftOut), ", "))
		}
		if len(f.ignored) > 0 {
			note("members that are no part of a request: %s", strings.Join(quoteAll(f.ignored), ", "))
		}
		for _, what := range sortedKeys(f.out) {
			note("left out: %s (%d)", what, f.out[what])
		}
	}
	return all
}

// why says why there is no entry, for the error of that.
func (s *Set) why() string {
	notes := s.Notes()
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

func sortedKeys(m map[string]int) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// A FileInfo says what was read of a file.
type FileInfo struct {
	Name string
	// SHA256 is that of the content, decompressed, in hex.
	SHA256 string
	Layout string // one of [Layouts]; "" when it has no rows
	Rows   int
	// Entries is what the rows gave.
	Entries int
}

// Files describes the files, in order.
func (s *Set) Files() []FileInfo {
	var all []FileInfo
	for _, f := range s.files {
		i := FileInfo{Name: f.src.name, SHA256: f.src.sum, Rows: f.rowsRead, Entries: f.n}
		if f.kind != nil {
			i.Layout = f.kind.name
		}
		all = append(all, i)
	}
	return all
}
