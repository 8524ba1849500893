package main

import (
	"cmp"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
	"github.com/pa-tools/pa/pkg/tokenizer/hub"
)

// tokenizerFlag names the tokenizer that counts output tokens.
func tokenizerFlag() cli.Flag {
	f := &cli.StringFlag{Name: "tokenizer", Usage: "count tokens with `TOKENIZER`: a tokenizer.json, tiktoken or tekken.json file, its folder, a name on the Hugging Face hub, or " + builtin.Name, Category: catCounting}
	return cmdline.Reads(f, func(value string) []string { return hub.FilesFromEnv(os.Getenv, home(), value) })
}

// tokenSourceFlag names the source of the numbers of output tokens.
func tokenSourceFlag(to *answer.TokenSource) cli.Flag {
	return parsed(to, answer.ParseTokenSource, &cli.StringFlag{Name: "token-source", Usage: "take output tokens from `SOURCE`: usage, tokenizer or responses (default: usage where there is one, else --tokenizer if given, else responses)", Category: catCounting})
}

// home returns the home directory; "" if there is none: its default folders are not there then.
func home() string {
	dir, _ := os.UserHomeDir()
	return dir
}

// tokens returns how a command counts tokens by this source and --tokenizer. The source tokenizer
// alone takes the built-in tokenizer.
func (c *call) tokens(source answer.TokenSource) (t answer.TokenCounting, err error) {
	t.TokenSource = source
	if c.String("tokenizer") == "" && source != answer.TokenTokenizer {
		return t, nil
	}
	tok, err := c.openTokenizer(c.tokenizerName(), tokenizer.Transformers4)
	if err != nil {
		return t, err
	}
	t.Counter, t.Tokenizer = &answer.LimitedCounter{Tokenizer: tok}, tok.Hash()
	return t, nil
}

// tokenizerName returns the name of the tokenizer: the built-in one without --tokenizer.
func (c *call) tokenizerName() string { return cmp.Or(c.String("tokenizer"), builtin.Name) }

// openTokenizer loads the tokenizer that the command line names with a reading, and prints its
// notes as warnings.
func (c *call) openTokenizer(name string, reading tokenizer.Reading) (*tokenizer.Tokenizer, error) {
	tok, err := c.findTokenizer(name, reading)
	return c.noted(name, tok, err)
}

// openCached loads a tokenizer that a file's hint names: the built-in one, or one
// from the local cache.
func (c *call) openCached(name string, reading tokenizer.Reading) (*tokenizer.Tokenizer, error) {
	if name == builtin.Name {
		tok, err := builtin.Load()
		return c.noted(name, tok, err)
	}
	dir, err := hub.Config{Cache: hub.CacheFromEnv(os.Getenv, home())}.Cached(name)
	if err != nil {
		return nil, err
	}
	for _, path := range tokenizer.FilesAt(dir) {
		cmdline.ReadsFile(c.commandLine, "the tokenizer "+name, path)
	}
	tok, err := tokenizer.LoadAs(dir, reading)
	return c.noted(name, tok, err)
}

// noted prints the notes of tok as warnings and returns tok.
func (c *call) noted(name string, tok *tokenizer.Tokenizer, err error) (*tokenizer.Tokenizer, error) {
	if err != nil {
		return nil, err
	}
	if name == builtin.Name {
		c.warnf("%s", builtin.Note)
	}
	for _, note := range tok.Notes() {
		c.warnf("%s: %s", name, note)
	}
	return tok, nil
}

// findTokenizer loads a tokenizer with a reading, from the cache, the hub or a path.
func (c *call) findTokenizer(name string, reading tokenizer.Reading) (*tokenizer.Tokenizer, error) {
	tok, err := hub.FromEnv(os.Getenv, home()).Load(c.Context, name, reading)
	if err != nil {
		return nil, fmt.Errorf("%w; --tokenizer built-in needs no file", err)
	}
	return tok, nil
}
