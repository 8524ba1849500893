package render

import (
	"cmp"
	"slices"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// model writes the name of the model.
func (b *object) model(o Options) {
	if o.Model != "" {
		b.text("model", o.Model)
	}
}

// stream writes the members that ask for a streamed answer, and for its usage.
func (b *object) stream(o Options) {
	if !o.Stream {
		return
	}
	b.flag("stream")
	if o.Usage {
		b.raw("stream_options", []byte(`{"include_usage":true}`))
	}
}

// lengthField returns the name of the output length: the prompt's own if the API has it, else the
// one of the options, else the usual one.
func lengthField(p *workload.Prompt, o Options, api API) string {
	names := api.LengthMembers()
	if !o.OneLengthField && slices.Contains(names, p.LengthField) {
		return p.LengthField
	}
	return cmp.Or(o.LengthField, names[0])
}

// length writes the length of the output, and the members that ask for exactly this length.
func (b *object) length(name string, p *workload.Prompt) {
	if p.MaxTokens == 0 {
		return
	}
	b.number(name, p.MaxTokens)
	if p.Exact {
		b.number("min_tokens", p.MaxTokens)
		b.flag("ignore_eos")
	}
}
