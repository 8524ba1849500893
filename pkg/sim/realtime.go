package sim

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// A realtimeMessage is a message of the client of v1/realtime.
type realtimeMessage struct {
	Type    string `json:"type"`
	Model   string `json:"model"` // vLLM
	Session *struct {
		Audio struct {
			Input struct {
				Transcription struct {
					Model string `json:"model"`
				} `json:"transcription"`
			} `json:"input"`
		} `json:"audio"`
	} `json:"session"` // OpenAI
	Audio string `json:"audio"`
	Final bool   `json:"final"`
}

// A realtimeSession is an utterance over v1/realtime. Its messages have OpenAI's names if session.update has
// OpenAI's form, else vLLM's.
type realtimeSession struct {
	*exchange
	ws        *websocket.Conn
	openAI    bool
	committed chan struct{} // closed when the audio has ended
	ended     bool          // committed is closed
}

// serveRealtime answers v1/realtime. The first delta is due the TTFT after the first audio, whatever audio follows, and the last
// message after the last delta and the end of the audio. The plan is made, and faults before the answer strike,
// before the session begins.
func serveRealtime(x *exchange) {
	a, err := x.s.planRequest(x.index, &requestFields{}, []int{0}, []string{""}, 1)
	p, ok := x.planned(a, err, plan.New)
	if !ok {
		return
	}
	defer x.s.release()
	ws, err := websocket.Accept(x.w, x.r, nil)
	if err != nil { // the library has answered
		x.rec.End(EndError, http.StatusBadRequest, err.Error())
		return
	}
	defer func() { _ = ws.CloseNow() }() // the ledger says how the session ended
	ws.SetReadLimit(x.s.config.MaxRequestBytes)
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	x.r, x.hijacked, x.shared = x.r.WithContext(ctx), true, true
	rt := &realtimeSession{exchange: x, ws: ws, committed: make(chan struct{})}
	if !rt.open(ctx) {
		return
	}
	received := make(chan struct{})
	go func() {
		defer close(received)
		defer cancel() // the client is gone
		for {
			if m, err := rt.read(ctx); err != nil || rt.take(m) != nil {
				return
			}
		}
	}()
	rt.send(&realtimeSink{ws, ctx}, p, plan.Script(rt.events(ctx, p), p.Fault, p.FaultAfter, plan.Framing{Garbage: []byte(strings.TrimSpace(garbage)), Failure: func() []byte { return rt.failure(errorEventMessage) }}))
	_ = ws.CloseNow()
	<-received
}

// open greets the client and takes its messages up to the first audio. If it returns false the session is over.
func (rt *realtimeSession) open(ctx context.Context) bool {
	id := fmt.Sprintf("sess-sim-%d", rt.index)
	rt.rec.Update(func(e *Entry) { e.ID = id })
	// OpenAI's clients find the id within session, vLLM's beside type.
	rt.tell(ctx, fmt.Appendf(nil, `{"type":%q,"id":%q,"created":%d,"session":{"id":%[2]q,"type":"transcription"}}`, openai.RealtimeCreated, id, rt.rec.Start.Unix()))
	for {
		m, err := rt.read(ctx)
		switch {
		case err != nil:
			rt.rec.End(rt.s.endReason(), http.StatusSwitchingProtocols, err.Error())
			return false
		case m.Type == openai.RealtimeUpdate:
			model := m.Model
			if rt.openAI = m.Session != nil; rt.openAI {
				model = m.Session.Audio.Input.Transcription.Model
			}
			rt.rec.Update(func(e *Entry) { e.Model = model })
			if !slices.Contains(rt.s.config.Models, model) {
				return rt.refuse(ctx, fmt.Sprintf("there is no model %q here, only %s", clip(model), strings.Join(rt.s.config.Models, ", ")))
			}
			if rt.openAI {
				rt.tell(ctx, []byte(`{"type":"`+openai.RealtimeUpdated+`"}`))
			}
		case rt.rec.Entry().Model == "":
			return rt.refuse(ctx, "the first message must be session.update, with the model")
		case m.Type == openai.RealtimeAppend:
			rt.rec.Started()
			if err := rt.take(m); err != nil {
				return rt.refuse(ctx, err.Error())
			}
			return true
		}
	}
}

// refuse ends a session with an error.
func (rt *realtimeSession) refuse(ctx context.Context, message string) bool {
	rt.rec.End(EndError, http.StatusSwitchingProtocols, message)
	rt.tell(ctx, rt.failure(message))
	_ = rt.ws.Close(websocket.StatusNormalClosure, "")
	return false
}

// tell sends a message about the session. If that fails, so does the next read.
func (rt *realtimeSession) tell(ctx context.Context, message []byte) {
	_ = rt.ws.Write(ctx, websocket.MessageText, message)
}

func (rt *realtimeSession) read(ctx context.Context) (m realtimeMessage, err error) {
	_, data, err := rt.ws.Read(ctx)
	if err != nil {
		return m, err
	}
	rt.rec.Update(func(e *Entry) { e.RequestBytes += len(data) })
	err = json.Unmarshal(data, &m)
	return m, err
}

// take takes a message with audio, or the end of the audio.
func (rt *realtimeSession) take(m realtimeMessage) error {
	switch {
	case m.Type == openai.RealtimeAppend:
		if pcm, err := base64.StdEncoding.DecodeString(m.Audio); err != nil || len(pcm) == 0 || len(pcm)%2 > 0 {
			return errors.New("audio: expected samples of 16 bits in base64")
		}
	case m.Type == openai.RealtimeCommit && (m.Final || rt.openAI) && !rt.ended:
		rt.ended = true
		close(rt.committed)
	}
	return nil
}

// events returns the messages about the transcription.
func (rt *realtimeSession) events(ctx context.Context, p *plan.Plan) iter.Seq[plan.Event] {
	return func(yield func(plan.Event) bool) {
		var text strings.Builder
		var last time.Duration
		for s := range p.Steps() {
			text.WriteString(s.Text)
			last = s.At
			b := []byte(`{"type":"transcription.delta"`)
			if rt.openAI {
				b = []byte(`{"type":"conversation.item.input_audio_transcription.delta","item_id":"item_0","content_index":0`)
			}
			b = append(appendString(append(b, `,"delta":`...), s.Text), '}')
			if !yield(plan.Event{At: s.At, Data: b, Tokens: s.Tokens, Kind: plan.EventOutput}) {
				return
			}
		}
		select {
		case <-rt.committed:
		case <-ctx.Done():
			return
		}
		yield(plan.Event{At: max(last, time.Since(rt.rec.Start)), Data: rt.done(p, text.String()), Kind: plan.EventDone})
	}
}

// done returns the last message.
func (rt *realtimeSession) done(p *plan.Plan, text string) []byte {
	b := []byte(`{"type":"` + openai.RealtimeDone + `","text":`)
	if rt.openAI {
		b = []byte(`{"type":"` + openai.RealtimeCompleted + `","item_id":"item_0","content_index":0,"transcript":`)
	}
	b = appendString(b, text)
	switch {
	case rt.s.config.OmitUsage:
	case rt.openAI:
		b = fmt.Appendf(b, `,"usage":{"type":"tokens","total_tokens":%d,"input_tokens":%d,"output_tokens":%d}`, p.InputTokens+p.OutputTokens(), p.InputTokens, p.OutputTokens())
	default:
		b = appendUsage(append(b, `,"usage":`...), p.InputTokens, p.OutputTokens(), -1)
	}
	return append(b, '}')
}

// failure returns a message with an error.
func (rt *realtimeSession) failure(message string) []byte {
	if rt.openAI {
		b := appendString([]byte(`{"type":"error","event_id":"event_0","error":{"type":"server_error","code":null,"message":`), message)
		return append(b, `,"param":null,"event_id":null}}`...)
	}
	return append(appendString([]byte(`{"type":"error","error":`), message), `,"code":"processing_error"}`...)
}

// A realtimeSink sends each chunk as a message.
type realtimeSink struct {
	ws  *websocket.Conn
	ctx context.Context // ends with the session or the server
}

func (o *realtimeSink) begin(int) error { return nil }

func (o *realtimeSink) write(b []byte) error {
	return o.ws.Write(o.ctx, websocket.MessageText, b)
}

func (o *realtimeSink) end(whole bool) {
	if whole {
		_ = o.ws.Close(websocket.StatusNormalClosure, "") // the client may be gone
	}
}
