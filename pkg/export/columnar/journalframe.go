package columnar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A journal is an Arrow IPC stream. Each message is a frame with a trailer after the
// metadata of the message, where readers of Arrow do not look. schemas/columns.md has the
// byte diagram.
//
//	0xFFFFFFFF(4) size(4) metadata… text… trailer(32) body…
//	trailer: magic(4) kind(4) body length(8) ordinal(8) text length(4) CRC-32C(4)
//
// All integers are little-endian. size counts metadata, padding, text and trailer. The text
// is a header as in pa.run, or lines of telemetry. Zeros before the text make its end a
// multiple of 8 bytes. The ordinals of frames start at 0. The checksum covers the whole
// frame except its own four bytes.
const (
	continuation   = 0xFFFFFFFF
	frameHeadBytes = 8
	trailerBytes   = 32
	trailerMagic   = "paJ1"
)

// A frameKind is the kind of a frame. The file stores its number.
type frameKind uint32

const (
	frameSchema frameKind = 1 // the first frame; its metadata hold the run as known at the start
	frameRows   frameKind = 2
	frameBegin  frameKind = 3 // text: an experiment that starts
	frameUpdate frameKind = 4 // text: the current header of the experiment that started last
	frameEnd    frameKind = 5 // text: the header of that experiment at its end
	frameRun    frameKind = 6 // text: the run, without experiments; only the end of the stream follows
	frameText   frameKind = 7 // text: lines of telemetry
	frameNote   frameKind = 8 // text: a warning about the recording
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A frame is a message in a journal.
type frame struct {
	kind      frameKind
	ordinal   uint64
	offset    int64 // in the file
	bodyStart int   // bytes before the body, the first 8 included
	body      int64
	text      []byte // of the kinds that have one
}

func (f *frame) size() int64 { return int64(f.bodyStart) + f.body }

// appendFrame appends a frame. metadata is the metadata of an Arrow message; body appends
// the body of the message.
func appendFrame(dst []byte, kind frameKind, ordinal uint64, metadata, text []byte, body func(dst []byte) ([]byte, error)) ([]byte, error) {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, continuation)
	dst = append(dst, 0, 0, 0, 0)
	dst = append(dst, metadata...)
	for (len(dst)-start+len(text))%8 != 0 {
		dst = append(dst, 0)
	}
	dst = append(dst, text...)
	trailer := len(dst)
	dst = append(dst, trailerMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(kind))
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, ordinal)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
	dst = append(dst, 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(dst[start+4:], uint32(len(dst)-start-frameHeadBytes))
	end := len(dst)
	dst, err := body(dst)
	if err != nil {
		return dst[:start], err
	}
	binary.LittleEndian.PutUint64(dst[trailer+8:], uint64(len(dst)-end))
	sum := crc32.Update(0, castagnoli, dst[start:end-4])
	sum = crc32.Update(sum, castagnoli, dst[end:])
	binary.LittleEndian.PutUint32(dst[end-4:], sum)
	return dst, nil
}

// A JournalFrame is a frame of a journal: the bytes of one call of Write by a [JournalWriter].
// Its methods are for copying a journal of which another program cut a part.
type JournalFrame []byte

// HoldsRows reports whether the frame holds requests or telemetry. Other frames hold the
// header of the run or of an experiment, without which later frames cannot be read.
func (f JournalFrame) HoldsRows() bool {
	trailer, _, err := f.parts()
	if err != nil {
		return false
	}
	kind := frameKind(binary.LittleEndian.Uint32(trailer[4:]))
	return kind == frameRows || kind == frameText
}

// Renumber changes the ordinal of the frame, which counts the frames before it. It returns an
// error, and changes nothing, if f is not a whole frame.
func (f JournalFrame) Renumber(ordinal uint64) error {
	trailer, body, err := f.parts()
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(trailer[16:], ordinal)
	end := len(f) - len(body)
	sum := crc32.Update(0, castagnoli, f[:end-4])
	sum = crc32.Update(sum, castagnoli, body[:binary.LittleEndian.Uint64(trailer[8:])])
	binary.LittleEndian.PutUint32(trailer[trailerBytes-4:], sum)
	return nil
}

var errNoFrame = errors.New("not a frame of a journal")

// parts returns the trailer, and what follows it: the body, and the end of the stream behind
// the last frame.
func (f JournalFrame) parts() (trailer, body []byte, err error) {
	if len(f) < frameHeadBytes+trailerBytes {
		return nil, nil, errNoFrame
	}
	size := uint64(binary.LittleEndian.Uint32(f[4:]))
	if size < trailerBytes || size > uint64(len(f)-frameHeadBytes) {
		return nil, nil, errNoFrame
	}
	end := frameHeadBytes + int(size)
	trailer, body = f[end-trailerBytes:end], f[end:]
	if string(trailer[:4]) != trailerMagic || binary.LittleEndian.Uint64(trailer[8:]) > uint64(len(body)) {
		return nil, nil, errNoFrame
	}
	return trailer, body, nil
}

// endOfStream is Arrow's marker of the end of a stream.
var endOfStream = []byte{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}

var (
	errTorn = errors.New("the frame is not complete") // the file ends within the frame
	errEnd  = errors.New("end of the stream")
)

// maxFrameMetadata bounds the metadata and the text of a frame.
const maxFrameMetadata = 256 << 20

// A frameReader reads frames from a file that may end anywhere.
type frameReader struct {
	src  io.ReaderAt
	size int64
	// maxBody bounds the body of a frame.
	maxBody int64
	buf     []byte
}

// read reads the whole frame at off. Its results are valid until the next call. The error
// is errTorn, errEnd, an I/O error, or the reason why the bytes are not a frame.
func (r *frameReader) read(off int64) (f *frame, metadata, body []byte, err error) {
	if r.size-off < frameHeadBytes {
		return nil, nil, nil, errTorn
	}
	if err := r.fill(off, 0, frameHeadBytes); err != nil {
		return nil, nil, nil, err
	}
	size := binary.LittleEndian.Uint32(r.buf[4:])
	switch {
	case binary.LittleEndian.Uint32(r.buf) != continuation:
		return nil, nil, nil, fmt.Errorf("expected the start of a frame (ff ff ff ff), found % x", r.buf[:4])
	case size == 0:
		return nil, nil, nil, errEnd
	case size%8 != 0 || size < trailerBytes+8 || size > maxFrameMetadata:
		return nil, nil, nil, fmt.Errorf("a frame cannot have %d bytes of metadata", size)
	}
	f = &frame{offset: off, bodyStart: frameHeadBytes + int(size)}
	if off+int64(f.bodyStart) > r.size {
		return nil, nil, nil, errTorn
	}
	if err := r.fill(off, frameHeadBytes, f.bodyStart); err != nil {
		return nil, nil, nil, err
	}
	trailer := r.buf[f.bodyStart-trailerBytes : f.bodyStart]
	if string(trailer[:4]) != trailerMagic {
		return nil, nil, nil, fmt.Errorf("expected %q after the metadata of the frame, found %q", trailerMagic, trailer[:4])
	}
	f.kind = frameKind(binary.LittleEndian.Uint32(trailer[4:]))
	body64 := binary.LittleEndian.Uint64(trailer[8:])
	f.ordinal = binary.LittleEndian.Uint64(trailer[16:])
	text := binary.LittleEndian.Uint32(trailer[24:])
	switch {
	case uint64(text) > uint64(size)-trailerBytes:
		return nil, nil, nil, fmt.Errorf("a text of %d bytes does not fit into the frame", text)
	case body64 > uint64(r.size-off-int64(f.bodyStart)):
		return nil, nil, nil, errTorn
	case body64 > uint64(r.maxBody):
		return nil, nil, nil, fmt.Errorf("a body of %w", &tooLargeError{Size: int64(body64), Max: r.maxBody})
	}
	f.body = int64(body64)
	end := f.bodyStart + int(f.body)
	if err := r.fill(off, f.bodyStart, end); err != nil {
		return nil, nil, nil, err
	}
	sum := crc32.Update(0, castagnoli, r.buf[:f.bodyStart-4])
	sum = crc32.Update(sum, castagnoli, r.buf[f.bodyStart:end])
	if want := binary.LittleEndian.Uint32(r.buf[f.bodyStart-4:]); sum != want {
		return nil, nil, nil, fmt.Errorf("the checksum of the frame is %08x, its content has %08x", want, sum)
	}
	f.text = r.buf[f.bodyStart-trailerBytes-int(text) : f.bodyStart-trailerBytes]
	return f, r.buf[frameHeadBytes : f.bodyStart-trailerBytes-int(text)], r.buf[f.bodyStart:end], nil
}

// looksLikeFrame reports whether head, the bytes at off, has the size of a frame whose
// trailer starts with trailerMagic.
func (r *frameReader) looksLikeFrame(off int64, head []byte) bool {
	size := int64(binary.LittleEndian.Uint32(head[4:]))
	if size%8 != 0 || size < trailerBytes+8 || size > maxFrameMetadata || off+frameHeadBytes+size > r.size {
		return false
	}
	var magic [len(trailerMagic)]byte
	_, err := r.src.ReadAt(magic[:], off+frameHeadBytes+size-trailerBytes)
	return err == nil && string(magic[:]) == trailerMagic
}

// fill reads the bytes of the file from off+from on into buf[from:to], and keeps
// buf[:from].
func (r *frameReader) fill(off int64, from, to int) error {
	if to > cap(r.buf) {
		b := make([]byte, to, to+to/4)
		copy(b, r.buf[:from])
		r.buf = b
	}
	r.buf = r.buf[:to]
	n, err := r.src.ReadAt(r.buf[from:to], off+int64(from))
	if n == to-from {
		return nil
	}
	if errors.Is(err, io.EOF) {
		r.size = off + int64(from+n) // it has become shorter
		return errTorn
	}
	return fmt.Errorf("read at byte %d: %w", off+int64(from), err)
}

// A CorruptionError locates the damage of a journal: a frame with a wrong checksum, or
// bytes that are not a frame although frames follow. A journal that only ends too soon, as
// after a kill, gives an *export.CutError instead.
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
