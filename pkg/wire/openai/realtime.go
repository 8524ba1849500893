package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// The types of messages of v1/realtime that pa-record sends or waits for.
const (
	RealtimeCreated   = "session.created"
	RealtimeUpdate    = "session.update"
	RealtimeUpdated   = "session.updated" // OpenAI's answer to session.update
	RealtimeAppend    = "input_audio_buffer.append"
	RealtimeCommit    = "input_audio_buffer.commit"
	RealtimeDone      = "transcription.done"                                    // vLLM
	RealtimeCompleted = "conversation.item.input_audio_transcription.completed" // OpenAI
	realtimeFailed    = "conversation.item.input_audio_transcription.failed"    // OpenAI
	realtimeError     = "error"
)

// A RealtimeMessage is what a client of v1/realtime needs of a message of the server to go on.
type RealtimeMessage struct {
	Type    string
	Session string // id of the session in session.created
}

// Last reports whether the message ends the transcription of an utterance.
func (m *RealtimeMessage) Last() bool {
	switch m.Type {
	case RealtimeDone, RealtimeCompleted, realtimeFailed, realtimeError:
		return true
	}
	return false
}

// ParseRealtime reads a message of v1/realtime. The error is about JSON.
func ParseRealtime(data []byte) (m RealtimeMessage, err error) {
	var w jsonscan.Walker
	w.Reset(bytes.TrimSpace(data))
	if w.Peek() != '{' {
		w.Expected("an object")
		return m, w.Err
	}
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "type":
			m.Type = string(w.String())
		case "id": // vLLM
			m.Session = string(w.String())
		case "session": // OpenAI
			for ok := w.TryObject(); ok; ok = w.NextMember() {
				if string(w.Key) == "id" {
					m.Session = string(w.String())
				} else {
					w.Skip()
				}
			}
		default:
			w.Skip()
		}
	}
	w.End()
	return m, w.Err
}

// AppendRealtimeAudio appends the message that sends PCM samples.
func AppendRealtimeAudio(b, pcm []byte) []byte {
	b = append(b, `{"type":"`+RealtimeAppend+`","audio":"`...)
	return append(base64.StdEncoding.AppendEncode(b, pcm), `"}`...)
}

// A RealtimeSent is what the export holds of the audio that a request to v1/realtime sent, as JSON in its input
// audio_sent. Times are in ns since the start of the request, when the first byte of the first chunk left.
type RealtimeSent struct {
	// IntervalNS is the time between chunks by the schedule: chunk i is due i intervals after chunk 0.
	IntervalNS int64 `json:"interval_ns"`
	// SentNS holds for each chunk when its last byte left.
	SentNS []int64 `json:"sent_ns"`
	// CommitNS is when the message left that says that the audio has ended; nil if it was not sent.
	CommitNS *int64 `json:"commit_ns,omitempty"`
}

// RealtimeSentInput is the name of the input with a RealtimeSent.
const RealtimeSentInput = "audio_sent"

// Append appends s as JSON.
func (s *RealtimeSent) Append(b []byte) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // numbers only
	}
	return append(b, text...)
}

// ParseRealtimeSent reads a RealtimeSent. The error is about JSON.
func ParseRealtimeSent(data []byte) (s RealtimeSent, err error) {
	err = json.Unmarshal(data, &s)
	return s, err
}
