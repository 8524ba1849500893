// Package wire is the parent of the packages that know what goes over the
// wire between a client and an inference server, whoever looks at it: the
// recorder that sends and receives it, the analyzer that reads it out of an
// export, and the simulated server that makes it.
//
//	sse     server-sent events: cutting a byte stream into events
//	openai  OpenAI-compatible requests, streamed chunks, whole answers, errors
//	kserve  KServe v2 tensors
//
// They know bytes and their meaning; they open no connection, read no file and
// take no time stamp. Everything in them accepts hostile input: a wrong byte
// is an error or a skipped value, never a panic, and memory is bounded by what
// the caller allows.
package wire
