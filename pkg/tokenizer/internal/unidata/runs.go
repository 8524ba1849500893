package unidata

import "strings"

// Runs returns the characters that a property of the library's regular
// expressions stands for, as boundaries: those from runs[0] up to, not with,
// runs[1], from runs[2] up to runs[3] and so on. Properties are general
// categories (L, Lu), some scripts (Han), and w, d and s for the escapes of these
// letters; [w] for w in a class, where it has less. nil for others.
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
