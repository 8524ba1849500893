package sockstamp

// smallestSegment is what every segment can carry, in bytes: the 576 bytes that
// each IPv4 host takes, less the heads of IP and TCP and TCP's timestamps.
const smallestSegment = 576 - 40 - 12

// A segment knows how many bytes one segment of a connection carries. The zero
// value asks the kernel when it needs to know.
type segment struct{ bytes int }
