package tokenizer

import (
	"fmt"
	"strconv"
)

// A Reading is a set of rules that turn the files of a model into a tokenizer.
// Releases of the transformers library read the same files differently.
type Reading uint8

const (
	// Transformers4 follows tokenizer.json alone, as the tokenizers library and
	// transformers before release 5 do.
	Transformers4 Reading = iota
	// Transformers5 follows transformers 5. The class that tokenizer_config.json
	// names, such as LlamaTokenizer, may use only vocabulary, merges, special
	// tokens and post-processor of tokenizer.json, and bring its own normalizer,
	// and pre-tokenizer. Tests compare it with release 5.23.0.
	Transformers5
)

// readingNames are the names of the readings, by their numbers.
var readingNames = [...]string{Transformers4: "transformers-4", Transformers5: "transformers-5"}

// String returns "transformers-4" or "transformers-5".
func (r Reading) String() string {
	if int(r) < len(readingNames) {
		return readingNames[r]
	}
	return "Reading(" + strconv.Itoa(int(r)) + ")"
}

// ParseReading returns the reading whose String is name.
func ParseReading(name string) (Reading, error) {
	for i, known := range readingNames {
		if name == known {
			return Reading(i), nil
		}
	}
	return 0, fmt.Errorf("%q is neither %s nor %s", name, readingNames[Transformers4], readingNames[Transformers5])
}
