// Package builtin is the tokenizer that serves when none is given, and the text
// that it was trained on.
//
//	tok, err := builtin.Load()
//
// It is no model's: its counts are of the right size for English and right for
// nothing else, and whoever prints them says so (see Note). Its vocabulary of
// 4 096 tokens is byte-level BPE, cut like GPT-4's; package train makes it from
// the corpus, always the same. The corpus is this project's own: prose and code
// that were written for it, and its documentation and comments of the day.
//
// The file tokenizer.json is one of Hugging Face's format, so that other tools
// can count with it too.
package builtin

import (
	_ "embed" // of the files below
	"sync"

	"github.com/pa-tools/pa/pkg/tokenizer"
)

//go:generate go run ./train

//go:embed tokenizer.json
var file []byte

//go:embed corpus.txt
var corpus string

// Name is what the tokenizer is called on the command line and in outputs.
const Name = "built-in"

// Note is what a user is told about counts of this tokenizer.
const Note = "token counts are those of the built-in tokenizer, not of the model's own; name that with --tokenizer"

// Load returns the tokenizer; always the same one.
var Load = sync.OnceValues(func() (*tokenizer.Tokenizer, error) {
	return tokenizer.Parse(Name, file)
})

// Corpus is the text that the tokenizer was trained on: a paragraph or a line of
// code to a line, of ASCII mostly, some 400 KB.
func Corpus() string { return corpus }
