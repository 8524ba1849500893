package synth

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A Tokenizer counts tokens. Its calls overlap only if the [Texts] of a [Vocabulary] are used by several goroutines at
// the same time.
type Tokenizer interface {
	Count(text string) int
	Encode(text string) []uint32
}

// A Vocabulary holds the words of a corpus with their token counts. It does not change, so several
// [Texts] may share it: counting the tokens takes most of the time of [NewVocabulary].
type Vocabulary struct {
	tok     Tokenizer
	words   []word   // distinct words of the corpus
	order   []uint32 // the corpus as places in words
	single  []string // distinct words of one token
	starter []string // words of single that also have one token at the start of a text

	// draw draws a token id, in a vocabulary of ids, which has no words; else nil.
	draw func(*rand.Rand) uint32

	buffers sync.Pool // of *[]byte, for texts while they are made
}

// Texts generates texts of exact lengths. It is safe for concurrent use, except for Use, if its tokenizer is.
type Texts struct {
	vocab *Vocabulary
	first uint64 // seed of the first set
	seed  uint64
	salt  uint64
	// IDs makes the methods return token ids as well.
	IDs bool
}

// A word is a word of the corpus.
type word struct {
	text   string
	tokens int // after a blank
}

// Texts returns a generator of texts from words of the vocabulary. Texts of different
// salts begin differently.
func (v *Vocabulary) Texts(seed uint64, salt string) *Texts {
	t := &Texts{vocab: v, first: seed}
	t.Use(workload.Set{}, salt)
	return t
}

// Use makes further texts belong to a set, and begin by a salt; "" is no salt.
func (t *Texts) Use(set workload.Set, salt string) {
	t.seed, t.salt = set.Seed(t.first), 0
	if salt != "" {
		h := fnv.New64a()
		h.Write([]byte(salt))
		t.salt = h.Sum64() | 1
	}
}

// NewVocabulary counts the tokens of the words of the corpus. It returns an error if the
// corpus has too few words of one token.
func NewVocabulary(tok Tokenizer, corpus string) (*Vocabulary, error) {
	const context = "the" // before a word while it is counted
	v := &Vocabulary{tok: tok}
	base := tok.Count(context)
	places := map[string]uint32{}
	v.order = make([]uint32, 0, len(corpus)/5) // a word and its blank take more than 5 bytes
	for text := range strings.FieldsSeq(corpus) {
		place, known := places[text]
		if !known {
			n := tok.Count(context+" "+text) - base
			place = uint32(len(v.words)) //nolint:gosec // fewer words than the corpus has bytes
			places[text] = place
			v.words = append(v.words, word{text, n})
			// Twice, because a character that the tokenizer does not know may join a
			// neighbour in one token.
			if n == 1 && isPlain(text) && tok.Count(context+" "+text+" "+text) == base+2 {
				v.single = append(v.single, text)
				if tok.Count(text) == 1 {
					v.starter = append(v.starter, text)
				}
			}
		}
		if n := v.words[place].tokens; n > 0 && n < maxWordTokens {
			v.order = append(v.order, place)
		}
	}
	if len(v.starter) < minWords || len(v.single) < minWords {
		return nil, fmt.Errorf("the tokenizer knows too few words to make texts of: %d of one token, and %d at the start of a text; at least %d are needed", len(v.single), len(v.starter), minWords)
	}
	return v, nil
}

const (
	// maxWordTokens bounds the tokens of usable words.
	maxWordTokens = 32
	// minWords is enough for texts to differ.
	minWords = 16
	// openingWords is the number of random words at the start of a text, so that texts
	// begin differently: four of a thousand words give 10¹² beginnings.
	openingWords = 4
)

// isPlain reports whether a word consists of ASCII letters.
func isPlain(word string) bool {
	return strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Purposes of random numbers. Each has its own stream.
const (
	forText = iota + 1
	forOpening
	forBlock
	forBlockOpening
	forInput
	forOutput
	forPrefix
	forTurns
	forDelay
	forImage
	forAudio
	forPart
	forPartOpening
	forAgents
	forAgentLengths
	forAgentHeads
)

// source returns the random stream of a purpose and a number.
func source(seed uint64, purpose, number uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, purpose<<56^number))
}

// Text returns a text of exactly this many tokens, at least 1, and their ids if t.IDs.
func (t *Texts) Text(number uint64, tokens int) (string, []uint32, error) {
	if err := positive("a text's length", tokens); err != nil {
		return "", nil, err
	}
	return t.made(tokens, func(b []byte) []byte { return t.body(b, forText, number, tokens) })
}

// made returns the text of exactly this many tokens that write appends to a buffer, and their ids if t.IDs.
func (t *Texts) made(tokens int, write func([]byte) []byte) (string, []uint32, error) {
	b, ok := t.vocab.buffers.Get().(*[]byte)
	if !ok {
		b = new([]byte)
	}
	defer t.vocab.buffers.Put(b)
	*b = write((*b)[:0])
	return t.finish(b, tokens)
}

// Blocks returns a text of exactly this many tokens, in one block of size tokens for
// each id. The last block may be shorter. A block depends only on its id.
func (t *Texts) Blocks(blocks []int64, size, tokens int) (string, []uint32, error) {
	if len(blocks) == 0 || tokens <= (len(blocks)-1)*size || tokens > len(blocks)*size {
		return "", nil, fmt.Errorf("%d tokens are not %d blocks of %d", tokens, len(blocks), size)
	}
	return t.made(tokens, func(b []byte) []byte {
		for i, id := range blocks {
			b = t.body(b, forBlock, uint64(id), min(size, tokens-i*size))
		}
		return b
	})
}

// Scoped returns a text of exactly len(blocks) × size + rest tokens, at least 1: a block of size tokens for each id, then rest tokens. A block
// depends only on its scope and its id, and the tokens after the blocks on the scope and number. Scope "" has the blocks
// of Blocks.
func (t *Texts) Scoped(scope string, blocks []int64, size int, number uint64, rest int) (string, []uint32, error) {
	tokens := len(blocks)*size + rest
	if err := positive("a text's length", tokens); err != nil {
		return "", nil, err
	}
	own := *t
	if scope != "" {
		sum := sha256.Sum256([]byte(scope))
		own.seed ^= binary.LittleEndian.Uint64(sum[:])
	}
	return own.made(tokens, func(b []byte) []byte {
		for _, id := range blocks {
			b = own.body(b, forBlock, uint64(id), size)
		}
		if rest > 0 {
			b = own.body(b, forText, number, rest)
		}
		return b
	})
}

// Parts returns a text of exactly the sum of tokens: for each name a part of that many tokens, at least 1, which depends only on
// its name and its length.
func (t *Texts) Parts(names []uint64, tokens []int) (string, []uint32, error) {
	total := 0
	for i, n := range tokens {
		if err := positive(fmt.Sprintf("the length of part %d", i), n); err != nil {
			return "", nil, err
		}
		total += n
	}
	if err := positive("a text's length", total); err != nil {
		return "", nil, err
	}
	return t.made(total, func(b []byte) []byte {
		for i, name := range names {
			b = t.body(b, forPart, name, tokens[i])
		}
		return b
	})
}

// After returns a text of exactly this many tokens after a prefix. Equal prefix numbers
// give equal prefixes.
func (t *Texts) After(prefix uint64, prefixTokens int, number uint64, tokens int) (string, []uint32, error) {
	if err := errors.Join(positive("a text's length", tokens), positive("a prefix's length", prefixTokens)); err != nil {
		return "", nil, err
	}
	return t.made(prefixTokens+tokens, func(b []byte) []byte {
		return t.body(t.body(b, forBlock, ^prefix, prefixTokens), forText, number, tokens)
	})
}

// Prefix returns one of n prefixes of exactly this many tokens, selected by the number
// of a text. It is for texts that Texts did not generate.
func (t *Texts) Prefix(number uint64, n, tokens int) (string, error) {
	if err := errors.Join(positive("number of prefixes", n), positive("a prefix's length", tokens)); err != nil {
		return "", err
	}
	prefix := source(t.seed, forPrefix, number).IntN(n)
	text, _, err := t.made(tokens, func(b []byte) []byte { return t.body(b, forBlock, ^uint64(prefix), tokens) })
	return text, err
}

// body appends words with this many tokens in total, after a blank unless b is empty. Bodies
// of different lengths with the same purpose and number begin with the same words.
func (t *Texts) body(b []byte, purpose, number uint64, tokens int) []byte {
	r := source(t.seed, purpose, number)
	opening := r
	if t.salt != 0 {
		opening = source(t.seed^t.salt, purpose+1, number)
	}
	if t.vocab.draw != nil {
		return t.appendIDs(b, r, opening, tokens)
	}
	left := tokens
	add := func(word string, n int) {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, word...)
		left -= n
	}
	add(t.vocab.starter[opening.IntN(len(t.vocab.starter))], 1)
	for k := 1; k < openingWords && left > 0; k++ {
		add(t.vocab.single[opening.IntN(len(t.vocab.single))], 1)
	}
	for left > 0 {
		// A passage of the corpus.
		at, n := r.IntN(len(t.vocab.order)), 16+r.IntN(48)
		for ; n > 0 && at < len(t.vocab.order); n, at = n-1, at+1 {
			next := t.vocab.words[t.vocab.order[at]]
			if next.tokens > left {
				break
			}
			add(next.text, next.tokens)
		}
		if n > 0 && at < len(t.vocab.order) {
			break // the next word is too long
		}
	}
	for left > 0 {
		add(t.vocab.single[r.IntN(len(t.vocab.single))], 1)
	}
	return b
}

// finish checks the token count of b, and repairs it.
func (t *Texts) finish(b *[]byte, tokens int) (string, []uint32, error) {
	if t.vocab.draw != nil {
		return "", idsIn(*b), nil
	}
	text := string(*b)
	if n := t.vocab.tok.Count(text); n != tokens {
		var err error
		if text, err = t.repair(b, n, tokens); err != nil {
			return "", nil, err
		}
	}
	if f, ok := t.vocab.tok.(interface{ Err() error }); ok && f.Err() != nil {
		return "", nil, f.Err()
	}
	if !t.IDs {
		return text, nil, nil
	}
	return text, t.vocab.tok.Encode(text), nil
}

// repair replaces words at the end of b, which has n tokens, by words of one token,
// until the text has want tokens. Each attempt replaces more words.
func (t *Texts) repair(b *[]byte, n, want int) (string, error) {
	r := source(t.seed, forText, uint64(want))
	const most = 100
	for keep := want; keep >= max(1, want-most); keep-- {
		for n > keep {
			i := bytes.LastIndexByte(*b, ' ')
			if i < 0 {
				break
			}
			*b = (*b)[:i]
			n = t.vocab.tok.Count(string(*b))
		}
		for ; n < want; n++ {
			*b = append(append(*b, ' '), t.vocab.single[r.IntN(len(t.vocab.single))]...)
		}
		text := string(*b)
		if n = t.vocab.tok.Count(text); n == want {
			return text, nil
		}
	}
	return "", fmt.Errorf("no text of exactly %d tokens could be made for this tokenizer", want)
}

// Opening returns a few words of one token each, which depend on the salt too. It is for
// texts that Texts did not generate.
func (t *Texts) Opening(number uint64) string {
	r := source(t.seed^t.salt, forOpening, number)
	words := []string{t.vocab.starter[r.IntN(len(t.vocab.starter))]}
	for len(words) < openingWords {
		words = append(words, t.vocab.single[r.IntN(len(t.vocab.single))])
	}
	return strings.Join(words, " ")
}
