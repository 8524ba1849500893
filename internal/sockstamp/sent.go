package sockstamp

// sentStamps holds the stamps of the bytes written.
type sentStamps struct {
	written uint64 // bytes
	log     txLog  // of the kernel's stamps

	writing  bool // a write is in progress
	separate bool // the next write begins with a part of its own, see SeparateNext

	unread int // parts since the error queue was read
	empty  int // times that it was read in vain since the last part

	span span
}

// A span is the bytes written since Begin. Times are 0 until they are known.
type span struct {
	active        bool
	begin         uint64 // offset of the first byte
	firstEnd      uint64 // end of the first part; 0: not written yet
	startUserNS   uint64 // before the first write
	sentUserNS    uint64 // after the last
	startKernelNS uint64 // of the first part: a segment, see SeparateNext
}

const (
	// maxUnread is the number of parts written without a read after which the error
	// queue is read. Each stamp on the queue takes some hundred bytes of the socket's
	// receive buffer, which may be as small as 2 KB.
	maxUnread = 16
	// maxEmpty is the number of vain reads of the error queue for the stamp of a write,
	// which a device need not take. After that the queue is read only when the reader
	// wakes up.
	maxEmpty = 4
)

// before notes that a write begins. If apart, the caller writes the first segment by
// itself. unstamped is the number of earlier bytes that may not have left yet.
func (s *sentStamps) before() (apart bool, unstamped uint64) {
	s.writing = true
	if s.span.active && s.span.startUserNS == 0 {
		s.span.startUserNS = userNow()
	}
	apart, s.separate = s.separate, false
	return apart, s.written - min(s.log.stamped, s.written)
}

// part notes that a system call wrote n bytes.
func (s *sentStamps) part(n int) {
	if n <= 0 {
		return
	}
	s.written += uint64(n)
	s.log.add(s.written, 0)
	s.unread++
	s.empty = 0
	if sp := &s.span; sp.active && sp.firstEnd == 0 {
		sp.firstEnd = s.written
		sp.startKernelNS, _ = s.log.at(s.written)
	}
}

// after notes that a write ended.
func (s *sentStamps) after() {
	s.writing = false
	if s.span.active {
		s.span.sentUserNS = userNow()
	}
}

// outstanding reports whether it makes sense to look for stamps of the writes
// that are done.
func (s *sentStamps) outstanding() bool { return s.empty < maxEmpty && s.log.stamped < s.written }

// expected is outstanding, and also of a write in progress, whose bytes may
// have left.
func (s *sentStamps) expected() bool { return s.empty < maxEmpty && s.behind() }

// behind reports whether there may be stamps that were not read, and also of a
// write in progress, whose bytes may have left.
func (s *sentStamps) behind() bool { return s.writing || s.log.stamped < s.written }

// transmitted notes the transmit stamp of the byte with number id.
func (s *sentStamps) transmitted(id uint32, ns uint64) {
	end, ok := endOffset(s.written, id)
	if !ok {
		return
	}
	s.log.add(end, ns)
	// The log may be too short for a request of very many writes.
	if sp := &s.span; sp.active && sp.firstEnd == end && sp.startKernelNS == 0 {
		sp.startKernelNS = ns
	}
}

// start makes the next write the first of a request.
func (s *sentStamps) start() {
	s.span = span{active: true, begin: s.written}
	s.separate = true
}

// begun reports whether something of the request was written.
func (s *sentStamps) begun() bool { return s.span.startUserNS != 0 }

// request returns the stamps of the request; see [Conn.Request].
func (s *sentStamps) request() (start, sent Stamp) {
	if !s.begun() {
		return Stamp{}, Stamp{}
	}
	start = Stamp{NS: s.span.startUserNS, Source: User}
	if ns := s.span.startKernelNS; ns != 0 {
		start = Stamp{NS: ns, Source: Kernel}
	} else if ns, ok := s.log.holding(s.span.begin); ok { // of a write in progress
		start = Stamp{NS: ns, Source: Kernel}
	}
	end := s.written
	sent = Stamp{NS: s.span.sentUserNS, Source: User}
	if s.writing {
		end = max(s.log.stamped, s.span.begin)
		sent.NS = userNow()
	}
	if ns, ok := s.log.at(end); ok && end > s.span.begin {
		sent = Stamp{NS: ns, Source: Kernel}
	}
	sent.NS = max(sent.NS, start.NS) // writes return before their bytes leave
	return start, sent
}

// Begin says that the next write begins with the first byte of a request. It
// does what [Conn.SeparateNext] does, too, and drops what [Conn.Revised] returns.
func (c *Conn) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent.start()
	c.holes.revised = c.holes.revised[:0]
}

// SeparateNext makes the next Write give its beginning a transmit stamp of its
// own: if the write does not fit in one segment, its first segment is written by
// itself. TCP joins no later write to that part, whose stamp would be lost with
// that. Where earlier bytes still wait to leave, TCP may cut the part anywhere:
// then the part is the first byte alone. A write that fits in one segment, with
// nothing before it, costs nothing more. Without the kernel's transmit stamps
// SeparateNext has no effect.
func (c *Conn) SeparateNext() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent.separate = true
}

// FitsSegment reports whether n bytes leave as one segment, and also if nothing
// depends on it because the kernel takes no transmit stamps. Only the goroutine
// that writes may ask.
func (c *Conn) FitsSegment(n int) bool {
	if !c.tx || n <= smallestSegment {
		return true
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	fits := true
	_ = c.rc.Control(func(fd uintptr) { fits = c.wr.segment.fits(int(fd), n) }) // fails if it is closed
	return fits
}

// Request returns when the request since [Conn.Begin] left. start is the stamp of the
// request's first segment; sent is the stamp of the last byte written until now. Where
// the kernel has no stamp, or not yet, start is the time before the first write, and
// sent the time after the last one; so ask when the first byte of the answer is there.
// (It may be there before the write returns: then sent is the newest stamp there is.)
// Both are zero when nothing was written.
func (c *Conn) Request() (start, sent Stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tx && c.sent.begun() && c.sent.behind() {
		c.mu.Unlock()
		c.DrainTx()
		c.mu.Lock()
	}
	return c.sent.request()
}

// Written returns the number of bytes written, without a write in progress.
func (c *Conn) Written() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent.written
}

// TxStamp returns when the last byte of the write that ended at the offset end
// left, as the kernel has it, in Unix nanoseconds. ok is false for offsets at
// which no write ended, for writes whose stamp is not there (yet), and for
// writes so long ago that they were forgotten (see [Options]).
func (c *Conn) TxStamp(end uint64) (ns uint64, ok bool) { return c.transmitStamp(end, (*txLog).at) }

// TxHolding returns when the last byte of the write that holds the byte at
// offset left: with the offset of a request's first byte, its start. If the
// write was done in parts, because the send buffer could not take it whole or
// because of [Conn.SeparateNext], it is about the part that holds the byte. ok
// is as for [Conn.TxStamp].
func (c *Conn) TxHolding(offset uint64) (ns uint64, ok bool) {
	return c.transmitStamp(offset, (*txLog).holding)
}

// NewestTx returns the newest transmit stamp, and the offset that it belongs to. Callers
// use it when they know that the bytes arrived before the write has returned.
func (c *Conn) NewestTx() (end, ns uint64, ok bool) {
	c.DrainTx()
	c.mu.Lock()
	defer c.mu.Unlock()
	ns, ok = c.sent.log.at(c.sent.log.stamped)
	return c.sent.log.stamped, ns, ok
}

// transmitStamp looks a stamp up, if need be after reading the error queue.
func (c *Conn) transmitStamp(offset uint64, look func(l *txLog, offset uint64) (uint64, bool)) (ns uint64, ok bool) {
	if !c.tx {
		return 0, false
	}
	c.mu.Lock()
	ns, ok = look(&c.sent.log, offset)
	behind := c.sent.behind()
	c.mu.Unlock()
	if ok || !behind {
		return ns, ok
	}
	c.DrainTx()
	c.mu.Lock()
	defer c.mu.Unlock()
	return look(&c.sent.log, offset)
}
