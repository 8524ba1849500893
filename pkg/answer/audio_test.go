package answer

import (
	"encoding/base64"
	"fmt"
	"math"
	"testing"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// speech returns the request of speech, and its answer: pieces of n bytes at times in milliseconds after the start.
func speech(body, head string, pieces ...[2]int64) *export.Request {
	r := &export.Request{HasMeta: true, Status: export.StatusOK, StartNS: 1e15, Inputs: export.Fields{{Name: "payload", Value: export.Text(body)}}}
	for i, p := range pieces {
		text := fmt.Sprintf(`{"type":"pa.audio","audio":{"bytes":%d}}`+"\n", p[1])
		if i == 0 {
			text = fmt.Sprintf(`{"type":"pa.audio","audio":{"bytes":%d,"head":"%s"}}`+"\n", p[1], base64.StdEncoding.EncodeToString([]byte(head)))
		}
		r.Responses = append(r.Responses, export.Response{RecvNS: r.StartNS + uint64(p[0])*1e6, Outputs: export.Fields{{Name: "response", Value: export.Text(text)}}})
	}
	return r
}

// PCM of 24 kHz plays 48 bytes a millisecond.
func TestPlayback(t *testing.T) {
	const pcm, wav = `{"response_format":"pcm"}`, "RIFF\xff\xff\xff\xffWAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\xc0\x5d\x00\x00\x80\xbb\x00\x00\x02\x00\x10\x00data\xff\xff\xff\xff"
	ms := func(n int64) export.Int { return export.IntOf(n * 1e6) }
	for name, c := range map[string]struct {
		r    *export.Request
		want Audio
	}{
		"in time":      {speech(pcm, "", [2]int64{10, 480}, [2]int64{20, 480}, [2]int64{25, 480}), Audio{First: ms(10), Length: ms(30), Underruns: export.IntOf(0), UnderrunNS: ms(0), Bytes: 1440}},
		"late":         {speech(pcm, "", [2]int64{10, 480}, [2]int64{23, 480}), Audio{First: ms(10), Length: ms(20), Underruns: export.IntOf(1), UnderrunNS: ms(3), Bytes: 960}},
		"waits shift":  {speech(pcm, "", [2]int64{10, 480}, [2]int64{23, 480}, [2]int64{33, 480}, [2]int64{44, 480}), Audio{First: ms(10), Length: ms(40), Underruns: export.IntOf(2), UnderrunNS: ms(4), Bytes: 1920}},
		"a WAV header": {speech(`{}`, wav, [2]int64{5, 44}, [2]int64{10, 480}, [2]int64{21, 480}), Audio{First: ms(10), Length: ms(20), Underruns: export.IntOf(1), UnderrunNS: ms(1), Bytes: 960}},
		"empty pieces": {speech(pcm, "", [2]int64{5, 0}, [2]int64{10, 480}), Audio{First: ms(10), Length: ms(10), Underruns: export.IntOf(0), UnderrunNS: ms(0), Bytes: 480}},
		"compressed":   {speech(`{"response_format":"mp3"}`, "", [2]int64{10, 480}, [2]int64{99, 480}), Audio{First: ms(10), Bytes: 960, NoLength: "mp3 is compressed: its bytes do not tell how long it plays; ask for wav or pcm"}},
		"no audio":     {speech(pcm, ""), Audio{NoLength: "the answer holds no audio"}},
		"before start": {speech(pcm, "", [2]int64{-5, 480}), Audio{Length: ms(10), Underruns: export.IntOf(0), UnderrunNS: ms(0), Bytes: 480}},
		"countless":    {speech(pcm, "", [2]int64{10, 1 << 53}, [2]int64{11, 1 << 53}), Audio{First: ms(10), Underruns: export.IntOf(0), UnderrunNS: ms(0), Bytes: 1 << 54}},
		"outputs gone": {func() *export.Request { r := speech(pcm, "", [2]int64{10, 480}); r.OutputsDropped = true; return r }(), Audio{NoLength: "the file holds no answers"}},
	} {
		kind, endpoint := "openai", "v1/audio/speech"
		m := NewMeter(&export.Run{ServiceKind: &kind, Endpoint: &endpoint}, Config{}).Measure(c.r)
		c.want.Of = openai.Speaks
		got := m.Audio
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if m.Events != 0 || m.TTFT.OK || m.OutputTokens.OK {
			t.Errorf("%s: audio counts as tokens: %+v", name, m.Measures)
		}
		var p spool.Packer
		m.Pack(&p, 0)
		var u spool.Unpacker
		var back Measured
		u.Bytes = p.Bytes
		back.Unpack(&u, 0)
		if back.Audio != m.Audio {
			t.Errorf("%s: %+v after packing %+v", name, back.Audio, m.Audio)
		}
	}
}

func TestRealTimeFactor(t *testing.T) {
	for _, c := range []struct {
		e2el, length export.Int
		want         float64
	}{{export.IntOf(5), export.IntOf(10), 0.5}, {export.Int{}, export.IntOf(10), math.NaN()}, {export.IntOf(5), export.Int{}, math.NaN()}, {export.IntOf(5), export.IntOf(0), math.NaN()}} {
		a := Audio{Length: c.length}
		if got := a.RealTimeFactor(c.e2el); got != c.want && !math.IsNaN(c.want) || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%v / %v: %v, want %v", c.e2el, c.length, got, c.want)
		}
	}
}

// A clip's length is what the request states.
func TestTranscriptionLength(t *testing.T) {
	kind, endpoint := "openai", "v1/audio/transcriptions"
	for body, want := range map[string]Audio{
		`{"file":{"seconds":1.5}}`:               {Length: export.IntOf(15e8)},
		`{"file":{"no_seconds":"it is an MP3"}}`: {NoLength: "the length of a clip is not known: it is an MP3"},
		`{}`:                                     {NoLength: "the request does not state the length of its clip"},
	} {
		r := speech(body, "")
		r.Responses = []export.Response{{RecvNS: r.StartNS + 3e8, Outputs: export.Fields{{Name: "response", Value: export.Text(`{"text":"a b"}`)}}}}
		m := NewMeter(&export.Run{ServiceKind: &kind, Endpoint: &endpoint}, Config{}).Measure(r)
		want.Of = openai.Transcribes
		if m.Audio != want {
			t.Errorf("%s: %+v, want %+v", body, m.Audio, want)
		}
	}
}
