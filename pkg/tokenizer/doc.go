// Package tokenizer counts tokens exactly as the Hugging Face tokenizers
// library does, without it.
//
// It reads tokenizer.json files (with the tokenizer_config.json beside them)
// and OpenAI's .tiktoken files, and turns text into the same ids: byte-level
// and SentencePiece-style BPE, WordPiece, Unigram and WordLevel, with every
// normalizer, pre-tokenizer, post-processor and decoder of the library. What
// it does not know is an error that names it, never an approximate count.
//
//	tok, err := tokenizer.Load("model/tokenizer.json")
//	if err != nil { … }
//	n := tok.Count("How many tokens is this?")
//	ids := tok.Encode("How many tokens is this?")
//	text := tok.Decode(ids, false)
//
// A tokenizer turns text into ids in these steps; the words are the library's:
//
//	added tokens      tokens of their own, found in the text before anything else
//	normalizer        rewrites the text between them
//	pre-tokenizer     cuts it into pieces
//	model             turns each piece into ids
//	post-processor    adds the special tokens that the model expects around a text
//
// Release 5 of the transformers library replaces some of these steps for some classes
// of tokenizers; LoadAs with Transformers5 does so too.
//
// Text is UTF-8. Bytes that are not are replaced as Python does it with
// errors="replace", by one U+FFFD for each maximal part of a sequence, because
// the library takes no other text. Special tokens that stand in the text are
// recognized, as in the library; none are added unless asked for. Truncation
// and padding that a file asks for are not applied: what is counted is text, not
// input for a model. Nothing here knows chat templates.
//
// A Tokenizer may be used by several goroutines at once. Counting the joined
// text of a stream, piece by piece, is what a Counter is for.
package tokenizer
