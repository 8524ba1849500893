// Package render encodes prompts for a service: as the body of a request to an
// OpenAI-compatible server, or as the tensors of a Triton model. Each form has a file.
//
//	body, err := render.Body(render.Chat, prompt, render.Options{Stream: true, Usage: true})
//	fields, err := render.Tensors(render.VLLM, prompt, render.Options{Stream: true})
//
// Names of members and tensors follow the documentation of the servers, their order follows
// GenAI-Perf. With Options.Template a template defines the form instead.
//
// # Templates
//
// A [Template] is a JSON object with placeholders for the parts that differ from request to request.
//
//	t, err := render.ParseTemplate([]byte(`{"model":"m","prompt":"{{prompt}}","max_tokens":"{{max_tokens}}"}`))
//
// Placeholders are inside the strings of the object:
//
//	placeholder = "{{" name [ "|" default ] "}}"
//	name        = one of Placeholders
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
package render
