package openai

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/wire/audio"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// An AudioEndpoint is an endpoint of OpenAI's audio API.
type AudioEndpoint uint8

// The endpoints.
const (
	NoAudio     AudioEndpoint = iota
	Transcribes               // v1/audio/transcriptions and v1/audio/translations: a clip becomes a text
	Speaks                    // v1/audio/speech: a text becomes audio
)

// AudioOf returns the kind of an endpoint, a path.
func AudioOf(endpoint string) AudioEndpoint {
	switch path := "/" + trimPath(endpoint); {
	case strings.HasSuffix(path, "/audio/transcriptions"), strings.HasSuffix(path, "/audio/translations"):
		return Transcribes
	case strings.HasSuffix(path, "/audio/speech"):
		return Speaks
	}
	return NoAudio
}

// An AudioPiece is audio that one part of an answer brought. Exports hold a description of it in place of the bytes:
//
//	{"type":"pa.audio","audio":{"bytes":4096,"head":"UklGRg…"}}
//	data: {"type":"speech.audio.delta","audio":{"bytes":4096}}
//
// the first for raw audio, the other for an event of a stream. "data" in place of "head" holds all bytes.
type AudioPiece struct {
	Bytes int64 // number of bytes
	// Head are the first bytes of the answer's audio that the piece has, in base64: up to AudioHeadBytes, or all bytes.
	Head []byte
}

// AudioHeadBytes is the number of bytes of an answer's audio that are kept: they hold the header of a WAV file.
const AudioHeadBytes = 512

// An AudioWriter describes the pieces of one answer. The zero value is ready for use.
type AudioWriter struct {
	// Keep keeps all bytes.
	Keep bool
	seen int64 // bytes of audio so far
}

// AppendRaw appends the description of a piece of raw audio, a line.
func (a *AudioWriter) AppendRaw(dst, piece []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"type":"pa.audio","audio":{"bytes":`...), int64(len(piece)), 10)
	switch head := a.head(); {
	case a.Keep:
		dst = append(base64.StdEncoding.AppendEncode(append(dst, `,"data":"`...), piece), '"')
	case head > 0:
		dst = append(base64.StdEncoding.AppendEncode(append(dst, `,"head":"`...), piece[:min(head, len(piece))]), '"')
	}
	a.seen += int64(len(piece))
	return append(dst, "}}\n"...)
}

// AppendEvent appends the description of an event with audio. ok is false for other events, and if all bytes are kept: the event
// then stays as it is.
func (a *AudioWriter) AppendEvent(dst, frame []byte) (described []byte, ok bool) {
	if a.Keep || !bytes.Contains(frame, []byte("speech.audio.delta")) {
		return dst, false
	}
	data := frame
	if e := sse.Parse(frame); e.HasData {
		data = e.Data
	}
	var w jsonscan.Walker
	w.Reset(data)
	var kind, content []byte
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "type":
			kind = w.String()
		case "audio":
			content = w.String()
		default:
			w.Skip()
		}
	}
	w.End()
	if w.Err != nil || string(kind) != "speech.audio.delta" || content == nil {
		return dst, false
	}
	n := decodedBytes(content)
	dst = strconv.AppendInt(append(dst, `data: {"type":"speech.audio.delta","audio":{"bytes":`...), n, 10)
	if head := a.head(); head > 0 {
		part := content[:min(len(content), (head+2)/3*4)]
		dst = appendQuoted(append(dst, `,"head":`...), part)
	}
	a.seen += n
	return append(dst, "}}\n\n"...), true
}

// head returns how many of the next bytes belong to the first AudioHeadBytes.
func (a *AudioWriter) head() int { return int(max(0, AudioHeadBytes-a.seen)) }

// decodedBytes returns the number of bytes that a text in base64 stands for.
func decodedBytes(text []byte) int64 {
	text = bytes.TrimRight(text, "=")
	return int64(len(text)) * 3 / 4
}

// An audioBody holds the members that only answers of the audio endpoints have.
type audioBody struct {
	task     bool // "task" came, of a whole transcription
	piece    AudioPiece
	hasPiece bool
}

// member reads a member, and reports whether answers of the audio endpoints have it.
func (a *audioBody) member(w *jsonscan.Walker) bool {
	switch string(w.Key) {
	case "task":
		a.task = true
		w.Skip()
	case "audio":
		a.readPiece(w)
	default:
		return false
	}
	return true
}

// audioEnd makes the choice or the audio of an event, and reports whether audio endpoints send it.
func (n *native) audioEnd(c *Chunk) bool {
	switch string(n.kind) {
	case "image_generation.completed", RealtimeDone, RealtimeCompleted:
		n.present, n.ended = true, true
	case "transcript.text.segment":
		n.present, n.choice.Content, c.Repeats = true, n.text, RepeatsDeltas
	case "transcript.text.done":
		n.present, n.ended, n.choice.Content, c.Repeats = true, true, n.text, RepeatsAll
	case "pa.audio", "speech.audio.delta":
		c.Audio, c.HasAudio, c.RawAudio = n.audio.piece, n.audio.hasPiece, string(n.kind) == "pa.audio"
		n.present = false
	case "speech.audio.done":
		c.Done, n.present = true, false
	default:
		return false
	}
	return true
}

// textEnd makes the choice of a body without "type" that has a text: SGLang's answer so far, or a whole transcription.
func (n *native) textEnd(c *Chunk) {
	switch {
	case n.choice.soFar:
		n.choice.Index, n.choice.Content = int(n.index), n.text
	case n.text != nil && (n.audio.task || c.HasUsage) && !n.present:
		n.present, n.ended, n.choice.Content = true, true, n.text
	}
}

// readPiece reads the member "audio" of a piece, or of an event of a stream.
func (a *audioBody) readPiece(w *jsonscan.Walker) {
	if w.Peek() != '{' {
		if text := w.String(); text != nil {
			a.piece, a.hasPiece = AudioPiece{decodedBytes(text), text}, true
		}
		return
	}
	for ok := w.OpenObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "bytes":
			if b, isCount := count(w); isCount {
				a.piece.Bytes, a.hasPiece = b, true
			}
		case "head", "data":
			a.piece.Head = w.String()
		default:
			w.Skip()
		}
	}
}

// SpeechFormat returns the format of the audio that answers a request to v1/audio/speech. request is its body; head are the
// first bytes of the audio. skip is the number of bytes before the first sample. why says why the format is not known; "" if it is.
func SpeechFormat(request, head []byte) (f audio.Format, skip int, why string) {
	format, rate := "", int64(0)
	var w jsonscan.Walker
	w.Reset(request)
	for ok := w.TryObject(); ok; ok = w.NextMember() {
		switch string(w.Key) {
		case "response_format":
			format = string(w.String())
		case "sample_rate":
			rate, _ = count(&w)
		default:
			w.Skip()
		}
	}
	if bytes.HasPrefix(head, []byte("RIFF")) {
		v, ok := audio.ParseWAV(head)
		if !ok {
			return f, 0, "the WAV header has no known format in its first " + strconv.Itoa(AudioHeadBytes) + " bytes"
		}
		return v.Format, v.Header, ""
	}
	if format != "pcm" {
		if format == "" {
			format = "the server's usual format"
		}
		return f, 0, OneLine([]byte(format)) + " is compressed: its bytes do not tell how long it plays; ask for wav or pcm"
	}
	f = audio.PCM24K
	if rate > 0 && rate <= 1<<20 {
		f.Rate = int(rate)
	}
	return f, 0, ""
}
