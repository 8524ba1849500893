package h2follow

import (
	"slices"

	"github.com/pa-tools/pa/internal/sockstamp"
)

// A body knows which reads brought the DATA of a stream, padding excepted.
type body struct {
	total uint64 // bytes of DATA that came
	spans []span // in the order of their bytes
	past  int    // spans[:past] are not needed any more
}

// A span is bytes begin to end of a stream's DATA, which came with one read.
type span struct {
	begin, end uint64
	at         sockstamp.Stamp
}

// add records that n more bytes came with a read. It drops the oldest span when more than
// most spans wait.
func (b *body) add(n int, at sockstamp.Stamp, most int) {
	begin := b.total
	b.total += uint64(n)
	if last := len(b.spans) - 1; last >= b.past && b.spans[last].at == at {
		b.spans[last].end = b.total
		return
	}
	if len(b.spans)-b.past >= most {
		b.past++
	}
	switch {
	case b.past == len(b.spans):
		b.spans, b.past = b.spans[:0], 0
	case len(b.spans) == cap(b.spans) && b.past > len(b.spans)/2:
		b.spans, b.past = slices.Delete(b.spans, 0, b.past), 0
	}
	b.spans = append(b.spans, span{begin, b.total, at})
}

// find returns the span with the byte at offset, and drops the spans before.
func (b *body) find(offset uint64) (s span, ok bool) {
	for ; b.past < len(b.spans); b.past++ {
		if s = b.spans[b.past]; s.end > offset {
			return s, s.begin <= offset
		}
	}
	return span{}, false
}

// At returns the stamp of the read that brought the byte at offset of the DATA
// received on a stream, counted without padding, and the offset up to which the
// same read brought it. Offsets must not go back. ok is false without
// [Config.Bytes] and for bytes that did not come, or so long ago that they were
// dropped.
func (f *Follower) At(stream uint32, offset uint64) (st sockstamp.Stamp, end uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.table.stream(stream)
	if s == nil {
		return sockstamp.Stamp{}, 0, false
	}
	found, ok := s.body.find(offset)
	if !ok {
		return sockstamp.Stamp{}, 0, false
	}
	return found.at, found.end, true
}

// Head returns the stamps of the reads that completed the head of the first
// frame received on a stream and the last one of the headers before its DATA.
// ok is false without [Config.Bytes] and before the headers are complete.
func (f *Follower) Head(stream uint32) (first, last sockstamp.Stamp, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.table.stream(stream)
	if s == nil || s.head.last == (sockstamp.Stamp{}) {
		return sockstamp.Stamp{}, sockstamp.Stamp{}, false
	}
	return s.head.first, s.head.last, true
}
