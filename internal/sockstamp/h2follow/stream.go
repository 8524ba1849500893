package h2follow

import (
	"encoding/binary"
	"slices"

	"github.com/pa-tools/pa/internal/sockstamp"
)

// A stream is the state of an HTTP/2 stream that carries an RPC.
type stream struct {
	id   uint32
	name string // from its request's headers

	cutIn, cutOut cutter
	in            incoming
	out           outgoing
	ended         bool
	// needed is the ordinal of the first read whose revised stamp the caller may need; 0 for none.
	needed uint64

	// With Config.Bytes.
	head   struct{ first, last sockstamp.Stamp }
	body   body
	ending bool // the request's last frame came, but for its continuation
}

// incoming holds the messages received.
type incoming = queue[receivedMessage]

// outgoing holds the messages sent.
type outgoing = queue[sentMessage]

// A receivedMessage has the stamps of the reads that brought a message's first
// and last byte.
type receivedMessage struct {
	first, last sockstamp.Stamp
	whole       bool // last is known
}

// A sentMessage is the place of a message in the bytes of the raw connection. Over TLS
// its offsets are estimates, because records have heads and tails: too small until the
// write returns, then in proportion to the bytes written.
type sentMessage struct {
	first, last     uint64 // offset of the first and the last byte
	startNS, sentNS uint64 // user-space times before and after their writes; 0: not returned
	whole           bool   // last is known
	newest          bool   // last is the last byte of its write
}

// A queue holds the newest of n numbered messages.
//
//	items[head:] are the messages n−len(items)+head … n−1
type queue[T any] struct {
	items []T
	head  int
	n     int
	most  int // to be held
}

// push appends a message and, if there are too many, drops the oldest.
func (q *queue[T]) push(m T) {
	if len(q.items)-q.head >= q.most {
		q.head++
	}
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 {
		q.items, q.head = slices.Delete(q.items, 0, q.head), 0
	}
	q.items = append(q.items, m)
	q.n++
}

// last returns the newest message, which must be there.
func (q *queue[T]) last() *T { return &q.items[len(q.items)-1] }

// peek returns message k, or nil if it is not held.
func (q *queue[T]) peek(k int) *T {
	i := len(q.items) - (q.n - k)
	if k < 0 || i < q.head || i >= len(q.items) {
		return nil
	}
	return &q.items[i]
}

// at is peek, and drops the messages before k.
func (q *queue[T]) at(k int) *T {
	m := q.peek(k)
	if m != nil {
		q.head = len(q.items) - (q.n - k)
	}
	return m
}

// An extent is the part of a message that lies in one piece of the byte
// stream: bytes begin to end of it, with the message's first byte, the end of its
// head, its last byte, or several of those. Parts with none are not reported.
type extent struct {
	begin, end  int
	first, last bool
	// headEnd is the offset after the head: after the prefix of a gRPC message,
	// or after the headers of a request that begins with them. 0: not here.
	headEnd int
}

// A cutter cuts the DATA of a stream's direction into gRPC messages:
//
//	  1            4              length
//	+------------+--------------+---------…+
//	| compressed | length (big  | message  |
//	| (0 or 1)   | endian)      |          |
//	+------------+--------------+---------…+
type cutter struct {
	prefix [5]byte
	have   int    // bytes of prefix
	left   uint32 // bytes of the message to come, once the prefix is whole
	broken bool   // this is no gRPC
}

// feed reports the extents of the messages in p[from:to].
func (c *cutter) feed(p []byte, from, to int, report func(extent)) {
	for from < to && !c.broken {
		m := extent{begin: from}
		if c.have < len(c.prefix) {
			m.first = c.have == 0
			n := copy(c.prefix[c.have:], p[from:to])
			c.have += n
			from += n
			if c.have == len(c.prefix) {
				m.headEnd = from
			}
			if c.prefix[0] > 1 {
				c.broken = true
				return
			}
			c.left = binary.BigEndian.Uint32(c.prefix[1:]) // once whole
		}
		if c.have == len(c.prefix) {
			n := min(uint64(c.left), uint64(to-from))
			c.left -= uint32(n)
			from += int(n)
			m.last = c.left == 0
		}
		if m.end = from; m.first || m.last || m.headEnd > 0 {
			report(m)
		}
		if m.last {
			c.have = 0
		}
	}
}
