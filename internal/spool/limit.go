package spool

import (
	"fmt"
	"math"

	"github.com/pa-tools/pa/internal/disk"
)

// Default limits on the content of a stream.
const (
	// defaultMaxBytes bounds the content if the disk has more than twice as much
	// free space.
	defaultMaxBytes = 64 << 30
	// DefaultMaxRatio is the number of bytes that a compressed byte may decompress to.
	// JSON of real runs has 5 to 30, rarely 200.
	DefaultMaxRatio = 1000
	// freeOfRatio is the number of bytes of content for which the ratio does not
	// matter: short files of very regular requests have a high ratio.
	freeOfRatio = 64 << 20
)

// A LimitError reports that a stream holds more bytes than the limits allow.
type LimitError struct {
	Name string
	// Ratio is the ratio of decompressed to compressed bytes, above Config.MaxRatio;
	// 0: the content is larger than MaxBytes.
	Ratio    float64
	MaxRatio int
	MaxBytes int64
	Why      string // where MaxBytes comes from; "" if it was asked for
}

func (e *LimitError) Error() string {
	if e.Ratio > 0 {
		return fmt.Sprintf("%s: decompresses to more than %d times its size, unlike a normal export; raise --max-ratio if you trust this file", e.Name, e.MaxRatio)
	}
	why := e.Why
	if why != "" {
		why = " (" + why + ")"
	}
	return fmt.Sprintf("%s: holds more than %d bytes of content%s; decompress it to a file and give that, or raise --max-spool", e.Name, e.MaxBytes, why)
}

// maxBytes returns the limit on the content in Dir, and where the limit comes from.
func (c Config) maxBytes() (most int64, why string) {
	if c.MaxBytes > 0 {
		return c.MaxBytes, ""
	}
	dir := tempDir(c.Dir)
	if space, ok := disk.FreeSpace(dir); ok && space.Free/2 < defaultMaxBytes {
		return int64(space.Free / 2), "half of the free space in " + dir
	}
	return defaultMaxBytes, "the default limit"
}

// maxRatio returns the number of bytes that a compressed byte may decompress to.
func (c Config) maxRatio() int {
	switch {
	case c.MaxRatio < 0:
		return math.MaxInt
	case c.MaxRatio == 0:
		return DefaultMaxRatio
	}
	return c.MaxRatio
}
