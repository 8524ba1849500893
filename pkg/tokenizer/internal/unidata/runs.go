package unidata

import (
	"slices"
	"strings"
)

// wordCategories are the categories of the characters of words, but for a few exceptions.
var wordCategories = []string{"L", "M", "Nd", "Nl", "Pc"}

// Runs returns the characters with a property of the library's regular expressions, as
// half-open ranges: runs[0] to runs[1], runs[2] to runs[3], and so on. Properties are general
// categories (L, Lu), some scripts (Han), and the escapes w, d and s. [w] is w within a class,
// where it has fewer characters. Runs returns nil for any other property.
func Runs(property string) []rune {
	switch property {
	case "w":
		return differing(regexpWordExceptions, wordCategories...)
	case "[w]":
		return differing(classWordExceptions, wordCategories...)
	case "s":
		return differing(spaceExceptions, "Z")
	case "d":
		property = "Nd"
	}
	if runs, ok := regexpScripts[property]; ok {
		return runs
	}
	if property == "" || len(property) > 2 {
		return nil
	}
	var runs []rune
	for i, run := range categoryRuns {
		if run[1] < 0 || !strings.HasPrefix(categoryNames[run[1]], property) {
			continue
		}
		end := categoryRuns[i+1][0] // the last run has no category
		if n := len(runs); n > 0 && runs[n-1] == run[0] {
			runs[n-1] = end
		} else {
			runs = append(runs, run[0], end)
		}
	}
	return runs
}

// differing returns the runs of the characters that are in exceptions or in one of the
// categories, but not in both. The categories must not overlap.
func differing(exceptions []rune, categories ...string) []rune {
	bounds := slices.Clone(exceptions)
	for _, c := range categories {
		bounds = append(bounds, Runs(c)...)
	}
	slices.Sort(bounds)
	runs := bounds[:0]
	for _, b := range bounds {
		if n := len(runs); n > 0 && runs[n-1] == b {
			runs = runs[:n-1] // two runs meet, or an exception takes away
		} else {
			runs = append(runs, b)
		}
	}
	return runs
}
