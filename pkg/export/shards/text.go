package shards

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
)

// notes collects the facts that a merged run leaves out, each once.
type notes struct{ all []string }

func (n *notes) leaveOut(text string) {
	if !slices.Contains(n.all, text) {
		n.all = append(n.all, text)
	}
}

// A rankWarning is a warning of a rank.
type rankWarning struct {
	rank int
	text string
}

// ofRanks returns the texts of warnings with the ranks that have them, each text once. n is the number of
// all ranks.
func ofRanks(warnings []rankWarning, n int) []string {
	var texts []string
	ranks := map[string][]int{}
	for _, s := range warnings {
		if ranks[s.text] == nil {
			texts = append(texts, s.text)
		}
		if !slices.Contains(ranks[s.text], s.rank) {
			ranks[s.text] = append(ranks[s.text], s.rank)
		}
	}
	for i, text := range texts {
		who := ranks[text]
		switch {
		case len(who) == n && n > 1:
			texts[i] += " (" + plural.All(n) + " ranks)"
		case len(who) == 1:
			texts[i] += " (rank " + strconv.Itoa(who[0]) + ")"
		default:
			texts[i] += " (" + rankNames(who[:min(len(who), maxNamed)], len(who)) + ")"
		}
	}
	return texts
}

var rankSuffix = regexp.MustCompile(` \((?:rank \d+|ranks [\d, and…]+(?: \([\d,]+ ranks\))?|(?:both|all [\d,]+) ranks)\)$`)

// CutRanks returns a warning of a merged run without its ranks, and the ranks as they follow
// the text: " (rank 2)"; "" for a warning without ranks.
func CutRanks(warning string) (text, ranks string) {
	if at := rankSuffix.FindStringIndex(warning); at != nil {
		return warning[:at[0]], warning[at[0]:]
	}
	return warning, ""
}

// maxNamed bounds how many ranks or levels a message names.
const maxNamed = 8

// rankNames returns "rank 2", "ranks 1 and 2" or "ranks 1, 2, 3, … (900 ranks)".
func rankNames(ranks []int, n int) string {
	if n == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	var names []string
	for _, r := range ranks {
		names = append(names, strconv.Itoa(r))
	}
	if n > len(names) {
		return fmt.Sprintf("ranks %s, … (%s ranks)", strings.Join(names, ", "), plural.Grouped(n))
	}
	return "ranks " + listed(names)
}

// listed joins names with commas and "and"; it names at most maxNamed.
func listed(names []string) string {
	switch {
	case len(names) == 1:
		return names[0]
	case len(names) > maxNamed:
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNamed)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// percent formats a share as "25 %", with at most three digits.
func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
}
