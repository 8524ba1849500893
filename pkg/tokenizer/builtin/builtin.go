package builtin

import (
	_ "embed" // of the files below
	"sync"

	"github.com/pa-tools/pa/pkg/tokenizer"
)

//go:embed tokenizer.json
var file []byte

//go:embed corpus.txt
var corpus string

// Name is the name of the tokenizer on the command line and in outputs.
const Name = "built-in"

// Note is the remark for users about counts of this tokenizer.
const Note = "token counts are from the built-in tokenizer, not from the model's tokenizer; --tokenizer names another"

// Load returns the tokenizer, the same one each time.
var Load = sync.OnceValues(func() (*tokenizer.Tokenizer, error) {
	return tokenizer.Parse(Name, file)
})

// Corpus returns the training text, about 400 KB of mostly ASCII. A line is a paragraph or a
// line of code.
func Corpus() string { return corpus }
