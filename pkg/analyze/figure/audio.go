package figure

import (
	"cmp"
	"errors"
	"math"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// An Audio says how fast a level transcribed or made audio, and whether the audio would have played without waits.
type Audio struct {
	// Metrics holds the metrics that have a value, in the order of answer.AudioMetrics.
	Metrics []summary.Metric
	// Figures holds the figures that audioFigures lists.
	Figures []Figure
}

// The keys of the figures.
const (
	KeyAudioRate     = "audio_s_per_s"
	KeyAudioTime     = "audio_ns"
	KeyAudioBytes    = "audio_bytes"
	KeyAudioRTF      = "real_time_factor"
	KeyUnderruns     = "underruns"
	KeyUnderrunShare = "underrun_requests"
	KeyUnderrunTime  = "underrun_ns"
)

// audioFigures are the figures of [Audio] without values, in the order of a report.
var audioFigures = [...]Figure{
	{Key: KeyAudioRate, Label: "audio seconds per second", Unit: "1/s", Formula: "Σ audio length / duration of the level"},
	{Key: KeyAudioTime, Label: "audio", Unit: "ns", Formula: "Σ audio length"},
	{Key: KeyAudioBytes, Label: "audio bytes", Unit: "bytes", Formula: "Σ bytes of the audio of the answers, without headers of WAV files"},
	{Key: KeyAudioRTF, Label: "real-time factor of all requests", Unit: "ratio", Formula: "Σ E2EL / Σ audio length, of requests with both"},
	{Key: KeyUnderruns, Label: "underruns", Unit: "count", Formula: "Σ underruns"},
	{Key: KeyUnderrunShare, Label: "requests with an underrun", Unit: "ratio", Formula: "requests with an underrun / requests whose audio length is known"},
	{Key: KeyUnderrunTime, Label: "underrun time", Unit: "ns", Formula: "Σ underrun time"},
}

// An audioCollector gathers the measures of a level.
type audioCollector struct {
	whole     [answer.NumAudio]summary.Sample[int64]
	factors   summary.Sample[float64]
	summaries [answer.NumAudio]*summary.Summary

	requests, spoke, played int // all; of speech; of speech whose length is known
	underrun                int
	lengthNS                stat.IntSum
	e2elNS, ratedNS         stat.IntSum // latencies and lengths of the requests that have both
	bytes, underruns        stat.IntSum
	underrunNS              stat.IntSum
	noLength                Tally // reasons
}

// NewAudio returns the group of [Audio]. Its values share memory.
func NewAudio(memory *stat.Store) Group {
	c := &audioCollector{factors: summary.Sample[float64]{Memory: memory}}
	for i := range c.whole {
		c.whole[i].Memory = memory
	}
	return c
}

// audioIndex returns the index of a metric in [answer.AudioMetrics].
func audioIndex(m answer.Metric) int { return int(m - answer.FirstAudio) }

// Add implements [Group].
func (c *audioCollector) Add(p *answer.Measured) {
	x := &p.Audio
	if x.Of == openai.NoAudio {
		return
	}
	c.requests++
	for i := range c.whole {
		if v := p.Value(answer.AudioMetrics[i].Metric); v.OK {
			c.whole[i].AddOne(v.V)
		}
	}
	if x.Of == openai.Speaks {
		c.spoke++
		c.bytes.Add(x.Bytes)
	}
	if factor := x.RealTimeFactor(p.E2EL); !math.IsNaN(factor) {
		c.factors.AddOne(factor)
		c.e2elNS.Add(p.E2EL.V)
		c.ratedNS.Add(x.Length.V)
	}
	if !x.Length.OK {
		c.noLength.Add(cmp.Or(x.NoLength, "the length of the audio is not known"))
		return
	}
	c.lengthNS.Add(x.Length.V)
	if x.Underruns.OK {
		c.played++
		c.underruns.Add(x.Underruns.V)
		c.underrunNS.Add(x.UnderrunNS.V)
		if x.Underruns.V > 0 {
			c.underrun++
		}
	}
}

// End implements [Group].
func (c *audioCollector) End() (err error) {
	for i := range c.whole {
		if c.summaries[i] = c.whole[i].Summary(); i == audioIndex(answer.RealTimeFactor) {
			c.summaries[i] = c.factors.Summary()
		}
		err = errors.Join(err, c.whole[i].Err)
	}
	return errors.Join(err, c.factors.Err)
}

// Set implements [Group].
func (c *audioCollector) Set(x *Level, run *export.Run) {
	a := &Audio{Figures: append([]Figure{}, audioFigures[:]...)}
	x.Audio = a
	for i, s := range c.summaries {
		if s != nil {
			a.Metrics = append(a.Metrics, summary.Metric{Definition: &answer.AudioMetrics[i], Summary: s})
		}
	}
	why := c.missing(run)
	set := func(key string, known bool, otherwise string, value float64) {
		switch f := Find(a.Figures, key); {
		case why != "":
			f.Why = why
		case !known:
			f.Why = otherwise
		default:
			f.Value = value
		}
	}
	const ofSpeech = "a transcription is a text: only v1/audio/speech answers with audio"
	lengths := c.lengthNS.Float64()
	// A sum that leaves requests out is no sum over the level.
	noLength := c.lacking()
	set(KeyAudioRate, noLength == "" && x.DurationNS > 0, cmp.Or(noLength, x.WhyNot("throughput"), whyNoDuration), lengths/float64(max(1, x.DurationNS)))
	set(KeyAudioTime, noLength == "", noLength, lengths)
	set(KeyAudioBytes, c.spoke > 0, ofSpeech, c.bytes.Float64())
	rated := c.ratedNS.Float64()
	set(KeyAudioRTF, noLength == "" && rated > 0, cmp.Or(noLength, "no request has audio and an E2EL"), c.e2elNS.Float64()/max(1, rated))
	unplayed := noLength
	if c.spoke == 0 {
		unplayed = ofSpeech
	}
	set(KeyUnderruns, unplayed == "", unplayed, c.underruns.Float64())
	set(KeyUnderrunShare, unplayed == "", unplayed, float64(c.underrun)/float64(max(1, c.played)))
	set(KeyUnderrunTime, unplayed == "", unplayed, c.underrunNS.Float64())
}

// missing returns why no request has measures of audio; "" if some do.
func (c *audioCollector) missing(run *export.Run) string {
	switch {
	case c.requests > 0:
		return ""
	case run.Endpoint == nil || openai.AudioOf(*run.Endpoint) == openai.NoAudio:
		return "the endpoint is not v1/audio/transcriptions, v1/audio/translations or v1/audio/speech"
	}
	return "no request succeeded"
}

// lacking returns why the length of the audio of some requests is not known, the most frequent reason; "" if all are known.
func (c *audioCollector) lacking() string {
	if all := c.noLength.Counts(); len(all) > 0 {
		return all[0].Name
	}
	return ""
}
