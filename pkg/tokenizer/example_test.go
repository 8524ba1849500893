package tokenizer_test

import (
	"fmt"
	"log"

	"github.com/pa-tools/pa/pkg/tokenizer"
)

// A tokenizer.json of five tokens; real ones are read with Load.
const file = `{
  "version": "1.0",
  "added_tokens": [{"id": 5, "content": "<end>", "special": true}],
  "pre_tokenizer": {"type": "Whitespace"},
  "post_processor": {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<end>", "type_id": 0}}],
    "special_tokens": {"<end>": {"id": "<end>", "ids": [5], "tokens": ["<end>"]}}
  },
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}, "merges": ["a b", "ab c"]}
}`

func Example() {
	tok, err := tokenizer.Parse("tokenizer.json", []byte(file))
	if err != nil {
		log.Fatal(err)
	}
	ids := tok.Encode("abc ab<end>")
	fmt.Println(ids, tok.Count("abc ab<end>"))
	token, _ := tok.Token(ids[0])
	fmt.Println(token)
	fmt.Println(tok.AddSpecial(tok.Encode("abc")))
	// Output:
	// [4 3 5] 3
	// abc
	// [4 5]
}
