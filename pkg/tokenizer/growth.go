package tokenizer

import "fmt"

// Bounds of a normalized text. Without them, a hostile file could turn one
// line into gigabytes, with several Replace steps or with a Precompiled step of long
// replacements. Real steps stay far below: NFKD turns one byte into at most 11, ByteLevel
// into 2, Replace with ▁ into 3.
const (
	freeGrowth = 1 << 20   // bytes that every result may have
	maxGrowth  = 16        // multiple of the text that a larger result may have
	maxGrown   = 256 << 20 // bytes of a result that is longer than its text
)

// longest returns the bound in bytes for the output of all normalizers for a text of n bytes.
func longest(n int) int {
	return max(n, freeGrowth, min(maxGrowth*n, maxGrown))
}

// refuse sets an error that Err returns: the normalizer made a text of so many bytes longer than longest allows.
func (t *Tokenizer) refuse(text int) {
	t.failed.set(fmt.Errorf("%s: its normalizer makes more than %d bytes of a text of %d bytes, so the text was not counted", t.name, longest(text), text))
}

// maxLengthening bounds the pre-tokenizers in a file that make text longer, up to five
// times each. Real files have one.
const maxLengthening = 2

// lengthening counts the parts of a pre-tokenizer that can make text longer.
func lengthening(p preTokenizer) int {
	switch p := p.(type) {
	case *byteLevel, *metaspace:
		return 1
	case preTokenizerSequence:
		n := 0
		for _, one := range p {
			n += lengthening(one)
		}
		return n
	}
	return 0
}
