package realtime

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// wavFile returns a WAV file with one chunk before the samples.
func wavFile(format, channels, rate, bits int, data []byte) []byte {
	le := binary.LittleEndian
	b := append([]byte("RIFF\x00\x00\x00\x00WAVE"), "LIST\x03\x00\x00\x00abc\x00fmt \x10\x00\x00\x00"...)
	b = le.AppendUint16(le.AppendUint16(b, uint16(format)), uint16(channels))
	b = le.AppendUint32(le.AppendUint32(b, uint32(rate)), uint32(rate*channels*bits/8))
	b = le.AppendUint16(le.AppendUint16(b, uint16(channels*bits/8)), uint16(bits))
	return append(le.AppendUint32(append(b, "data"...), uint32(len(data))), data...)
}

func TestResampled(t *testing.T) {
	half := binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.5))
	for _, tt := range []struct {
		name string
		file []byte
		rate int
		want []int16
	}{
		{"as it is", wavFile(1, 1, 16000, 16, []byte{0, 0, 0xff, 0x7f, 0, 0x80, 1, 0}), 16000, []int16{0, 32767, -32768, 1}},
		{"the mean of two channels", wavFile(1, 2, 16000, 16, []byte{0, 0, 0, 0x40}), 16000, []int16{0x2000}},
		{"8 bits", wavFile(1, 1, 16000, 8, []byte{128, 0, 192}), 16000, []int16{0, -32768, 16384}},
		{"24 bits", wavFile(1, 1, 16000, 24, []byte{0, 0, 0x40, 0, 0, 0xc0}), 16000, []int16{16384, -16384}},
		{"32 bits", wavFile(1, 1, 16000, 32, []byte{0, 0, 0, 0x40}), 16000, []int16{16384}},
		{"floats", wavFile(3, 1, 16000, 32, half), 16000, []int16{16384}},
		{"twice the rate", wavFile(1, 1, 8000, 16, []byte{0, 0, 100, 0}), 16000, []int16{0, 50, 100, 100}},
		{"half the rate", wavFile(1, 1, 32000, 16, []byte{0, 0, 100, 0, 200, 0, 44, 1}), 16000, []int16{0, 200}},
		{"an odd end", wavFile(1, 1, 16000, 16, []byte{7, 0, 9}), 16000, []int16{7}},
	} {
		w, err := parseWAV(tt.file)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []int16
		for b := w.resampled(tt.rate); len(b) > 0; b = b[2:] {
			got = append(got, int16(binary.LittleEndian.Uint16(b)))
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
				break
			}
		}
	}
}

func TestParseWAVErrors(t *testing.T) {
	for _, tt := range []struct {
		file []byte
		want string
	}{
		{nil, "it is not a WAV file"},
		{wavFile(1, 1, 16000, 16, nil), "it has no samples"},
		{wavFile(1, 1, 16000, 12, []byte{0, 0}), "its samples have format 1 and 12 bits"},
		{wavFile(6, 1, 16000, 8, []byte{0, 0}), "its samples have format 6 and 8 bits"},
		{wavFile(1, 0, 16000, 16, []byte{0, 0}), "it has 0 channels"},
		{wavFile(1, 1, 1, 16, []byte{0, 0}), "1 samples a second"},
		{[]byte("RIFF\x00\x00\x00\x00WAVEdata\x02\x00\x00\x00ab"), "without a whole chunk"},
		{[]byte("RIFF\x00\x00\x00\x00WAVEfmt \x02\x00\x00\x00ab"), "the chunk \"data\" is missing"},
	} {
		if _, err := parseWAV(tt.file); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.file, err, tt.want)
		}
	}
}

func FuzzParseWAV(f *testing.F) {
	f.Add(wavFile(1, 2, 8000, 24, make([]byte, 12)))
	f.Add(wavFile(3, 1, 48000, 32, make([]byte, 8)))
	f.Fuzz(func(t *testing.T, file []byte) {
		w, err := parseWAV(file)
		if err != nil {
			return
		}
		const most = 6 // 24 kHz of 4 kHz
		if pcm := w.resampled(24000); len(pcm) == 0 || len(pcm)%2 > 0 || len(pcm) > 2*most*len(file) {
			t.Errorf("%d bytes of samples of a file of %d bytes", len(pcm), len(file))
		}
	})
}
