package hub

import (
	"context"

	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

// Load is Find, and then reads what was found. The name of the built-in
// tokenizer means that.
func (c Config) Load(ctx context.Context, name string) (*tokenizer.Tokenizer, error) {
	if name == builtin.Name {
		return builtin.Load()
	}
	path, err := c.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return tokenizer.Load(path)
}
