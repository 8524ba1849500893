package tokenizer

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A tiktokenKind holds the pattern that cuts text and the special tokens. A .tiktoken
// file lacks them: it is a list of tokens and ranks. The name of the file selects it.
type tiktokenKind struct {
	pattern string
	special map[string]uint32
}

// cl100kPattern is the pattern of GPT-4, in the syntax of tokenizer.json files.
const cl100kPattern = anyCaseContractions + `|` + letterWords + `|\p{N}{1,3}|` + symbols + `|` + blanks

var tiktokenKinds = map[string]tiktokenKind{
	"r50k_base": {gpt2Pattern, map[string]uint32{"<|endoftext|>": 50256}},
	"p50k_base": {gpt2Pattern, map[string]uint32{"<|endoftext|>": 50256}},
	"cl100k_base": {cl100kPattern, map[string]uint32{
		"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276,
	}},
	"o200k_base": {o200kPattern, map[string]uint32{"<|endoftext|>": 199999, "<|endofprompt|>": 200018}},
}

// parseTiktoken reads a .tiktoken file. Its name must be the name of one of OpenAI's
// encodings, which selects the pattern and the special tokens.
func parseTiktoken(name string, data []byte) (*Tokenizer, error) {
	encoding := strings.TrimSuffix(filepath.Base(name), ".tiktoken")
	kind, ok := tiktokenKinds[encoding]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(tiktokenKinds)), ", ")
		return nil, &FormatError{File: name, Err: errors.New("the file's name does not say how text is cut; it must be one of " + known + ", with .tiktoken")}
	}
	v, err := readRanks(name, data)
	if err != nil {
		return nil, err
	}
	t, err := ranked(name, v, kind.pattern)
	if err != nil {
		return nil, err
	}
	var special []addedToken
	for content, id := range kind.special {
		special = append(special, addedToken{content: content, id: id})
	}
	t.added.place(special)
	t.finish(data)
	return t, nil
}

// ranked returns the tokenizer of a vocabulary whose ids are in the order of the ranks, without
// special tokens. pattern cuts the text.
func ranked(name string, v *vocab, pattern string) (*Tokenizer, error) {
	b := &bpe{vocab: v, raw: true, unk: -1, ignoreMerges: true}
	for i := range b.byteID {
		var ok bool
		if b.byteID[i], ok = v.id(string(byteChars[i])); !ok {
			return nil, &FormatError{File: name, Err: errors.New("byte " + strconv.Itoa(i) + " is missing")}
		}
	}
	t := &Tokenizer{name: name, model: b, added: newAddedTokens(), failed: &failure{}}
	if scan := knownPattern(pattern); scan != nil {
		t.preTokenizer = isolate{scan: scan, skip: skipTo(pattern)}
	} else {
		x, err := compileExpression(pattern)
		if err != nil {
			return nil, &FormatError{File: name, Err: fmt.Errorf("the regular expression %s, which cuts the text: %w", quote(pattern), err)}
		}
		x.failed = t.failed
		t.preTokenizer = split{find: x, behavior: isolated}
	}
	b.pairs = rankedPairs(v)
	return t, nil
}

// ranksPerLine bounds the ranks of a file, which index a slice, by the number of its lines. In
// known files there is no gap between ranks.
const ranksPerLine = 64

// readRanks reads lines that hold a token in base64, a blank and a rank.
func readRanks(name string, data []byte) (*vocab, error) {
	lines := bytes.Count(data, []byte{'\n'})
	most := uint64(min(maxID, (lines+1)*ranksPerLine))
	v := newVocab(lines)
	fail := func(line int, text string) error {
		return &FormatError{File: name, Line: line, Err: errors.New(text)}
	}
	line := 0
	for len(data) > 0 {
		line++
		text, rest, _ := bytes.Cut(data, []byte{'\n'})
		data = rest
		text = bytes.TrimSuffix(text, []byte{'\r'})
		if len(text) == 0 {
			continue
		}
		coded, number, ok := bytes.Cut(text, []byte{' '})
		if !ok {
			return nil, fail(line, "expected a token in base64, a blank and a rank, found "+quote(string(text)))
		}
		token, err := base64.StdEncoding.DecodeString(string(coded))
		if err != nil {
			return nil, fail(line, quote(string(coded))+" is not base64")
		}
		id, err := strconv.ParseUint(string(number), 10, 32)
		if err != nil {
			return nil, fail(line, "expected a rank, found "+quote(string(number)))
		}
		if id > most {
			return nil, fail(line, fmt.Sprintf("rank %d is larger than any that is supported in a file of %d lines (%d)", id, lines+1, most))
		}
		if len(token) == 0 {
			return nil, fail(line, "the token is empty")
		}
		v.add(toByteChars(string(token)), uint32(id))
	}
	if len(v.ids) == 0 {
		return nil, &FormatError{File: name, Err: errors.New("there are no tokens")}
	}
	return v, nil
}

// rankedPairs returns the merges that the ranks imply: two tokens merge if their
// concatenation is a token, with its rank.
func rankedPairs(v *vocab) *pairTable {
	t := newPairTable(4 * v.size())
	for id, token := range v.byID {
		if !v.present[id] {
			continue
		}
		for i := range token {
			if i == 0 {
				continue
			}
			left, ok := v.ids[token[:i]]
			if !ok {
				continue
			}
			if right, ok := v.ids[token[i:]]; ok {
				t.set(left, right, uint32(id), uint32(id))
			}
		}
	}
	return t
}
