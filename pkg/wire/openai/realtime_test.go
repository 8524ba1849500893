package openai

import (
	"encoding/base64"
	"encoding/json"
	"testing"
)

func TestParseRealtime(t *testing.T) {
	for _, tt := range []struct {
		data, kind, session string
		last                bool
		output              bool // the message adds text
	}{
		{data: `{"id":"sess-1","type":"session.created","created":1}`, kind: RealtimeCreated, session: "sess-1"},
		{data: `{"type":"session.created","event_id":"e","session":{"object":"realtime.session","id":"s\u0031"}}`, kind: RealtimeCreated, session: "s1"},
		{data: `{"type":"transcription.delta","delta":"a"}`, kind: "transcription.delta", output: true},
		{data: `{"type":"transcription.delta","delta":""}`, kind: "transcription.delta"},
		{data: `{"type":"conversation.item.input_audio_transcription.delta","delta":"a"}`, kind: "conversation.item.input_audio_transcription.delta", output: true},
		{data: ` {"type":"transcription.done","text":"a"}` + "\n", kind: RealtimeDone, last: true},
		{data: `{"type":"conversation.item.input_audio_transcription.completed","transcript":"a"}`, kind: RealtimeCompleted, last: true},
		{data: `{"type":"conversation.item.input_audio_transcription.failed","error":{"message":"x"}}`, kind: realtimeFailed, last: true},
		{data: `{"type":"error","error":"x"}`, kind: realtimeError, last: true},
		{data: `{"session":null}`},
	} {
		m, err := ParseRealtime([]byte(tt.data))
		if err != nil || m.Type != tt.kind || m.Session != tt.session || m.Last() != tt.last {
			t.Errorf("%s: %+v, last %v, %v", tt.data, m, m.Last(), err)
		}
		var c Chunk
		if err := ParseFrame([]byte(tt.data), &c); err != nil || c.HasOutput() != tt.output {
			t.Errorf("%s: output %v, %v", tt.data, c.HasOutput(), err)
		}
		var s Stream
		s.Add(&c)
		if s.Complete() != (tt.kind == RealtimeDone || tt.kind == RealtimeCompleted) {
			t.Errorf("%s: complete %v", tt.data, s.Complete())
		}
	}
	for _, data := range []string{"", "[]", "{", `{"type":"x"} {}`, "\xff"} {
		if m, err := ParseRealtime([]byte(data)); err == nil {
			t.Errorf("%q: %+v", data, m)
		}
	}
}

func FuzzParseRealtime(f *testing.F) {
	f.Add([]byte(`{"type":"session.created","session":{"id":"s"}}`))
	f.Add([]byte(`{"type":"transcription.delta","delta":"a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseRealtime(data)
		if (err == nil) != (json.Valid(data) && firstByte(data) == '{') && json.Valid(data) {
			t.Errorf("%q: %v", data, err)
		}
		if err == nil && len(m.Type)+len(m.Session) > 3*len(data) { // a byte that is not UTF-8 becomes three
			t.Errorf("%q: %+v", data, m)
		}
	})
}

func firstByte(data []byte) byte {
	for _, c := range data {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

func TestRealtimeAudio(t *testing.T) {
	pcm := []byte{1, 2, 3, 4}
	var m struct{ Type, Audio string }
	if err := json.Unmarshal(AppendRealtimeAudio(nil, pcm), &m); err != nil || m.Type != RealtimeAppend || m.Audio != base64.StdEncoding.EncodeToString(pcm) {
		t.Errorf("%+v, %v", m, err)
	}
	commit := int64(9)
	for _, s := range []RealtimeSent{{IntervalNS: 5, SentNS: []int64{0, 6}, CommitNS: &commit}, {SentNS: []int64{}}} {
		got, err := ParseRealtimeSent(s.Append(nil))
		if err != nil || got.IntervalNS != s.IntervalNS || len(got.SentNS) != len(s.SentNS) || (got.CommitNS == nil) != (s.CommitNS == nil) {
			t.Errorf("%s: %+v, %v", s.Append(nil), got, err)
		}
	}
}
