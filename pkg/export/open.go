package export

import (
	"context"
	"io"
)

// A Format recognizes and opens files of one kind.
type Format interface {
	// Name is what messages call the format: "profile_export.json".
	Name() string
	// Sniff reports whether a file that starts with head (up to 4 KiB, after
	// decompression) looks like this format.
	Sniff(head []byte) bool
	// Open returns a reader over the size bytes of src. name is for messages.
	// Closing the reader does not close src.
	Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim Limits) (Reader, error)
}

// Limits bound what a hostile or broken file can cost.
type Limits struct {
	// MaxValueBytes bounds a single value (a string, a list of responses);
	// 0 means 64 MiB.
	MaxValueBytes int64
}

// DefaultMaxValueBytes is what Limits.MaxValueBytes 0 means.
const DefaultMaxValueBytes = 64 << 20
