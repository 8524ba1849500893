// Package synth makes up what to send: prompts of lengths that follow a law,
// exact to the token under a tokenizer, and pictures and sounds beside them.
//
//	texts, err := synth.NewTexts(tok, builtin.Corpus(), seed, "")
//	if err != nil {
//		return err
//	}
//	src, err := synth.New(synth.Config{
//		Texts:   texts,
//		Seed:    seed,
//		Prompts: 100,
//		Input:   synth.Normal{Mean: 1024, Stddev: 128},
//		Output:  synth.Fixed{N: 256},
//	})
//	entry, err := src.At(17) // a workload.Source
//
// Whatever is random is a function of the seed and the number of the prompt:
// independent of how many there are, who makes them and in which order.
//
// # How lengths come out exact
//
// A prompt is made of words of a corpus with one blank between them. Tokenizers
// in use cut a text at blanks before they look for tokens, so the number of tokens
// of a text is the sum of those of its words, which are counted once. A prompt ends
// with words of one token each, as many as are missing. Every prompt is then
// counted as a whole; where that disagrees (a tokenizer whose tokens reach over
// blanks), words at its end are exchanged until it agrees, or the prompt is an
// error. Never is one sent that has not the length.
//
// What a chat template adds on the server is not counted.
//
// # Pictures and sounds
//
// [Illustrate] puts them beside prompts. They have the sizes that are asked for and
// show nothing in particular: servers work as hard for them as for any.
package synth
