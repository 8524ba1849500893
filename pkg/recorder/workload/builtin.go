package workload

// builtinPrompts have different lengths and no special characters.
var builtinPrompts = []string{
	"Hello, my name is",
	"Explain in two sentences why the sky is blue.",
	"Write a short note to a colleague who asks how long a cache line is and why it matters for a ring buffer.",
	"List five things to check before a long measurement on a shared machine, most important first, one line each.",
}

// BuiltinMaxTokens is the output length that the built-in prompts ask for.
const BuiltinMaxTokens = 64

// Builtin returns the four short prompts that are sent without input data.
func Builtin() List {
	entries := make(List, len(builtinPrompts))
	for i, text := range builtinPrompts {
		entries[i] = Entry{Step: i, Prompt: &Prompt{Text: text, MaxTokens: BuiltinMaxTokens}}
	}
	return entries
}
