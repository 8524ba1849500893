package render

import "github.com/pa-tools/pa/pkg/recorder/workload/template"

// Options say what goes into every request beside the prompt.
type Options struct {
	// Model is named in bodies; "" names none.
	Model string
	// Stream asks for a streamed answer.
	Stream bool
	// Usage asks that a streamed answer end with the numbers of tokens, of chat
	// and completions.
	Usage bool

	// Template is what requests are made after, instead of the service's own form;
	// nil is none. Of the other options only Model, Has and Encode matter then.
	Template *template.Template

	// Has reports whether the model takes an input; nil means that it takes all
	// of its kind.
	Has func(input string) bool
	// Encode returns the tokens of a text, for models that take those, or none if
	// it does not know the model's. Without it prompts need ids.
	Encode func(text string) []uint32
}

// has reports whether the model takes the first of several inputs of which it
// may have one, and returns that.
func (o *Options) has(names ...string) (string, bool) {
	for _, n := range names {
		if o.Has == nil || o.Has(n) {
			return n, true
		}
	}
	return "", false
}
