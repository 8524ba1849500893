package realtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	wire "github.com/pa-tools/pa/pkg/wire/openai"
)

// closeWait bounds the wait for the server's answer to the end of the session.
const closeWait = time.Second

// A sender sends one utterance at a time, each on a connection of its own.
type sender struct {
	b     *Backend
	clock *rxclock.Clock
	buf   []byte // a message with audio
}

// Close implements [backend.Sender]. No connection is open between requests.
func (s *sender) Close() error { return nil }

// Send implements [backend.Sender].
func (s *sender) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	r := &x.Request
	r.IssuedNS, r.Status = s.clock.NowNS(), export.StatusOK
	u, err := s.b.http.Upgrade(ctx, x)
	if err != nil {
		s.b.http.Failed(ctx, r, err)
		return
	}
	// The library gives up when ctx is done while it reads or writes; the handshake and the close need more.
	defer context.AfterFunc(ctx, func() { _ = u.Close() })()
	defer func() { _ = u.Close() }() // the row says how the request ended
	u.Raw.Begin()
	ss := &session{sender: s, x: x, p: p.(*payload), up: u}
	ss.mem.Begin(s.b.cfg.OpenAI.MaxAnswerMemory)
	if err := ss.run(ctx); err != nil {
		ss.end(ctx, err)
	}
	ss.setTimes()
}

// A session is the exchange of one utterance.
type session struct {
	*sender
	x  *backend.Exchange
	p  *payload
	up *openai.Upgrade
	ws *websocket.Conn

	mem    backend.AnswerMemory
	begun  uint64      // ordinal of the last read before the audio
	chunks []sentBytes // that were sent
	commit *sentBytes  // nil: not sent
}

// A sentBytes is a message that was sent: where it ends, and when it left.
type sentBytes struct {
	end      uint64 // offset in all bytes that were written
	beforeNS uint64 // before the write
	leftNS   uint64 // the kernel's stamp of the last byte; 0 if there is none
}

// A messageError reports that the server sent something that the protocol does not allow.
type messageError struct{ what string }

func (e *messageError) Error() string { return "the server sent " + e.what }

// A closedError reports that the server ended the session with a close message.
type closedError struct{ close websocket.CloseError }

func (e *closedError) Error() string {
	return fmt.Sprintf("the server closed the session with status %d %s", int(e.close.Code), e.close.Reason)
}
func (e *closedError) Unwrap() error { return io.ErrUnexpectedEOF }

// run performs the exchange. It returns nil after the last message of the transcription.
func (s *session) run(ctx context.Context) error {
	last, err := s.open(ctx)
	if last || err != nil {
		return err
	}
	s.begun = s.up.Raw.LastRead().Ordinal
	sending, stop := context.WithCancel(ctx)
	received := make(chan error, 1)
	go func() {
		defer stop() // nothing more is sent after the last message
		received <- s.receive(ctx)
	}()
	if err := s.send(sending); err != nil && sending.Err() == nil {
		// The server may have said why before it closed the connection.
		defer time.AfterFunc(closeWait, func() { _ = s.up.Close() }).Stop()
	}
	if err = <-received; err == nil {
		s.close()
	}
	return err
}

// open begins the session. last says that the server ended it: it refused the upgrade, or sent an error.
func (s *session) open(ctx context.Context) (last bool, err error) {
	transport := &http.Transport{
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return s.up, nil },
		DisableCompression: true,
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ws, resp, err := websocket.Dial(ctx, s.up.URL, &websocket.DialOptions{HTTPClient: client, Host: s.up.Host, HTTPHeader: s.up.Header})
	if err != nil {
		if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
			return false, err
		}
		var body []byte
		if resp.Body != nil {
			body, _ = io.ReadAll(resp.Body) // the library has read the beginning
		}
		s.up.Refused(s.x, s.clock, resp, body)
		return true, nil
	}
	s.ws = ws
	s.ws.SetReadLimit(s.b.cfg.OpenAI.MaxAnswerMemory)
	if last, err = s.await(ctx, wire.RealtimeCreated); last || err != nil {
		return last, err
	}
	if err = s.ws.Write(ctx, websocket.MessageText, s.p.update); err != nil {
		return false, err
	}
	if s.b.cfg.Dialect == OpenAI {
		if last, err = s.await(ctx, wire.RealtimeUpdated); last || err != nil {
			return last, err
		}
	}
	if before := s.b.cfg.Dialect.before(); before != nil {
		err = s.ws.Write(ctx, websocket.MessageText, before)
	}
	return false, err
}

// await reads messages until the one of a type. last says that it was an error, which is recorded.
func (s *session) await(ctx context.Context, kind string) (last bool, err error) {
	for {
		data, m, err := s.read(ctx)
		if err != nil {
			return false, err
		}
		if m.Session != "" && s.x.Request.ServerID == "" {
			s.x.Request.ServerID = wire.OneLine([]byte(s.up.WithoutSecrets(m.Session)))
		}
		switch {
		case m.Type == kind:
			return false, nil
		case m.Last():
			return true, s.record(data)
		}
	}
}

// read reads a message.
func (s *session) read(ctx context.Context) (data []byte, m wire.RealtimeMessage, err error) {
	kind, data, err := s.ws.Read(ctx)
	if err != nil {
		return nil, m, err
	}
	if err := s.mem.Take(len(data)); err != nil {
		return nil, m, err
	}
	if kind != websocket.MessageText {
		return nil, m, &messageError{fmt.Sprintf("a binary message of %d bytes; messages of v1/realtime are JSON", len(data))}
	}
	if m, err = wire.ParseRealtime(data); err != nil {
		return nil, m, errors.Join(s.record(data), &messageError{"a message that is not JSON: " + err.Error()})
	}
	return data, m, nil
}

// receive records messages until the last one of the transcription.
func (s *session) receive(ctx context.Context) error {
	for {
		data, m, err := s.read(ctx)
		if err == nil {
			err = s.record(data)
		}
		if m.Last() || err != nil {
			return err
		}
	}
}

// record makes a message a response, as a line.
func (s *session) record(data []byte) error {
	if _, err := s.mem.Event(&s.x.Request, false); err != nil {
		return err
	}
	if bytes.ContainsAny(data, "\r\n") {
		if line, err := wire.AppendCompact(nil, data); err == nil {
			data = line
		}
	}
	st := s.up.Raw.LastRead()
	p := export.Response{RecvNS: s.clock.FromWall(st.NS), Source: export.StampSource(st.Source)}
	if st.Ordinal > s.begun {
		p.Read = uint32(st.Ordinal - s.begun - 1)
	} else { // TLS, or a buffer, held the message from an earlier read
		p.RecvNS, p.Source = s.clock.NowNS(), export.SourceUser
	}
	if st.Waited {
		s.x.Waited++
	}
	s.x.RespondOwned(p, append(data, '\n'))
	return nil
}

// send sends the audio by the schedule, and then the commit.
func (s *session) send(ctx context.Context) error {
	interval := s.b.interval()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	s.up.Raw.Begin()
	begin := time.Now()
	for i, pcm := 0, s.p.pcm; len(pcm) > 0; i++ {
		n := min(len(pcm), s.p.chunk)
		if wait := time.Until(begin.Add(time.Duration(i) * interval)); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s.stampLast()
		s.buf = wire.AppendRealtimeAudio(s.buf[:0], pcm[:n])
		sent, err := s.write(ctx, s.buf)
		if err != nil {
			return err
		}
		s.chunks = append(s.chunks, sent)
		pcm = pcm[n:]
	}
	s.stampLast()
	sent, err := s.write(ctx, s.b.cfg.Dialect.commit())
	if err == nil {
		s.commit = &sent
	}
	return err
}

// interval returns the time from a chunk to the next one.
func (b *Backend) interval() time.Duration {
	return time.Duration(float64(b.cfg.Chunk) / b.cfg.Speed)
}

func (s *session) write(ctx context.Context, message []byte) (sentBytes, error) {
	sent := sentBytes{beforeNS: s.clock.NowNS()}
	err := s.ws.Write(ctx, websocket.MessageText, message)
	sent.end = s.up.Raw.Written()
	return sent, err
}

// stampLast looks up when the last chunk left. The connection forgets stamps after many writes.
func (s *session) stampLast() {
	if n := len(s.chunks); n > 0 {
		s.stamp(&s.chunks[n-1])
	}
}

func (s *session) stamp(b *sentBytes) {
	if ns, ok := s.up.Raw.TxStamp(b.end); ok && b.leftNS == 0 {
		b.leftNS = s.clock.FromWall(ns)
	}
}

// ns returns when the message left.
func (b *sentBytes) ns() uint64 {
	if b.leftNS != 0 {
		return b.leftNS
	}
	return b.beforeNS
}

// close ends the session after the last message.
func (s *session) close() {
	defer time.AfterFunc(closeWait, func() { _ = s.up.Close() }).Stop()
	_ = s.ws.Close(websocket.StatusNormalClosure, "") // the transcription is complete
}

// end sets the status and the message of an exchange that ended with err.
func (s *session) end(ctx context.Context, err error) {
	r := &s.x.Request
	var closed websocket.CloseError
	var message *messageError
	var unsent *url.Error
	switch over := (*backend.AnswerMemoryError)(nil); {
	case ctx.Err() == nil && errors.As(err, &message):
		r.Status, r.Message = export.StatusProtocolError, message.Error()
	case ctx.Err() == nil && errors.As(err, &closed):
		s.b.http.Failed(ctx, r, &closedError{closed})
	case errors.Is(err, websocket.ErrMessageTooBig), errors.As(err, &over):
		s.x.Cut()
		s.b.http.Failed(ctx, r, &backend.AnswerMemoryError{LimitBytes: s.b.cfg.OpenAI.MaxAnswerMemory})
	case errors.As(err, &unsent): // its text has the URL
		s.b.http.Failed(ctx, r, unsent.Err)
	default:
		s.b.http.Failed(ctx, r, err)
	}
	if s.ws != nil {
		_ = s.ws.CloseNow() // err is the cause
	}
}

// setTimes sets the times of the request, when nothing is sent or received any more, and the input with the times of the audio.
func (s *session) setTimes() {
	r := &s.x.Request
	if len(r.Responses) > 0 {
		r.FirstByteNS = r.Responses[0].RecvNS
	}
	start, sent := s.up.Raw.Request()
	r.StartNS, r.StartSource, r.SentNS = s.clock.FromWall(start.NS), export.StampSource(start.Source), s.clock.FromWall(sent.NS)
	if len(s.chunks) == 0 {
		return
	}
	s.stampLast()
	times := wire.RealtimeSent{IntervalNS: s.b.interval().Nanoseconds(), SentNS: make([]int64, len(s.chunks))}
	for i := range s.chunks {
		times.SentNS[i] = int64(s.chunks[i].ns() - min(r.StartNS, s.chunks[i].ns()))
	}
	r.SentNS = s.chunks[len(s.chunks)-1].ns()
	if s.commit != nil {
		s.stamp(s.commit)
		r.SentNS = s.commit.ns()
		ns := int64(r.SentNS - min(r.StartNS, r.SentNS))
		times.CommitNS = &ns
	}
	r.Inputs = append(slices.Clip(r.Inputs), export.Field{Name: wire.RealtimeSentInput, Value: export.Text(string(times.Append(nil)))})
	s.revise()
}

// revise replaces stamps of reads whose bytes waited for a missing segment.
func (s *session) revise() {
	for _, st := range s.up.Raw.Revised(s.begun) {
		for i := range s.x.Request.Responses {
			p := &s.x.Request.Responses[i]
			if p.Source == export.SourceKernel && uint64(p.Read) == st.Ordinal-s.begun-1 {
				p.RecvNS, p.Source = s.clock.FromWall(st.NS), export.StampSource(st.Source)
				s.x.Waited++
			}
		}
	}
}
