package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// precompiled is the normalizer Precompiled: SentencePiece's table of
// replacements, compiled into a double array.
//
//	uint32 LE  size of the trie in bytes
//	uint32 LE  units of the trie …
//	bytes      the replacements, each ended by a 0 byte
//
// The value of a string in the trie is the offset of its replacement. A unit of
// the trie is a label, a flag and an offset in 32 bits:
//
//	bits 0-7    label: the byte that leads here
//	bit  8      a string ends here: its value is in the child for 0
//	bits 10-30  offset to the children, shifted by 8 more if bit 9 is set
//	bit  31     the unit is a value, bits 0-30
type precompiled struct {
	units        []uint32
	replacements string
	// ascii holds the replacement of each ASCII character that stands alone.
	ascii [utf8.RuneSelf]string
	// plainStays means that printable ASCII does not change.
	plainStays bool
}

func readPrecompiled(n *node) (normalizer, error) {
	text, err := n.wantString("precompiled_charsmap")
	if err != nil {
		return nil, err
	}
	field := n.member("precompiled_charsmap")
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, field.errorf("base64: %w", err)
	}
	p, err := newPrecompiled(data)
	if err != nil {
		return nil, field.errorf("%w", err)
	}
	return p, nil
}

func newPrecompiled(data []byte) (*precompiled, error) {
	if len(data) < 4 {
		return nil, errors.New("shorter than the size of its trie")
	}
	size := int(binary.LittleEndian.Uint32(data)) &^ 3
	data = data[4:]
	if size == 0 || size > len(data) {
		return nil, errors.New("its trie is empty or ends early")
	}
	p := &precompiled{units: make([]uint32, size/4)}
	for i := range p.units {
		p.units[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	if !utf8.Valid(data[size:]) {
		return nil, errors.New("its replacements are not UTF-8")
	}
	p.replacements = string(data[size:])
	for c := range p.ascii {
		p.ascii[c] = string(rune(c))
		if with, ok := p.lookup(p.ascii[c]); ok {
			p.ascii[c] = with
		}
	}
	p.plainStays = true
	for c := ' '; c <= '~'; c++ {
		p.plainStays = p.plainStays && p.ascii[c] == string(c)
	}
	return p, nil
}

// maxGrapheme is the length in bytes up to which a grapheme is looked up as a whole.
const maxGrapheme = 5

func (p *precompiled) normalize(s string, most int) string {
	if p.plainStays && isPlain(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	for s != "" && out.Len() <= most {
		// An ASCII character before another one, except CR before LF, is a cluster.
		i := 0
		for ; i < len(s) && s[i] < utf8.RuneSelf && s[i] != '\r' && out.Len() <= most; i++ {
			if i+1 < len(s) && s[i+1] >= utf8.RuneSelf {
				break
			}
			out.WriteString(p.ascii[s[i]])
		}
		s = s[i:]
		// Then come the clusters up to the next pair of ASCII characters.
		end := min(1, len(s))
		for end < len(s) && (s[end] >= utf8.RuneSelf || s[end-1] >= utf8.RuneSelf || s[end-1] == '\r') {
			end++
		}
		p.clusters(&out, s[:end], most)
		s = s[end:]
	}
	return out.String()
}

// clusters writes the replacements of the grapheme clusters of s, until out has more than
// most bytes.
func (p *precompiled) clusters(out *strings.Builder, s string, most int) {
	for g := graphemes.FromString(s); out.Len() <= most && g.Next(); {
		cluster := g.Value()
		if len(cluster) <= maxGrapheme {
			if with, ok := p.lookup(cluster); ok {
				out.WriteString(with)
				continue
			}
		}
		for _, r := range cluster {
			if out.Len() > most {
				return
			}
			var buf [utf8.UTFMax]byte
			char := buf[:utf8.EncodeRune(buf[:], r)]
			if with, ok := p.lookup(string(char)); ok {
				out.WriteString(with)
			} else {
				out.Write(char)
			}
		}
	}
}

// lookup returns the replacement of the shortest string in the trie that is a prefix of
// key. Like the library, it replaces the whole key by it.
func (p *precompiled) lookup(key string) (with string, ok bool) {
	at := p.offset(0)
	for i := range len(key) {
		c := key[i]
		if c == 0 {
			break
		}
		at ^= uint32(c)
		if int(at) >= len(p.units) {
			return "", false
		}
		unit := p.units[at]
		if unit&(1<<31|0xFF) != uint32(c) {
			return "", false
		}
		at ^= p.offset(at)
		if unit>>8&1 != 0 {
			if int(at) >= len(p.units) {
				return "", false
			}
			return p.replacement(p.units[at] &^ (1 << 31))
		}
	}
	return "", false
}

// offset returns the distance from a unit to its children.
func (p *precompiled) offset(at uint32) uint32 {
	unit := p.units[at]
	return unit >> 10 << (unit & (1 << 9) >> 6)
}

func (p *precompiled) replacement(at uint32) (string, bool) {
	if int(at) > len(p.replacements) {
		return "", false
	}
	s := p.replacements[at:]
	if end := strings.IndexByte(s, 0); end >= 0 {
		s = s[:end]
	}
	// A damaged file may have an offset into the middle of a character. The following
	// steps rely on valid text.
	return s, utf8.ValidString(s)
}
