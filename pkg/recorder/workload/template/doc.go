// Package template makes requests after a pattern: a JSON object with places
// for what differs from request to request.
//
//	t, err := template.Parse([]byte(`{"model":"m","prompt":"{{prompt}}","max_tokens":"{{max_tokens}}"}`))
//	…
//	body, err := t.Append(nil, func(name string) ([]byte, bool) { … })
//	// {"model":"m","prompt":"Why?","max_tokens":64}
//
// # Grammar
//
// Places stand inside the strings of the object:
//
//	place   = "{{" name [ "|" default ] "}}"
//	name    = one of Names
//	default = JSON, what to put when there is no value
//	"{{{{"  = the two characters "{{"
//
// A string that is a place and nothing else becomes the value, of whatever type:
// "{{max_tokens}}" becomes 64. In a longer string the value's text is put: of a
// string its characters, of anything else its JSON. Names of members are left
// alone.
//
// A place without value and default takes the member that it is in with it, the
// innermost one: {"a":{"b":["{{max_tokens}}"],"c":1}} becomes {"a":{"c":1}}. So
// one pattern serves requests that ask for a length and requests that do not.
package template
