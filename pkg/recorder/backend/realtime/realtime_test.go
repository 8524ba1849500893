package realtime_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/backend/realtime"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
	wire "github.com/pa-tools/pa/pkg/wire/openai"
)

const endpoint = "v1/realtime"

// clip returns an entry with a clip of n samples at 16 kHz, whose samples count up.
func clip(n int) *workload.Entry {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("RIFF"), uint32(36+2*n))
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, 1), 1)
	b = le.AppendUint32(le.AppendUint32(b, 16000), 32000)
	b = le.AppendUint16(le.AppendUint16(b, 2), 16)
	b = le.AppendUint32(append(b, "data"...), uint32(2*n))
	for i := range n {
		b = le.AppendUint16(b, uint16(i))
	}
	return entry("data:audio/wav;base64," + base64.StdEncoding.EncodeToString(b))
}

func entry(url string) *workload.Entry {
	return &workload.Entry{Prompt: &workload.Prompt{Media: []workload.Medium{{Kind: workload.Audio, URL: url}}}}
}

// exchange sends one utterance, and decodes the answer.
func exchange(t *testing.T, cfg realtime.Config, e *workload.Entry, timeout time.Duration) *backend.Exchange {
	t.Helper()
	cfg.OpenAI.Endpoint = cmp.Or(cfg.OpenAI.Endpoint, endpoint)
	b, err := realtime.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := b.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := b.Prepare(e)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Open(t.Context(), 0, rxclock.New())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	x := &backend.Exchange{Request: export.Request{ID: 1, HasMeta: true, Inputs: p.Inputs()}}
	x.Pack()
	s.Send(ctx, p, x)
	x.Unpack(&backend.Scratch{})
	if err := b.Decode(x); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return x
}

// sentOf returns the times of the audio of a request.
func sentOf(t *testing.T, r *export.Request) *wire.RealtimeSent {
	t.Helper()
	v, ok := r.Inputs.Get(wire.RealtimeSentInput)
	if !ok {
		return nil
	}
	s, err := wire.ParseRealtimeSent(v.Data)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

func simServer(t *testing.T, cfg sim.Config) *sim.Server {
	t.Helper()
	cfg.TritonGRPCAddr, cfg.TritonHTTPAddr = sim.Off, sim.Off
	cfg.TTFT, cfg.ITL, cfg.OutputTokens = plan.ConstantDelay(5*time.Millisecond), plan.ConstantDelay(time.Millisecond), plan.ConstantLength(8)
	srv, err := sim.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return srv
}

// The recorded messages are the simulator's, each after it was sent; audio leaves by the schedule, and the commit after it.
func TestSimulated(t *testing.T) {
	for _, d := range []realtime.Dialect{realtime.VLLM, realtime.OpenAI} {
		t.Run(d.String(), func(t *testing.T) {
			srv := simServer(t, sim.Config{})
			x := exchange(t, realtime.Config{OpenAI: openai.Config{URL: srv.OpenAIURL()}, Settings: realtime.Settings{Dialect: d, Chunk: 10 * time.Millisecond, Speed: 2}}, clip(16000*95/1000), 10*time.Second)
			r := &x.Request
			if r.Status != export.StatusOK {
				t.Fatalf("%v: %s", r.Status, r.Message)
			}
			if err := srv.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			e := srv.Ledger()[0]
			var lines []string
			for i, p := range r.Responses {
				lines = append(lines, string(p.Outputs[0].Value.Data))
				if want := e.EventTimesNS()[i]; p.RecvNS+uint64(10*time.Millisecond) < want { // the clocks may differ
					t.Errorf("message %d came at %d and was sent at %d", i, p.RecvNS, want)
				}
				if p.Source == export.SourceUnknown || p.Final != (i == len(r.Responses)-1) && p.Final {
					t.Errorf("message %d: %+v", i, p)
				}
			}
			if got := strings.ReplaceAll(strings.Join(lines, ""), "\n", ""); got != string(e.Sent()) {
				t.Errorf("recorded %s, sent %s", got, e.Sent())
			}
			if e.Protocol != sim.Realtime || e.End != sim.EndOK || r.ServerID != e.ID || x.Tokens.N != 8 || len(e.TokenTimesNS()) != 8 {
				t.Errorf("ledger %+v, server id %q, %d tokens", e, r.ServerID, x.Tokens.N)
			}
			sent := sentOf(t, r)
			if sent == nil || len(sent.SentNS) != 10 || sent.CommitNS == nil || sent.IntervalNS != 5e6 {
				t.Fatalf("audio sent: %+v", sent)
			}
			for i, ns := range sent.SentNS {
				if r.StartNS+uint64(ns) < r.IssuedNS+uint64(i)*5e6 {
					t.Errorf("chunk %d left %d ns after the start, before it was due", i, ns)
				}
			}
			if !slices.IsSorted(append(sent.SentNS, *sent.CommitNS)) || r.SentNS != r.StartNS+uint64(*sent.CommitNS) {
				t.Errorf("chunks left at %v, the commit at %d, SentNS %d", sent.SentNS, *sent.CommitNS, r.SentNS-r.StartNS)
			}
			if nettest.KernelStamps(t) && (r.StartSource != export.SourceKernel || r.Responses[0].Source != export.SourceKernel) {
				t.Errorf("sources %v and %v", r.StartSource, r.Responses[0].Source)
			}
			run := &export.Run{}
			run.ServiceKind = new("openai")
			dec := answer.NewDecoder(run, true)
			a := dec.Decode(r)
			if len(a.Events) != 8 || a.Failure != "" || a.Unreadable != 0 || a.Usage.Output != export.IntOf(8) {
				t.Errorf("decoded %d events, %q, %d unreadable, usage %+v", len(a.Events), a.Failure, a.Unreadable, a.Usage)
			}
		})
	}
}

// Each fault of the simulator becomes a status.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		fault  plan.Fault
		status export.Status
		msg    string
		tokens int
	}{
		{plan.FaultHTTP500, export.StatusHTTPError, "the fault http_500 was asked for", 0},
		{plan.FaultHTTP429, export.StatusHTTPError, "retry after 1", 0},
		{plan.FaultNoReply, export.StatusTruncated, "the connection broke", 0},
		{plan.FaultGarbageHeader, export.StatusProtocolError, "malformed HTTP", 0},
		{plan.FaultHang, export.StatusTimeout, "", 0},
		{plan.FaultReset, export.StatusTruncated, "connection reset", 3},
		{plan.FaultTruncate, export.StatusTruncated, "the connection broke", 3},
		{plan.FaultStall, export.StatusTimeout, "", 3},
		{plan.FaultNoDone, export.StatusTruncated, "the server closed the session with status 1000", 8},
		{plan.FaultErrorEvent, export.StatusRPCError, "the fault error_event was asked for", 3},
		{plan.FaultGarbage, export.StatusProtocolError, "the server sent a message that is not JSON", 3},
		{plan.FaultMerged, export.StatusOK, "", 8},
		{plan.FaultOneshot, export.StatusOK, "", 8},
		{plan.FaultSlowHeader, export.StatusOK, "", 8},
	} {
		t.Run(tt.fault.String(), func(t *testing.T) {
			t.Parallel()
			srv := simServer(t, sim.Config{Faults: []plan.FaultRule{{Fault: tt.fault, Every: 1, After: 3}}})
			timeout := 10 * time.Second
			if tt.status == export.StatusTimeout {
				timeout = 500 * time.Millisecond
			}
			x := exchange(t, realtime.Config{OpenAI: openai.Config{URL: srv.OpenAIURL()}, Settings: realtime.Settings{Chunk: 10 * time.Millisecond}}, clip(320), timeout)
			r := &x.Request
			if r.Status != tt.status || !strings.Contains(r.Message, tt.msg) || x.Tokens.N != tt.tokens {
				t.Errorf("%v %q with %d tokens, want %v %q with %d", r.Status, r.Message, x.Tokens.N, tt.status, tt.msg, tt.tokens)
			}
			if r.Status != export.StatusOK && r.StartNS == 0 {
				t.Error("the request has no start")
			}
		})
	}
}

// A session is what a script of the server says: it reads messages, and writes texts.
type script struct {
	t        *testing.T
	ws       *websocket.Conn
	received []string
}

// read reads n messages.
func (s *script) read(n int) {
	for range n {
		_, data, err := s.ws.Read(s.t.Context())
		if err != nil {
			s.t.Errorf("server: %v", err)
			return
		}
		s.received = append(s.received, string(data))
	}
}

func (s *script) write(texts ...string) {
	for _, text := range texts {
		if err := s.ws.Write(s.t.Context(), websocket.MessageText, []byte(text)); err != nil {
			s.t.Errorf("server: %v", err)
		}
	}
}

// scripted serves one session, and returns a function that waits for its end and returns what was received.
func scripted(secure bool, t *testing.T, play func(s *script)) (*httptest.Server, func() []string) {
	t.Helper()
	done := make(chan []string, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+endpoint {
			http.NotFound(w, r)
			return
		}
		if r.Header.Get("Authorization") != "Bearer sesame" || r.URL.RawQuery != "intent=transcription" {
			t.Errorf("asked %s with %v", r.URL, r.Header)
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		s := &script{t: t, ws: ws}
		play(s)
		for { // until the client ends the session
			if _, _, err := ws.Read(context.Background()); err != nil {
				break
			}
		}
		_ = ws.CloseNow()
		done <- s.received
	})
	srv := httptest.NewUnstartedServer(h)
	if secure {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv, func() []string { return <-done }
}

const (
	created   = `{"type":"session.created","id":"sess-9","created":1}`
	delta     = `{"type":"transcription.delta","delta":" a"}`
	finished  = `{"type":"transcription.done","text":" a a","usage":{"prompt_tokens":4,"total_tokens":6,"completion_tokens":2}}`
	oaCreated = `{"type":"session.created","event_id":"e1","session":{"id":"sess_9","type":"transcription"}}`
	oaUpdated = `{"type":"session.updated","event_id":"e2","session":{"id":"sess_9"}}`
	oaDelta   = `{"type":"conversation.item.input_audio_transcription.delta","event_id":"e3","item_id":"i","content_index":0,"delta":" a"}`
	oaCommit  = `{"type":"input_audio_buffer.committed","event_id":"e4","previous_item_id":null,"item_id":"i"}`
	oaDone    = `{"type":"conversation.item.input_audio_transcription.completed","event_id":"e5","item_id":"i","content_index":0,"transcript":" a","usage":{"type":"tokens","total_tokens":6,"input_tokens":4,"output_tokens":2}}`
)

// Each form of an answer, over each kind of connection: the messages that the client sends, in order, and what is recorded.
func TestSessions(t *testing.T) {
	pcm := func(from, to int) string {
		var b []byte
		for i := from; i < to; i++ {
			b = binary.LittleEndian.AppendUint16(b, uint16(i))
		}
		return `{"type":"input_audio_buffer.append","audio":"` + base64.StdEncoding.EncodeToString(b) + `"}`
	}
	vllm := []string{`{"type":"session.update","model":"m"}`, `{"type":"input_audio_buffer.commit","final":false}`, pcm(0, 160), pcm(160, 320), pcm(320, 330), `{"type":"input_audio_buffer.commit","final":true}`}
	for _, tt := range []struct {
		name    string
		dialect realtime.Dialect
		play    func(s *script)
		want    []string // that the client sends; nil: not compared
		lines   []string
		status  export.Status
		msg     string
		tokens  int
	}{
		{name: "vLLM", play: func(s *script) {
			s.write(created)
			s.read(4)
			s.write(delta)
			s.read(2)
			s.write(delta, finished)
		}, want: vllm, lines: []string{delta, delta, finished}, status: export.StatusOK, tokens: 2},
		{name: "OpenAI", dialect: realtime.OpenAI, play: func(s *script) {
			s.write(oaCreated)
			s.read(1)
			s.write(oaUpdated)
			s.read(3)
			s.write(oaCommit, oaDelta, oaDone)
		}, lines: []string{oaCommit, oaDelta, oaDone}, status: export.StatusOK, tokens: 1},
		{name: "line breaks and unknown messages", play: func(s *script) {
			s.write(created)
			s.read(6)
			s.write("{\n \"type\": \"new.message\",\r\n \"x\": [1]}", delta, finished)
		}, want: vllm, lines: []string{`{"type":"new.message","x":[1]}`, delta, finished}, status: export.StatusOK, tokens: 1},
		{name: "error before the audio", play: func(s *script) {
			s.write(`{"type":"error","error":"no room","code":"busy"}`)
		}, lines: []string{`{"type":"error","error":"no room","code":"busy"}`}, status: export.StatusRPCError, msg: "no room"},
		{name: "error within the audio", play: func(s *script) {
			s.write(created)
			s.read(3)
			s.write(delta, `{"type":"error","error":"lost","code":"processing_error"}`)
		}, lines: []string{delta, `{"type":"error","error":"lost","code":"processing_error"}`}, status: export.StatusRPCError, msg: "lost", tokens: 1},
		{name: "OpenAI's failure", dialect: realtime.OpenAI, play: func(s *script) {
			s.write(oaCreated)
			s.read(1)
			s.write(oaUpdated)
			s.read(3)
			s.write(`{"type":"conversation.item.input_audio_transcription.failed","item_id":"i","content_index":0,"error":{"type":"transcription_error","code":"audio_unintelligible","message":"not understood"}}`)
		}, lines: []string{`{"type":"conversation.item.input_audio_transcription.failed","item_id":"i","content_index":0,"error":{"type":"transcription_error","code":"audio_unintelligible","message":"not understood"}}`}, status: export.StatusRPCError, msg: "not understood"},
		{name: "closed by the server", play: func(s *script) {
			s.write(created)
			s.read(3)
			s.write(delta)
			_ = s.ws.Close(websocket.StatusInternalError, "out of memory")
		}, lines: []string{delta}, status: export.StatusTruncated, msg: "the server closed the session with status 1011 out of memory", tokens: 1},
		{name: "cut", play: func(s *script) {
			s.write(created)
			s.read(3)
			s.write(delta)
			_ = s.ws.CloseNow()
		}, lines: []string{delta}, status: export.StatusTruncated, tokens: 1},
		{name: "binary", play: func(s *script) {
			s.write(created)
			s.read(6)
			_ = s.ws.Write(s.t.Context(), websocket.MessageBinary, []byte("x"))
		}, status: export.StatusProtocolError, msg: "the server sent a binary message of 1 bytes"},
	} {
		for _, secure := range []bool{false, true} {
			for _, proxied := range []bool{false, true} {
				name := tt.name + map[bool]string{true: ", TLS"}[secure] + map[bool]string{true: ", proxy"}[proxied]
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					srv, received := scripted(secure, t, tt.play)
					u := strings.Replace(srv.URL, "http", "ws", 1)
					cfg := realtime.Config{
						OpenAI:   openai.Config{URL: u, Endpoint: endpoint + "?intent=transcription", Model: "m", Headers: []openai.Header{{Name: "Authorization", Value: "Bearer sesame"}}},
						Settings: realtime.Settings{Dialect: tt.dialect, Chunk: 10 * time.Millisecond, Speed: 10},
					}
					if secure {
						pool := x509.NewCertPool()
						pool.AddCert(srv.Certificate())
						cfg.OpenAI.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
					}
					var proxy *nettest.Proxy
					if proxied {
						proxy = nettest.StartProxy(t, nettest.ProxyConfig{})
						cfg.OpenAI.Proxy = func(*url.URL) (*url.URL, error) { return proxy.URL(), nil }
					}
					n := 330
					if tt.dialect == realtime.OpenAI {
						n = 320 // 480 samples at 24 kHz
					}
					x := exchange(t, cfg, clip(n), 10*time.Second)
					r := &x.Request
					if r.Status != tt.status || !strings.Contains(r.Message, tt.msg) || x.Tokens.N != tt.tokens {
						t.Errorf("%v %q with %d tokens, want %v %q with %d", r.Status, r.Message, x.Tokens.N, tt.status, tt.msg, tt.tokens)
					}
					var lines []string
					for _, p := range r.Responses {
						lines = append(lines, strings.TrimSuffix(string(p.Outputs[0].Value.Data), "\n"))
					}
					if d := gocmp.Diff(tt.lines, lines); d != "" {
						t.Errorf("recorded (-want +got):\n%s", d)
					}
					if got := received(); tt.want != nil {
						if d := gocmp.Diff(tt.want, got); d != "" {
							t.Errorf("sent (-want +got):\n%s", d)
						}
					}
					if proxied && len(proxy.Asked()) == 0 {
						t.Error("nothing went through the proxy")
					}
				})
			}
		}
	}
}

func TestAnswerMemory(t *testing.T) {
	srv, received := scripted(false, t, func(s *script) {
		s.write(created)
		s.read(6)
		for range 64 {
			if s.ws.Write(s.t.Context(), websocket.MessageText, []byte(delta)) != nil {
				return // the client has ended the session
			}
		}
	})
	x := exchange(t, realtime.Config{
		OpenAI:   openai.Config{URL: srv.URL, Endpoint: endpoint + "?intent=transcription", Model: "m", Headers: []openai.Header{{Name: "Authorization", Value: "Bearer sesame"}}, MaxAnswerMemory: 2000},
		Settings: realtime.Settings{Chunk: 10 * time.Millisecond, Speed: 10},
	}, clip(330), 10*time.Second)
	if r := &x.Request; r.Status != export.StatusProtocolError || !strings.Contains(r.Message, "--max-answer-memory") || len(r.Responses) > 8 {
		t.Errorf("%v %q with %d responses", r.Status, r.Message, len(r.Responses))
	}
	received()
}

func TestPrepare(t *testing.T) {
	b, err := realtime.New(realtime.Config{OpenAI: openai.Config{URL: "localhost", Endpoint: endpoint, Model: "m", ExtraBody: json.RawMessage(`{"language":"de"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Prepare(clip(16000))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{payload {"type":"session.update","model":"m","language":"de"}} {audio {"format":"pcm16","sample_rate":16000,"seconds":1,"bytes":32000,"sha256":"4b4ddcaeb8c8b6a56fe5e76e2e6f8f9f","chunk_ns":100000000,"speed":1}}]`
	var got strings.Builder
	got.WriteByte('[')
	for i, f := range p.Inputs() {
		if i > 0 {
			got.WriteByte(' ')
		}
		got.WriteString("{" + f.Name + " " + string(f.Value.Data) + "}")
	}
	got.WriteByte(']')
	digest := func(s string) string {
		before, rest, _ := strings.Cut(s, `"sha256":"`)
		_, after, _ := strings.Cut(rest, `"`)
		return before + after
	}
	if digest(got.String()) != digest(want) {
		t.Errorf("inputs %s, want %s", got.String(), want)
	}
	for _, tt := range []struct {
		name string
		e    *workload.Entry
		want string
	}{
		{"no prompt", &workload.Entry{}, "one audio clip in a request"},
		{"a text", &workload.Entry{Prompt: &workload.Prompt{Text: "x"}}, "one audio clip in a request"},
		{"a URL", entry("https://example.com/a.wav"), "give its file"},
		{"mp3", entry("data:audio/mpeg;base64,AAAA"), "convert it to WAV"},
		{"no base64", entry("data:audio/wav;base64,?"), "illegal base64"},
		{"no WAV", entry("data:audio/wav;base64,AAAA"), "it is not a WAV file"},
	} {
		if _, err := b.Prepare(tt.e); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		cfg  realtime.Config
		want string
	}{
		{realtime.Config{Settings: realtime.Settings{Chunk: time.Microsecond}}, "chunk 1µs: must be from 1ms to 1m0s"},
		{realtime.Config{Settings: realtime.Settings{Speed: -1}}, "speed -1: must be from 0.01 to 1000"},
		{realtime.Config{OpenAI: openai.Config{HTTP2: true}}, "v1/realtime is WebSocket over HTTP/1.1"},
		{realtime.Config{OpenAI: openai.Config{Transport: openai.Loop}}, "it has no WebSocket"},
	} {
		tt.cfg.OpenAI.URL, tt.cfg.OpenAI.Endpoint = "ws://localhost", endpoint
		if _, err := realtime.New(tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.cfg.Settings, err, tt.want)
		}
	}
	if _, err := realtime.ParseDialect("other"); err == nil {
		t.Error("a dialect that there is not is accepted")
	}
}
