// Package template builds requests from a JSON object with placeholders for the parts
// that differ from request to request.
//
//	t, err := template.Parse([]byte(`{"model":"m","prompt":"{{prompt}}","max_tokens":"{{max_tokens}}"}`))
//	…
//	body, err := t.Append(nil, func(name string) ([]byte, bool) { … })
//	// {"model":"m","prompt":"Why?","max_tokens":64}
//
// # Grammar
//
// Placeholders are inside the strings of the object:
//
//	placeholder = "{{" name [ "|" default ] "}}"
//	name        = one of Names
//	default     = JSON, used if there is no value
//	"{{{{"      = the two characters "{{"
//
// A string that consists of one placeholder becomes the value, of any type:
// "{{max_tokens}}" becomes 64. Inside a longer string, a string value contributes its
// characters and any other value its JSON. Member names have no placeholders.
//
// A placeholder without value and default removes the innermost member around it:
// {"a":{"b":["{{max_tokens}}"],"c":1}} becomes {"a":{"c":1}}. So one template serves
// requests with and without an output length.
package template
