package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Notes returns remarks for the user about the files, one line each.
func (s *Set) Notes() []string {
	var all []string
	hit := workload.Hit{}
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
		if names := f.passed.names; len(names) > 0 {
			note("members that pa-record does not know, sent as they are: %s", someQuoted(names))
		}
		if f.renamed > 0 {
			note("an earlier file has the ids of %s too, so they get the name of this file as a prefix", plural.GroupedOf(f.renamed, "session"))
		}
		for _, what := range slices.Sorted(maps.Keys(f.leftOut)) {
			note("left out: %s (%d)", what, f.leftOut[what])
		}
		hit.Hit, hit.Total = hit.Hit+f.hit.Hit, hit.Total+f.hit.Total
	}
	for _, what := range s.Assumed() {
		all = append(all, "assumed: "+what)
	}
	if hit.Total > 0 {
		all = append(all, fmt.Sprintf("prompts have %s with hash_ids; in the recorded order, an unlimited prefix cache would hold %s of them (%.2f %%)",
			plural.GroupedOf(hit.Total, "full block"), plural.Grouped(hit.Hit), 100*float64(hit.Hit)/float64(hit.Total)))
	}
	return all
}

// Assumed says how what the files leave open was taken, one line for each, with how often that was so.
func (s *Set) Assumed() []string {
	times := map[string]int{}
	for _, f := range s.files {
		for what, n := range f.assumed {
			times[what] += n
		}
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(times)) {
		all = append(all, fmt.Sprintf("%s (%d)", what, times[what]))
	}
	return all
}

// someQuoted lists names for a message, at most 20.
func someQuoted(names []string) string {
	const most = 20
	list := strings.Join(quoteAll(names[:min(most, len(names))]), ", ")
	if more := len(names) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// explainEmpty returns the notes in parentheses, for the error that there is no entry.
func (s *Set) explainEmpty() string {
	notes := s.Notes()
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

// A FileInfo describes a file of a Set.
type FileInfo struct {
	Name string
	// SHA256 is the hash of the decompressed content in hexadecimal.
	SHA256 string
	Layout string // one of [Layouts]; "" for a file without rows
	Rows   int
	// Entries is the number of entries in all rows.
	Entries int
}

// Files describes the files, in order.
func (s *Set) Files() []FileInfo {
	var all []FileInfo
	for _, f := range s.files {
		i := FileInfo{Name: f.src.name, SHA256: f.src.sum, Rows: f.rowsRead, Entries: f.n}
		if f.layout != nil {
			i.Layout = f.layout.name
		}
		all = append(all, i)
	}
	return all
}
