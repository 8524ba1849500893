package sockstamp

import (
	"cmp"
	"slices"
)

// A part is what one system call wrote, up to the offset end.
type part struct {
	end uint64
	ns  uint64 // when its last byte left; 0: not known (yet)
}

// A txLog keeps the newest parts, ordered by offset. The caller may never ask for them,
// so a full log keeps at least keep stamps and never more than twice as many.
type txLog struct {
	keep    int
	parts   []part
	stamped uint64 // the highest offset that ever had a stamp
	dropped bool   // the first part is not the first that was written
}

// add records that a part ended at end and, if ns is not 0, left at ns. Either may come
// first, because bytes may leave before their write returns. The first stamp of an
// offset counts; a retransmission has another one.
func (l *txLog) add(end, ns uint64) {
	if ns != 0 {
		l.stamped = max(l.stamped, end)
	}
	i := len(l.parts)
	if i > 0 && l.parts[i-1].end >= end {
		var known bool
		if i, known = l.find(end); known {
			if l.parts[i].ns == 0 {
				l.parts[i].ns = ns
			}
			return
		}
	}
	if len(l.parts) >= 2*l.keep {
		drop := len(l.parts) - l.keep
		if i < drop {
			return // older than the log
		}
		l.parts = l.parts[:copy(l.parts, l.parts[drop:])]
		i -= drop
		l.dropped = true
	}
	l.parts = slices.Insert(l.parts, i, part{end, ns})
}

// find returns the index of the first part that ends at or after end, and
// whether it ends there.
func (l *txLog) find(end uint64) (int, bool) {
	return slices.BinarySearchFunc(l.parts, end, func(p part, end uint64) int { return cmp.Compare(p.end, end) })
}

// at returns the stamp of the part that ended at end.
func (l *txLog) at(end uint64) (ns uint64, ok bool) {
	if i, ok := l.find(end); ok {
		return l.parts[i].ns, l.parts[i].ns != 0
	}
	return 0, false
}

// holding returns the stamp of the part that holds the byte at offset.
func (l *txLog) holding(offset uint64) (ns uint64, ok bool) {
	if offset >= l.stamped {
		return 0, false
	}
	// Where the first part of the log begins is not known once parts were
	// dropped.
	if i, _ := l.find(offset + 1); i < len(l.parts) && (i > 0 || !l.dropped || l.parts[i].end == offset+1) {
		return l.parts[i].ns, l.parts[i].ns != 0
	}
	return 0, false
}

// endOffset returns the offset after the byte with number id, counted from 0; the kernel
// gives the lowest 32 bits of the number. written is an offset less than 2³¹ bytes away
// on either side, because the bytes of a write in progress leave before they are
// counted. ok is false for a number before the first byte.
func endOffset(written uint64, id uint32) (end uint64, ok bool) {
	back := int64(int32(uint32(written) - (id + 1)))
	if back > 0 && uint64(back) > written {
		return 0, false
	}
	return written - uint64(back), true
}
