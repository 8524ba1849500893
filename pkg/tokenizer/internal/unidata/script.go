package unidata

import "sort"

// AnyScript is the script number of characters that UnicodeScripts joins to any neighbor.
const AnyScript = 0

// Script returns the script number of r for UnicodeScripts. Numbers can only be compared for
// equality. AnyScript means no script.
func Script(r rune) int {
	i := sort.Search(len(scriptRuns), func(i int) bool { return scriptRuns[i][0] > r })
	if i == 0 {
		return AnyScript
	}
	return int(scriptRuns[i-1][1])
}
