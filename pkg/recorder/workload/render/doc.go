// Package render encodes prompts for a service: as the body of a request to an
// OpenAI-compatible server, or as the tensors of a Triton model. Each form has a file.
//
//	body, err := render.Body(render.Chat, prompt, render.Options{Stream: true, Usage: true})
//	fields, err := render.Tensors(render.VLLM, prompt, render.Options{Stream: true})
//
// Names of members and tensors follow the documentation of the servers, their order follows
// GenAI-Perf. With Options.Template a template defines the form instead.
package render
