package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// A via is a way in which pa-record sends requests to a server.
type via string

const (
	viaLoop    via = "loop"
	viaNetHTTP via = "nethttp"
	viaHTTP2   via = "HTTP/2"
	viaTriton  via = "Triton HTTP"
	viaGRPC    via = "gRPC"
	viaUnary   via = "gRPC unary"
)

// vias holds all vias in the order of the page.
var vias = []via{viaLoop, viaNetHTTP, viaHTTP2, viaTriton, viaGRPC, viaUnary}

// args returns the flags that choose v.
func (v via) args() []string {
	return strings.Fields(map[via]string{
		viaLoop:    "--service-kind openai --streaming --transport loop",
		viaNetHTTP: "--service-kind openai --streaming --transport nethttp",
		viaHTTP2:   "--service-kind openai --streaming --http2",
		viaTriton:  "-i http",
		viaGRPC:    "-i grpc --streaming",
		viaUnary:   "-i grpc",
	}[v])
}

// isHTTP2 reports whether servers for v speak HTTP/2.
func (v via) isHTTP2() bool { return v == viaHTTP2 || v.isGRPC() }

// isGRPC reports whether v is of gRPC.
func (v via) isGRPC() bool { return v == viaGRPC || v == viaUnary }

// A faultServer answers the requests of a load well, except for requests that suffer a fault. It
// speaks the protocol of a via; its model is called early.
type faultServer struct {
	f         *fault
	v         via
	tls       *tls.Config // nil: plain connections
	listener  net.Listener
	struckTLS *tls.Config // of the connection that a fault with a certificate strikes
	always    bool        // each request of the load suffers, and not the second one only
	loads     atomic.Int64
	struck    atomic.Bool  // the fault of a connection has been
	flooded   atomic.Int64 // bytes that the client took of an answer without end
}

// newFaultServer returns the server of a run.
func newFaultServer(r *faultRun) *faultServer {
	s := &faultServer{f: r.f, v: r.v, always: r.always}
	if r.f.tls {
		s.tls = serverTLS(r.v, r.certs.server)
		if r.f.cert != nil {
			s.struckTLS = serverTLS(r.v, r.f.cert(r.certs))
		}
	}
	return s
}

// serverTLS returns the configuration of a server for v with a certificate.
func serverTLS(v via, c tls.Certificate) *tls.Config {
	cfg := &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12}
	if v.isHTTP2() {
		cfg.NextProtos = []string{"h2"}
	}
	return cfg
}

// serverName is the server's name where a fault is one of the name.
const serverName = "server.test"

// start serves until the test ends.
func (s *faultServer) start(t testing.TB) (addr string) {
	t.Helper()
	s.listener = nettest.Listen(t)
	if s.f.floods && !testenv.IsLong() {
		narrow(t, s.listener)
	}
	nettest.Serve(t, s.listener, s.serve)
	if s.f.name != nil {
		return fmt.Sprintf("%s:%d", serverName, s.listener.Addr().(*net.TCPAddr).Port)
	}
	return s.listener.Addr().String()
}

// narrow makes the receive buffers and the segments of the connections that l accepts small, and
// so the send buffers of their clients. A client that answers each piece of a flood, while the
// server reads nothing, has to wait after some thousand answers. In make test-long it gives some
// hundred thousand, whose memory the test measures.
func narrow(t testing.TB, l net.Listener) {
	t.Helper()
	const (
		segmentBytes = 536 // every host takes such segments
		bufferBytes  = 4096
	)
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = errors.Join(unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, segmentBytes), unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, bufferBytes))
	})
	if err := errors.Join(err, set); err != nil {
		t.Fatal(err)
	}
}

// resolver returns a resolver that finds the server's name: after the first request with the
// fault. Lookups in progress fail when ctx is done.
func (s *faultServer) resolver(ctx context.Context) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		client, server := net.Pipe() // no packets, so package net frames messages as over TCP
		stop := context.AfterFunc(ctx, func() { server.Close() })
		go func() {
			defer stop()
			s.resolve(server)
		}()
		return client, nil
	}}
}

// resolve answers the questions on nc until the client closes it.
func (s *faultServer) resolve(nc net.Conn) {
	defer nc.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(nc, size[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(nc, question); err != nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(question); err != nil || len(m.Questions) != 1 {
			return
		}
		m.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			}}
		}
		if s.loads.Load() > 0 && !s.f.name(&m) {
			continue
		}
		answer, err := m.Pack()
		if err != nil {
			return
		}
		if _, err := nc.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// suffers counts a request of the load and reports whether it suffers the fault.
func (s *faultServer) suffers() bool {
	n := s.loads.Add(1)
	if s.f.gone {
		s.listener.Close()
	}
	return !s.f.connects() && (s.always || n == 2)
}

func (s *faultServer) serve(nc net.Conn) {
	cfg := s.tls
	if (s.f.conn != nil || s.struckTLS != nil) && s.loads.Load() == 1 && !s.struck.Swap(true) {
		if s.f.conn != nil {
			s.f.conn(nc)
			return
		}
		cfg = s.struckTLS
	}
	if cfg != nil {
		if s.f.tls12 {
			nc, cfg = tap(nc, cfg)
		}
		secure := tls.Server(nc, cfg)
		defer secure.Close()
		nc = secure
	}
	if s.v.isHTTP2() {
		s.serve2(nc)
	} else {
		s.serve1(nc)
	}
}

// An ending says what a server does with the connection after an answer.
type ending int

const (
	keeps    ending = iota // waits for the next request
	closes                 // closes the connection, which the client sees as EOF
	cuts                   // as closes, but over TLS without the alert that ends TLS
	garbles                // sends bytes that are no TLS records over a TLS connection, and closes it
	asksAnew               // asks for a new handshake of TLS 1.2, and waits until the client goes away
	resets                 // closes the connection with a TCP reset
	holds                  // neither sends nor closes until the client goes away
)

// Times that a server waits before it ends a connection. After resetPause, the client has read
// the bytes sent before. If a kept connection ends within silentPause of a request, pa-record
// assumes that it was closed before the request came, and sends the request again.
const (
	resetPause  = 30 * time.Millisecond
	silentPause = 150 * time.Millisecond
)

// apply does what e says and reports whether the connection stays.
func (e ending) apply(nc net.Conn) (stays bool) {
	switch e {
	case keeps:
		return true
	case garbles:
		_, _ = io.WriteString(below(nc), "this is not TLS")
		below(nc).Close()
	case asksAnew:
		if err := below(nc).(*tapped).helloRequest(); err == nil {
			_, _ = io.Copy(io.Discard, nc)
		}
	case cuts:
		below(nc).Close()
	case resets:
		time.Sleep(resetPause)
		reset(nc)
	case holds:
		_, _ = io.Copy(io.Discard, nc) // until the client goes away
	}
	return false
}

// below returns the connection below TLS, or nc if that has none.
func below(nc net.Conn) net.Conn {
	if secure, ok := nc.(*tls.Conn); ok {
		return secure.NetConn()
	}
	return nc
}

// reset closes a connection with a TCP reset.
func reset(nc net.Conn) {
	nc = below(nc)
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	nc.Close()
}

// An answer1 holds the bytes that a server sends over HTTP/1.1 instead of a good answer.
type answer1 struct {
	text   string
	pieces int    // bytes of text in a write, piecePause apart; 0: all in one write
	flood  string // sent after text, again and again
	then   ending
}

// piecePause is the time between two pieces of a slow answer.
const piecePause = 2 * time.Millisecond

// send sends the answer and reports whether the connection stays.
func (a *answer1) send(nc net.Conn, flooded *atomic.Int64) (stays bool) {
	if a.text == "" && a.then != holds {
		time.Sleep(silentPause)
	}
	for text := a.text; text != ""; {
		n := len(text)
		if a.pieces > 0 {
			n = min(n, a.pieces)
			time.Sleep(piecePause)
		}
		if _, err := io.WriteString(nc, text[:n]); err != nil {
			return false
		}
		text = text[n:]
	}
	if a.flood != "" {
		flood(nc, a.flood, flooded)
		return false
	}
	return a.then.apply(nc)
}

// flood writes piece again and again until the client goes away. Meanwhile it reads nothing.
func flood(nc net.Conn, piece string, flooded *atomic.Int64) {
	many := []byte(strings.Repeat(piece, 1+(16<<10)/len(piece)))
	for {
		n, err := nc.Write(many)
		flooded.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// chunk1 frames text as a chunk of HTTP/1.1.
func chunk1(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

// Parts of answers. streamHead begins a stream of chunks, wholeHead the answer of Triton.
const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	wholeHead  = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunksEnd  = "0\r\n\r\n"

	eventA    = `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"
	eventB    = `data: {"choices":[{"index":0,"delta":{"content":" b"}}]}` + "\n\n"
	eventDone = "data: [DONE]\n\n"
)

// goodStream is a good answer of an OpenAI server, three events; goodWhole one of Triton.
var (
	goodStream = streamHead + chunk1(eventA) + chunk1(eventB) + chunk1(eventDone) + chunksEnd
	goodWhole  = wholeHead + chunk1(earlyInference) + chunksEnd
)

// serve1 speaks HTTP/1.1.
func (s *faultServer) serve1(nc net.Conn) {
	r := bufio.NewReader(nc)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		if req.Method != http.MethodPost {
			body := earlyGets[req.URL.Path]
			if _, err := fmt.Fprintf(nc, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
				return
			}
			continue
		}
		a, bad := &answer1{text: goodStream}, s.f.http1
		if s.v == viaTriton {
			a, bad = &answer1{text: goodWhole}, s.f.triton
		}
		if s.suffers() {
			a = bad
		}
		if !a.send(nc, &s.flooded) {
			return
		}
	}
}

// A stream2 is a stream of HTTP/2 that waits for its answer.
type stream2 struct {
	*early2
	id      uint32
	s       *earlyStream
	nc      net.Conn
	v       via
	flooded *atomic.Int64
}

// errConnOver ends a connection.
var errConnOver = errors.New("the connection is over")

// end ends the answer of a stream as e says. With holds, the server goes on reading other frames and
// answering other streams. Before a reset, the client has read what was sent and has answered it:
// otherwise its answer to a frame, and not its read, may find the connection broken.
func (s stream2) end(e ending) error {
	if e == resets {
		if err := s.settle(); err != nil {
			return err
		}
	}
	if e == holds || e.apply(s.nc) {
		return nil
	}
	return errConnOver
}

// settle waits until the client has answered a PING, and with it all frames before.
func (s stream2) settle() error {
	if err := errors2(s.nc.SetReadDeadline(time.Now().Add(10*time.Second)), s.framer.WritePing(false, [8]byte{})); err != nil {
		return err
	}
	for {
		f, err := s.framer.ReadFrame()
		if err != nil {
			return err
		}
		if p, ok := f.(*http2.PingFrame); ok && p.IsAck() {
			return nil
		}
	}
}

// head sends the headers of the answer unless they were sent before.
func (s stream2) head() error {
	if s.s.headed {
		return nil
	}
	s.s.headed = true
	kind := "text/event-stream"
	if s.v.isGRPC() {
		kind = "application/grpc"
	}
	return s.headers(s.id, false, ":status", "200", "content-type", kind)
}

// send sends the headers if they were not sent, and data frames.
func (s stream2) send(frames ...string) error {
	if err := s.head(); err != nil {
		return err
	}
	for _, f := range frames {
		if err := s.framer.WriteData(s.id, false, []byte(f)); err != nil {
			return err
		}
	}
	return nil
}

// last sends a data frame that ends the stream.
func (s stream2) last(frame string) error { return s.framer.WriteData(s.id, true, []byte(frame)) }

// raw sends bytes as they are.
func (s stream2) raw(bytes string) error {
	_, err := io.WriteString(s.nc, bytes)
	return err
}

// flood sends bytes again and again until the client goes away.
func (s stream2) flood(piece string) error {
	flood(s.nc, piece, s.flooded)
	return errConnOver
}

// frame2 returns a frame of HTTP/2 with the given header, which need not fit the payload.
func frame2(length int, kind http2.FrameType, flags http2.Flags, id uint32, payload string) string {
	return string([]byte{
		byte(length >> 16), byte(length >> 8), byte(length), byte(kind), byte(flags),
		byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id),
	}) + payload
}

// Messages: a part of the answer to a ModelStreamInfer and its end, and the answer to a ModelInfer.
var (
	messageA     = string(message(&pb.ModelStreamInferResponse{InferResponse: &pb.ModelInferResponse{ModelName: "early"}}))
	messageUnary = string(message(&pb.ModelInferResponse{ModelName: "early"}))
	messageFinal = string(message(&pb.ModelStreamInferResponse{InferResponse: &pb.ModelInferResponse{
		ModelName:  "early",
		Parameters: map[string]*pb.InferParameter{"triton_final_response": {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: true}}},
	}}))
)

// first returns the first event, or the first message.
func (s stream2) first() string {
	return map[via]string{viaHTTP2: eventA, viaGRPC: messageA, viaUnary: messageUnary}[s.v]
}

// part sends the headers and the first event or message.
func (s stream2) part() error { return s.send(s.first()) }

// partOfStream sends the headers and, unless an answer has one message, the first message.
func (s stream2) partOfStream() error {
	if s.v == viaUnary {
		return s.head()
	}
	return s.part()
}

// rest sends what follows the first event or message of a good answer.
func (s stream2) rest() error {
	switch s.v {
	case viaGRPC:
		return s.send(messageA, messageFinal)
	case viaUnary:
		return s.trailers("grpc-status", "0")
	}
	return errors2(s.send(eventB), s.last(eventDone))
}

// trailers ends the answer with fields.
func (s stream2) trailers(fields ...string) error { return s.headers(s.id, true, fields...) }

// good sends a good answer.
func (s stream2) good() error { return errors2(s.part(), s.rest()) }

// serve2 speaks HTTP/2.
func (s *faultServer) serve2(nc net.Conn) {
	c := &early2{decoupled: s.v == viaGRPC}
	bad := map[via]func(stream2) error{viaHTTP2: s.f.http2, viaGRPC: s.f.grpc, viaUnary: s.f.unary}[s.v]
	c.load = func(id uint32, stream *earlyStream) error {
		st := stream2{early2: c, id: id, s: stream, nc: nc, v: s.v, flooded: &s.flooded}
		if s.suffers() {
			return bad(st)
		}
		return st.good()
	}
	serve2(nc, c)
}
