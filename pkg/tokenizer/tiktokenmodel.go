package tokenizer

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// A tiktoken.model is a list of tokens and ranks, as a .tiktoken file, of a model that is not
// OpenAI's. The pattern that cuts text is in the model's code; tokenizer_config.json beside the file
// has the special tokens.

// kimiPattern is the pattern of Kimi K2. Source: tokenization_kimi.py of moonshotai/Kimi-K2-Instruct.
const kimiPattern = `[\p{Han}]+` +
	`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// The numbers of ranks of the published files, which tell them apart without a configuration.
const (
	kimiRanks  = 163584
	llamaRanks = 128000
)

// reservedTokens is the number of ids after the ranks that both models keep for special tokens.
const reservedTokens = 256

// isRankList reports whether a file is a list of tokens and ranks.
func isRankList(data []byte) bool {
	line, _, _ := bytes.Cut(data, []byte{'\n'})
	coded, number, ok := bytes.Cut(bytes.TrimSuffix(line, []byte{'\r'}), []byte{' '})
	if !ok {
		return false
	}
	_, codeErr := base64.StdEncoding.DecodeString(string(coded))
	_, rankErr := strconv.ParseUint(string(number), 10, 32)
	return codeErr == nil && rankErr == nil
}

// parseTiktokenModel reads a tiktoken.model. config is the tokenizer_config.json beside it, nil if
// there is none.
func parseTiktokenModel(name string, data []byte, configName string, config []byte) (*Tokenizer, error) {
	if !isRankList(data) {
		return nil, &FormatError{File: name, Err: errors.New("no list of tokens and ranks; a SentencePiece model is not read: give the model's tokenizer.json")}
	}
	v, err := readRanks(name, data)
	if err != nil {
		return nil, err
	}
	settings, err := readObject(configName, config)
	if err != nil {
		return nil, err
	}
	model := modelOf(name, v.size(), settings)
	pattern := cl100kPattern
	if model == modelKimi {
		pattern = kimiPattern
	}
	t, err := ranked(name, v, pattern)
	if err != nil {
		return nil, err
	}
	if model == "" {
		t.notes = append(t.notes, "neither the file nor a tokenizer_config.json beside it says how text is cut; it is cut as Llama 3 cuts it")
	}
	special, err := specialTokens(model, uint32(len(v.byID)), settings)
	if err != nil {
		return nil, err
	}
	if special == nil {
		t.notes = append(t.notes, "no tokenizer_config.json beside the file names special tokens, so special tokens within a text count as text")
	}
	t.added.place(special)
	t.finish(data)
	return t, nil
}

// Models whose pattern is known.
const (
	modelKimi  = "kimi"
	modelLlama = "llama"
)

// modelOf returns the model of a tiktoken.model: by its configuration, else by the number of its ranks,
// else by its folders; "" if none of these tells.
func modelOf(path string, ranks int, config *node) string {
	names := ""
	if config != nil {
		for _, member := range []string{"tokenizer_class", "bos_token"} {
			if m := config.member(member); m != nil && !m.isNull() {
				text, _ := m.string() // bos_token may be an object
				names += " " + strings.ToLower(text)
			}
		}
	}
	full, err := filepath.Abs(path)
	if err != nil {
		full = path
	}
	folders := strings.ToLower(filepath.ToSlash(filepath.Dir(full)))
	switch {
	case strings.Contains(names, "tiktokentokenizer"), strings.Contains(names, "kimi"):
		return modelKimi
	case strings.Contains(names, "llama"), strings.Contains(names, "<|begin_of_text|>"):
		return modelLlama
	case ranks == kimiRanks:
		return modelKimi
	case ranks == llamaRanks:
		return modelLlama
	}
	for _, model := range []string{modelKimi, modelLlama} {
		if strings.Contains(folders, model) {
			return model
		}
	}
	return ""
}

// specialTokens returns the special tokens that the configuration names. Without it, it returns the
// special tokens of Llama 3, whose ids begin at n, or nil for another model.
func specialTokens(model string, n uint32, config *node) ([]addedToken, error) {
	if config != nil {
		if list := config.member("added_tokens_decoder"); list != nil && !list.isNull() {
			tokens, err := readTokenMap(list)
			if err != nil {
				return nil, err
			}
			return append(make([]addedToken, 0, len(tokens)), tokens...), nil
		}
	}
	if model != modelLlama {
		return nil, nil
	}
	// Source: llama/tokenizer.py of meta-llama/llama3.
	names := []string{
		"<|begin_of_text|>", "<|end_of_text|>", reservedToken(0), reservedToken(1), reservedToken(2), reservedToken(3),
		"<|start_header_id|>", "<|end_header_id|>", reservedToken(4), "<|eot_id|>",
	}
	for i := 5; len(names) < reservedTokens; i++ {
		names = append(names, reservedToken(i))
	}
	var tokens []addedToken
	for i, content := range names {
		tokens = append(tokens, addedToken{content: content, id: n + uint32(i)})
	}
	return tokens, nil
}

// reservedToken is a token of Llama 3 without a use.
func reservedToken(i int) string { return fmt.Sprintf("<|reserved_special_token_%d|>", i) }
