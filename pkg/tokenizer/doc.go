// Package tokenizer counts tokens exactly as the Hugging Face tokenizers
// library does, without it.
//
// It reads tokenizer.json files (with the tokenizer_config.json beside them)
// and OpenAI's .tiktoken files, and turns text into the same ids: byte-level
// and SentencePiece-style BPE, WordPiece, Unigram and WordLevel, with every
// normalizer, pre-tokenizer and post-processor of the library. An unknown
// one is an error that names it; counts are never approximate. Decoders, which turn ids
// into text, are not read.
//
//	tok, err := tokenizer.Load("model/tokenizer.json")
//	if err != nil { … }
//	n := tok.Count("How many tokens is this?")
//	ids := tok.Encode("How many tokens is this?")
//
// A tokenizer turns text into ids in these steps, named as in the library:
//
//	added tokens      separate tokens, found in the text first
//	normalizer        rewrites the text between them
//	pre-tokenizer     cuts it into pieces
//	model             turns each piece into ids
//	post-processor    adds the special tokens that the model expects around a text
//
// Release 5 of the transformers library replaces some of these steps for some classes
// of tokenizers. [LoadAs] with [Transformers5] does the same.
//
// Text is UTF-8. Invalid bytes become U+FFFD, one for each maximal part of an ill-formed
// sequence, as in Python with errors="replace". Special tokens in the text are
// recognized, as in the library. [Tokenizer.AddSpecial] adds the tokens around a text.
// Truncation and padding of the file are not applied, because they concern model input,
// not text. The package has no chat templates.
//
// A [Tokenizer] is safe for concurrent use.
//
// # Files
//
// load.go reads the files; rebuild.go holds the rules of transformers 5.
// encoder.go runs the steps, cache.go remembers words. bpe.go, wordpiece.go and
// unigram.go are the models, scan.go the hand-written scanners of common regular
// expressions, expression.go the general engine. normalizer.go also bounds the output of a hostile
// file.
package tokenizer
