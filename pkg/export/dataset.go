package export

// DatasetMeta describes input data that was read from files or made up. See also
// RunMeta.DatasetSHA256 and RunMeta.Seed.
type DatasetMeta struct {
	Files []DatasetFile `json:"files,omitempty"`
	// Entries is the number of entries that were sent in turn; with several Streams, the
	// entries of the first one.
	Entries int `json:"entries"`
	// Streams is the number of streams (lists of steps) in perf_analyzer's input data; 0
	// for one. Stateful models get each stream as a sequence, others only the first.
	Streams int `json:"streams,omitempty"`
	// Order is how the entries, or the streams of sequences, were drawn: "shuffle" or
	// "random", by the seed; "" is the order of the data.
	Order string `json:"order,omitempty"`
	// Tokenizer counted the lengths; nil if none was needed.
	Tokenizer *TokenizerMeta `json:"tokenizer,omitempty"`
	// TraceRows tells what later turns of a trace were taken to hold: "whole" prompts, what is
	// "new", or "mixed"; "" if no conversations of a trace were sent.
	TraceRows string `json:"trace_rows,omitempty"`
}

// TokenizerMeta names a tokenizer.
type TokenizerMeta struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // of its file, in hex
}

// A DatasetFile is a file that requests were read from.
type DatasetFile struct {
	Name string `json:"name"`
	// SHA256 is the hash of the decompressed content, in hex.
	SHA256 string `json:"sha256"`
	Layout string `json:"layout,omitempty"` // layout of its rows
	Rows   int    `json:"rows"`
	// Entries is the number of requests in the rows.
	Entries int `json:"entries"`
}
