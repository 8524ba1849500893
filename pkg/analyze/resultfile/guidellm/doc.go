// Package guidellm writes the result file of GuideLLM 0.8.1, benchmarks.json of
// report version 2, so that what reads that reads a recording too:
//
//	w := guidellm.NewWriter(reader.Run())
//	defer w.Close()
//	err := w.ReadAll(ctx, reader)
//	err = w.Write(out)
//
// Each load level is a benchmark. Tokens are the server's or, where it does not
// say them, events with text. GuideLLM keeps of an answer when its first and its
// last token came, and spreads those between evenly when it makes rates of them;
// its distributions are weighted, and a percentile is one of the values. It was
// told to make no confidence intervals (confidence null), and what it notes of its
// own scheduler is null or, as it writes what it does not know, −1.
//
// The figures stand before the requests in the file: the text of the requests is
// kept in temporary files meanwhile. In memory are some 150 bytes for each
// request and, while a level's figures are made, 16 for each token.
package guidellm
