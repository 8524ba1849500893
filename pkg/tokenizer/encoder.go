package tokenizer

import (
	"hash/maphash"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// An encoder holds the working memory of one call of Encode or Count, and a cache of
// earlier pieces. It serves one call at a time.
type encoder struct {
	t       *Tokenizer
	cache   *wordCache
	scratch scratch
	pieces  []piece
	out     []uint32
}

// maxKept bounds the memory that an idle encoder keeps, in pieces.
const maxKept = 1 << 16

// encoder returns an idle encoder, or a new one.
func (t *Tokenizer) encoder() *encoder {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.idle); n > 0 {
		e := t.idle[n-1]
		t.idle = t.idle[:n-1]
		return e
	}
	return &encoder{t: t, cache: newWordCache()}
}

// release adds an encoder to the idle ones, unless there are maxIdle of them. It first drops
// the working memory if a part of it is larger than maxKept.
func (t *Tokenizer) release(e *encoder) {
	if cap(e.pieces) > maxKept || cap(e.out) > maxKept || cap(e.scratch.links) > maxKept || cap(e.scratch.nodes) > maxKept {
		e.pieces, e.out, e.scratch = nil, nil, scratch{}
	}
	clear(e.pieces[:cap(e.pieces)]) // do not hold the text
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) < t.maxIdle {
		t.idle = append(t.idle, e)
	}
}

// encode appends the ids of a text.
func (e *encoder) encode(dst []uint32, text string) []uint32 {
	t := e.t
	token := func(id uint32) { dst = append(dst, id) }
	text = validUTF8(text)
	left := longest(len(text)) // bytes that the remaining normalized parts may have
	t.added.split(t.added.plain, text, func(part string, at int) {
		start := at == 0
		if n := t.normalizer; n != nil {
			if left < 0 {
				return // the text is refused
			}
			start = start && (!t.needsStart || !dropsFirst(n, part))
			part = n.normalize(part, left)
			if left -= len(part); left < 0 {
				t.refuse(len(text))
				return
			}
		}
		t.added.split(t.added.normalized, part, func(part string, at int) {
			dst = e.encodePart(dst, piece{part, start && at == 0})
		}, token)
	}, token)
	return dst
}

// encodePart cuts normalized text without added tokens and encodes the pieces.
func (e *encoder) encodePart(dst []uint32, p piece) []uint32 {
	switch pre := e.t.preTokenizer.(type) {
	case nil:
		return e.encodePiece(dst, p.text)
	case isolate: // the same as below without a list of pieces
		for i := 0; i < len(p.text); {
			end := pre.next(p.text, i)
			if e.t.cutter == nil {
				dst = e.encodeWord(dst, p.text, i, end)
			} else {
				dst = e.encodePiece(dst, p.text[i:end])
			}
			i = end
		}
		return dst
	default:
		e.pieces = pre.cut(e.pieces[:0], p)
		for i := range e.pieces {
			dst = e.encodePiece(dst, e.pieces[i].text)
		}
		return dst
	}
}

func (e *encoder) encodePiece(dst []uint32, p string) []uint32 {
	switch c := e.t.cutter; {
	case p == "":
		return dst
	case c == nil:
		return e.encodeWord(dst, p, 0, len(p))
	case c.anywhere:
		begin := 0
		for from := 0; from < len(p); from += 64 {
			for cuts := c.joined.cuts(p, from); cuts != 0; cuts &= cuts - 1 {
				end := from + bits.TrailingZeros64(cuts)
				dst = e.encodeWord(dst, p, begin, end)
				begin = end
			}
		}
		return e.encodeWord(dst, p, begin, len(p))
	default:
		for begin := 0; begin < len(p); {
			end := begin + c.wordEnd(p[begin:])
			dst = e.encodeWord(dst, p, begin, end)
			begin = end
		}
		return dst
	}
}

// encodeWord encodes the word text[begin:end], which is not empty. It tries the cache of short words first,
// then encodeLong.
func (e *encoder) encodeWord(dst []uint32, text string, begin, end int) []uint32 {
	w := text[begin:end]
	if len(w) > shortLength {
		return e.encodeLong(dst, w)
	}
	key := keyOf(text, begin, end)
	dst, ok := e.cache.appendShort(dst, key)
	if ok {
		return dst
	}
	n := len(dst)
	dst = e.encodeLong(dst, w)
	e.cache.putShort(key, dst[n:])
	return dst
}

// encodeLong tries the table of words that are one token, then the cache, then the model.
func (e *encoder) encodeLong(dst []uint32, w string) []uint32 {
	hash := maphash.String(e.t.seed, w)
	if id, ok := e.t.words.find(w, hash); ok {
		return append(dst, id)
	}
	dst, ok := e.cache.appendLong(dst, w, hash)
	if ok {
		return dst
	}
	n := len(dst)
	dst = e.t.model.encode(dst, w, &e.scratch)
	e.cache.putLong(w, hash, dst[n:])
	return dst
}

// validUTF8 replaces each maximal part of an ill-formed sequence in s by U+FFFD (The
// Unicode Standard, 3.9; Python's errors="replace"). It returns s itself if s is valid.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			n = illFormed(s[i:])
			out.WriteRune(utf8.RuneError)
		} else {
			out.WriteString(s[i : i+n])
		}
		i += n
	}
	return out.String()
}

// illFormed returns the length of the maximal part of an ill-formed sequence at the start
// of s: the longest prefix of some well-formed sequence, or 1.
func illFormed(s string) int {
	// The second byte of some leads has a range of its own: no overlong
	// forms, no surrogates, nothing above U+10FFFF.
	lo, hi, size := byte(0x80), byte(0xBF), 0
	switch c := s[0]; {
	case 0xC2 <= c && c <= 0xDF:
		size = 2
	case 0xE0 <= c && c <= 0xEF:
		size = 3
		switch c {
		case 0xE0:
			lo = 0xA0
		case 0xED:
			hi = 0x9F
		}
	case 0xF0 <= c && c <= 0xF4:
		size = 4
		switch c {
		case 0xF0:
			lo = 0x90
		case 0xF4:
			hi = 0x8F
		}
	default:
		return 1
	}
	n := 1
	for n < size && n < len(s) && lo <= s[n] && s[n] <= hi {
		lo, hi = 0x80, 0xBF
		n++
	}
	return n
}
