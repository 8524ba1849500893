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
// its distributions are weighted, and a percentile is one of the values. Confidence
// intervals are switched off (confidence null). Of its scheduler's figures, the writer
// computes the start delay, the targeted start delay and the request time; the others
// are null or −1, which is how GuideLLM writes an unknown value.
//
// The figures stand before the requests in the file: the text of the requests is
// kept in temporary files meanwhile. In memory are some 150 bytes for each
// request and, while a level's figures are made, 16 for each token.
package guidellm
