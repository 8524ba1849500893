package hub

import (
	"context"

	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

// Load finds the tokenizer as [Config.Find] does and reads its files. The name of the
// built-in tokenizer means that tokenizer, which is the same with every reading.
func (c Config) Load(ctx context.Context, name string, reading tokenizer.Reading) (*tokenizer.Tokenizer, error) {
	if name == builtin.Name {
		return builtin.Load()
	}
	path, err := c.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return tokenizer.LoadAs(path, reading)
}
