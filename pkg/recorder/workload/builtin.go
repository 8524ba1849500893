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
	for i := range entries {
		entries[i] = builtinEntry(i, Set{}, BuiltinMaxTokens)
	}
	return entries
}

func builtinEntry(k int, set Set, maxTokens int) Entry {
	text := builtinPrompts[k%len(builtinPrompts)]
	if k >= len(builtinPrompts) || set != (Set{}) {
		text = builtinName(set, k) + " asks: " + text
	}
	return Entry{File: "built-in prompts", Step: k, Prompt: &Prompt{Text: text, MaxTokens: maxTokens}}
}

// builtinName returns two words that no language has, others for each set and number, so
// that prompts differ from their first characters on.
func builtinName(set Set, k int) string {
	const consonants, vowels, syllables = "bdfgklmnprstvz", "aeiou", 3
	x := mix(set.Seed(0), uint64(k)) //nolint:gosec // not negative
	draw := func(letters string) byte {
		n := uint64(len(letters))
		c := letters[x%n]
		x /= n
		return c
	}
	var name []byte
	for word := range 2 {
		if word > 0 {
			name = append(name, ' ')
		}
		for i := range syllables {
			c := draw(consonants)
			if i == 0 {
				c -= 'a' - 'A'
			}
			name = append(name, c, draw(vowels))
		}
	}
	return string(name)
}

// BuiltinSets is a Source of prompts made of the built-in ones: first the four as they are,
// then each again after a name that no other prompt begins with. In sets after the first,
// all prompts have such a name.
type BuiltinSets struct {
	n, maxTokens int
	set          Set
}

// NewBuiltinSets returns a source of n prompts, n > 0, with the first set. They ask for answers of
// maxTokens tokens; 0 for no length.
func NewBuiltinSets(n, maxTokens int) *BuiltinSets { return &BuiltinSets{n: n, maxTokens: maxTokens} }

// Use replaces the prompts by the prompts of a set.
func (b *BuiltinSets) Use(set Set) { b.set = set }

// Len implements Source.
func (b *BuiltinSets) Len() int { return b.n }

// At implements Source; there is no error.
func (b *BuiltinSets) At(k int) (Entry, error) { return builtinEntry(k, b.set, b.maxTokens), nil }
