// Package guidellm reads benchmarks.json, the result file of GuideLLM, as a run, and writes it from any export.
// Programs that read GuideLLM's files then read a recording, too. The facts of each known
// release are in release.go.
//
// Each load level is a benchmark. Output tokens are the server's count or, without one,
// the number of events with text. GuideLLM keeps of an answer only the times of its first
// and its last token; for rates it spreads the tokens between them evenly. Its
// distributions are weighted, and a percentile is one of the values. Confidence intervals
// are switched off (confidence null). Of the scheduler's figures, the writer computes the
// start delay, the targeted start delay and the request time; the others are null or −1,
// which is how GuideLLM writes an unknown value.
//
// In the file, the metrics stand before the requests; temporary files keep the text of
// the requests until then. Memory holds some 150 bytes for each request and, for the
// metrics of a level, 16 bytes for each token.
package guidellm
