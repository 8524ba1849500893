// Package builtin provides the default tokenizer, and the text that it was trained on.
//
//	tok, err := builtin.Load()
//
// The tokenizer belongs to no model: its counts are approximate, and only for English.
// Print them together with Note. It is byte-level BPE with 4,096 tokens that cuts text
// like GPT-4's tokenizer. TestTrain, with -update, writes it from the corpus, which
// consists of prose and code of this project.
//
// The file tokenizer.json has Hugging Face's format, so that other tools can use it.
package builtin
