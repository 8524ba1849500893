package unidata

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// TestEveryCharacter holds the properties and normal forms of every code point to a digest
// of the library's answers. A change of golang.org/x/text, which holds the decompositions, must
// not change them.
func TestEveryCharacter(t *testing.T) {
	testenv.NoRace(t)
	const want = "b6282574f9c33f54f9ac7f5355d1c087459616c106523be0cf9c0d44f8dbadee"
	n, p := loadNorm(), Load()
	h := sha256.New()
	var line, lower []byte
	for r := range rune(maxRune) {
		// Package fmt would take most of the time. Quotes are ASCII because each Go prints other characters.
		line = strconv.AppendInt(line[:0], int64(r), 16)
		line = strconv.AppendInt(append(line, ' '), int64(n.unsafe.at(r)), 16)
		line = strconv.AppendInt(append(line, ' '), int64(n.class.at(r)), 16)
		line = strconv.AppendQuoteToASCII(append(line, ' '), n.canonical[r])
		line = strconv.AppendQuoteToASCII(append(line, ' '), n.compatible[r])
		line = strconv.AppendInt(append(line, '\n'), int64(p.table.at(r)), 16)
		lower = p.AppendLower(lower[:0], r)
		line = strconv.AppendQuoteToASCII(append(line, ' '), string(lower))
		line = strconv.AppendInt(append(line, ' '), int64(Script(r)), 10)
		h.Write(append(line, '\n'))
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
