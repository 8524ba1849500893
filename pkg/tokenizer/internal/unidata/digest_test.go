package unidata

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/testenv"
)

// TestEveryCharacter holds the properties and normal forms of every code point to a digest
// of the library's answers. A change of golang.org/x/text, which holds the decompositions, must
// not change them.
func TestEveryCharacter(t *testing.T) {
	testenv.NoRace(t)
	const want = "7fd6221c72d5122ba78c87e7840d5778168a24e544934109331773ca66d127af"
	n, p := loadNorm(), Load()
	h := sha256.New()
	for r := range rune(maxRune) {
		fmt.Fprintf(h, "%x %x %x %q %q\n", r, n.unsafe.at(r), n.class.at(r), n.canonical[r], n.compatible[r])
		fmt.Fprintf(h, "%x %q %d\n", p.table.at(r), p.AppendLower(nil, r), Script(r))
	}
	fmt.Fprint(h, p.ascii)
	var composed [][3]rune
	for pair, r := range n.composed {
		composed = append(composed, [3]rune{pair[0], pair[1], r})
	}
	slices.SortFunc(composed, func(a, b [3]rune) int { return slices.Compare(a[:], b[:]) })
	fmt.Fprint(h, composed)
	for _, property := range []string{
		"w", "[w]", "s", "d", "L", "M", "N", "P", "S", "Z", "C", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No",
		"Han", "Latin", "Common", "Thai",
	} {
		fmt.Fprint(h, property, Runs(property))
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("the digest is %s, want %s", got, want)
	}
}
