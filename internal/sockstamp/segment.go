package sockstamp

// smallestSegment is the number of bytes that every segment can carry: the 576 bytes
// that each IPv4 host accepts, minus the headers of IP and TCP and TCP's timestamps.
const smallestSegment = 576 - 40 - 12

// A segment knows how many bytes one segment of a connection carries. The zero
// value asks the kernel when it needs to know.
type segment struct{ bytes int }
