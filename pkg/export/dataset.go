package export

// DatasetMeta says what was sent, where it was read from files or made of a
// tokenizer's vocabulary. See also RunMeta.DatasetSHA256 and RunMeta.Seed.
type DatasetMeta struct {
	Files   []DatasetFile `json:"files,omitempty"`
	Entries int           `json:"entries"` // that were sent in turn
	// Order is how they followed each other; "" is theirs.
	Order string `json:"order,omitempty"`
}

// A DatasetFile is a file that requests were read from.
type DatasetFile struct {
	Name string `json:"name"`
	// SHA256 is that of the content, decompressed, in hex.
	SHA256 string `json:"sha256"`
	Layout string `json:"layout,omitempty"` // what its rows mean
	Rows   int    `json:"rows"`
	// Entries is how many requests the rows hold.
	Entries int `json:"entries"`
}
