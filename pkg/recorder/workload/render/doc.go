// Package render puts prompts into the form that a service takes: the body of a
// request to an OpenAI-compatible server, or the tensors of a model that Triton
// serves. Each form is a file.
//
//	body, err := render.Body(render.Chat, prompt, render.Options{Stream: true, Usage: true})
//	fields, err := render.Tensors(render.VLLM, prompt, render.Options{Stream: true})
//
// The names of members and tensors, and where the length of the answer stands,
// are those that the servers document; their order is GenAI-Perf's. Where Options
// asks for it, so are the details.
package render
