// Package wire is the parent of the packages that encode and decode the messages between
// a client and an inference server. The recorder sends and receives them, the analyzer
// reads them out of an export, and the simulated server makes them.
//
//	sse       server-sent events: cutting a byte stream into events
//	openai    OpenAI-compatible requests, streamed chunks, whole answers, errors
//	kserve    KServe v2 requests, responses and tensors
//	promtext  metrics in the text format of Prometheus
//
// They open no connection, read no file and take no timestamp. All of them accept
// hostile input: a wrong byte is an error or a skipped value, never a panic, and the
// caller bounds the memory.
package wire
