package sim

import (
	"fmt"
	"strings"
)

// A Vocabulary is what tokens are made of.
type Vocabulary int

// The vocabularies.
const (
	// Plain tokens are common English words with a leading space, drawn
	// independently.
	Plain Vocabulary = iota + 1
	// Tricky tokens are what breaks parsers: quotes, backslashes, control
	// characters, line separators, text that looks like SSE or JSON, characters
	// of two to four bytes, an emoji whose first token has no text yet, and one
	// that is spread over tokens at its joiners. They come in a fixed order from
	// a random start, so that pieces of a character stay together.
	Tricky
)

// String returns the vocabulary's name.
func (v Vocabulary) String() string {
	switch v {
	case Plain:
		return "plain"
	case Tricky:
		return "tricky"
	}
	return fmt.Sprintf("Vocabulary(%d)", int(v))
}

// ParseVocabulary is the inverse of String.
func ParseVocabulary(s string) (Vocabulary, error) {
	for v := Plain; v <= Tricky; v++ {
		if s == v.String() {
			return v, nil
		}
	}
	return 0, fmt.Errorf("unknown vocabulary %q; expected plain or tricky", clip(s))
}

var plainTokens = func() []string {
	words := strings.Fields(`time year people way day man thing woman life child world school state family student
		group country problem hand part place case week company system program question work government number night
		point home water room mother area money story fact month lot right study book eye job word business issue side
		kind head house service friend father power hour game line end member law car city community name president team
		minute idea body information back parent face level office door health person art history party result change
		morning reason research moment air teacher force education`)
	for i, w := range words {
		words[i] = " " + w
	}
	return words
}()

var trickyTokens = []string{
	` "quoted"`, "\n", "\ttab", ` \back/slash`, " naïve", " 日本語",
	"", " 🚀", // two tokens for one character: nothing, then all of it
	"👨", "\u200d👩", "\u200d👧", // one picture of three characters
	"\x01\x1f\x7f", " <b>&amp;", " \u2028", "\r\n", " data: [DONE]", ` {"a":`, "\u00a0", " e\u0301", " end",
}

// tokenText returns token i of a text. key is the request's index or its own
// seed, choice the number of the text among the request's.
func tokenText(v Vocabulary, seed, key uint64, choice, i int) string {
	key = mix(key) + uint64(choice)
	if v == Tricky {
		start := bits(seed, key, drawText, 0) % uint64(len(trickyTokens))
		return trickyTokens[(start+uint64(i))%uint64(len(trickyTokens))]
	}
	return plainTokens[bits(seed, key, drawText, i)%uint64(len(plainTokens))]
}

// countWords returns the number of input tokens of a text: its words.
func countWords(s string) int {
	n := 0
	for range strings.FieldsSeq(s) {
		n++
	}
	return n
}
