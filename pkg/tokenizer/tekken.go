package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A tekkenFile is Mistral's tekken.json: a pattern, tokens with ranks, and special tokens, whose ids
// come before the ranks.
type tekkenFile struct {
	Config struct {
		Pattern string `json:"pattern"`
		// VocabSize counts the special tokens and the ranks in use; 0: all ranks.
		VocabSize  int  `json:"default_vocab_size"`
		NumSpecial *int `json:"default_num_special_tokens"`
	} `json:"config"`
	Vocab []struct {
		Rank  *uint32 `json:"rank"`
		Bytes []byte  `json:"token_bytes"` // base64
		Text  *string `json:"token_str"`
	} `json:"vocab"`
	// Model is in a tokenizer.json.
	Model json.RawMessage `json:"model"`
}

// tekkenSpecial is the number of special tokens of a file that does not say it.
const tekkenSpecial = 1000

// isTekken reports whether a file is named as Mistral names it.
func isTekken(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	return strings.HasPrefix(name, "tekken") && strings.HasSuffix(name, ".json")
}

// parseTekken reads a tekken.json. As Mistral's own library, the tokenizer takes special tokens within
// a text for text.
func parseTekken(name string, data []byte) (*Tokenizer, error) {
	fail := func(format string, args ...any) (*Tokenizer, error) {
		return nil, &FormatError{File: name, Err: fmt.Errorf(format, args...)}
	}
	var f tekkenFile
	if err := json.Unmarshal(data, &f); err != nil {
		return fail("%w", jsonscan.InWords(err))
	}
	switch {
	case f.Config.Pattern == "":
		return fail("config.pattern, which says how text is cut, is missing")
	case len(f.Vocab) == 0:
		return fail("vocab has no tokens")
	}
	special := tekkenSpecial
	if n := f.Config.NumSpecial; n != nil {
		special = *n
	}
	used := len(f.Vocab)
	if n := f.Config.VocabSize; n > 0 {
		used = min(used, n-special)
	}
	if special < 0 || special > maxID || used <= 0 || f.Config.VocabSize < 0 {
		return fail("config: default_vocab_size %d and default_num_special_tokens %d leave no token of %d", f.Config.VocabSize, special, len(f.Vocab))
	}
	if special > max(tekkenSpecial, ranksPerLine*(len(f.Vocab)+1)) {
		return fail("config: default_num_special_tokens %d: too many for %d tokens", special, len(f.Vocab))
	}
	v := newVocab(used + special)
	for i := range f.Vocab {
		token := &f.Vocab[i]
		if token.Rank == nil {
			return fail("vocab[%d]: rank is missing", i)
		}
		if *token.Rank >= uint32(len(f.Vocab)) {
			return fail("vocab[%d]: expected a rank below %d, found %d", i, len(f.Vocab), *token.Rank)
		}
		if int(*token.Rank) >= used {
			continue // Mistral keeps more tokens in the file than the model has
		}
		text := string(token.Bytes)
		if token.Bytes == nil && token.Text != nil {
			text = *token.Text
		}
		if text == "" {
			return fail("vocab[%d]: token_bytes is missing", i)
		}
		v.add(toByteChars(text), uint32(special)+*token.Rank)
	}
	t, err := ranked(name, v, f.Config.Pattern)
	if err != nil {
		return nil, err
	}
	t.added.place(nil)
	t.finish(data)
	return t, nil
}

// asTekken parses a file that has no "model" if it is a tekken.json under another name; else it returns
// err.
func asTekken(name string, data []byte, err error) (*Tokenizer, error) {
	if !errors.As(err, new(*FormatError)) || !strings.Contains(string(data[:min(len(data), 1<<16)]), `"config"`) {
		return nil, err
	}
	var f tekkenFile
	if json.Unmarshal(data, &f) != nil || f.Model != nil || f.Config.Pattern == "" {
		return nil, err
	}
	return parseTekken(name, data)
}
