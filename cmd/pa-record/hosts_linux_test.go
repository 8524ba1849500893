package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// The server of the tests between hosts is in network 0, pa-record in network 1.
const (
	hostsOpenAIPort = 18000
	hostsGRPCPort   = 18002
	hostsTLSPort    = 18443
	// hostsStreams is the number of requests at a time. Each answer has a token every 20 ms, so
	// 3,000 messages come in a second.
	hostsStreams = 60
	// hostsTimeout bounds a run, which takes 40 s for 100,000 messages.
	hostsTimeout = 5 * time.Minute
	// clockError is the largest change of the offset between the wall clock and the run's
	// clock that the run's clock does not notice, see package rxclock, and a rounding.
	clockError = time.Microsecond
)

// hostsMessagesVariable is the environment variable with the number of messages of each
// protocol; see make test-hosts.
const hostsMessagesVariable = "HOSTS_MESSAGES"

// A hostsLoad is the load of a test with each protocol.
type hostsLoad struct {
	messages    int // least number of messages
	tokens      int // tokens of an answer, each in a message of its own
	lostPer1000 int // lost packets per 1,000 to pa-record; later packets overtake as many again
}

// requests returns a number of requests with at least l.messages messages.
func (l hostsLoad) requests() int { return l.messages/l.tokens + 1 }

// newHostsLoad returns the load that the environment asks for. The load of make test has fewer
// messages and loses a larger share of the packets, so that some messages still follow a hole.
func newHostsLoad(t *testing.T) hostsLoad {
	text := os.Getenv(hostsMessagesVariable)
	if text == "" {
		if testenv.IsLong() {
			return hostsLoad{messages: 4000, tokens: 64, lostPer1000: 5}
		}
		return hostsLoad{messages: 400, tokens: 20, lostPer1000: 20}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		t.Fatalf("%s=%q: want a number of at least 1000", hostsMessagesVariable, text)
	}
	return hostsLoad{messages: n, tokens: 64, lostPer1000: 5}
}

// A hostsProtocol is a way in which answers come.
type hostsProtocol struct {
	name string
	port int
	args []string
	// ends returns, for each answer in a plain stream, by its id, the offsets after its
	// messages.
	ends func(plain []byte) (map[string][]int, error)
	grpc bool
}

var hostsProtocols = []hostsProtocol{
	{name: "plain", port: hostsOpenAIPort, ends: http1Ends},
	{name: "TLS", port: hostsTLSPort, args: []string{"--ssl-https-verify-peer", "0", "--ssl-https-verify-host", "0"}, ends: http1Ends},
	{name: "HTTP/2", port: hostsOpenAIPort, args: []string{"--http2"}, ends: http2Ends},
	{name: "gRPC", port: hostsGRPCPort, ends: grpcEnds, grpc: true},
}

// A serverHost is the server's side.
type serverHost struct {
	load hostsLoad
	link *nettest.Link
	sim  *sim.Server
	tls  *tlsProxy
}

// startHosts joins two networks and starts the servers in one of them.
func startHosts(t *testing.T, load hostsLoad, delay func(to int, packet []byte) time.Duration) *serverHost {
	t.Helper()
	h := &serverHost{load: load, link: nettest.NewLink(t, delay)}
	var err error
	h.link.In(0, func() {
		addr := func(port int) string { return net.JoinHostPort(h.link.Addr(0), strconv.Itoa(port)) }
		if h.sim, err = sim.Start(context.Background(), sim.Config{
			OpenAIAddr: addr(hostsOpenAIPort), TritonGRPCAddr: addr(hostsGRPCPort), TritonHTTPAddr: sim.Off,
			TTFT: plan.ConstantDelay(20 * time.Millisecond), ITL: plan.ConstantDelay(20 * time.Millisecond),
			OutputTokens: plan.ConstantLength(load.tokens),
		}); err == nil {
			h.tls, err = startTLSProxy(h.link, addr(hostsTLSPort), addr(hostsOpenAIPort))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.tls.close(); _ = h.sim.Close() })
	return h
}

// record records the load and returns the export and the truth: for each answer, by its
// id, the arrivals of its messages.
func (h *serverHost) record(t *testing.T, p hostsProtocol) (*export.Run, []export.Request, map[string][]arrival) {
	t.Helper()
	dir, requests := t.TempDir(), h.load.requests()
	args := []string{"--concurrency-range", strconv.Itoa(min(hostsStreams, requests)), "--request-count", strconv.Itoa(requests), "--streaming", "--profile-export-file", "run.json"}
	target := net.JoinHostPort(h.link.Addr(0), strconv.Itoa(p.port))
	if p.grpc {
		const input = `{"data":[{"text_input":["one two three"],"stream":[true],"sampling_parameters":["{\"max_tokens\":%d,\"ignore_eos\":true}"]}]}`
		if err := os.WriteFile(filepath.Join(dir, "input.json"), fmt.Appendf(nil, input, h.load.tokens), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-m", "vllm", "-i", "grpc", "-u", target, "--input-data", "input.json")
	} else {
		scheme := "http://"
		if p.port == hostsTLSPort {
			scheme = "https://"
		}
		args = append(args, "--service-kind", "openai", "-u", scheme+target)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hostsTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], append(args, p.args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), childEnv+"=1")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	capture := h.link.Capture(t, 1)
	var err error
	h.link.In(1, func() { err = cmd.Start() })
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", p.name, err, &out)
	}
	packets, err := capture.Stop()
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	truth, err := h.arrivals(p, packets)
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	run, all := exporttest.Read(t, filepath.Join(dir, "run.json"))
	if len(all) < requests {
		t.Errorf("%s: %d requests, want %d\n%s", p.name, len(all), requests, &out)
	}
	return run, all, truth
}

// An arrival is the truth about a message.
type arrival struct {
	ns    uint64 // when the last missing byte of the message, or before it, came
	ownNS uint64 // when the last byte of the message came first; earlier behind a hole
}

// arrivals finds the arrivals of all messages in captured packets.
func (h *serverHost) arrivals(p hostsProtocol, packets []nettest.Packet) (map[string][]arrival, error) {
	truth := map[string][]arrival{}
	for port, f := range flowsFrom(p.port, packets) {
		plain, rawOffset := f.bytes, func(offset int) int { return offset }
		if p.port == hostsTLSPort {
			plain, rawOffset = h.tls.connection(port)
		}
		ends, err := p.ends(plain)
		if err != nil {
			return nil, fmt.Errorf("the connection of port %d: %w", port, err)
		}
		for id, offsets := range ends {
			for _, end := range offsets {
				truth[id] = append(truth[id], f.arrival(rawOffset(end)))
			}
		}
	}
	return truth, nil
}

// deviations are the differences between an export and the truth.
type deviations struct {
	// last and shared are the sizes of the differences for messages that came in order and
	// have the kernel's stamp: the last ones of their reads, and the others, which share
	// the stamp of a later message or of the end of the answer.
	last, shared []time.Duration
	behind       int // messages behind a hole
	unmarked     int // of these have the kernel's stamp
	user         int // messages with a stamp of user space
	early        int // messages with a stamp before their arrival
}

// compare compares an export with the truth.
func compare(t *testing.T, p hostsProtocol, all []export.Request, truth map[string][]arrival) (d deviations) {
	t.Helper()
	const skewNS = int64(clockError)
	for i := range all {
		r := &all[i]
		id := strconv.FormatUint(r.ID, 10)
		if !p.grpc {
			id, _ = exporttest.AnswerID(r)
		}
		if want := truth[id]; r.Status != export.StatusOK || len(want) != len(r.Responses) {
			t.Fatalf("%s: request %d: %v with %d responses, the capture has %d of %q", p.name, r.ID, r.Status, len(r.Responses), len(want), id)
		}
		for k, resp := range r.Responses {
			a := truth[id][k]
			off := int64(resp.RecvNS - a.ns)
			if off < -skewNS {
				d.early++
				t.Logf("%s: request %d, message %d: stamped by the %v %v before its arrival", p.name, r.ID, k, resp.Source, time.Duration(-off))
			}
			switch {
			case a.ownNS < a.ns:
				d.behind++
				if resp.Source == export.SourceKernel {
					d.unmarked++
				}
			case resp.Source != export.SourceKernel:
			case k+1 == len(r.Responses) || r.Responses[k+1].Read == resp.Read:
				d.shared = append(d.shared, time.Duration(off).Abs())
			default:
				d.last = append(d.last, time.Duration(off).Abs())
			}
			if resp.Source == export.SourceUser {
				d.user++
			}
		}
	}
	return d
}

// quantiles describes durations, which it sorts.
func quantiles(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	slices.Sort(d)
	return fmt.Sprintf("p50 %v, p99 %v, p99.9 %v, at most %v", quantileOf(d, 0.5), quantileOf(d, 0.99), quantileOf(d, 0.999), quantileOf(d, 1))
}

// quantileOf returns a quantile of sorted durations.
func quantileOf(d []time.Duration, q float64) time.Duration {
	return d[min(int(q*float64(len(d))), len(d)-1)]
}

// Between two hosts a message has the time at which its last byte came, as a
// capture on pa-record's side has them: never earlier, and with make test-hosts, which runs
// nothing else meanwhile, within 50 µs for 999 in 1,000 messages. The capture
// and the socket have the same kernel's time of a packet. So the test is about which packet
// a message gets its time from, and about the clock of the run.
func TestStampsBetweenHosts(t *testing.T) {
	t.Parallel()
	load := newHostsLoad(t)
	hostsTest(t, func(t *testing.T, p hostsProtocol) {
		h := startHosts(t, load, func(int, []byte) time.Duration { return 0 })
		const rate = 1_000_000_000 / 8
		if err := h.link.Shape(0, rate); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EOPNOTSUPP) {
			t.Fatal(err)
		} else if err != nil {
			t.Logf("%s: no limit of the rate: %v", p.name, err)
		}
		_, all, truth := h.record(t, p)
		d := compare(t, p, all, truth)
		t.Logf("%s: differences from the capture: %d messages, each the last one of its read: %s", p.name, len(d.last), quantiles(d.last))
		t.Logf("%s: %d that share the stamp of a later message or of the end of the answer: %s; %d early, %d behind holes, %d with a stamp of user space", p.name, len(d.shared), quantiles(d.shared), d.early, d.behind, d.user)
		if n := len(d.last) + len(d.shared); n < load.messages*99/100 || d.early > 0 {
			t.Errorf("%s: want %d messages, none early", p.name, load.messages)
		}
		if os.Getenv(hostsMessagesVariable) == "" {
			return // other tests run meanwhile: reads are late, and the packets of several messages share one
		}
		if len(d.last) < load.messages*9/10 || quantileOf(d.last, 0.999) > 50*time.Microsecond {
			t.Errorf("%s: want 999 in 1,000 within 50 µs", p.name)
		}
	})
}

// Over a link that loses packets and lets packets overtake others, no message is stamped
// before its last missing byte came, and those behind a hole have no kernel's stamp.
func TestStampsOverLossyLink(t *testing.T) {
	t.Parallel()
	load := newHostsLoad(t)
	hostsTest(t, func(t *testing.T, p hostsProtocol) {
		h := startHosts(t, load, func(to int, packet []byte) time.Duration {
			const way = 2 * time.Millisecond
			switch n := rand.IntN(1000); {
			case to == 1 && n < load.lostPer1000:
				return nettest.Lost
			case to == 1 && n < 2*load.lostPer1000: // later packets overtake it
				return way + rand.N(30*time.Millisecond)
			}
			return way
		})
		run, all, truth := h.record(t, p)
		d, least := compare(t, p, all, truth), max(1, load.messages/1000)
		// The servers of a busy machine send several messages in a packet. Of few packets none may be lost before
		// another one, and such a run shows nothing.
		for again := 0; d.behind < least && again < 20; again++ {
			run, all, truth = h.record(t, p)
			d = compare(t, p, all, truth)
		}
		count := run.Experiments[0].Meta.Client.Stamps
		t.Logf("%s: %d messages in order with the kernel's stamp, the last ones of their reads %s from the capture", p.name, len(d.last)+len(d.shared), quantiles(d.last))
		t.Logf("%s: %d behind holes, of which %d have the kernel's stamp; %d with a stamp of user space, %d waited by the level's count; %d early", p.name, d.behind, d.unmarked, d.user, count.Waited, d.early)
		if d.behind < least {
			t.Errorf("%s: only %d messages behind holes", p.name, d.behind)
		}
		if d.early > 0 || d.unmarked > 0 {
			t.Errorf("%s: %d messages are stamped before their arrival, %d behind a hole have the kernel's stamp", p.name, d.early, d.unmarked)
		}
		if count.Waited != uint64(d.user) || d.user < d.behind {
			t.Errorf("%s: %d responses waited by the level's count, %d by their sources, %d were behind holes", p.name, count.Waited, d.user, d.behind)
		}
	})
}

// hostsTest runs a test with each protocol, in namespaces.
func hostsTest(t *testing.T, test func(t *testing.T, p hostsProtocol)) {
	nettest.Within(t, func() {
		for _, p := range hostsProtocols {
			t.Run(p.name, func(t *testing.T) { test(t, p) })
		}
	})
}

// A flow is what the server sent on a connection, as it arrived.
type flow struct {
	first    uint32 // sequence number of the first byte
	bytes    []byte
	pending  []segment // beyond a hole
	segments []segment // all, by arrival
	prefixes []segment // after a segment closed a gap, or came in order: end of what is whole
}

// A segment is a part of a flow: bytes begin to end.
type segment struct {
	begin, end int
	ns         uint64
}

// flowsFrom returns the flows of the server's connections on a port, by the port of the
// client.
func flowsFrom(port int, packets []nettest.Packet) map[int]*flow {
	flows := map[int]*flow{}
	for _, p := range packets {
		ip := p.Data
		tcp := ip[int(ip[0]&15)*4 : binary.BigEndian.Uint16(ip[2:])]
		if ip[9] != unix.IPPROTO_TCP || int(binary.BigEndian.Uint16(tcp)) != port {
			continue
		}
		client, seq := int(binary.BigEndian.Uint16(tcp[2:])), binary.BigEndian.Uint32(tcp[4:])
		const syn = 2
		if tcp[13]&syn != 0 {
			if flows[client] == nil {
				flows[client] = &flow{first: seq + 1}
			}
			continue
		}
		if f, payload := flows[client], tcp[int(tcp[12]>>4)*4:]; f != nil && len(payload) > 0 {
			f.add(int(int32(seq-f.first)), payload, p.NS)
		}
	}
	return flows
}

// add adds a segment that arrived.
func (f *flow) add(begin int, payload []byte, ns uint64) {
	s := segment{begin, begin + len(payload), ns}
	f.segments = append(f.segments, s)
	if s.end > len(f.bytes) {
		f.bytes = append(f.bytes, make([]byte, s.end-len(f.bytes))...)
	}
	copy(f.bytes[begin:], payload)
	f.pending = append(f.pending, s)
	whole := 0
	if n := len(f.prefixes); n > 0 {
		whole = f.prefixes[n-1].end
	}
	before := whole
	slices.SortFunc(f.pending, func(a, b segment) int { return cmp.Compare(a.begin, b.begin) })
	for len(f.pending) > 0 && f.pending[0].begin <= whole {
		whole = max(whole, f.pending[0].end)
		f.pending = f.pending[1:]
	}
	if whole > before {
		f.prefixes = append(f.prefixes, segment{end: whole, ns: ns})
	}
}

// arrival returns when the bytes before end had come.
func (f *flow) arrival(end int) arrival {
	i, _ := slices.BinarySearchFunc(f.prefixes, end, func(s segment, end int) int { return cmp.Compare(s.end, end) })
	a := arrival{ns: f.prefixes[i].ns, ownNS: f.prefixes[i].ns}
	// The last byte came in that segment or before.
	for _, s := range f.segments {
		if s.ns >= a.ns {
			break
		}
		if s.begin < end && end <= s.end {
			a.ownNS = min(a.ownNS, s.ns)
		}
	}
	return a
}

// A body is the content of an answer, with the offset of each byte in the stream.
type body struct {
	data []byte
	at   []int
}

func (b *body) add(stream []byte, begin, end int) {
	for i := begin; i < end; i++ {
		b.data, b.at = append(b.data, stream[i]), append(b.at, i)
	}
}

var simID = regexp.MustCompile(`"id": ?"([^"]+)"`)

// events adds the ends of the body's events to ends.
func (b *body) events(ends map[string][]int) error {
	m := simID.FindSubmatch(b.data)
	if m == nil {
		return fmt.Errorf("no id in %.200q", b.data)
	}
	id := string(m[1])
	for from := 0; ; {
		i := bytes.Index(b.data[from:], []byte("\n\n"))
		if i < 0 {
			return nil
		}
		from += i + 2
		ends[id] = append(ends[id], b.at[from-1]+1)
	}
}

// http1Ends finds the events of chunked answers over HTTP/1.1.
func http1Ends(stream []byte) (map[string][]int, error) {
	ends := map[string][]int{}
	for at := 0; at < len(stream); {
		head, _, ok := bytes.Cut(stream[at:], []byte("\r\n\r\n"))
		if !ok {
			return nil, fmt.Errorf("at byte %d: no head", at)
		}
		at += len(head) + 4
		if !bytes.Contains(head, []byte("text/event-stream")) {
			length := regexp.MustCompile(`(?i)content-length: (\d+)`).FindSubmatch(head)
			if length == nil {
				return nil, fmt.Errorf("at byte %d: neither a stream nor a length: %q", at, head)
			}
			n, _ := strconv.Atoi(string(length[1]))
			at += n
			continue
		}
		var b body
		for {
			line, _, ok := bytes.Cut(stream[at:], []byte("\r\n"))
			size, err := strconv.ParseInt(string(line), 16, 32)
			if !ok || err != nil {
				return nil, fmt.Errorf("at byte %d: no chunk: %q, %w", at, line, err)
			}
			at += len(line) + 2
			b.add(stream, at, at+int(size))
			at += int(size) + 2
			if size == 0 {
				break
			}
		}
		if err := b.events(ends); err != nil {
			return nil, err
		}
	}
	return ends, nil
}

// http2Bodies returns the bodies of the streams of a server's HTTP/2 connection.
func http2Bodies(stream []byte) map[uint32]*body {
	const headBytes, data = 9, 0
	bodies := map[uint32]*body{}
	for at := 0; at+headBytes <= len(stream); {
		size := int(stream[at])<<16 | int(stream[at+1])<<8 | int(stream[at+2])
		id := binary.BigEndian.Uint32(stream[at+5:])
		begin := at + headBytes
		at = begin + size
		if stream[begin-6] == data && at <= len(stream) { // none is padded
			if bodies[id] == nil {
				bodies[id] = &body{}
			}
			bodies[id].add(stream, begin, at)
		}
	}
	return bodies
}

// http2Ends finds the events of answers over HTTP/2.
func http2Ends(stream []byte) (map[string][]int, error) {
	ends := map[string][]int{}
	for _, b := range http2Bodies(stream) {
		if simID.Match(b.data) {
			if err := b.events(ends); err != nil {
				return nil, err
			}
		}
	}
	return ends, nil
}

// grpcEnds finds the messages of ModelStreamInfer.
func grpcEnds(stream []byte) (map[string][]int, error) {
	ends := map[string][]int{}
	for _, b := range http2Bodies(stream) {
		for at := 0; at+5 <= len(b.data); {
			end := at + 5 + int(binary.BigEndian.Uint32(b.data[at+1:]))
			var m pb.ModelStreamInferResponse
			if end > len(b.data) || proto.Unmarshal(b.data[at+5:end], &m) != nil || m.GetInferResponse() == nil {
				break // an answer of another call
			}
			if id := m.GetInferResponse().GetId(); id != "" {
				ends[id] = append(ends[id], b.at[end-1]+1)
			}
			at = end
		}
	}
	return ends, nil
}

// A tlsProxy ends TLS in front of a plain server. It writes what the server sends in TLS
// records of its own and notes where each of them ends.
type tlsProxy struct {
	ln      net.Listener
	running sync.WaitGroup

	mu    sync.Mutex // guards conns
	conns map[int]*tlsStream
}

// A tlsStream is what a tlsProxy sent on a connection.
type tlsStream struct {
	net.Conn
	sent  int // bytes, all of them
	plain []byte
	ends  []segment // record by record: end in plain, and in what was sent as begin
}

// Write counts the bytes of the connection below TLS.
func (s *tlsStream) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	s.sent += n
	return n, err
}

func startTLSProxy(link *nettest.Link, addr, server string) (*tlsProxy, error) {
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	p := &tlsProxy{ln: ln, conns: map[int]*tlsStream{}}
	config := &tls.Config{Certificates: certified.TLS.Certificates, DynamicRecordSizingDisabled: true, NextProtos: []string{"http/1.1"}}
	p.running.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() {
				defer nc.Close()
				var behind net.Conn
				link.In(0, func() { behind, err = net.Dial("tcp", server) })
				if err != nil {
					return
				}
				s := &tlsStream{Conn: nc}
				p.mu.Lock()
				p.conns[nc.RemoteAddr().(*net.TCPAddr).Port] = s
				p.mu.Unlock()
				s.serve(tls.Server(s, config), behind)
			})
		}
	})
	return p, nil
}

// serve copies both ways until an end is closed.
func (s *tlsStream) serve(client *tls.Conn, server net.Conn) {
	var up sync.WaitGroup
	defer up.Wait()
	defer client.Close()
	defer server.Close()
	if client.Handshake() != nil {
		return
	}
	up.Go(func() {
		_, _ = io.Copy(server, client) // the end of the connection
		_ = server.Close()
	})
	buf := make([]byte, 8<<10)
	for {
		n, err := server.Read(buf)
		if n > 0 {
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
			s.plain = append(s.plain, buf[:n]...)
			s.ends = append(s.ends, segment{begin: s.sent, end: len(s.plain)})
		}
		if err != nil {
			return
		}
	}
}

// connection returns what the proxy sent to a port before TLS, and the offset in what it
// sent after TLS of the end of the record with the byte before an offset. The connection
// must have ended.
func (p *tlsProxy) connection(port int) (plain []byte, rawOffset func(offset int) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.conns[port]
	return s.plain, func(offset int) int {
		i, _ := slices.BinarySearchFunc(s.ends, offset, func(e segment, offset int) int { return cmp.Compare(e.end, offset) })
		return s.ends[i].begin
	}
}

func (p *tlsProxy) close() {
	_ = p.ln.Close()
	p.running.Wait()
}
