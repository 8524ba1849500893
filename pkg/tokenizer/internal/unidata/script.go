package unidata

import "sort"

// AnyScript is the number of characters that UnicodeScripts leaves with any
// neighbour.
const AnyScript = 0

// Script returns the number of the script that UnicodeScripts sees in r. The
// numbers mean nothing but equal and different; AnyScript is none.
func Script(r rune) int {
	i := sort.Search(len(scriptRuns), func(i int) bool { return scriptRuns[i][0] > r })
	if i == 0 {
		return AnyScript
	}
	return int(scriptRuns[i-1][1])
}
