package synth

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// PromptIDs says how prompts become token ids. The zero value leaves them texts.
type PromptIDs struct {
	// Encode encodes the texts of prompts, made-up and others.
	Encode bool
	// Vocabulary draws the ids of made-up prompts from the ids of a tokenizer that are no special tokens.
	Vocabulary bool
	// First and Last are the range from which the ids of made-up prompts are drawn, if Range is set.
	Range       bool
	First, Last uint32
}

// ParsePromptIDs reads "encode", "vocabulary" or "FIRST:LAST".
func ParsePromptIDs(text string) (p PromptIDs, err error) {
	switch text {
	case "encode":
		return PromptIDs{Encode: true}, nil
	case "vocabulary":
		return PromptIDs{Vocabulary: true}, nil
	}
	first, last, ok := strings.Cut(text, ":")
	from, err1 := strconv.ParseUint(first, 10, 31)
	to, err2 := strconv.ParseUint(last, 10, 31)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return p, errors.New("expected encode, vocabulary, or FIRST:LAST such as 1000:30000")
	case to < from:
		return p, fmt.Errorf("the last id %d is below the first %d", to, from)
	}
	return PromptIDs{Range: true, First: uint32(from), Last: uint32(to)}, nil
}

// Draws reports whether made-up prompts are drawn ids, without a text.
func (p *PromptIDs) Draws() bool { return p.Vocabulary || p.Range }

// IDs returns a vocabulary of token ids. Its [Texts] have no text: they are the drawn ids. ordinary are the ids to draw from for
// p.Vocabulary.
func (p *PromptIDs) IDs(ordinary []uint32) (*Vocabulary, error) {
	if p.Range {
		return &Vocabulary{draw: func(r *rand.Rand) uint32 { return p.First + r.Uint32N(p.Last-p.First+1) }}, nil
	}
	if len(ordinary) == 0 {
		return nil, errors.New("the tokenizer has no ids but special ones")
	}
	return &Vocabulary{draw: func(r *rand.Rand) uint32 { return ordinary[r.IntN(len(ordinary))] }}, nil
}

// idBytes is the size of an id in the buffer of a text.
const idBytes = 4

// appendIDs is body for a vocabulary of ids.
func (t *Texts) appendIDs(b []byte, r, opening *rand.Rand, tokens int) []byte {
	for k := range tokens {
		from := r
		if k < openingWords {
			from = opening
		}
		b = binary.LittleEndian.AppendUint32(b, t.vocab.draw(from))
	}
	return b
}

// idsIn returns the ids that appendIDs put into b.
func idsIn(b []byte) []uint32 {
	ids := make([]uint32, len(b)/idBytes)
	for i := range ids {
		ids[i] = binary.LittleEndian.Uint32(b[i*idBytes:])
	}
	return ids
}
