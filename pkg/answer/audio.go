package answer

import (
	"encoding/base64"
	"math"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/audio"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// An AudioPiece is audio that one response brought.
type AudioPiece struct {
	RecvNS uint64
	Bytes  int64
}

// An Audio holds the measures of a request to an audio endpoint; the zero value is of other requests.
type Audio struct {
	Of openai.AudioEndpoint
	// First is the time from the start to the first audio, of speech.
	First export.Int
	// Length is how long the audio plays: the clip of a transcription, the answer of speech.
	Length export.Int
	// Underruns counts the times at which a player had to wait, UnderrunNS is how long it waited in all; of speech.
	Underruns, UnderrunNS export.Int
	// Bytes of audio came, with speech.
	Bytes int64
	// NoLength is the reason why Length is missing.
	NoLength string
}

// values returns the values of a, always in the same order.
func (a *Audio) values() [4]*export.Int {
	return [...]*export.Int{&a.First, &a.Length, &a.Underruns, &a.UnderrunNS}
}

// addAudio adds a piece that a response brought.
func (a *Answer) addAudio(at uint64, p *openai.AudioPiece) {
	a.Audio = append(a.Audio, AudioPiece{at, p.Bytes})
	if len(a.AudioHead) < openai.AudioHeadBytes && len(p.Head) > 0 {
		// An error leaves the bytes before it, which are the header or not.
		head, _ := base64.StdEncoding.AppendDecode(a.AudioHead, p.Head[:min(len(p.Head), openai.AudioHeadBytes*2)/4*4])
		a.AudioHead = head
	}
}

// measureAudio fills m.Audio of a request whose other measures are there.
func (m *Measured) measureAudio(of openai.AudioEndpoint, r *export.Request, a *Answer, b *Bounds) {
	m.Audio.Of = of
	body, _ := r.Inputs.Get("payload")
	if of == openai.Transcribes {
		ns, why := openai.ClipNS(body.Bytes())
		if m.Audio.NoLength = why; why == "" {
			m.Audio.Length = export.IntOf(ns)
		}
		return
	}
	switch {
	case a.Dropped:
		m.Audio.NoLength = "the file holds no answers"
	case len(a.Audio) == 0:
		m.Audio.NoLength = "the answer holds no audio"
	default:
		var f audio.Format
		skip := 0
		f, skip, m.Audio.NoLength = openai.SpeechFormat(body.Bytes(), a.AudioHead)
		m.Audio.play(m.FromNS, a.Audio, f, int64(skip), m.StartWrong)
		m.Audio.First = m.keep(FirstAudio, m.Audio.First, m.mostLatency(b))
		m.Audio.Length = m.keep(AudioLength, m.Audio.Length, b.spanNS)
		m.Audio.UnderrunNS = m.keep(UnderrunTime, m.Audio.UnderrunNS, b.spanNS)
	}
}

// play plays pieces of audio of a format; the zero format is unknown. skip is the number of bytes before the first sample.
func (x *Audio) play(from uint64, pieces []AudioPiece, f audio.Format, skip int64, startWrong bool) {
	var first uint64
	bytesIn, waited, underruns := int64(0), int64(0), int64(0)
	x.Bytes = -skip
	for _, p := range pieces {
		if x.Bytes = stat.SaturatingAdd(x.Bytes, p.Bytes); x.Bytes <= 0 {
			continue
		}
		if first == 0 {
			if first = p.RecvNS; from != 0 && !startWrong {
				x.First = Elapsed(from, first)
			}
		}
		due := stat.SaturatingAdd(f.NS(bytesIn), waited) // since first
		if since := Elapsed(first, p.RecvNS); bytesIn > 0 && since.OK && since.V > due {
			underruns++
			waited = stat.SaturatingAdd(waited, since.V-due)
		}
		bytesIn = x.Bytes
	}
	x.Bytes = max(0, x.Bytes)
	if f != (audio.Format{}) {
		x.Length, x.Underruns, x.UnderrunNS = export.IntOf(f.NS(x.Bytes)), export.IntOf(underruns), export.IntOf(waited)
	}
}

// pack appends a to p.
func (a *Audio) pack(p *spool.Packer) {
	p.Int(int64(a.Of))
	p.Int(a.Bytes)
	values := a.values()
	packValues(p, values[:])
	p.Text(a.NoLength)
}

// unpack sets a to what pack appended.
func (a *Audio) unpack(u *spool.Unpacker) {
	a.Of, a.Bytes = openai.AudioEndpoint(u.Int()), u.Int()
	values := a.values()
	unpackValues(u, values[:])
	a.NoLength = u.Text(noLengthText)
}

// RealTimeFactor returns an end-to-end latency / the length of the audio; NaN if one of them is missing.
func (a *Audio) RealTimeFactor(e2el export.Int) float64 {
	if !e2el.OK || !a.Length.OK || a.Length.V <= 0 {
		return math.NaN()
	}
	return float64(e2el.V) / float64(a.Length.V)
}
