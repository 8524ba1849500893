package backend

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
	"sync"

	"github.com/pa-tools/pa/internal/overlap"
	"github.com/pa-tools/pa/pkg/export"
)

// packed holds the bytes of the responses of an answer until it is decoded. The events of a
// stream differ in few bytes, so each one is stored without the bytes at its ends that the
// response before has, too. That takes about a tenth of the memory.
type packed struct {
	// pieces holds the responses one after the other. Each is the number of its own bytes plus
	// one, the lengths of the parts that it shares at its start and its end, and its own bytes; 0
	// stands for a large response.
	pieces [][]byte
	used   int // number of pieces; the others have memory for more
	large  [][]byte
	last   []byte // the response before; empty after a large one
	before []byte // the one before last, likewise
	n      int
	small  int // bytes of the responses that are not large
	// responses is memory for Request.Responses.
	responses []export.Response
}

const (
	pieceBytes = 2 << 10
	// largeBytes is the size from which a response is stored as it is.
	largeBytes = 16 << 10
	// A packed keeps at most so much memory for the next answer.
	keptPieces, keptResponses = 16, 1024
)

// packs has the memory of answers that were recorded.
var packs = sync.Pool{New: func() any { return &packed{} }}

// add appends a response. It keeps raw itself only if that is large and owned.
func (p *packed) add(raw []byte, owned bool) {
	p.n++
	if len(raw) > largeBytes {
		if !owned {
			raw = bytes.Clone(raw)
		}
		p.large, p.last, p.before = append(p.large, raw), p.before[:0], p.last
		b := p.room(1)
		*b = append(*b, 0)
		return
	}
	prefix := overlap.Prefix(p.last, raw)
	suffix := overlap.Suffix(p.last[prefix:], raw[prefix:])
	own := raw[prefix : len(raw)-suffix]
	const lengths = 3 * 3 // numbers below 2^21
	b := p.room(lengths + len(own))
	*b = binary.AppendUvarint(*b, uint64(len(own))+1)
	*b = binary.AppendUvarint(*b, uint64(prefix))
	*b = append(binary.AppendUvarint(*b, uint64(suffix)), own...)
	p.last, p.before = p.before[:0], p.last
	p.last = append(p.last, raw...)
	p.small += len(raw)
}

// room returns the piece to which n bytes can be appended.
func (p *packed) room(n int) *[]byte {
	if p.used > 0 {
		if b := &p.pieces[p.used-1]; cap(*b)-len(*b) >= n {
			return b
		}
	}
	if p.used == len(p.pieces) || cap(p.pieces[p.used]) < n {
		p.pieces = append(p.pieces[:p.used], make([]byte, 0, max(n, pieceBytes)))
	}
	p.used++
	return &p.pieces[p.used-1]
}

// all yields the responses in order. Small ones are appended to dst, the others are not copied.
func (p *packed) all(dst []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var last []byte
		large := p.large
		for _, b := range p.pieces[:p.used] {
			number := func() int {
				v, k := binary.Uvarint(b)
				b = b[k:]
				return int(v)
			}
			for len(b) > 0 {
				own := number() - 1
				if own < 0 {
					raw := large[0]
					large, last = large[1:], nil
					if !yield(raw) {
						return
					}
					continue
				}
				prefix, suffix, start := number(), number(), len(dst)
				dst = append(dst, last[:prefix]...)
				dst = append(dst, b[:own]...)
				dst = append(dst, last[len(last)-suffix:]...)
				b = b[own:]
				last = dst[start:len(dst):len(dst)]
				if !yield(last) {
					return
				}
			}
		}
	}
}

// bytes returns the memory of the responses.
func (p *packed) bytes() (n int64) {
	for _, b := range p.pieces[:p.used] {
		n += int64(cap(b))
	}
	for _, b := range p.large {
		n += int64(cap(b))
	}
	return n
}

// free empties p and keeps some of its memory for another answer.
func (p *packed) free(responses []export.Response) {
	pieces := slices.DeleteFunc(p.pieces, func(b []byte) bool { return cap(b) > pieceBytes })
	pieces = pieces[:min(len(pieces), keptPieces)]
	for i := range pieces {
		pieces[i] = pieces[i][:0]
	}
	clear(responses)
	if cap(responses) > keptResponses {
		responses = nil
	}
	*p = packed{pieces: pieces, last: p.last[:0], before: p.before[:0], responses: responses[:0]}
	packs.Put(p)
}

// A Scratch is memory for the decoding of one answer at a time. The zero value is ready.
type Scratch struct {
	bytes  []byte
	raw    [][]byte
	fields export.Fields
}

// maxScratchBytes bounds the memory that a Scratch keeps after a large answer.
const maxScratchBytes = 1 << 20

// Pack prepares x, which has no response yet, to keep the bytes of its responses packed until
// Unpack. Release takes the memory back.
func (x *Exchange) Pack() {
	x.packed = packs.Get().(*packed)
	x.Request.Responses = x.packed.responses
}

// Respond records a response and its bytes. It does not keep raw. It calls Received and counts in
// Arrived.
func (x *Exchange) Respond(p export.Response, raw []byte) { x.respond(p, raw, false) }

// RespondOwned is Respond for bytes that belong to x from now on.
func (x *Exchange) RespondOwned(p export.Response, raw []byte) { x.respond(p, raw, true) }

func (x *Exchange) respond(p export.Response, raw []byte, owned bool) {
	x.Request.Responses = append(x.Request.Responses, p)
	switch {
	case x.packed != nil:
		x.packed.add(raw, owned)
	case owned:
		x.Raw = append(x.Raw, raw)
	default:
		x.Raw = append(x.Raw, bytes.Clone(raw))
	}
	if x.Arrived != nil {
		x.Arrived.Add(1)
	}
	if x.Received != nil {
		x.Received(len(x.Request.Responses))
	}
}

// EachRaw yields the bytes of each response, packed or not. They stay valid.
func (x *Exchange) EachRaw() iter.Seq[[]byte] {
	if x.Raw == nil && x.packed != nil {
		return x.packed.all(nil)
	}
	return slices.Values(x.Raw)
}

// Tail returns the bytes of the last two responses, packed or not; nil for one that is not there. Of responses of more than 16 KiB
// it may return an empty text. The bytes stay valid until the next response.
func (x *Exchange) Tail() (before, last []byte) {
	if x.Raw == nil && x.packed != nil {
		return x.packed.before, x.packed.last
	}
	n := len(x.Raw)
	if n > 1 {
		before = x.Raw[n-2]
	}
	if n > 0 {
		last = x.Raw[n-1]
	}
	return before, last
}

// Unpack fills Raw, in memory of s, of an exchange that keeps its responses packed.
func (x *Exchange) Unpack(s *Scratch) {
	p := x.packed
	if p == nil || p.n == 0 {
		return
	}
	s.bytes = slices.Grow(s.bytes[:0], p.small)
	s.raw = slices.Grow(s.raw[:0], p.n)
	for raw := range p.all(s.bytes) {
		s.raw = append(s.raw, raw)
	}
	x.Raw, x.scratch = s.raw, s
}

// Fields returns n fields for the outputs that Decode sets. They may hold anything, and stay valid
// as long as Raw.
func (x *Exchange) Fields(n int) export.Fields {
	if x.scratch == nil {
		return make(export.Fields, n)
	}
	x.scratch.fields = slices.Grow(x.scratch.fields[:0], n)[:n]
	return x.scratch.fields
}

// Release takes the memory of the responses back, and the memory of Unpack. Nothing may refer to it any
// more.
func (x *Exchange) Release() {
	if p := x.packed; p != nil {
		p.free(x.Request.Responses)
		x.packed, x.Request.Responses, x.Raw = nil, nil, nil
	}
	if s := x.scratch; s != nil {
		clear(s.raw)
		clear(s.fields)
		if cap(s.bytes) > maxScratchBytes {
			*s = Scratch{}
		}
		x.scratch = nil
	}
}

// RawBytes returns the memory that the bytes of the responses take until Unpack.
func (x *Exchange) RawBytes() (n int64) {
	if x.packed != nil {
		return x.packed.bytes()
	}
	for _, raw := range x.Raw {
		n += int64(len(raw))
	}
	return n
}
