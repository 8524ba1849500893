package realtime

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// minRate and maxRate bound the sample rates of clips, and with them what a clip grows to.
const (
	minRate = 4000
	maxRate = 384000
)

// samplesOf returns the clip of m, WAV in a data: URL, as 16-bit PCM at a sample rate: the mean of the channels, with values
// between samples on the line through them.
func samplesOf(m workload.Medium, rate int) ([]byte, error) {
	rest, inline := strings.CutPrefix(m.URL, "data:")
	if !inline {
		return nil, errors.New("the audio clip is a URL, which the server would not fetch; give its file")
	}
	typ, content, ok := strings.Cut(rest, ";base64,")
	if !ok {
		return nil, errors.New("an audio clip in a data: URL must be in base64")
	}
	file, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return nil, fmt.Errorf("the audio clip: %w", err)
	}
	if !strings.HasSuffix(typ, "wav") {
		return nil, fmt.Errorf("the audio clip is %.40q, and v1/realtime takes samples; convert it to WAV", typ)
	}
	w, err := parseWAV(file)
	if err != nil {
		return nil, fmt.Errorf("the audio clip: %w", err)
	}
	return w.resampled(rate), nil
}

// A wav is the content of a WAV file.
type wav struct {
	rate, channels, bits int
	float                bool
	data                 []byte // whole frames
}

// parseWAV reads a WAV file of PCM or of 32-bit floating-point samples. A file that ends early, or a length of 0 or −1 as
// writers to pipes leave it, means all samples to the end.
func parseWAV(b []byte) (*wav, error) {
	if len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return nil, errors.New("it is no WAV file: RIFF and WAVE are not at its beginning")
	}
	const header, format = 8, 16
	w := &wav{}
	for b = b[12:]; len(b) >= header; {
		id, size, body := string(b[:4]), uint64(binary.LittleEndian.Uint32(b[4:])), b[header:]
		part := body[:min(size, uint64(len(body)))]
		switch id {
		case "fmt ":
			if len(part) < format {
				return nil, fmt.Errorf("its chunk %q has %d bytes; at least %d are needed", id, len(part), format)
			}
			code := binary.LittleEndian.Uint16(part)
			if code == 0xfffe && len(part) >= 26 { // extensible: the code is in the subformat
				code = binary.LittleEndian.Uint16(part[24:])
			}
			w.channels, w.rate, w.bits = int(binary.LittleEndian.Uint16(part[2:])), int(binary.LittleEndian.Uint32(part[4:])), int(binary.LittleEndian.Uint16(part[14:]))
			w.float = code == 3
			switch {
			case code != 1 && code != 3, w.float && w.bits != 32, w.bits%8 != 0 || w.bits < 8 || w.bits > 32:
				return nil, fmt.Errorf("its samples have format %d and %d bits; PCM of 8, 16, 24 or 32 bits and floats of 32 bits can be read", code, w.bits)
			case w.channels < 1, w.rate < minRate, w.rate > maxRate:
				return nil, fmt.Errorf("it has %d channels and %d samples a second; at least 1, and from %d to %d, can be read", w.channels, w.rate, minRate, maxRate)
			}
		case "data":
			if w.rate == 0 {
				return nil, errors.New("its samples come before their format")
			}
			if size == 0 || size == math.MaxUint32 {
				part = body
			}
			w.data = part[:len(part)-len(part)%(w.channels*w.bits/8)]
			if len(w.data) == 0 {
				return nil, errors.New("it has no samples")
			}
			return w, nil
		}
		b = body[min(size+size%2, uint64(len(body))):]
	}
	return nil, errors.New("it has no samples: there is no chunk \"data\"")
}

// frame returns the mean of the channels at a time, from −1 to 1.
func (w *wav) frame(i int) float64 {
	width := w.bits / 8
	sum := 0.0
	for c := range w.channels {
		b := w.data[(i*w.channels+c)*width:]
		switch {
		case w.float:
			v := float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
			if !(v >= -1) { // or it is no number
				v = -1
			}
			sum += min(v, 1)
		case width == 1: // unsigned
			sum += (float64(b[0]) - 128) / 128
		default:
			var v uint32
			for k := range width {
				v |= uint32(b[k]) << (8 * (k + 4 - width))
			}
			sum += float64(int32(v)) / (1 << 31)
		}
	}
	return sum / float64(w.channels)
}

// resampled returns the samples as 16-bit PCM at a rate.
func (w *wav) resampled(rate int) []byte {
	frames := len(w.data) / (w.channels * w.bits / 8)
	n := max(1, int(int64(frames)*int64(rate)/int64(w.rate)))
	out := make([]byte, 0, 2*n)
	for i := range n {
		at := float64(i) * float64(w.rate) / float64(rate)
		k := min(int(at), frames-1)
		v := w.frame(k)
		if part := at - float64(k); part > 0 && k+1 < frames {
			v += part * (w.frame(k+1) - v)
		}
		out = binary.LittleEndian.AppendUint16(out, uint16(int16(math.Round(max(-1, min(v, 32767.0/32768))*32768))))
	}
	return out
}
