package unidata

import (
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Form is one of the four normal forms, with the library's tables of Unicode 9.0: characters
// assigned later are starters that neither decompose nor compose. Unlike golang.org/x/text, it
// never inserts a joiner into a long run of marks; such a run takes O(n log n).
type Form uint8

// The normal forms of Unicode's annex 15.
const (
	NFC Form = iota
	NFD
	NFKC
	NFKD
)

func (f Form) composes() bool   { return f == NFC || f == NFKC }
func (f Form) compatible() bool { return f == NFKC || f == NFKD }

// Hangul syllables are composed and decomposed by arithmetic (The Unicode
// Standard, 3.12).
const (
	hangulBase  = 0xAC00
	hangulEnd   = 0xD7A4
	leadBase    = 0x1100
	leadCount   = 19
	vowelBase   = 0x1161
	vowelCount  = 21
	tailBase    = 0x11A7 // one before the first: 0 is no tail
	tailCount   = 28
	hangulBlock = vowelCount * tailCount
)

// normTables holds the tables of the normal forms.
type normTables struct {
	// unsafe has bit f set for a rune that may change under form f, alone or together
	// with the characters before it.
	unsafe     *stage[uint8]
	class      *stage[uint8] // canonical combining class
	canonical  map[rune]string
	compatible map[rune]string
	composed   map[[2]rune]rune
}

var loadNorm = sync.OnceValue(func() *normTables {
	t := &normTables{
		canonical:  map[rune]string{},
		compatible: map[rune]string{},
		composed:   map[[2]rune]rune{},
	}
	class := make([]uint8, maxRune)
	unsafe := make([]uint8, maxRune)
	const c, d, kc, kd = 1 << NFC, 1 << NFD, 1 << NFKC, 1 << NFKD
	for i := 0; i < len(normalizedRuns); i += 2 {
		for r := normalizedRuns[i]; r < normalizedRuns[i+1]; r++ {
			p := norm.NFD.PropertiesString(string(r))
			canonical := string(p.Decomposition())
			if canonical != "" {
				t.canonical[r] = canonical
			} else if class[r] = p.CCC(); class[r] > 0 {
				unsafe[r] |= c | d | kc | kd
			}
			if full := norm.NFKD.PropertiesString(string(r)).Decomposition(); string(full) != canonical {
				t.compatible[r] = string(full)
			}
		}
	}
	for r := range t.canonical {
		unsafe[r] |= c | d | kc | kd // c and kc are cleared below if r composes again
	}
	for r := range t.compatible {
		unsafe[r] |= kc | kd
	}
	mark(unsafe, []rune{hangulBase, hangulEnd}, d|kd)
	mark(unsafe, []rune{vowelBase, vowelBase + vowelCount, tailBase + 1, tailBase + tailCount}, c|kc)
	var seconds []rune
	for r, parts := range t.canonical {
		if norm.NFC.String(parts) != string(r) {
			continue // excluded from composition
		}
		// r is the composite of its last part and the character that the other parts compose.
		second, n := utf8.DecodeLastRuneInString(parts)
		first, _ := utf8.DecodeRuneInString(norm.NFC.String(parts[:len(parts)-n]))
		t.composed[[2]rune{first, second}] = r
		unsafe[r] &^= c
		if _, ok := t.compatible[r]; !ok {
			unsafe[r] &^= kc
		}
		seconds = append(seconds, second)
	}
	for _, r := range seconds {
		unsafe[r] |= c | kc
	}
	t.class, t.unsafe = spread(class), spread(unsafe)
	return t
})

// String returns s, which must be valid UTF-8, in the normal form. It returns s itself if s is
// in the form already.
func (f Form) String(s string) string {
	t := loadNorm()
	// Find the first rune that could change; the text before it is final.
	at := f.firstUnsafe(t, s, 0)
	if at == len(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + len(s)/8)
	var work []markedRune
	done := 0
	for at < len(s) {
		// A composing form may join the rune to the safe one before it.
		start := at
		if f.composes() && start > done {
			_, n := utf8.DecodeLastRuneInString(s[:start])
			start -= n
		}
		out.WriteString(s[done:start])
		end := f.firstSafe(t, s, at)
		work = f.normalize(t, work[:0], s[start:end])
		for _, m := range work {
			out.WriteRune(m.r)
		}
		done = end
		at = f.firstUnsafe(t, s, end)
	}
	out.WriteString(s[done:])
	return out.String()
}

func (f Form) firstUnsafe(t *normTables, s string, i int) int {
	for i < len(s) {
		if s[i] < utf8.RuneSelf { // ASCII is safe in every form
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if t.unsafe.at(r)>>f&1 != 0 {
			break
		}
		i += n
	}
	return i
}

func (f Form) firstSafe(t *normTables, s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if t.unsafe.at(r)>>f&1 == 0 {
			break
		}
		i += n
	}
	return i
}

// A markedRune is a rune with its combining class.
type markedRune struct {
	r     rune
	class uint8
}

// normalize decomposes s, orders its marks, and composes it.
func (f Form) normalize(t *normTables, work []markedRune, s string) []markedRune {
	for _, r := range s {
		work = f.decompose(t, work, r)
	}
	for i := 0; i < len(work); {
		if work[i].class == 0 {
			i++
			continue
		}
		end := i + 1
		for end < len(work) && work[end].class != 0 {
			end++
		}
		marks := work[i:end]
		sort.SliceStable(marks, func(a, b int) bool { return marks[a].class < marks[b].class })
		i = end
	}
	if f.composes() {
		work = t.compose(work)
	}
	return work
}

func (f Form) decompose(t *normTables, work []markedRune, r rune) []markedRune {
	if hangulBase <= r && r < hangulEnd {
		i := r - hangulBase
		work = append(work, markedRune{r: leadBase + i/hangulBlock}, markedRune{r: vowelBase + i%hangulBlock/tailCount})
		if tail := i % tailCount; tail > 0 {
			work = append(work, markedRune{r: tailBase + tail})
		}
		return work
	}
	d, ok := "", false
	if f.compatible() {
		d, ok = t.compatible[r]
	}
	if !ok {
		d, ok = t.canonical[r]
	}
	if !ok {
		return append(work, markedRune{r, t.class.at(r)})
	}
	for _, r := range d {
		work = append(work, markedRune{r, t.class.at(r)})
	}
	return work
}

// compose joins each rune in place to the last starter before it, if the pair has a composite
// and no rune between them blocks it (annex 15, D117).
func (t *normTables) compose(work []markedRune) []markedRune {
	out := work[:0]
	starter := -1  // index in out of the last starter
	blocking := -1 // class of the last rune kept after the starter; -1 for none
	for _, m := range work {
		if starter >= 0 && blocking < int(m.class) {
			if r, ok := t.pair(out[starter].r, m.r); ok {
				out[starter].r = r
				continue
			}
		}
		if m.class == 0 {
			starter, blocking = len(out), -1
		} else {
			blocking = int(m.class)
		}
		out = append(out, m)
	}
	return out
}

// pair returns the primary composite of two runes.
func (t *normTables) pair(a, b rune) (rune, bool) {
	if lead := a - leadBase; 0 <= lead && lead < leadCount {
		if vowel := b - vowelBase; 0 <= vowel && vowel < vowelCount {
			return hangulBase + (lead*vowelCount+vowel)*tailCount, true
		}
	}
	if i := a - hangulBase; 0 <= i && a < hangulEnd && i%tailCount == 0 {
		if tail := b - tailBase; 0 < tail && tail < tailCount {
			return a + tail, true
		}
	}
	r, ok := t.composed[[2]rune{a, b}]
	return r, ok
}
