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
	// Assumed says how what the data leaves open was taken, and how often, for people.
	Assumed []string `json:"assumed,omitempty"`
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

// LevelPrompts says which part of the input data a load level sent: the requests, or
// conversations, at the positions from First on, in the order of the data.
type LevelPrompts struct {
	// First is the position of the first one of the level. A position of Of or more means
	// the data again, from its beginning.
	First int `json:"first"`
	// Requests is the number of requests of the level, its warm-up included.
	Requests int `json:"requests"`
	// Conversations is the number of conversations that have begun, if First and Of count
	// conversations; 0 if they count requests.
	Conversations int `json:"conversations,omitempty"`
	// Of is the number of distinct requests, or conversations, in the data.
	Of int `json:"of"`
	// Restart says that each level begins with the first entry because that was asked for.
	Restart bool `json:"restart,omitempty"`
	// MadeUp says that the entries were made up for this level of this run, so that no
	// other one sends them. First is then 0.
	MadeUp bool `json:"made_up,omitempty"`
	// SHA256 is the hash of the requests, in hex; "" if RunMeta.DatasetSHA256 is
	// their hash.
	SHA256 string `json:"sha256,omitempty"`
	// CacheSalt is the text on which the beginnings of the prompts depend; "" for none.
	CacheSalt string `json:"cache_salt,omitempty"`
}

// Again returns how many of the requests or conversations of the level, by their positions,
// the data held at an earlier level or run, or earlier in the level; 0 if none. With a salt, each
// level begins its prompts with another text, so no level sends the prompts of another one.
func (p *LevelPrompts) Again() int {
	if p.CacheSalt != "" {
		return 0
	}
	n := p.Requests
	if p.Conversations > 0 {
		n = p.Conversations
	}
	return max(0, p.First+n-max(p.First, p.Of))
}
