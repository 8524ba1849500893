package audio

import (
	"bytes"
	"encoding/binary"
	"math"
)

// A Format says how fast the samples of an audio are played. The zero value is an unknown format.
type Format struct {
	Rate       int // samples a second, of each channel
	FrameBytes int // bytes of one sample of all channels
}

// PCM24K is the format of raw PCM of OpenAI's speech endpoint: 24 kHz, 16 bits, mono.
var PCM24K = Format{Rate: 24000, FrameBytes: 2}

// Limits of a plausible format. A header with values beyond them is damaged.
const (
	maxRate       = 1 << 20
	maxFrameBytes = 1 << 10
)

// known reports whether f can be the format of an audio.
func (f Format) known() bool {
	return f.Rate > 0 && f.Rate <= maxRate && f.FrameBytes > 0 && f.FrameBytes <= maxFrameBytes
}

// NS returns the nanoseconds that n bytes of samples take to play; 0 if the format is unknown or n is below 0.
func (f Format) NS(n int64) int64 {
	if !f.known() || n <= 0 {
		return 0
	}
	return nanoseconds(float64(n) / float64(f.FrameBytes) / float64(f.Rate))
}

// nanoseconds returns seconds in ns, at most the largest int64.
func nanoseconds(seconds float64) int64 {
	ns := seconds * 1e9
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(math.Round(ns))
}

// A WAV is the header of a WAV file.
type WAV struct {
	Format
	// Code is the format of samples: PCM, Float, …; 0 if the header has none. Of an extensible format it is the format within.
	Code int
	// Channels and Bits, of the sample of a channel, are as the header states them.
	Channels, Bits int
	// Header is the number of bytes before the first sample; 0 if the header has no end.
	Header int
	// Data is the number of bytes of samples; −1 if the header does not know it, as in a stream.
	Data int64
}

// Values of WAV.Code. Extensible stays only if the format within is not there.
const (
	PCM        = 1
	Float      = 3
	ALaw       = 6
	MuLaw      = 7
	Extensible = 0xfffe
)

const (
	riffBytes  = 12 // "RIFF" size "WAVE"
	chunkBytes = 8  // name and size of a chunk
	fmtBytes   = 16 // smallest chunk "fmt "
	subformat  = 24 // offset of the format within an extensible one
)

// ParseWAV reads the header of a WAV file, which is uncompressed: PCM, floating point, A-law or µ-law. head are the
// first bytes of the file. ok is false if they are no such header or end within it; w then holds what was read.
func ParseWAV(head []byte) (w WAV, ok bool) {
	if len(head) < riffBytes || string(head[:4]) != "RIFF" || string(head[8:12]) != "WAVE" {
		return w, false
	}
	le := binary.LittleEndian
	for at := riffBytes; at+chunkBytes <= len(head); {
		name, size := string(head[at:at+4]), int64(le.Uint32(head[at+4:]))
		at += chunkBytes
		switch {
		case name == "data":
			w.Header, w.Data = at, size
			if size == 0 || size >= math.MaxInt32 { // the writer did not know it: it wrote 0, 2³¹−1 or 2³²−1
				w.Data = -1
			}
			return w, w.known()
		case size > int64(len(head)-at):
			return w, false
		case name == "fmt " && size >= fmtBytes:
			w.Code, w.Channels, w.Bits = int(le.Uint16(head[at:])), int(le.Uint16(head[at+2:])), int(le.Uint16(head[at+14:]))
			w.Rate, w.FrameBytes = int(le.Uint32(head[at+4:])), int(le.Uint16(head[at+12:]))
			if w.Code == Extensible && size >= subformat+2 {
				w.Code = int(le.Uint16(head[at+subformat:]))
			}
		}
		at += int(size + size%2)
	}
	return w, false
}

// known reports whether w is uncompressed, in a format that can be the one of an audio.
func (w *WAV) known() bool {
	switch w.Code {
	case PCM, Float, ALaw, MuLaw, Extensible:
		return w.Format.known()
	}
	return false
}

// DurationNS returns the length of a clip, a whole file, as its header states it. why says why the length is not known; ""
// if it is.
func DurationNS(clip []byte) (ns int64, why string) {
	switch {
	case bytes.HasPrefix(clip, []byte("RIFF")):
		w, ok := ParseWAV(clip)
		if !ok {
			return 0, "its WAV header has no known format"
		}
		n := int64(len(clip) - w.Header)
		if w.Data >= 0 {
			n = min(n, w.Data)
		}
		return w.NS(n), ""
	case bytes.HasPrefix(clip, []byte("fLaC")):
		return flacNS(clip)
	}
	return 0, "only headers of WAV and FLAC state it"
}

// flacNS returns the length that the first block of a FLAC file, STREAMINFO, states:
//
//	"fLaC" type:1 length:3 … rate:20 channels:3 bits:5 samples:36 (bits)
func flacNS(clip []byte) (ns int64, why string) {
	const info, blockBytes = 8, 34
	if len(clip) < info+blockBytes || clip[4]&0x7f != 0 {
		return 0, "its FLAC header has no STREAMINFO"
	}
	v := binary.BigEndian.Uint64(clip[info+10:])
	rate, samples := v>>44, v&(1<<36-1)
	if rate == 0 || samples == 0 {
		return 0, "its FLAC header does not state it"
	}
	return nanoseconds(float64(samples) / float64(rate)), ""
}
