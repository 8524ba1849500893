package recordlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A Kind is the kind of a frame. The file stores its number.
type Kind byte

// The kinds that this version writes.
const (
	KindRun      Kind = 0xF5
	KindLevel    Kind = 0xF6
	KindRequest  Kind = 0xF7
	KindLevelEnd Kind = 0xF8
	KindScrape   Kind = 0xF9
	KindNote     Kind = 0xFA
	KindRunEnd   Kind = 0xFB
)

const (
	magic = "pajrnl\n"
	// version is the one that is written. Version 1 lacks some flags of a request; nothing else differs.
	version = 2
	// headBytes is the size of the magic and the version.
	headBytes = int64(len(magic) + 1)
	sumBytes  = 4
	// maxFrameHead is the size of the kind and the longest length of a frame.
	maxFrameHead = 1 + 5
	minFrame     = 1 + 1 + sumBytes
	// maxPayload bounds the payload of a frame.
	maxPayload = 1 << 30
)

// fileHead returns the first bytes of a log.
func fileHead() []byte { return append([]byte(magic), version) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// beginFrame appends the start of a frame, to which its payload is appended.
func beginFrame(b []byte, kind Kind) []byte { return append(b, byte(kind), 0, 0, 0, 0, 0) }

// endFrame completes the frame that begins at b[start]. [Prefix.Add] sets its checksum.
func endFrame(b []byte, start int) ([]byte, error) {
	payload := b[start+maxFrameHead:]
	if len(payload) > maxPayload {
		return b[:start], fmt.Errorf("it takes %d bytes, more than the %d that a frame can hold", len(payload), maxPayload)
	}
	n := 1 + binary.PutUvarint(b[start+1:], uint64(len(payload)))
	copy(b[start+n:], payload)
	return append(b[:len(b)-(maxFrameHead-n)], 0, 0, 0, 0), nil
}

// appendFrame appends a whole frame.
func appendFrame(b []byte, kind Kind, payload []byte) ([]byte, error) {
	start := len(b)
	return endFrame(append(beginFrame(b, kind), payload...), start)
}

// frameSize returns the size of the frame at the start of b and where its payload begins.
// whole is false if b ends before the payload. An error says why there is no frame.
func frameSize(b []byte) (size int64, payload int, whole bool, err error) {
	if len(b) > 0 && b[0] < byte(KindRun) {
		return 0, 0, false, fmt.Errorf("expected the start of a frame (f5 to ff), found %02x", b[0])
	}
	if len(b) < 2 {
		return 0, 0, false, nil
	}
	n, k := binary.Uvarint(b[1:min(len(b), maxFrameHead)])
	switch {
	case k == 0 && len(b) < maxFrameHead:
		return 0, 0, false, nil
	case k <= 0:
		return 0, 0, false, fmt.Errorf("the length of a frame has more than %d bytes", maxFrameHead-1)
	case n > maxPayload:
		return 0, 0, false, fmt.Errorf("a frame cannot have %d bytes", n)
	}
	return int64(1+k) + int64(n) + sumBytes, 1 + k, true, nil
}

// A Prefix is a part of a log from its start to the end of a frame. The zero value is the start.
type Prefix struct {
	Bytes    int64
	Requests int
	sum      uint32 // checksum of the last frame
}

// Add sets the checksums of b, whole frames that follow p, and adds them to p. If p is empty, b begins with the magic of a
// log. Add calls each, which may be nil, with each frame before it adds the frame.
// A copy of a Prefix can take the same frames again.
func (p *Prefix) Add(b []byte, each func(kind Kind, frame []byte)) {
	for len(b) > 0 {
		head := 0
		if p.Bytes == 0 {
			head = int(headBytes)
			p.sum = crc32.Checksum(b[:head], castagnoli)
		}
		size, _, _, err := frameSize(b[head:])
		end := head + int(size)
		if err != nil || size == 0 || end > len(b) {
			panic("recordlog: Add of bytes that are not whole frames")
		}
		p.sum = crc32.Update(p.sum, castagnoli, b[head:end-sumBytes])
		binary.LittleEndian.PutUint32(b[end-sumBytes:], p.sum)
		if each != nil {
			each(Kind(b[head]), b[:end])
		}
		if Kind(b[head]) == KindRequest {
			p.Requests++
		}
		p.Bytes += int64(end)
		b = b[end:]
	}
}
