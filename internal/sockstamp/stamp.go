package sockstamp

import (
	"fmt"
	"time"
)

// A Source says who took a stamp. Its numbers agree with export.StampSource.
type Source uint8

// Sources.
const (
	SourceUnknown Source = 0 // no stamp
	Kernel        Source = 1
	User          Source = 2 // this process, before a write or after a read
)

// String returns "unknown", "kernel" or "user".
func (s Source) String() string {
	switch s {
	case SourceUnknown:
		return "unknown"
	case Kernel:
		return "kernel"
	case User:
		return "user"
	}
	return fmt.Sprintf("Source(%d)", uint8(s))
}

// A Stamp is the time of a read or a write.
type Stamp struct {
	NS     uint64 // Unix nanoseconds, CLOCK_REALTIME; 0: none
	Source Source
	// Ordinal counts the reads of a connection that returned something, from
	// 1. It is 0 for writes, and before the first read.
	Ordinal uint64
	// Waited says that a read's bytes may have waited for a missing segment, so that the
	// kernel's stamp may be earlier than their arrival. NS is the time of the read.
	Waited bool
}

// userNow is the present time as a user-space stamp has it.
func userNow() uint64 { return uint64(time.Now().UnixNano()) }
