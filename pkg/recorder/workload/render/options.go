package render

// Options hold the settings of all requests.
type Options struct {
	// Model is the model name in bodies; "" omits it.
	Model string
	// Stream requests a streamed answer.
	Stream bool
	// Usage requests token counts at the end of a streamed answer, for APIs with UsageAsked.
	Usage bool

	// LengthField is the name of the output length in chats, completions and responses where a
	// prompt does not choose it; "" means the name of the API.
	LengthField string
	// OneLengthField gives the length this name even where a prompt chooses another. It is for
	// requests that get the member from elsewhere, and must not have two lengths.
	OneLengthField bool

	// Template replaces the form of the service; nil means none. With a template only
	// Model, Has and Encode of the other options have an effect.
	Template *Template

	// Has reports whether the model has an input. Nil means that it has all inputs of its
	// style.
	Has func(input string) bool
	// IDs makes requests hold the prompt as token ids where they can hold a text too; Encode encodes the texts.
	IDs bool
	// Encode returns the token ids of a text, for models that accept them, or none if the
	// tokenizer is unknown. If Encode is nil, prompts need ids.
	Encode func(text string) []uint32
}

// has returns the first of these inputs that the model has.
func (o *Options) has(names ...string) (string, bool) {
	for _, n := range names {
		if o.Has == nil || o.Has(n) {
			return n, true
		}
	}
	return "", false
}
