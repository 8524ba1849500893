package plan

import (
	"bytes"
	"fmt"
	"strings"
)

// A Vocabulary is a set of tokens.
type Vocabulary int

// The vocabularies.
const (
	// Plain tokens are common English words with a leading space, drawn
	// independently.
	Plain Vocabulary = iota + 1
	// Tricky tokens break parsers: quotes, backslashes, control characters, line
	// separators, text that looks like SSE or JSON, characters of two to four bytes, an
	// emoji whose first token is empty, and an emoji that several tokens share. They
	// come in a fixed order from a random start, which keeps such tokens together.
	Tricky
	// Stamp tokens are a space and the 19 digits of the Unix nanoseconds at which the
	// server sent the event, so that a client can check its own times by the text. The
	// time is SentNS of a write in the ledger. Digits that a fault cuts in two are zeros.
	Stamp
)

// String returns the vocabulary's name.
func (v Vocabulary) String() string {
	switch v {
	case Plain:
		return "plain"
	case Tricky:
		return "tricky"
	case Stamp:
		return "stamp"
	}
	return fmt.Sprintf("Vocabulary(%d)", int(v))
}

// ParseVocabulary is the inverse of String.
func ParseVocabulary(s string) (Vocabulary, error) {
	for v := Plain; v <= Stamp; v++ {
		if s == v.String() {
			return v, nil
		}
	}
	return 0, fmt.Errorf("unknown vocabulary %q; expected plain, tricky or stamp", clip(s))
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
	"👨", "\u200d👩", "\u200d👧", // one image of three characters
	"\x01\x1f\x7f", " <b>&amp;", " \u2028", "\r\n", " data: [DONE]", ` {"a":`, "\u00a0", " e\u0301", " end",
}

// tokenText returns token i of a text. key is Request.Key, choice the number of the text
// within the request.
func tokenText(v Vocabulary, seed, key uint64, choice, i int) string {
	if v == Stamp {
		return " " + stampDigits
	}
	key = Mix(key) + uint64(choice)
	if v == Tricky {
		start := bits(seed, key, drawText, 0) % uint64(len(trickyTokens))
		return trickyTokens[(start+uint64(i))%uint64(len(trickyTokens))]
	}
	return plainTokens[bits(seed, key, drawText, i)%uint64(len(plainTokens))]
}

// stampDigits is the placeholder of a time in a Stamp token.
const stampDigits = "0000000000000000000"

// FillStamps replaces the times of all Stamp tokens in b, which must still be unset, by ns.
func FillStamps(b []byte, ns uint64) {
	for {
		i := bytes.Index(b, []byte(stampDigits))
		if i < 0 {
			return
		}
		b = b[i:]
		for j, rest := len(stampDigits)-1, ns; j >= 0; j, rest = j-1, rest/10 {
			b[j] = byte('0' + rest%10)
		}
		b = b[len(stampDigits):]
	}
}
