package hub

import (
	"context"

	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

// Load is LoadAs with the reading tokenizer.Transformers4.
func (c Config) Load(ctx context.Context, name string) (*tokenizer.Tokenizer, error) {
	return c.LoadAs(ctx, name, tokenizer.Transformers4)
}

// LoadAs is Find, and then reads the files as the reading says. The name of the
// built-in tokenizer means that tokenizer, for which all readings are the same.
func (c Config) LoadAs(ctx context.Context, name string, reading tokenizer.Reading) (*tokenizer.Tokenizer, error) {
	if name == builtin.Name {
		return builtin.Load()
	}
	path, err := c.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return tokenizer.LoadAs(path, reading)
}
