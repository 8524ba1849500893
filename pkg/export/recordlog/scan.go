package recordlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// errTorn is the error of a frame that the end of the file cuts off.
var errTorn = errors.New("the frame is not complete")

// windowBytes is the number of bytes that a scanner reads at once. A longer frame takes more.
const windowBytes = 256 << 10

// A scanner reads the frames of a file that may end anywhere, one after the other.
type scanner struct {
	src  io.ReaderAt
	size int64  // bytes
	off  int64  // of the next frame
	sum  uint32 // checksum of the frame before

	window []byte // bytes of the file from off on
	memory []byte // holds the window
}

// A frame is a frame of a file.
type frame struct {
	kind    Kind
	payload []byte // valid until the next frame is read
	off     int64
}

// start reads the head, so that the first frame is the next one. It returns the version of the log.
func (s *scanner) start() (version byte, err error) {
	var head [headBytes]byte
	if s.size < headBytes {
		return 0, errTorn
	}
	if _, err := s.src.ReadAt(head[:], 0); err != nil {
		return 0, fmt.Errorf("read at byte 0: %w", err)
	}
	if string(head[:len(magic)]) != magic {
		return 0, fmt.Errorf("expected %q, found %q", magic, head[:len(magic)])
	}
	s.off, s.sum, s.window = headBytes, crc32.Checksum(head[:], castagnoli), nil
	return head[len(magic)], nil
}

// seek makes the frame at off, which is not the first one, the next one.
func (s *scanner) seek(off int64) error {
	if off >= s.off && off <= s.off+int64(len(s.window)) {
		s.window = s.window[off-s.off:]
	} else {
		s.window = nil
	}
	s.off = off
	var before [sumBytes]byte
	if _, err := s.src.ReadAt(before[:], off-sumBytes); err != nil {
		return fmt.Errorf("read at byte %d: %w", off-sumBytes, err)
	}
	s.sum = binary.LittleEndian.Uint32(before[:])
	return nil
}

// next reads the next frame. The error is errTorn, an I/O error, or the reason why the bytes are
// no frame; off then stays.
func (s *scanner) next() (frame, error) {
	if err := s.fill(maxFrameHead); err != nil {
		return frame{}, err
	}
	size, payload, whole, err := frameSize(s.window)
	switch {
	case err != nil:
		return frame{}, err
	case !whole, size > s.size-s.off:
		return frame{}, errTorn
	}
	if err := s.fill(int(size)); err != nil {
		return frame{}, err
	}
	if int64(len(s.window)) < size { // the file has become shorter
		return frame{}, errTorn
	}
	end := int(size) - sumBytes
	sum := crc32.Update(s.sum, castagnoli, s.window[:end])
	if want := binary.LittleEndian.Uint32(s.window[end:]); sum != want {
		return frame{}, fmt.Errorf("the checksum of the frame is %08x, its content has %08x", want, sum)
	}
	f := frame{kind: Kind(s.window[0]), payload: s.window[payload:end], off: s.off}
	s.sum = sum
	s.skip(int(size))
	return f, nil
}

// fill reads until the window holds n bytes, or all that the file has.
func (s *scanner) fill(n int) error {
	have := len(s.window)
	if have >= n || s.off+int64(have) >= s.size {
		return nil
	}
	want := int(min(int64(max(n, windowBytes)), s.size-s.off))
	if len(s.memory) < want {
		s.memory = make([]byte, want+want/4)
	}
	copy(s.memory[:want], s.window)
	k, err := s.src.ReadAt(s.memory[have:want], s.off+int64(have))
	s.window = s.memory[:have+k]
	if have+k < want {
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read at byte %d: %w", s.off+int64(have+k), err)
		}
		s.size = s.off + int64(have+k)
	}
	return nil
}

// maxSearchBytes bounds the bytes that frameFollows checks by their checksums.
const maxSearchBytes = 256 << 20

// frameFollows reports whether there is a whole frame anywhere after off. No frame follows a
// frame that a kill cut short. The window is behind off then.
func (s *scanner) frameFollows(off int64) bool {
	s.off, s.window = off, nil
	for left := int64(maxSearchBytes); ; s.skip(1) {
		i := 1
		for i != 0 { // until a frame may begin after the checksum of the frame before
			if s.fill(sumBytes+maxFrameHead) != nil || len(s.window) <= sumBytes {
				return false
			}
			if i = slices.IndexFunc(s.window[sumBytes:], func(b byte) bool { return b >= byte(KindRun) }); i < 0 {
				i = len(s.window) - sumBytes
			}
			s.skip(i)
		}
		size, _, whole, err := frameSize(s.window[sumBytes:])
		if err != nil || !whole || size > s.size-s.off-sumBytes {
			continue
		}
		if left -= size; left < 0 || s.fill(int(sumBytes+size)) != nil || int64(len(s.window)) < sumBytes+size {
			return false
		}
		sum := crc32.Update(binary.LittleEndian.Uint32(s.window), castagnoli, s.window[sumBytes:size])
		if sum == binary.LittleEndian.Uint32(s.window[size:]) {
			return true
		}
	}
}

// skip leaves out n bytes of the window.
func (s *scanner) skip(n int) { s.off, s.window = s.off+int64(n), s.window[n:] }

// onlyZeros reports whether the file holds only zeros from off on.
func (s *scanner) onlyZeros(off int64) bool {
	buf := make([]byte, 64<<10)
	for off < s.size {
		n, err := s.src.ReadAt(buf[:min(int64(len(buf)), s.size-off)], off)
		if n == 0 && err != nil || len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return false
		}
		off += int64(n)
	}
	return true
}

// A CorruptionError locates the damage of a log: a frame with a wrong checksum, or bytes that
// are not a frame although frames follow. A log that only ends too soon, as after a kill, gives
// an *export.CutError instead.
type CorruptionError struct {
	Path   string
	Offset int64 // first byte of the damage; the bytes before it were read
	Err    error
}

func (e *CorruptionError) Error() string {
	return fmt.Sprintf("%s: byte %d: damaged: %v; the part before it was read", e.Path, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *CorruptionError) Unwrap() error { return e.Err }

// WholeFrames returns the longest prefix of src that can be read in its first size bytes.
func WholeFrames(src io.ReaderAt, size int64) (p Prefix) {
	s := scanner{src: src, size: size}
	if _, err := s.start(); err != nil {
		return p
	}
	for {
		f, err := s.next()
		if err != nil {
			return p
		}
		if f.kind == KindRequest {
			p.Requests++
		}
		p.Bytes, p.sum = s.off, s.sum
	}
}
