package h2follow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/pa-tools/pa/internal/sockstamp"
)

// A chopped connection returns its pieces one per read, and takes all writes.
type chopped struct {
	net.Conn
	pieces  [][]byte
	written bytes.Buffer
}

func (c *chopped) Read(p []byte) (int, error) {
	if len(c.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.pieces[0])
	if c.pieces[0] = c.pieces[0][n:]; len(c.pieces[0]) == 0 {
		c.pieces = c.pieces[1:]
	}
	return n, nil
}

func (c *chopped) Write(p []byte) (int, error) { return c.written.Write(p) }

// readAll reads whole pieces.
func readAll(f *Follower) ([]byte, error) {
	var all []byte
	for buf := make([]byte, 64<<10); ; {
		n, err := f.Read(buf)
		all = append(all, buf[:n]...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

func over(t testing.TB, c net.Conn, config Config) *Follower {
	t.Helper()
	raw, err := sockstamp.Wrap(c)
	if err != nil {
		t.Fatal(err)
	}
	return New(raw, raw, config)
}

// A script builds the bytes of one direction, and knows where messages end.
type script struct {
	bytes.Buffer
	framer *http2.Framer
	block  bytes.Buffer
	hpack  *hpack.Encoder
	begins map[uint32][]int // offsets of the messages of a stream
	ends   map[uint32][]int // and after them
}

func newScript(client bool) *script {
	s := &script{begins: map[uint32][]int{}, ends: map[uint32][]int{}}
	if client {
		s.WriteString(http2.ClientPreface)
	}
	s.framer = http2.NewFramer(&s.Buffer, nil)
	s.framer.AllowIllegalWrites = true
	s.hpack = hpack.NewEncoder(&s.block)
	must(s.framer.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 100}))
	return s
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// headers writes a header block in as many frames as it has cuts.
func (s *script) headers(id uint32, last bool, cuts int, fields ...string) {
	s.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		must(s.hpack.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	b := s.block.Bytes()
	n := len(b) / (cuts + 1)
	must(s.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: b[:n], EndStream: last, EndHeaders: cuts == 0,
		PadLength: uint8(cuts), Priority: http2.PriorityParam{Weight: uint8(cuts)},
	}))
	for i := range cuts {
		from, to := (i+1)*n, (i+2)*n
		if i == cuts-1 {
			to = len(b)
		}
		must(s.framer.WriteContinuation(id, i == cuts-1, b[from:to]))
	}
}

// message returns a gRPC message of n bytes.
func message(n int) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(n))
	return append(b, bytes.Repeat([]byte{0xee}, n)...)
}

// data writes DATA that holds whole messages of the sizes given.
func (s *script) data(id uint32, pad int, sizes ...int) {
	var b []byte
	var ends []int
	for _, n := range sizes {
		b = append(b, message(n)...)
		ends = append(ends, len(b))
	}
	at := s.Len() + 9
	var padding []byte
	if pad > 0 {
		at++
		padding = make([]byte, pad-1)
	}
	if pad > 0 {
		must(s.framer.WriteDataPadded(id, false, b, padding))
	} else {
		must(s.framer.WriteData(id, false, b))
	}
	for i, e := range ends {
		s.begins[id] = append(s.begins[id], at)
		if i > 0 {
			s.begins[id][len(s.begins[id])-1] += ends[i-1]
		}
		s.ends[id] = append(s.ends[id], at+e)
	}
}

// A server's side of some streams, with everything that may be between.
func serverScript() *script {
	s := newScript(false)
	must(s.framer.WriteSettingsAck())
	must(s.framer.WriteWindowUpdate(0, 1<<20))
	s.headers(1, false, 0, ":status", "200", "content-type", "application/grpc")
	s.headers(3, false, 2, ":status", "200", "content-type", "application/grpc+proto", "long", strings.Repeat("v", 300))
	s.data(1, 0, 10)
	s.data(3, 0, 0) // an empty message
	must(s.framer.WritePing(false, [8]byte{1}))
	s.data(1, 7, 20, 0, 300) // padded, three messages
	s.data(3, 1, 5)          // padded with nothing but the length
	must(s.framer.WriteData(1, false, nil))
	must(s.framer.WriteRawFrame(0xf3, 0xff, 9, []byte("an unknown type")))

	// A message in three frames, another stream's between, the prefix cut.
	m := message(1000)
	s.begins[1] = append(s.begins[1], s.Len()+9)
	must(s.framer.WriteData(1, false, m[:3]))
	s.data(3, 0, 70)
	must(s.framer.WriteDataPadded(1, false, m[3:500], make([]byte, 40)))
	must(s.framer.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: []byte{0x88}, EndHeaders: true}))
	must(s.framer.WriteData(1, false, m[500:]))
	s.ends[1] = append(s.ends[1], s.Len())

	s.headers(1, true, 1, "grpc-status", "0", "grpc-message", "fine") // trailers
	s.data(3, 0, 1)
	must(s.framer.WriteGoAway(3, http2.ErrCodeNo, []byte("bye")))
	must(s.framer.WriteRSTStream(3, http2.ErrCodeCancel))
	return s
}

// A client's side that opens those streams.
func clientScript() *script {
	s := newScript(true)
	for _, id := range []uint32{1, 3} {
		s.headers(id, false, int(id/2), ":method", "POST", ":path", "/x.Y/Z", "pa-stream", strconv.Itoa(int(id)*100))
	}
	return s
}

// chop cuts b at random places.
func chop(b []byte, r *rand.Rand, most int) [][]byte {
	var pieces [][]byte
	for len(b) > 0 {
		n := min(len(b), 1+r.IntN(most))
		pieces = append(pieces, b[:n])
		b = b[n:]
	}
	return pieces
}

// Each message has the ordinals of the reads that began and completed it,
// however the bytes were chopped.
func TestMessages(t *testing.T) {
	server := serverScript()
	for _, most := range []int{1, 2, 3, 7, 20, 100, 5000} {
		for seed := range uint64(20) {
			pieces := chop(server.Bytes(), rand.New(rand.NewPCG(seed, uint64(most))), most)
			var readEnds []int // offset after each read
			total := 0
			for _, p := range pieces {
				total += len(p)
				readEnds = append(readEnds, total)
			}
			type reads struct{ First, Last uint64 }
			readOf := func(offset int) uint64 {
				read := 0
				for readEnds[read] <= offset {
					read++
				}
				return uint64(read + 1)
			}
			want := map[uint32][]reads{}
			for id, ends := range server.ends {
				for k, end := range ends {
					want[id] = append(want[id], reads{readOf(server.begins[id][k]), readOf(end - 1)})
				}
			}
			conn := &chopped{pieces: pieces}
			f := over(t, conn, Config{})
			if _, err := f.Write(clientScript().Bytes()); err != nil {
				t.Fatal(err)
			}
			got, err := readAll(f)
			if err != nil || !bytes.Equal(got, server.Bytes()) {
				t.Fatalf("%d bytes read, %v; want %d", len(got), err, server.Len())
			}
			ordinals := map[uint32][]reads{}
			for _, id := range []uint32{1, 3} {
				for k := 0; ; k++ {
					st, ok := f.Message(id, k)
					if !ok {
						break
					}
					first, ok := f.First(id, k)
					if !ok {
						t.Fatalf("stream %d: message %d has no first byte", id, k)
					}
					ordinals[id] = append(ordinals[id], reads{first.Ordinal, st.Ordinal})
				}
			}
			if diff := cmp.Diff(want, ordinals); diff != "" || f.Err() != nil {
				t.Fatalf("pieces up to %d, seed %d: %v; ordinals (-want +got):\n%s", most, seed, f.Err(), diff)
			}
		}
	}
}

// The follower needs revised stamps from the first message on that the caller has not completed.
func TestComplete(t *testing.T) {
	server := newScript(false)
	pieces := [][]byte{bytes.Clone(server.Bytes())} // read 1
	for _, id := range []uint32{1, 1, 3, 1, 3} {    // reads 2 to 6
		before := server.Len()
		server.data(id, 0, 10)
		pieces = append(pieces, bytes.Clone(server.Bytes()[before:]))
	}
	conn := &chopped{pieces: pieces}
	f := over(t, conn, Config{})
	if _, err := f.Write(clientScript().Bytes()); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(f); err != nil {
		t.Fatal(err)
	}
	ask := func(id uint32, k int) {
		t.Helper()
		if _, ok := f.Message(id, k); !ok {
			t.Fatalf("stream %d has no message %d", id, k)
		}
	}
	for _, step := range []struct {
		what string
		do   func()
		want uint64
	}{
		{"nothing is asked for", func() {}, 1},
		{"stream 1, message 0", func() { ask(1, 0); f.Complete(1) }, 2},
		{"stream 1, message 1, which waits for stream 3", func() { ask(1, 1); f.Complete(1) }, 3},
		{"stream 3, message 1 is asked for, but not complete", func() { ask(3, 1) }, 3},
		{"stream 3 is complete", func() { f.Complete(3) }, 4},
		{"an unknown stream", func() { f.Complete(77); f.Forget(77) }, 4},
		{"stream 1 is forgotten", func() { f.Forget(1) }, 6},
	} {
		step.do()
		if got := f.lastUnneeded(); got != step.want {
			t.Errorf("%s: no revised stamp up to read %d is needed, want %d", step.what, got, step.want)
		}
	}
}

// After a frame that breaks the rules no message follows, so later reads need no revised stamps.
func TestCompleteAfterError(t *testing.T) {
	server := newScript(false)
	server.data(1, 0, 10)
	pieces := [][]byte{bytes.Clone(server.Bytes()), []byte("\x00\x00\x01\x09\x00\x00\x00\x00\x01\x88"), []byte("more"), []byte("more")}
	f := over(t, &chopped{pieces: pieces}, Config{})
	if _, err := f.Write(clientScript().Bytes()); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(f); err != nil || f.Err() == nil {
		t.Fatal(err, f.Err())
	}
	f.Message(1, 0)
	f.Complete(1)
	if got := f.lastUnneeded(); got != 4 {
		t.Errorf("no revised stamp up to read %d is needed, want 4", got)
	}
}

// A server's Follower follows the same bytes the other way round.
func TestServer(t *testing.T) {
	client := clientScript()
	client.data(1, 0, 50)
	client.data(3, 9, 5, 6)
	f := over(t, &chopped{pieces: [][]byte{client.Bytes()}}, Config{Server: true, Header: "pa-stream"})
	if _, err := readAll(f); err != nil {
		t.Fatal(err)
	}
	before := uint64(time.Now().UnixNano())
	if _, err := f.Write(serverScript().Bytes()); err != nil {
		t.Fatal(err)
	}
	after := uint64(time.Now().UnixNano())
	for id, n := range map[uint32]int{1: 1, 3: 2} {
		if st, ok := f.Message(id, n-1); !ok || st.Ordinal != 1 {
			t.Errorf("stream %d: %+v, %v", id, st, ok)
		}
		if _, ok := f.Message(id, n); ok {
			t.Errorf("stream %d has message %d", id, n)
		}
	}
	for id, ends := range serverScript().ends {
		for k := range ends {
			start, sent, ok := f.Sent(id, k)
			if !ok || start.NS < before || sent.NS < start.NS || sent.NS > after {
				t.Errorf("stream %d, message %d: %+v, %+v, %v; written from %d to %d", id, k, start, sent, ok, before, after)
			}
		}
		if _, _, ok := f.Sent(id, len(ends)); ok {
			t.Errorf("stream %d has message %d", id, len(ends))
		}
	}
	if id, ok := f.Stream("300"); id != 3 || !ok || f.Err() != nil {
		t.Errorf(`Stream("300") = %d, %v, %v`, id, ok, f.Err())
	}
}

func TestStreamNames(t *testing.T) {
	s := newScript(true)
	fields := func(name string) []string {
		return []string{
			":method", "POST", ":scheme", "http", ":path", "/inference.GRPCInferenceService/ModelStreamInfer",
			"pa-stream", name, "user-agent", "x", "other", strings.Repeat("y", 200),
		}
	}
	for i := range 50 {
		s.headers(uint32(2*i+1), false, i%4, fields("s"+strconv.Itoa(i))...)
	}
	s.hpack.SetMaxDynamicTableSize(100) // as the server's settings may ask for
	s.headers(101, false, 0, fields("small")...)
	s.hpack.SetMaxDynamicTableSize(60_000)
	s.headers(103, false, 0, fields("large")...)
	s.headers(105, false, 0, fields("s7")...) // again
	s.headers(107, false, 0, ":method", "POST")
	s.headers(109, false, 0, "pa-stream", strings.Repeat("z", maxNameBytes+1))
	for _, most := range []int{1, 11, 1 << 20} {
		f := over(t, &chopped{}, Config{Header: "pa-stream"})
		for _, p := range chop(s.Bytes(), rand.New(rand.NewPCG(1, 2)), most) {
			if _, err := f.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		if f.Err() != nil {
			t.Fatal(f.Err())
		}
		for name, want := range map[string]uint32{"s0": 1, "s49": 99, "small": 101, "large": 103, "s7": 105, "s8": 17, "": 0, "none": 0} {
			if got, ok := f.Stream(name); got != want || ok != (want != 0) {
				t.Errorf("Stream(%q) = %d, %v, want %d", name, got, ok, want)
			}
		}
		if got := f.Newest(); got != 109 {
			t.Errorf("Newest = %d, want 109", got)
		}
		f.Forget(17)
		f.Forget(17)
		f.Forget(2)
		if got, ok := f.Stream("s8"); ok {
			t.Errorf(`Stream("s8"), forgotten = %d`, got)
		}
	}
}

// A stream is alone while no other RPC goes on: it ends with its answer or a
// reset, not with its request.
func TestAlone(t *testing.T) {
	s := newScript(true)
	var cuts []int
	step := func(do func()) {
		do()
		cuts = append(cuts, s.Len())
	}
	open := func(id uint32, last bool) {
		step(func() { s.headers(id, last, 0, ":method", "POST", ":path", "/x.Y/Z") })
	}
	step(func() {})
	open(1, false)
	open(3, false)
	step(func() { must(s.framer.WriteRSTStream(1, http2.ErrCodeCancel)) })
	step(func() { must(s.framer.WriteData(3, true, nil)) })
	open(5, true)
	step(func() { must(s.framer.WriteRSTStream(3, http2.ErrCodeCancel)) })
	step(func() { must(s.framer.WriteData(0, false, []byte("of no stream, which is not HTTP/2"))) })
	want := []uint32{0, 1, 0, 3, 3, 0, 5, 0} // 0: none

	conn := &chopped{}
	f := over(t, conn, Config{Server: true})
	buf, begin := make([]byte, 64<<10), 0
	for i, end := range cuts {
		conn.pieces = append(conn.pieces, s.Bytes()[begin:end])
		begin = end
		if _, err := f.Read(buf); err != nil {
			t.Fatal(err)
		}
		id, ok := f.Alone()
		if ok != (want[i] != 0) || ok && id != want[i] {
			t.Errorf("step %d: Alone() = %d, %v, want %d", i, id, ok, want[i])
		}
	}

	answer := newScript(false)
	answer.headers(1, true, 0, ":status", "200")
	f = over(t, &chopped{pieces: [][]byte{clientScript().Bytes()}}, Config{Server: true})
	if _, err := f.Read(buf); err != nil {
		t.Fatal(err)
	}
	if id, ok := f.Alone(); ok {
		t.Errorf("of two streams, %d is alone", id)
	}
	if _, err := f.Write(answer.Bytes()); err != nil {
		t.Fatal(err)
	}
	if id, ok := f.Alone(); !ok || id != 3 {
		t.Errorf("after the answer to the other: Alone() = %d, %v, want 3", id, ok)
	}
}

// Stamps are dropped when later ones are asked for, and the oldest when there
// are too many.
func TestBounds(t *testing.T) {
	client := newScript(true)
	for id := uint32(1); id < 40; id += 2 {
		client.headers(id, true, 0, ":path", "/x", "pa-stream", strconv.Itoa(int(id)))
	}
	server := newScript(false)
	server.data(1, 0, make([]int, 10)...)
	for id := uint32(5); id < 40; id += 2 { // 3 goes on
		server.data(id, 0, 1)
		server.headers(id, true, 0, "grpc-status", "0")
	}
	f := over(t, &chopped{pieces: [][]byte{server.Bytes()}}, Config{Header: "pa-stream", Streams: 10, Ended: 3, Messages: 4})
	if _, err := f.Write(client.Bytes()); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(f); err != nil || f.Err() != nil {
		t.Fatal(err, f.Err())
	}
	has := func(id uint32, k int) bool { _, ok := f.Message(id, k); return ok }
	for k := range 11 {
		if got, want := has(1, k), k >= 6 && k < 10; got != want {
			t.Errorf("message %d of stream 1 is held: %v, want %v", k, got, want)
		}
	}
	if has(1, 8) || !has(1, 9) || !has(1, 9) || has(1, -1) {
		t.Error("asking for message 9 keeps 8, or drops 9")
	}
	// Ten were followed, the first eight that ended, of which three are kept.
	for id := uint32(5); id < 40; id += 2 {
		want := id == 15 || id == 17 || id == 19
		if got := has(id, 0); got != want {
			t.Errorf("stream %d is held: %v, want %v", id, got, want)
		}
	}
	if n := len(f.table.streams); n != 5 || f.table.open != 2 || len(f.table.ended) != 3 || len(f.table.names) != 5 {
		t.Errorf("%d streams, %d open, %d ended, %d names; want 5, 2, 3, 5", n, f.table.open, len(f.table.ended), len(f.table.names))
	}
	for _, id := range []uint32{1, 3, 15, 17, 19} {
		found := f.table.stream(id)
		f.Forget(id)
		if found == nil || f.table.stream(id) != nil {
			t.Errorf("stream %d was there: %v; it is found after it was forgotten: %v", id, found != nil, f.table.stream(id) != nil)
		}
	}
	if len(f.table.streams)+f.table.open+len(f.table.ended)+len(f.table.names) > 0 {
		t.Errorf("after all were forgotten: %+v", f.table)
	}
}

// Bytes that are not HTTP/2 are passed on, but not followed.
func TestNotHTTP2(t *testing.T) {
	frame := func(length int, typ, flags byte, id uint32, payload string) string {
		b := []byte{byte(length >> 16), byte(length >> 8), byte(length), typ, flags}
		return string(binary.BigEndian.AppendUint32(b, id)) + payload
	}
	settings := frame(0, frameSettings, 0, 0, "")
	tests := []struct {
		name, read, want string
	}{
		{"HTTP/1.1", "HTTP/1.1 400 Bad Request\r\n\r\n", "the first must have the settings"},
		{"no settings", frame(8, framePing, 0, 0, "12345678"), "the first must have the settings"},
		{"acknowledged before they were sent", frame(0, frameSettings, flagAck, 0, ""), "the first must have the settings"},
		{"settings of a stream", frame(0, frameSettings, 0, 1, ""), "a multiple of 6 bytes"},
		{"settings cut", settings + frame(5, frameSettings, 0, 0, ""), "a multiple of 6 bytes"},
		{"data of no stream", settings + frame(1, frameData, 0, 0, "x"), "it must be of a stream"},
		{"data of a stream nobody opened", settings + frame(1, frameData, 0, 5, "x"), "nobody opened that stream"},
		{"headers of no stream", settings + frame(0, frameHeaders, flagEndHeaders, 0, ""), "it must be of a stream"},
		{"continues nothing", settings + frame(0, frameContinuation, 0, 1, ""), "it continues nothing"},
		{"headers cut", settings + frame(0, frameHeaders, 0, 1, "") + frame(0, frameData, 0, 1, ""), "the headers of stream 1 are not complete"},
		{"headers go on elsewhere", settings + frame(0, frameHeaders, 0, 1, "") + frame(0, frameContinuation, 4, 3, ""), "the headers of stream 1 are not complete"},
		{"more padding than frame", settings + frame(3, frameData, flagPadded, 1, "\x03ab"), "3 bytes of padding in a frame that has 2 more"},
		{"no room for the padding's length", settings + frame(0, frameData, flagPadded, 1, ""), "has 0 bytes"},
		{"no room for the priority", settings + frame(4, frameHeaders, flagPriority, 1, ""), "has 4 bytes"},
		{"padding into the priority", settings + frame(7, frameHeaders, flagPriority|flagPadded, 1, "\x02"), "2 bytes of padding"},
		{"a short ping", settings + frame(7, framePing, 0, 0, ""), "8 bytes"},
		{"a short reset", settings + frame(3, frameReset, 0, 1, ""), "4 bytes"},
		{"a short priority", settings + frame(4, framePriority, 0, 1, ""), "5 bytes"},
		{"a short goodbye", settings + frame(7, frameGoAway, 0, 0, ""), "8 bytes or more"},
		{"a long window update", settings + frame(5, frameWindowUpdate, 0, 0, ""), "4 bytes"},
	}
	for _, tt := range tests {
		f := over(t, &chopped{pieces: [][]byte{[]byte(tt.read), []byte("more")}}, Config{})
		if _, err := f.Write(clientScript().Bytes()); err != nil || f.Err() != nil {
			t.Fatal(err, f.Err())
		}
		got, err := readAll(f)
		if err != nil || string(got) != tt.read+"more" {
			t.Errorf("%s: read %q, %v", tt.name, got, err)
		}
		if err := f.Err(); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "of what was read: ") {
			t.Errorf("%s: Err = %v, want %q in it", tt.name, err, tt.want)
		}
		if _, ok := f.Message(1, 0); ok {
			t.Errorf("%s: it has messages", tt.name)
		}
	}
	f := over(t, &chopped{}, Config{Header: "pa-stream"})
	if _, err := f.Write([]byte("PRI * HTTP/2.1")); err != nil || f.Err() == nil {
		t.Errorf("preface of another version: %v, %v", err, f.Err())
	}
	f = over(t, &chopped{}, Config{Header: "pa-stream"})
	bad := http2.ClientPreface + settings + frame(2, frameHeaders, flagEndHeaders, 1, "\xff\xff")
	if _, err := f.Write([]byte(bad)); err != nil || f.Err() == nil || !strings.Contains(f.Err().Error(), "headers: ") {
		t.Errorf("headers that are none: %v, %v", err, f.Err())
	}
}

// After a frame that breaks HTTP/2, the follower follows no more answers. Messages before the frame keep their
// stamps, even if the frame came in the same read. The follower still follows requests.
func TestStrayFrame(t *testing.T) {
	for name, stray := range map[string]string{
		"data of a stream nobody opened": "\x00\x00\x01\x00\x00\x00\x00\x0f\xa1x",
		"continuation":                   "\x00\x00\x01\x09\x00\x00\x00\x00\x01\x88",
	} {
		server := newScript(false)
		server.headers(1, false, 0, ":status", "200")
		server.data(1, 0, 7)
		server.data(1, 0, 9)
		whole := server.Len()
		server.WriteString(stray)
		server.data(1, 0, 5)
		first := server.begins[1][1] // the second message begins in the second read
		bytes := server.Bytes()
		f := over(t, &chopped{pieces: [][]byte{bytes[:first+1], bytes[first+1:]}}, Config{Header: "pa-stream"})
		client := clientScript()
		if _, err := f.Write(client.Bytes()); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(f); err != nil || f.Err() == nil {
			t.Fatalf("%s, byte %d: %v, error %v", name, whole, err, f.Err())
		}
		for k, want := range []struct{ first, last uint64 }{{1, 1}, {1, 2}} {
			st, ok := f.Message(1, k)
			begin, begun := f.First(1, k)
			if !ok || !begun || begin.Ordinal != want.first || st.Ordinal != want.last {
				t.Errorf("%s: message %d in reads %d to %d, %v, %v; want %v", name, k, begin.Ordinal, st.Ordinal, begun, ok, want)
			}
		}
		if _, ok := f.Message(1, 2); ok {
			t.Errorf("%s: the message after it has a stamp", name)
		}
		client.Reset()
		client.headers(9, false, 0, ":method", "POST", "pa-stream", "later")
		if _, err := f.Write(client.Bytes()); err != nil {
			t.Fatal(err)
		}
		if id, ok := f.Stream("later"); f.Newest() != 9 || id != 9 || !ok {
			t.Errorf("%s: the next request is on stream %d, named %d, %v; want 9", name, f.Newest(), id, ok)
		}
		if _, err := f.Write([]byte("\x00\x00\x01\x09\x00\x00\x00\x00\x01\x88")); err != nil {
			t.Fatal(err)
		}
		if _, ok := f.Message(1, 1); ok {
			t.Errorf("%s: stamps though requests are not followed any more", name)
		}
	}
}

// A stream that carries no gRPC has no messages; the others do.
func TestNotGRPC(t *testing.T) {
	s := newScript(false)
	must(s.framer.WriteData(1, false, []byte("<html>not found</html>")))
	s.data(3, 0, 5)
	f := over(t, &chopped{pieces: [][]byte{s.Bytes()}}, Config{})
	if _, err := f.Write(clientScript().Bytes()); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(f); err != nil {
		t.Fatal(err)
	}
	_, html := f.Message(1, 0)
	_, grpc := f.Message(3, 0)
	if html || !grpc || f.Err() != nil {
		t.Errorf("messages: of HTML %v, of gRPC %v; %v", html, grpc, f.Err())
	}
}

// failing fails its writes.
type failing struct{ chopped }

var errFailing = errors.New("failing")

func (*failing) Write([]byte) (int, error) { return 0, errFailing }

func TestWriteError(t *testing.T) {
	f := over(t, &failing{}, Config{})
	s := clientScript()
	s.data(1, 0, 10)
	if n, err := f.Write(s.Bytes()); n != 0 || !errors.Is(err, errFailing) {
		t.Errorf("Write = %d, %v", n, err)
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	conn := &chopped{}
	f := over(t, conn, Config{})
	if _, err := f.Write(clientScript().Bytes()); err != nil {
		t.Fatal(err)
	}
	first := newScript(false)
	token := &script{begins: map[uint32][]int{}, ends: map[uint32][]int{}}
	token.framer = http2.NewFramer(&token.Buffer, nil)
	token.data(1, 0, 150)
	buf := make([]byte, 4096)
	pieces := make([][]byte, 1)
	k := 0
	read := func(b []byte) {
		pieces[0] = b
		conn.pieces = pieces
		if _, err := f.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
	read(first.Bytes())
	next := func() {
		read(token.Bytes())
		if _, ok := f.Message(1, k); !ok {
			t.Fatalf("no message %d", k)
		}
		k++
	}
	for range 10 {
		next()
	}
	if n := testing.AllocsPerRun(1000, next); n > 0 {
		t.Errorf("%v allocations per message", n)
	}
}

func BenchmarkRead(b *testing.B) {
	conn := &chopped{}
	f := over(b, conn, Config{})
	if _, err := f.Write(clientScript().Bytes()); err != nil {
		b.Fatal(err)
	}
	token := newScript(false)
	settings := token.Len()
	token.data(1, 0, 150)
	buf := make([]byte, 4096)
	pieces := make([][]byte, 1)
	b.ReportAllocs()
	for k := 0; b.Loop(); k++ {
		pieces[0] = token.Bytes()
		if k > 0 {
			pieces[0] = pieces[0][settings:]
		}
		conn.pieces = pieces
		if _, err := f.Read(buf); err != nil {
			b.Fatal(err)
		}
		if _, ok := f.Message(1, k); !ok {
			b.Fatalf("no message %d: %v", k, f.Err())
		}
	}
}
