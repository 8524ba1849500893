package settings

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
	"github.com/pa-tools/pa/pkg/tokenizer/hub"
)

// TokenizerFlag names the tokenizer that counts output tokens.
func TokenizerFlag() cli.Flag {
	return readsTokenizer(&cli.StringFlag{Name: "tokenizer", Usage: "count tokens with `TOKENIZER`: a tokenizer.json, tiktoken or tekken.json file, its folder, a name on the Hugging Face hub, or " + builtin.Name, Category: "Counting"})
}

// OpenTokenizer loads the tokenizer that the command line names ("" is the built-in
// one) with a reading, and prints its notes as warnings.
func OpenTokenizer(c *cli.Context, name string, reading tokenizer.Reading) (*tokenizer.Tokenizer, error) {
	if name == "" {
		name = builtin.Name
	}
	tok, err := FindTokenizer(c, name, reading)
	return noted(c, name, tok, err)
}

// openCached loads a tokenizer that a file's hint names: the built-in one, or one
// from the local cache.
func openCached(c *cli.Context, name string, reading tokenizer.Reading) (*tokenizer.Tokenizer, error) {
	if name == builtin.Name {
		tok, err := builtin.Load()
		return noted(c, name, tok, err)
	}
	home, _ := os.UserHomeDir()
	dir, err := hub.Config{Cache: hub.CacheFromEnv(os.Getenv, home)}.Cached(name)
	if err != nil {
		return nil, err
	}
	for _, path := range tokenizer.FilesAt(dir) {
		cmdline.ReadsFile(c, "the tokenizer "+name, path)
	}
	tok, err := tokenizer.LoadAs(dir, reading)
	return noted(c, name, tok, err)
}

// noted prints the notes of tok as warnings and returns tok.
func noted(c *cli.Context, name string, tok *tokenizer.Tokenizer, err error) (*tokenizer.Tokenizer, error) {
	if err != nil {
		return nil, err
	}
	if name == builtin.Name {
		Warnf(c, "%s", builtin.Note)
	}
	for _, note := range tok.Notes() {
		Warnf(c, "%s: %s", name, note)
	}
	return tok, nil
}

// FindTokenizer loads a tokenizer with a reading, from the cache, the hub or a path.
func FindTokenizer(c *cli.Context, name string, reading tokenizer.Reading) (*tokenizer.Tokenizer, error) {
	// Without a home directory its default folders are not there.
	home, _ := os.UserHomeDir()
	tok, err := hub.FromEnv(os.Getenv, home).Load(c.Context, name, reading)
	if err != nil {
		return nil, fmt.Errorf("%w; --tokenizer built-in needs no file", err)
	}
	return tok, nil
}

// TokenSourceFlag names the source of the numbers of output tokens.
func TokenSourceFlag() cli.Flag {
	return &cli.StringFlag{Name: "token-source", Usage: "take output tokens from `SOURCE`: usage, tokenizer or responses (default: usage where there is one, else --tokenizer if given, else responses)", Category: "Counting"}
}

// Tokens reads --token-source and --tokenizer. The source tokenizer alone takes the built-in
// tokenizer.
func Tokens(c *cli.Context) (t answer.TokenCounting, err error) {
	if s := c.String("token-source"); s != "" {
		if t.TokenSource, err = answer.ParseTokenSource(s); err != nil {
			return t, cmdline.Usagef("--token-source %v", err)
		}
	}
	if c.String("tokenizer") == "" && t.TokenSource != answer.TokenTokenizer {
		return t, nil
	}
	tok, err := OpenTokenizer(c, c.String("tokenizer"), tokenizer.Transformers4)
	if err != nil {
		return t, err
	}
	t.Counter, t.Tokenizer = &answer.LimitedCounter{Tokenizer: tok}, tok.Hash()
	return t, nil
}
