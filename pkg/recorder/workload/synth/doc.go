// Package synth generates prompts whose lengths follow a distribution, exact to the
// token, with images and audio beside them.
//
//	words, err := synth.NewVocabulary(tok, builtin.Corpus())
//	if err != nil {
//		return err
//	}
//	src, err := synth.New(synth.Config{
//		Texts:   words.Texts(seed, ""),
//		Seed:    seed,
//		Prompts: 100,
//		Input:   synth.Normal{Mean: 1024, Stddev: 128},
//		Output:  synth.Fixed{N: 256},
//	})
//	entry, err := src.At(17) // a workload.Source
//
// Every random value is a function of the seed and the number of the prompt. It does not
// depend on how many prompts there are, or on the order in which they are made.
//
// # How lengths come out exact
//
// A prompt consists of corpus words with one blank between them. Most tokenizers split
// a text at blanks first, so a text has as many tokens as its words together, and each
// word is counted once. Words of one token fill the prompt up to its length. Then the
// whole prompt is counted. If the count is wrong, because tokens span blanks, words at
// the end are exchanged until it is right; otherwise the prompt is an error. A prompt of
// the wrong length is never sent.
//
// The count does not include the tokens that a chat template adds on the server.
//
// # Images and audio
//
// [AddMedia] adds them to prompts. They have the requested sizes but no meaningful
// content, which makes no difference to the work of a server.
package synth
