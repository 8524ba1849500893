package openai

import "github.com/pa-tools/pa/internal/jsonscan"

// readByModel are the members of a request that the model reads, whatever their type.
var readByModel = map[string]bool{
	"messages": true, "prompt": true, "input": true, "instructions": true, "system": true, "suffix": true,
	"tools": true, "functions": true, "query": true, "text": true, "input_ids": true, "token_ids": true, "documents": true, "texts": true, "text_1": true, "text_2": true, "text_input": true,
}

// ReadByModel reports whether a member of a request is text for the model: the prompt or a part of the
// prompt. Other members are parameters, such as the temperature.
func ReadByModel(member string) bool { return readByModel[member] }

// PromptIDs returns the number of token ids of the prompt in a request's body: of prompt, input_ids or token_ids, a list of ids or of
// lists of ids. ok is false if the prompt is no ids.
func PromptIDs(body []byte) (n int64, ok bool) {
	var w jsonscan.Walker
	w.Reset(body)
	for more := w.TryObject(); more; more = w.NextMember() {
		switch string(w.Key) {
		case "prompt", "input_ids", "token_ids":
			if ids, all := countIDs(&w); all {
				n, ok = ids, true
			}
		default:
			w.Skip()
		}
	}
	return n, ok && w.Err == nil
}

// countIDs counts the numbers of an array, and of the arrays in it. all is false if it holds anything else, or nothing.
func countIDs(w *jsonscan.Walker) (n int64, all bool) {
	if w.Peek() != '[' {
		w.Skip()
		return 0, false
	}
	all = true
	for more := w.OpenArray(); more; more = w.NextElement() {
		switch c := w.Peek(); {
		case c >= '0' && c <= '9':
			w.Skip()
			n++
		case c == '[':
			inner, ids := countIDs(w)
			n, all = n+inner, all && ids
		default:
			w.Skip()
			all = false
		}
	}
	return n, all && n > 0
}
