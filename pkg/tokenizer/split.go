package tokenizer

// A behavior defines what happens to the matches at which a piece is split.
type behavior uint8

const (
	isolated behavior = iota // each match is a piece
	removed
	mergedWithPrevious
	mergedWithNext
	contiguous // adjacent matches form one piece
)

var behaviors = map[string]behavior{
	"Isolated":           isolated,
	"Removed":            removed,
	"MergedWithPrevious": mergedWithPrevious,
	"MergedWithNext":     mergedWithNext,
	"Contiguous":         contiguous,
}

func readBehavior(n *node) (behavior, error) {
	name, err := n.string()
	if err != nil {
		return 0, err
	}
	b, ok := behaviors[name]
	if !ok {
		return 0, n.errorf("behavior %s is not supported", quote(name))
	}
	return b, nil
}

// split is the pre-tokenizer Split, and the base of most others.
type split struct {
	find     matcher
	behavior behavior
	// invert swaps matches and the text between matches.
	invert bool
}

func readSplit(n *node) (preTokenizer, error) {
	find, pattern, err := readPattern(n)
	if err != nil {
		return nil, err
	}
	b, err := n.want("behavior")
	if err != nil {
		return nil, err
	}
	s := split{find: find}
	if s.behavior, err = readBehavior(b); err != nil {
		return nil, err
	}
	if s.invert, err = n.wantBool("invert"); err != nil {
		return nil, err
	}
	if scan, ok := find.(scanner); ok && s.behavior == isolated {
		return isolate{scan, skipTo(pattern)}, nil
	}
	return s, nil
}

// isolate splits at the matches of a scanner; matches and the text between them are
// pieces. It is the common case of split, and faster.
type isolate struct {
	scan scanner
	// skip returns the first position from s[i] on where scan can match; nil if that is
	// every position.
	skip func(s string, i int) int
}

func (s isolate) cut(dst []piece, p piece) []piece {
	for i := 0; i < len(p.text); {
		end := s.next(p.text, i)
		dst = append(dst, piece{p.text[i:end], p.start && i == 0})
		i = end
	}
	return dst
}

// next returns the end of the piece that starts at text[i]: of a match, or of the text
// before the next match.
func (s isolate) next(text string, i int) int {
	if end := s.scan(text, i); end > i {
		return end
	}
	for i += runeLen(text, i); i < len(text); i += runeLen(text, i) {
		if s.skip != nil {
			i = s.skip(text, i)
		}
		if i == len(text) || s.scan(text, i) > i {
			break
		}
	}
	return i
}

// A span is a match, or the text between two matches.
type span struct {
	start, end int
	match      bool
}

func (s split) cut(dst []piece, p piece) []piece {
	var spans []span
	done := 0
	for m := s.find.matches(p.text); m.next(); {
		if done < m.start {
			spans = append(spans, span{done, m.start, s.invert})
		}
		spans = append(spans, span{m.start, m.end, !s.invert})
		done = m.end
	}
	if done < len(p.text) {
		spans = append(spans, span{done, len(p.text), s.invert})
	}
	for _, sp := range s.behavior.merge(spans) {
		if sp.start < sp.end {
			dst = append(dst, piece{p.text[sp.start:sp.end], p.start && sp.start == 0})
		}
	}
	return dst
}

// merge joins or drops spans, in place.
func (b behavior) merge(spans []span) []span {
	out := spans[:0]
	switch b {
	case isolated:
		return spans
	case removed:
		for _, s := range spans {
			if !s.match {
				out = append(out, s)
			}
		}
	case contiguous, mergedWithPrevious:
		before := false
		for _, s := range spans {
			joins := s.match && !before
			if b == contiguous {
				joins = s.match == before
			}
			if joins && len(out) > 0 {
				out[len(out)-1].end = s.end
			} else {
				out = append(out, s)
			}
			before = s.match
		}
	case mergedWithNext:
		// A match joins what follows, unless that is a match too.
		at := len(spans)
		before := false
		for i := len(spans) - 1; i >= 0; i-- {
			s := spans[i]
			if s.match && !before && at < len(spans) {
				spans[at].start = s.start
			} else {
				at--
				spans[at] = s
			}
			before = s.match
		}
		return spans[at:]
	}
	return out
}
