// Package promptcache computes what a prefix cache could have held of the prompts of a run.
//
//	c := promptcache.New(promptcache.Config{Encode: tokens})
//	part, err := c.Part(mark, text) // may be called by many goroutines
//	path := c.Path(promptcache.Root, part.ID)
//	hits := c.Hits(requests, 16, 0)
//
// A prompt is a list of parts: the texts of its messages. The tokens of a part are counted by themselves, without the
// template that a server puts around messages. Equal beginnings of prompts are stored once, so memory grows with the tokens
// that are new in the run, and not with the history that each request repeats.
//
// A request reads from the cache when it is sent, and fills it when it has ended: with the tokens of its prompt, and with
// the tokens of its answer where they are known.
package promptcache
