package disk

// A Lock is the outcome of [TryLock].
type Lock int

// The outcomes of TryLock.
const (
	NoLocks Lock = iota // the system or the file system has no locks
	Held                // this process holds the lock
	Busy                // another process holds the lock, or this one through another *os.File
)
