// Package openai encodes and decodes the bodies of OpenAI-compatible servers: requests,
// the chunks of a streamed answer, whole answers and errors, of chat and text
// completions, responses, and Anthropic Messages. It reads the bodies of vLLM, SGLang, TensorRT-LLM, TGI, llama.cpp,
// Ollama, transformers, Triton, OpenAI and Azure. They share little but the layout, so
// the package reads leniently: it takes keys in any order, skips unknown keys, and treats
// null or a value of another type as absent. Invalid JSON is an error.
//
//	var c openai.Chunk // reused from event to event
//	var st openai.Stream
//	for s.Next() {
//		if err := openai.ParseFrame(s.Frame(), &c); err != nil {
//			return err
//		}
//		st.Add(&c)
//		if c.HasOutput() {
//			use(c.Choices)
//		}
//	}
//	if !st.Complete() {
//		return errTruncated
//	}
//
// A chunk has output when some choice adds text, reasoning, a refusal, a tool
// call or token ids. Role-only chunks, empty texts, usage, keep-alives, null
// and [DONE] have none. Chunks are not tokens: one may hold several tokens, or
// none though one was made.
//
// The package opens no connection (backend/openai does) and counts no tokens
// (tokenizer does).
package openai
