package synth

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Audio describes synthetic audio: noise in WAV format.
type Audio struct {
	// Seconds is the distribution of lengths. Values below minAudioSeconds are drawn
	// again.
	Seconds AudioLength
	// SampleRates are in Hz, Depths in bits a sample: 8, 16, 24 or 32. Each clip has
	// one of each, chosen at random.
	SampleRates []int
	Depths      []int
	Channels    int // 1 or 2
}

// AudioLength is a normal distribution of lengths in seconds.
type AudioLength struct{ Mean, Stddev float64 }

const (
	// minAudioSeconds is the shortest length, as in GenAI-Perf.
	minAudioSeconds = 0.1
	// maxAudioSeconds bounds the mean plus eight standard deviations.
	maxAudioSeconds = 3600
)

// Validate reports all mistakes at once.
func (s *Audio) Validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	mean, stddev := s.Seconds.Mean, s.Seconds.Stddev
	add(!(mean >= minAudioSeconds), "length: mean %v s: must be at least %v s", mean, minAudioSeconds)
	add(!(stddev >= 0 && stddev <= mean), "length: standard deviation %v s: must be from 0 to the mean, %v s", stddev, mean)
	add(mean+8*stddev > maxAudioSeconds, "length: mean %v s with standard deviation %v s: may exceed %d s", mean, stddev, maxAudioSeconds)
	add(len(s.SampleRates) == 0, "no sample rate")
	for _, rate := range s.SampleRates {
		add(rate < 1000 || rate > 384000, "sample rate %d Hz: must be from 1 to 384 kHz", rate)
	}
	add(len(s.Depths) == 0, "no depth")
	for _, depth := range s.Depths {
		add(depth != 8 && depth != 16 && depth != 24 && depth != 32, "depth of %d bits: must be 8, 16, 24 or 32", depth)
	}
	add(s.Channels != 1 && s.Channels != 2, "%d channels: must be 1 or 2", s.Channels)
	return errors.Join(errs...)
}

// draw returns a length.
func (l AudioLength) draw(r *rand.Rand) float64 {
	for {
		if s := l.Mean + l.Stddev*r.NormFloat64(); s >= minAudioSeconds {
			return s
		}
	}
}

// noiseLevel is the standard deviation of the noise, where full scale is 1.
const noiseLevel = 0.3

// url returns the clip with this number as a data: URL.
func (s *Audio) url(seed, number uint64) string {
	r := source(seed, forAudio, number)
	rate, depth := s.SampleRates[r.IntN(len(s.SampleRates))], s.Depths[r.IntN(len(s.Depths))]
	samples := int(s.Seconds.draw(r)*float64(rate)) * s.Channels
	b := appendWAVHeader(make([]byte, 0, wavHeaderBytes+samples*depth/8), rate, depth, s.Channels, samples)
	full := float64(uint64(1)<<(depth-1) - 1)
	for range samples {
		x := max(-1, min(1, noiseLevel*r.NormFloat64()))
		v := uint32(int32(math.Round(x * full)))
		if depth == 8 { // 8-bit samples are unsigned in WAV
			v += 128
		}
		for k := range depth / 8 {
			b = append(b, byte(v>>(8*k)))
		}
	}
	return "data:audio/wav;base64," + base64.StdEncoding.EncodeToString(b)
}

const wavHeaderBytes = 44

// appendWAVHeader appends the header before the samples:
//
//	"RIFF" size "WAVE" "fmt " 16 format=1 channels rate bytes/s bytes/frame bits "data" size
func appendWAVHeader(b []byte, rate, depth, channels, samples int) []byte {
	le := binary.LittleEndian
	frame, size := channels*depth/8, samples*depth/8
	b = le.AppendUint32(append(b, "RIFF"...), uint32(wavHeaderBytes-8+size))
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, 1), uint16(channels))
	b = le.AppendUint32(le.AppendUint32(b, uint32(rate)), uint32(rate*frame))
	b = le.AppendUint16(le.AppendUint16(b, uint16(frame)), uint16(depth))
	return le.AppendUint32(append(b, "data"...), uint32(size))
}
