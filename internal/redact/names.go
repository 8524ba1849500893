package redact

import (
	"slices"
	"strings"
	"unicode"
)

// Credential reports whether a name says that its value is a credential: api_key,
// X-Api-Key, accessToken, password, client_secret and the like. It splits the name into
// words at punctuation and where a capital follows, and looks at the words:
//
//   - password, secret, authorization and credential say it anywhere, and so does a pair such
//     as api_key or access_token, also without a separator;
//   - auth, key and token say it as the last word, key and token unless the word
//     before them names something else: cache_key, eos_token.
//
// Plurals of key and token are counts or lists (max_tokens), unless they are a pair (api_keys).
func Credential(name string) bool {
	words := wordsOf(name)
	if len(words) == 0 {
		return false
	}
	for _, w := range words {
		for _, secret := range secretWords { // clientsecret, secrets
			if strings.HasSuffix(strings.TrimSuffix(w, "s"), secret) {
				return true
			}
		}
	}
	for i, w := range words {
		if i > 0 && (isKeyOrToken(w) || isKeyOrToken(strings.TrimSuffix(w, "s"))) && slices.Contains(qualifiers, words[i-1]) {
			return true
		}
		if joined(strings.TrimSuffix(w, "s")) {
			return true
		}
	}
	last, before := words[len(words)-1], ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	switch last {
	case "auth":
		return true
	case "header":
		return before == "auth"
	case "key":
		return !slices.Contains(otherKeys, before)
	case "token":
		return !slices.Contains(otherTokens, before)
	}
	return false
}

var (
	// secretWords make a name a credential in any place, also as the end of a longer word.
	secretWords = []string{"apikey", "authorization", "authtoken", "credential", "passphrase", "passwd", "password", "secret"}
	// qualifiers make a credential of key, keys, token or tokens.
	qualifiers = []string{"access", "api", "auth", "bearer", "client", "private", "refresh", "secret", "subscription"}
	// A name that ends in key or token is no credential after one of these words.
	otherKeys = []string{
		"affinity", "answer", "cache", "column", "content", "data", "dedup", "dict", "field", "foreign", "group", "hash", "idempotency", "image",
		"index", "input", "join", "label", "lookup", "map", "message", "metric", "object", "order", "output", "partition", "primary", "prompt",
		"public", "question", "response", "routing", "row", "shard", "sort", "text",
	}
	otherTokens = []string{
		"audio", "bad", "begin", "bos", "cls", "completion", "continuation", "count", "cutoff", "decoder", "draft", "each", "end", "eom", "eos", "eot",
		"fim", "first", "forced", "image", "input", "last", "mask", "max", "min", "n", "new", "next", "num", "output", "pad", "page", "per", "placeholder", "prefix",
		"previous", "prompt", "reasoning", "sep", "sos", "special", "start", "stop", "suffix", "think", "thinking", "time", "unk", "video",
	}
)

func isKeyOrToken(w string) bool { return w == "key" || w == "token" }

// joined reports whether a word ends with a qualifier and key or token: accesstoken.
func joined(word string) bool {
	for _, noun := range []string{"key", "token"} {
		if before, ok := strings.CutSuffix(word, noun); ok {
			for _, q := range qualifiers {
				if strings.HasSuffix(before, q) {
					return true
				}
			}
		}
	}
	return false
}

// wordsOf splits a name into words in lower case: "X-ApiKey" has x, api and key.
func wordsOf(name string) (words []string) {
	runes := []rune(name)
	begin := 0
	end := func(i int) {
		if i > begin {
			words = append(words, strings.ToLower(string(runes[begin:i])))
		}
		begin = i
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end(i)
			begin = i + 1
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1])),
			// the last capital of APIKey that begins a word
			unicode.IsUpper(r) && i > 0 && i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1]):
			end(i)
		}
	}
	end(len(runes))
	return words
}
