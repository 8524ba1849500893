package tokenizer

import "fmt"

// Bounds of what a tokenizer makes of a text. The steps of a hostile file could
// otherwise make gigabytes of a line: several Replaces in a row, or a Precompiled
// with long replacements. Real ones stay far below: NFKD makes at most 11 bytes of
// one, ByteLevel 2, and Replace with ▁ 3.
const (
	freeGrowth = 1 << 20   // bytes up to which a result may be any multiple of the text
	maxGrowth  = 16        // times the text, beyond that
	maxGrown   = 256 << 20 // bytes of a result that is longer than the text
)

// longest returns the length in bytes up to which the normalizers, or the decoders,
// may together bring a text of n bytes.
func longest(n int) int {
	return max(n, freeGrowth, min(maxGrowth*n, maxGrown))
}

// refuse makes Err say that step made more of a text than longest allows.
func (t *Tokenizer) refuse(step string, text int) {
	t.failed.set(fmt.Errorf("%s: its %s makes more than %d bytes of a text of %d bytes, so the text was not counted", t.name, step, longest(text), text))
}

// maxLengthening is the number of pre-tokenizers that make text longer which a file
// may have. Real ones have one. Each makes up to 5 bytes of one.
const maxLengthening = 2

// lengthening returns how many parts of a pre-tokenizer can make text longer.
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
