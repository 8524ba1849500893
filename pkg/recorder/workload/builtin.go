package workload

import (
	"encoding/json"
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
)

// builtinPrompts are the texts of BuiltinChat and BuiltinCompletions: a few
// lengths, nothing to parse, no special characters.
var builtinPrompts = []string{
	"Hello, my name is",
	"Explain in two sentences why the sky is blue.",
	"Write a short note to a colleague who asks how long a cache line is and why it matters for a ring buffer.",
	"List five things to check before a long measurement on a shared machine, most important first, one line each.",
}

// BuiltinMaxTokens is the output length that the built-in requests ask for.
const BuiltinMaxTokens = 64

// BuiltinChat returns the requests that are sent to a chat endpoint when no
// input data is given: four short prompts. streaming asks for streamed answers
// with usage. They name no model; the backend adds it.
func BuiltinChat(streaming bool) List {
	return builtin(streaming, func(prompt string) string {
		return fmt.Sprintf(`"messages":[{"role":"user","content":%s}]`, quote(prompt))
	})
}

// BuiltinCompletions is BuiltinChat for the completions endpoint.
func BuiltinCompletions(streaming bool) List {
	return builtin(streaming, func(prompt string) string {
		return fmt.Sprintf(`"prompt":%s`, quote(prompt))
	})
}

// builtin returns one entry for each prompt; ask is the members that hold it.
func builtin(streaming bool, ask func(prompt string) string) List {
	stream := ""
	if streaming {
		stream = `,"stream":true,"stream_options":{"include_usage":true}`
	}
	entries := make(List, len(builtinPrompts))
	for i, p := range builtinPrompts {
		body := fmt.Sprintf(`[{%s,"max_tokens":%d%s}]`, ask(p), BuiltinMaxTokens, stream)
		entries[i] = Entry{Step: i, Values: export.Fields{{Name: "payload", Value: export.JSON(body)}}}
	}
	return entries
}

// quote returns s as a JSON string; bytes that are not UTF-8 become U+FFFD.
func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails to marshal
	}
	return b
}
