package analyze

import (
	"fmt"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// spoken returns a request for speech that began at start, in ms, and got 10 ms of PCM at each of the times after it.
func spoken(format string, start uint64, at ...uint64) export.Request {
	pieces := make([]string, len(at))
	for i := range pieces {
		pieces[i] = `{"type":"pa.audio","audio":{"bytes":480}}` + "\n"
	}
	q := memrun.OpenAI(pieces...)
	q.Inputs = export.Fields{{Name: "payload", Value: export.Text(`{"input":"a","response_format":"` + format + `"}`)}}
	q.StartNS = 1e15 + start*1e6
	for i := range q.Responses {
		q.Responses[i].RecvNS = q.StartNS + at[i]*1e6
	}
	return q
}

// startless returns q with a start after its answer.
func startless(q export.Request) export.Request {
	q.StartNS = 1e15 + 1e12
	return q
}

func TestAudioFigures(t *testing.T) {
	const compressed = "mp3 is compressed: its bytes do not tell how long it plays; ask for wav or pcm"
	const other = "the endpoint is not v1/audio/transcriptions, v1/audio/translations or v1/audio/speech"
	for name, c := range map[string]struct {
		endpoint string
		requests []export.Request
		want     map[string]string // figures: a value, or the reason why there is none
		metrics  map[answer.Metric]float64
	}{
		// 50 ms of audio in 60 ms: the first request takes 30 ms: it waits 5 ms before its second piece and nothing
		// before its third one; the second takes 20 ms without a wait.
		"speech": {
			"v1/audio/speech",
			[]export.Request{spoken("pcm", 0, 10, 25, 30), spoken("pcm", 40, 15, 20)},
			map[string]string{
				figure.KeyAudioRate: "0.8333", figure.KeyAudioTime: "5e+07", figure.KeyAudioBytes: "2400", figure.KeyAudioRTF: "1",
				figure.KeyUnderruns: "1", figure.KeyUnderrunShare: "0.5", figure.KeyUnderrunTime: "5e+06",
			},
			map[answer.Metric]float64{answer.FirstAudio: 12.5e6, answer.AudioLength: 25e6, answer.RealTimeFactor: 1, answer.Underruns: 0.5, answer.UnderrunTime: 2.5e6},
		},
		"one is compressed": {
			"v1/audio/speech",
			[]export.Request{spoken("pcm", 0, 10, 15, 20), spoken("mp3", 40, 10, 20)},
			map[string]string{
				figure.KeyAudioRate: compressed, figure.KeyAudioTime: compressed, figure.KeyAudioBytes: "2400", figure.KeyAudioRTF: compressed,
				figure.KeyUnderruns: compressed, figure.KeyUnderrunShare: compressed, figure.KeyUnderrunTime: compressed,
			},
			map[answer.Metric]float64{answer.FirstAudio: 10e6, answer.AudioLength: 30e6},
		},
		// The second request has a length and no latency, because its start cannot be true.
		"one has no latency": {
			"v1/audio/speech",
			[]export.Request{spoken("pcm", 0, 10, 15, 20), startless(spoken("pcm", 40, 15, 20))},
			map[string]string{figure.KeyAudioTime: "5e+07", figure.KeyAudioRTF: "0.6667"},
			nil,
		},
		"another endpoint": {
			"v1/chat/completions",
			[]export.Request{spoken("pcm", 0, 10)},
			map[string]string{figure.KeyAudioRate: other, figure.KeyAudioBytes: other, figure.KeyUnderruns: other},
			nil,
		},
	} {
		r := memrun.New("openai", c.requests)
		r.Header.Endpoint = &c.endpoint
		rep, err := Run(t.Context(), r, Config{Audio: true})
		if err != nil {
			t.Fatal(err)
		}
		e := &rep.Experiments[0]
		for key, want := range c.want {
			f := figure.Find(e.Audio.Figures, key)
			if got := fmt.Sprintf("%.4g", f.Value); f.Why != want && (f.Why != "" || got != want) {
				t.Errorf("%s: %s is %s, %q; want %s", name, key, got, f.Why, want)
			}
		}
		for i := range e.Audio.Metrics {
			m := &e.Audio.Metrics[i]
			if want, ok := c.metrics[m.Definition.Metric]; ok && m.Summary.Mean != want {
				t.Errorf("%s: %s has the mean %v, want %v", name, m.Definition.Metric, m.Summary.Mean, want)
			}
		}
		if len(e.Audio.Metrics) < len(c.metrics) {
			t.Errorf("%s: %d metrics", name, len(e.Audio.Metrics))
		}
	}
}
