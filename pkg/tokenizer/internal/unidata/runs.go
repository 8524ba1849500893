package unidata

import "strings"

// Runs returns the characters with a property of the library's regular expressions, as
// half-open ranges: runs[0] to runs[1], runs[2] to runs[3], and so on. Properties are general
// categories (L, Lu), some scripts (Han), and the escapes w, d and s. [w] is w within a class,
// where it has fewer characters. Runs returns nil for any other property.
func Runs(property string) []rune {
	switch property {
	case "w":
		return regexpWordRuns
	case "[w]":
		return regexpClassWordRuns
	case "s":
		return spaceRuns
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
		end := categoryRuns[i+1][0] // the last run is of none
		if n := len(runs); n > 0 && runs[n-1] == run[0] {
			runs[n-1] = end
		} else {
			runs = append(runs, run[0], end)
		}
	}
	return runs
}
