package realtime

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/audio"
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
	audio.WAV
	data []byte // whole frames
}

// frameBytes returns the bytes of a sample of all channels.
func (w *wav) frameBytes() int { return w.Channels * w.Bits / 8 }

// parseWAV reads a WAV file of PCM or of 32-bit floating-point samples. A file that ends early, or whose header does not know the
// length, means all samples to the end.
func parseWAV(b []byte) (*wav, error) {
	h, _ := audio.ParseWAV(b)
	w := &wav{WAV: h}
	switch {
	case !bytes.HasPrefix(b, []byte("RIFF")):
		return nil, errors.New("it is not a WAV file: it does not begin with RIFF")
	case h.Header == 0:
		return nil, errors.New("it has no samples: the chunk \"data\" is missing")
	case h.Code == 0:
		return nil, errors.New("its samples come without a whole chunk \"fmt \" before them")
	case h.Code != audio.PCM && h.Code != audio.Float, h.Code == audio.Float && h.Bits != 32, h.Bits%8 != 0 || h.Bits < 8 || h.Bits > 32:
		return nil, fmt.Errorf("its samples have format %d and %d bits; PCM of 8, 16, 24 or 32 bits and floats of 32 bits can be read", h.Code, h.Bits)
	case h.Channels < 1, h.Rate < minRate, h.Rate > maxRate:
		return nil, fmt.Errorf("it has %d channels and %d samples a second; at least 1, and from %d to %d, can be read", h.Channels, h.Rate, minRate, maxRate)
	}
	w.data = b[h.Header:]
	if h.Data >= 0 {
		w.data = w.data[:min(h.Data, int64(len(w.data)))]
	}
	if w.data = w.data[:len(w.data)-len(w.data)%w.frameBytes()]; len(w.data) == 0 {
		return nil, errors.New("it has no samples")
	}
	return w, nil
}

// frame returns the mean of the channels at a time, from −1 to 1.
func (w *wav) frame(i int) float64 {
	width := w.Bits / 8
	sum := 0.0
	for c := range w.Channels {
		b := w.data[(i*w.Channels+c)*width:]
		switch {
		case w.Code == audio.Float:
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
	return sum / float64(w.Channels)
}

// resampled returns the samples as 16-bit PCM at a rate.
func (w *wav) resampled(rate int) []byte {
	frames := len(w.data) / w.frameBytes()
	n := max(1, int(int64(frames)*int64(rate)/int64(w.Rate)))
	out := make([]byte, 0, 2*n)
	for i := range n {
		at := float64(i) * float64(w.Rate) / float64(rate)
		k := min(int(at), frames-1)
		v := w.frame(k)
		if part := at - float64(k); part > 0 && k+1 < frames {
			v += part * (w.frame(k+1) - v)
		}
		out = binary.LittleEndian.AppendUint16(out, uint16(int16(math.Round(max(-1, min(v, 32767.0/32768))*32768))))
	}
	return out
}
