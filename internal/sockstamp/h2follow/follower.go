package h2follow

import (
	"cmp"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
)

// A Config says what to follow. The zero value follows a client's connection.
type Config struct {
	// Server says that requests are read and responses written.
	Server bool
	// Header is the name, in lower case, of the request header that names a
	// stream for [Follower.Stream]. Empty: streams have no names.
	Header string
	// Streams is the most streams followed at a time. 0 means 4096.
	Streams int
	// Ended is the most streams kept after they ended, for callers who ask
	// later; the stream that ended first goes first. 0 means 256.
	Ended int
	// Messages bounds the messages kept for a stream and direction; 0 means 1024. With
	// Bytes it bounds the reads whose bytes the caller has not asked for yet.
	Messages int
	// Bytes is for a client's HTTP/2 that carries no gRPC. The one message sent on a
	// stream is its request, headers included. Received bytes are followed instead
	// of messages: see [Follower.At] and [Follower.Head].
	Bytes bool
	// Unary is for a client whose streams carry one gRPC request each, unary
	// calls: the request begins with its headers, which the server may answer.
	// Else it begins with the first byte of its message.
	Unary bool
}

const (
	defaultStreams  = 4096
	defaultEnded    = 256
	defaultMessages = 1024
)

// A Follower is an HTTP/2 connection that knows when its messages came and
// went. Its methods may be called concurrently, with one reader and one writer
// at a time, as HTTP/2 has them.
type Follower struct {
	net.Conn
	raw   *sockstamp.Conn
	plain bool // Conn is raw

	mu      sync.Mutex // guards what follows, never held while waiting
	in, out parser
	table   table
	inErr   error   // why no more reads are followed
	outErr  error   // why no more writes are followed
	carried []piece // by the write in progress
	heads   []head  // in the write in progress that are written by themselves
}

// A piece is a part of an outgoing message that the write in progress carries.
type piece struct {
	out *outgoing
	k   int // the number of the message
	extent
}

// A head is the place, in a write, of a request's beginning that needs its own
// transmit stamp.
type head struct{ begin, end int }

// New returns a Follower over nc: raw itself, or a TLS connection over raw.
// Nothing may have been read from or written to nc.
func New(nc net.Conn, raw *sockstamp.Conn, c Config) *Follower {
	if c.Streams <= 0 {
		c.Streams = defaultStreams
	}
	if c.Ended <= 0 {
		c.Ended = defaultEnded
	}
	if c.Messages <= 0 {
		c.Messages = defaultMessages
	}
	f := &Follower{Conn: nc, raw: raw, plain: nc == net.Conn(raw), table: newTable(c)}
	f.in = parser{table: &f.table, what: "read", incoming: true, requests: c.Server}
	f.out = parser{table: &f.table, what: "written", requests: !c.Server}
	requests := &f.out
	if c.Server {
		requests = &f.in
	}
	requests.preface = len(preface)
	f.in.bytes, f.out.bytes = c.Bytes, c.Bytes
	f.out.unary = c.Unary && !c.Server
	if c.Header != "" {
		requests.headers = newHeaders(c.Header)
	}
	return f
}

// NetConn returns the connection below.
func (f *Follower) NetConn() net.Conn { return f.Conn }

// Read reads and follows.
func (f *Follower) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if n > 0 {
		st := f.raw.LastRead()
		f.mu.Lock()
		f.in.now = st
		if f.inErr == nil {
			f.inErr = f.in.feed(p[:n], func(s *stream, m extent) {
				if m.first {
					s.in.push(receivedMessage{first: st})
					if s.needed == 0 {
						s.needed = st.Ordinal
					}
				}
				if m.last {
					last := s.in.last()
					last.last, last.whole = st, true
				}
			})
		}
		f.mu.Unlock()
		if n == len(p) {
			// There is more, perhaps always. Readers of other connections must not wait
			// for this goroutine to be preempted.
			runtime.Gosched()
		}
	}
	return n, err
}

// Write follows and writes. It follows first: the answer may be here before
// the write returns.
//
// If a request does not fit in one segment, Write writes its head separately. The
// stamp of that write is then the time at which the request began to leave, not the
// time at which megabytes of it were gone. Other requests may precede it in p, so the
// cut is after the head and not after the first segment.
func (f *Follower) Write(p []byte) (int, error) {
	begin := f.raw.Written()
	before := uint64(time.Now().UnixNano())
	f.mu.Lock()
	f.carried, f.heads = f.carried[:0], f.heads[:0]
	if f.outErr == nil {
		f.outErr = f.out.feed(p, func(s *stream, m extent) {
			if f.out.unary && f.out.typ == frameData {
				m.first, m.headEnd = false, 0 // the headers were the beginning
			}
			if m.first {
				if m.begin == f.out.at+headBytes {
					m.begin = f.out.at // its frame's head is of no other message
				}
				s.out.push(sentMessage{first: begin + uint64(m.begin), startNS: before})
			}
			if m.last {
				last := s.out.last()
				last.whole, last.last, last.newest = true, begin+uint64(m.end)-1, m.end == len(p)
			}
			if s.out.n > 0 {
				f.carried = append(f.carried, piece{&s.out, s.out.n - 1, m})
			}
		})
	}
	f.separate(len(p))
	f.mu.Unlock()
	if len(f.heads) == 0 {
		return f.write(p, 0, len(p))
	}
	done := 0
	for _, h := range f.heads {
		if n, err := f.write(p, done, h.begin); err != nil {
			return done + n, err
		}
		f.raw.SeparateNext()
		if n, err := f.write(p, h.begin, h.end); err != nil {
			return h.begin + n, err
		}
		done = h.end
	}
	n, err := f.write(p, done, len(p))
	return done + n, err
}

// separate finds the requests that begin in the write in progress (of n bytes) and
// need their own stamp: they do not fit in one segment, or continue in the next
// write. f.mu is held.
func (f *Follower) separate(n int) {
	if !f.out.requests {
		return
	}
	for i, c := range f.carried {
		if !c.first {
			continue
		}
		h, end, whole := head{c.begin, c.headEnd}, n, false
		for _, d := range f.carried[i:] {
			if d.out != c.out || d.k != c.k {
				continue
			}
			h.end = max(h.end, d.headEnd)
			if d.last {
				end, whole = d.end, true
				break
			}
		}
		if whole && f.raw.FitsSegment(end-c.begin) {
			continue
		}
		if h.end == 0 || !whole && f.raw.FitsSegment(n-c.begin) {
			h.end = n
		}
		if last := len(f.heads) - 1; last < 0 || f.heads[last].end <= h.begin {
			f.heads = append(f.heads, h)
		}
	}
}

// write writes p[from:to], a part of the write in progress, and notes which bytes
// of the raw connection that were.
func (f *Follower) write(p []byte, from, to int) (int, error) {
	if from == to && len(p) > 0 {
		return 0, nil
	}
	rawBegin := f.raw.Written()
	if !f.plain {
		f.mu.Lock()
		for _, c := range f.carried {
			if m := c.out.peek(c.k); m != nil && c.first && c.begin == from {
				m.first = rawBegin
			}
		}
		f.mu.Unlock()
	}
	n, err := f.Conn.Write(p[from:to])
	if len(f.carried) == 0 {
		return n, err
	}
	rawEnd, after := f.raw.Written(), uint64(time.Now().UnixNano())
	// share is the offset in the raw connection of byte i, or about that.
	share := func(i int) uint64 { return rawBegin + uint64(i-from)*(rawEnd-rawBegin)/uint64(to-from) }
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.carried {
		m := c.out.peek(c.k)
		if m == nil {
			continue
		}
		if c.first && !f.plain && from <= c.begin && c.begin < to {
			m.first = share(c.begin)
		}
		if c.last && from < c.end && c.end <= to {
			m.sentNS = after
			if !f.plain {
				m.last = share(c.end) - 1
			}
		}
	}
	return n, err
}

// Message returns the stamp of the socket read that completed message k
// received on a stream, and drops the messages before k. ok is false if message k
// was not seen, or not kept.
func (f *Follower) Message(stream uint32, k int) (st sockstamp.Stamp, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.table.stream(stream); s != nil && f.requestErr() == nil {
		if m := s.in.at(k); m != nil && m.whole {
			return m.last, true
		}
	}
	return sockstamp.Stamp{}, false
}

// First returns the stamp of the socket read that brought the first byte of
// message k received on a stream. Ask after [Follower.Message].
func (f *Follower) First(stream uint32, k int) (st sockstamp.Stamp, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.table.stream(stream); s != nil && f.requestErr() == nil {
		if m := s.in.peek(k); m != nil {
			return m.first, true
		}
	}
	return sockstamp.Stamp{}, false
}

// Sent returns when the k-th message sent on a stream left. start is the stamp of the
// message's first segment (see [Follower.Write]); sent is the stamp of the write that
// holds its last byte. Where the kernel has no stamp, start is the time before the
// write, and sent the time after it. Over TLS a write is a record; when HTTP/2 wrote
// several messages at once, longer than a record, the stamp may be the neighbouring
// record's. Call Sent when the answer is there; it drops earlier messages. ok is
// false if the message was not seen whole, or was not kept.
func (f *Follower) Sent(stream uint32, k int) (start, sent sockstamp.Stamp, ok bool) {
	m, ok := f.sentMessage(stream, k)
	if !ok || !m.whole {
		return sockstamp.Stamp{}, sockstamp.Stamp{}, false
	}
	returned := m.sentNS != 0
	if !returned { // though the answer may be here
		m.sentNS = uint64(time.Now().UnixNano())
	}
	start = f.started(m)
	sent = sockstamp.Stamp{NS: m.sentNS, Source: sockstamp.User}
	var ns uint64
	if returned || f.plain || !m.newest {
		ns, ok = f.raw.TxHolding(m.last)
	} else {
		var end uint64
		end, ns, ok = f.raw.NewestTx()
		ok = ok && end > m.last
	}
	if ok {
		sent = sockstamp.Stamp{NS: ns, Source: sockstamp.Kernel}
	}
	sent.NS = max(sent.NS, start.NS) // writes return before their bytes leave
	return start, sent, true
}

// SentInPart is Sent for a message that is not completely written, and may never be,
// because its answer has already arrived: sent is the time at which the newest byte
// of the connection left.
func (f *Follower) SentInPart(stream uint32, k int) (start, sent sockstamp.Stamp, ok bool) {
	m, ok := f.sentMessage(stream, k)
	if !ok {
		return sockstamp.Stamp{}, sockstamp.Stamp{}, false
	}
	start = f.started(m)
	sent = sockstamp.Stamp{NS: uint64(time.Now().UnixNano()), Source: sockstamp.User}
	if end, ns, ok := f.raw.NewestTx(); ok && end > m.first {
		sent = sockstamp.Stamp{NS: ns, Source: sockstamp.Kernel}
	}
	sent.NS = max(sent.NS, start.NS)
	return start, sent, true
}

// sentMessage returns the record of message k sent on a stream, and drops the records
// of earlier messages.
func (f *Follower) sentMessage(stream uint32, k int) (m sentMessage, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.table.stream(stream); s != nil && f.requestErr() == nil {
		if p := s.out.at(k); p != nil {
			return *p, true
		}
	}
	return sentMessage{}, false
}

// started returns the time at which the first segment of a message left.
func (f *Follower) started(m sentMessage) sockstamp.Stamp {
	if ns, ok := f.raw.TxHolding(m.first); ok {
		return sockstamp.Stamp{NS: ns, Source: sockstamp.Kernel}
	}
	return sockstamp.Stamp{NS: m.startNS, Source: sockstamp.User}
}

// Revised returns the stamps that replace stamps of reads after the read with the given
// ordinal; see [sockstamp.Conn.Revised].
func (f *Follower) Revised(ordinal uint64) []sockstamp.Stamp { return f.raw.Revised(ordinal) }

// Settled returns the stamp that counts for the read with the stamp st; see
// [sockstamp.Conn.Settled].
func (f *Follower) Settled(st sockstamp.Stamp) sockstamp.Stamp { return f.raw.Settled(st) }

// Newest returns the stream of the last request that the Follower followed; 0 without one.
func (f *Follower) Newest() uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.table.newest
}

// requestErr says why the direction of the requests is not followed any more. No stream has
// stamps then, because the stream that a caller takes for its own may be an older one. f.mu
// is held.
func (f *Follower) requestErr() error {
	if f.in.requests {
		return f.inErr
	}
	return f.outErr
}

// Alone returns the stream whose RPC is under way, if there is exactly one. A handler
// that calls it gets its own stream, which has not ended, unless the stream was reset
// before the handler ran and another one opened since.
func (f *Follower) Alone() (stream uint32, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.table.stream(f.table.newest)
	return f.table.newest, s != nil && !s.ended && f.table.open == 1 && f.requestErr() == nil
}

// Stream returns the newest stream whose request has the header [Config.Header]
// with this value.
func (f *Follower) Stream(name string) (stream uint32, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stream, ok = f.table.names[name]
	return stream, ok && f.requestErr() == nil
}

// Forget drops the stamps of a stream. Streams that were forgotten or never
// asked about make room for others by themselves.
func (f *Follower) Forget(stream uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.table.stream(stream); s != nil {
		f.table.remove(s)
		f.dropRevised()
	}
}

// Complete tells the Follower that the caller has asked for messages of a stream and needs no more revised
// stamps of these messages; see [Follower.Revised]. Call it after each request of a stream, because a
// connection keeps few revised stamps.
func (f *Follower) Complete(stream uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.table.stream(stream); s != nil {
		s.needed = 0
		if next := s.in.head + 1; next < len(s.in.items) {
			s.needed = s.in.items[next].first.Ordinal
		}
		f.dropRevised()
	}
}

// dropRevised drops the revised stamps that no stream needs, if there are many. f.mu is held.
func (f *Follower) dropRevised() {
	if f.raw.ManyRevised() {
		f.raw.DropRevised(f.lastUnneeded())
	}
}

// lastUnneeded returns the ordinal of the last read before the first read whose revised stamp a stream may need.
// f.mu is held.
func (f *Follower) lastUnneeded() uint64 {
	least := f.in.now.Ordinal + 1 // the messages of later reads are not known yet
	for _, s := range f.table.streams {
		if s.needed > 0 {
			least = min(least, s.needed)
		}
	}
	return least - 1
}

// Err says why the Follower stopped following a direction; nil: it follows both.
func (f *Follower) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return cmp.Or(f.inErr, f.outErr)
}
