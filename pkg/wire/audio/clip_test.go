package audio_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/pa-tools/pa/pkg/wire/audio"
)

// wav returns a WAV file with a chunk before the samples, and dataSize as the size in its header.
func wav(tag, channels, bits uint16, rate, dataSize uint32, samples int) []byte {
	le := binary.LittleEndian
	frame := channels * bits / 8
	b := append([]byte("RIFF\x00\x00\x00\x00WAVE"), "LIST\x03\x00\x00\x00abc\x00"...)
	b = le.AppendUint32(append(b, "fmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, tag), channels)
	b = le.AppendUint32(le.AppendUint32(b, rate), rate*uint32(frame))
	b = le.AppendUint16(le.AppendUint16(b, frame), bits)
	b = le.AppendUint32(append(b, "data"...), dataSize)
	return append(b, make([]byte, samples*int(frame))...)
}

// flac returns the beginning of a FLAC file.
func flac(rate, samples uint64) []byte {
	b := append([]byte("fLaC\x80\x00\x00\x22"), make([]byte, 10)...)
	b = binary.BigEndian.AppendUint64(b, rate<<44|15<<36|samples)
	return append(b, make([]byte, 16)...)
}

func TestDurationNS(t *testing.T) {
	for name, c := range map[string]struct {
		clip []byte
		ns   int64
		why  string
	}{
		"16 bits, mono":            {wav(1, 1, 16, 16000, 32000, 16000), 1e9, ""},
		"float, stereo":            {wav(3, 2, 32, 8000, 64000, 8000), 1e9, ""},
		"the header knows no size": {wav(1, 1, 16, 16000, 1<<32-1, 8000), 5e8, ""},
		"the header says 0":        {wav(1, 1, 16, 16000, 0, 8000), 5e8, ""},
		"cut":                      {wav(1, 1, 16, 16000, 32000, 4000), 25e7, ""},
		"bytes behind the samples": {append(wav(1, 1, 16, 16000, 32000, 16000), 1, 2, 3), 1e9, ""},
		"compressed":               {wav(0x55, 1, 16, 16000, 32000, 16000), 0, "its WAV header has no known format"},
		"a rate of 0":              {wav(1, 1, 16, 0, 32000, 16000), 0, "its WAV header has no known format"},
		"a rate that cannot be":    {wav(1, 1, 16, 1<<31, 32000, 16000), 0, "its WAV header has no known format"},
		"frames of 0 bytes":        {wav(1, 0, 16, 16000, 32000, 16000), 0, "its WAV header has no known format"},
		"a header of 6 bytes":      {[]byte("RIFF\x00\x00"), 0, "its WAV header has no known format"},
		"a chunk of 4 GB":          {[]byte("RIFF\x00\x00\x00\x00WAVELIST\xff\xff\xff\xff"), 0, "its WAV header has no known format"},
		"FLAC":                     {flac(44100, 88200), 2e9, ""},
		"FLAC of 2,000 years":      {flac(1, 1<<36-1), math.MaxInt64, ""},
		"FLAC of unknown length":   {flac(44100, 0), 0, "its FLAC header does not state it"},
		"FLAC without a rate":      {flac(0, 5), 0, "its FLAC header does not state it"},
		"FLAC with another block":  {slices.Concat([]byte("fLaC\x04"), make([]byte, 60)), 0, "its FLAC header has no STREAMINFO"},
		"MP3":                      {[]byte("ID3\x04"), 0, "only headers of WAV and FLAC state it"},
		"nothing":                  {nil, 0, "only headers of WAV and FLAC state it"},
	} {
		if ns, why := audio.DurationNS(c.clip); ns != c.ns || why != c.why {
			t.Errorf("%s: %d ns, %q; want %d ns, %q", name, ns, why, c.ns, c.why)
		}
	}
}

// A header that came in part is none: a reader of a stream waits for more.
func TestParseWAVPrefixes(t *testing.T) {
	all := wav(1, 1, 16, 24000, 1<<31-1, 0)
	for n := range all {
		if w, ok := audio.ParseWAV(all[:n]); ok {
			t.Fatalf("%d of %d bytes are taken for a header: %+v", n, len(all), w)
		}
	}
	want := audio.WAV{Format: audio.PCM24K, Code: audio.PCM, Channels: 1, Bits: 16, Header: len(all), Data: -1}
	if w, ok := audio.ParseWAV(all); !ok || w != want {
		t.Errorf("got %+v, %v; want %+v", w, ok, want)
	}
}

func TestFormatNS(t *testing.T) {
	for _, c := range []struct {
		f  audio.Format
		n  int64
		ns int64
	}{{audio.PCM24K, 48000, 1e9}, {audio.PCM24K, 0, 0}, {audio.PCM24K, -5, 0}, {audio.Format{}, 5, 0}, {audio.Format{Rate: 1, FrameBytes: 1}, 1 << 62, 1<<63 - 1}} {
		if ns := c.f.NS(c.n); ns != c.ns {
			t.Errorf("%d bytes of %+v: %d ns, want %d", c.n, c.f, ns, c.ns)
		}
	}
}

func FuzzDurationNS(f *testing.F) {
	f.Add(wav(1, 1, 16, 16000, 32000, 10))
	f.Add(wav(3, 2, 32, 8000, 1<<32-1, 3))
	f.Add(flac(44100, 88200))
	f.Fuzz(func(t *testing.T, clip []byte) {
		ns, why := audio.DurationNS(clip)
		if ns < 0 || ns != 0 && why != "" {
			t.Errorf("%d ns, %q", ns, why)
		}
		if w, ok := audio.ParseWAV(clip); ok && (w.Header <= 0 || w.Header > len(clip) || w.Data < -1) {
			t.Errorf("%+v of %d bytes", w, len(clip))
		}
	})
}
