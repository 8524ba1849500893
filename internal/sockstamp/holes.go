package sockstamp

import "time"

const (
	// askEvery is the number of reads after which the kernel is asked for the segments
	// that came out of order. It decides only how many right stamps before such a segment are
	// lost: every stamp is pending until an answer covers it.
	askEvery = 16
	// askEveryLossy replaces askEvery on a connection after its first segment out of order.
	askEveryLossy = 8
	// carefulReads is the number of reads after a segment out of order for which the
	// kernel is asked at each read.
	carefulReads = 64
	// lateRead is the time from a stamp to its read after which the kernel is asked at
	// once: the bytes may have waited for a retransmission.
	lateRead = 100 * time.Millisecond
	// maxRevised is the number of revised stamps that are kept. Then the kernel is asked
	// at each read, so that no more are revised.
	maxRevised = 1024
)

// holes finds the reads whose kernel stamps may be too early, because the segment with
// the stamp came out of order and its bytes waited for a missing segment before them.
//
// The kernel counts the segments that came out of order, each before its bytes can be
// read. Let a count be asked for after a read, and let changedNS be a time after the
// newest question whose answer differed from the answer before. Then every segment that
// came out of order arrived before changedNS. So a read whose stamp is later than
// changedNS ended with a segment that came in order, when all bytes before it were here:
// the stamp is right. The stamp of any other read is replaced by the time of the read,
// when its bytes certainly were here.
//
// A question is a system call, so it comes after several reads. Until then their stamps
// are pending, and may be revised by the answer.
type holes struct {
	count     uint32 // newest answer
	changedNS uint64 // 0: nothing came out of order
	careful   int    // number of coming reads to check at once
	blind     bool   // the kernel does not count

	pending [askEvery]pendingRead // the reads since the newest question
	n       int                   // number of pending reads
	revised []Stamp               // by ascending ordinal
}

// A pendingRead is a read whose stamp may be revised: its ordinal, and its time in user space.
type pendingRead struct{ ns, ordinal uint64 }

// stamp returns the stamp that replaces the kernel's.
func (r pendingRead) stamp() Stamp {
	return Stamp{NS: r.ns, Source: User, Ordinal: r.ordinal, Waited: true}
}

// check checks the stamp of the newest read of a socket, and replaces it if it may be too
// early.
func (h *holes) check(fd int, st *Stamp) {
	if st.Source != Kernel || h.blind {
		return
	}
	now := userNow()
	h.changedNS = min(h.changedNS, now) // unless the clock was set back
	read := pendingRead{now, st.Ordinal}
	if st.NS <= h.changedNS {
		*st = read.stamp()
		return
	}
	h.pending[h.n] = read
	h.n++
	switch {
	case h.careful > 0:
		h.careful--
	case h.n == len(h.pending), h.changedNS != 0 && h.n >= askEveryLossy, len(h.revised) >= maxRevised, now > st.NS+uint64(lateRead):
	default:
		return
	}
	if h.ask(fd) {
		h.revised = h.revised[:len(h.revised)-1]
		*st = read.stamp()
	}
}

// ask asks the kernel whether segments came out of order since the last question, and
// then revises the pending stamps.
func (h *holes) ask(fd int) (changed bool) {
	count, ok := outOfOrderOn(fd)
	switch {
	case !ok:
		h.blind = true
	case count != h.count:
		changed = true
		h.count, h.changedNS, h.careful = count, userNow(), carefulReads
		h.revise()
	}
	h.n = 0
	return changed
}

// settle asks if stamps are pending.
func (h *holes) settle(fd int) {
	if h.n > 0 {
		h.ask(fd)
	}
}

// giveUp revises the pending stamps of a socket that cannot be asked.
func (h *holes) giveUp() {
	h.revise()
	h.n = 0
}

// revise replaces the stamps of the pending reads.
func (h *holes) revise() {
	for _, r := range h.pending[:h.n] {
		h.revised = append(h.revised, r.stamp())
	}
}

// after returns the revised stamps of the reads after the read with an ordinal.
func (h *holes) after(ordinal uint64) []Stamp {
	i := len(h.revised)
	for i > 0 && h.revised[i-1].Ordinal > ordinal {
		i--
	}
	return h.revised[i:]
}

// Revised returns the stamps that replace the kernel's stamps of reads after the read with
// the given ordinal. The kernel's stamps of these reads, which [Conn.LastRead] returned,
// may be before the arrival of a byte of the read; see the package comment. Ask for them
// when an answer is complete. Each stamp is the time of its read in user space and has
// [Stamp.Waited]; ordinals ascend. [Conn.Begin] drops these stamps.
func (c *Conn) Revised(ordinal uint64) []Stamp {
	c.settle()
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Stamp(nil), c.holes.after(ordinal)...)
}

// ManyRevised reports whether the memory for revised stamps is half full. When it is full, c asks the kernel at
// each read. [Conn.DropRevised] and [Conn.Begin] free it.
func (c *Conn) ManyRevised() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.holes.revised) >= maxRevised/2
}

// DropRevised drops the revised stamps of the reads up to the read with the given ordinal.
func (c *Conn) DropRevised(ordinal uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.holes.after(ordinal)
	c.holes.revised = c.holes.revised[:copy(c.holes.revised, kept)]
}

// Settled returns the stamp that counts for the read with the stamp st: st, or the stamp
// of [Conn.Revised].
func (c *Conn) Settled(st Stamp) Stamp {
	if revised := c.Revised(st.Ordinal - 1); len(revised) > 0 && revised[0].Ordinal == st.Ordinal {
		return revised[0]
	}
	return st
}

// settle decides about the stamps that are pending.
func (c *Conn) settle() {
	c.mu.Lock()
	pending := c.holes.n > 0
	c.mu.Unlock()
	if !pending {
		return
	}
	err := c.rc.Control(func(fd uintptr) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.holes.settle(int(fd))
	})
	if err != nil { // it is closed
		c.mu.Lock()
		defer c.mu.Unlock()
		c.holes.giveUp()
	}
}
