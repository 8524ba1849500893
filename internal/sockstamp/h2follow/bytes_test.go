package h2follow

import (
	"math/rand/v2"
	"testing"

	"github.com/pa-tools/pa/internal/sockstamp"
)

// However what is received is chopped, each byte of DATA has the ordinal of the
// read that brought it; padding, other streams, other frames and trailers do
// not count.
func TestBytes(t *testing.T) {
	client := newScript(true)
	client.headers(1, true, 0, ":method", "POST")
	client.headers(3, true, 1, ":method", "POST")
	server := newScript(false)
	// at[id] has the offsets in the byte stream of the DATA of a stream.
	at := map[uint32][]int{}
	heads := map[uint32][2]int{} // offsets: head of the first frame complete, headers complete
	head := func(id uint32, cuts int, fields ...string) {
		first := server.Len() + headBytes - 1
		server.headers(id, false, cuts, fields...)
		if h, ok := heads[id]; ok {
			first = h[0]
		}
		heads[id] = [2]int{first, server.Len() - 1}
	}
	data := func(id uint32, last bool, n, pad int) {
		begin := server.Len() + headBytes
		p := make([]byte, n)
		if pad > 0 {
			begin++
			must(server.framer.WriteDataPadded(id, last, p, make([]byte, pad-1)))
		} else {
			must(server.framer.WriteData(id, last, p))
		}
		for i := range n {
			at[id] = append(at[id], begin+i)
		}
	}
	head(1, 0, ":status", "103") // an interim answer
	head(1, 2, ":status", "200", "content-type", "text/event-stream")
	data(1, false, 40, 0)
	data(1, false, 7, 9)
	must(server.framer.WriteWindowUpdate(0, 100))
	head(3, 0, ":status", "200")
	data(3, false, 100, 0)
	data(1, false, 0, 0)
	must(server.framer.WritePing(false, [8]byte{}))
	data(1, false, 300, 200)
	data(3, true, 5, 3)
	server.headers(1, true, 0, "grpc-status", "0") // trailers
	rng := rand.New(rand.NewPCG(3, 4))
	for most := 1; most < 200; most += 7 {
		pieces := chop(server.Bytes(), rng, most)
		ordinals := make([]uint64, 0, server.Len()) // of each byte
		for i, p := range pieces {
			for range p {
				ordinals = append(ordinals, uint64(i+1))
			}
		}
		f := over(t, &chopped{pieces: pieces}, Config{Bytes: true})
		if _, err := f.Write(client.Bytes()); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(f); err != nil || f.Err() != nil {
			t.Fatal(err, f.Err())
		}
		for id, offsets := range at {
			for k := 0; k < len(offsets); {
				st, end, ok := f.At(id, uint64(k))
				if !ok || st.Source != sockstamp.User || int(end) <= k || int(end) > len(offsets) {
					t.Fatalf("stream %d, byte %d: %v until %d, %v", id, k, st, end, ok)
				}
				for ; k < int(end); k++ {
					if want := ordinals[offsets[k]]; st.Ordinal != want {
						t.Fatalf("stream %d, byte %d came with read %d, want %d", id, k, st.Ordinal, want)
					}
				}
			}
			if _, _, ok := f.At(id, uint64(len(offsets))); ok {
				t.Errorf("stream %d: a byte after the last", id)
			}
			first, last, ok := f.Head(id)
			want := [2]uint64{ordinals[heads[id][0]], ordinals[heads[id][1]]}
			if got := [2]uint64{first.Ordinal, last.Ordinal}; !ok || got != want {
				t.Errorf("stream %d: headers with reads %d, want %d", id, got, want)
			}
		}
	}
}

// A request is one message from its headers to the end of its body.
func TestBytesSent(t *testing.T) {
	for _, tt := range []struct {
		name   string
		writes func(s *script)
		whole  bool
	}{
		{"no body", func(s *script) { s.headers(1, true, 0, ":method", "GET") }, true},
		{"headers in two frames", func(s *script) { s.headers(1, true, 1, ":method", "GET") }, true},
		{"body", func(s *script) {
			s.headers(1, false, 0, ":method", "POST")
			must(s.framer.WriteData(1, false, make([]byte, 100)))
			must(s.framer.WriteData(1, true, make([]byte, 10)))
		}, true},
		{"body that goes on", func(s *script) {
			s.headers(1, false, 0, ":method", "POST")
			must(s.framer.WriteData(1, false, make([]byte, 100)))
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(true)
			tt.writes(s)
			f := over(t, &chopped{}, Config{Bytes: true})
			for p := range s.Len() { // what is before the stream may come in any pieces
				if _, err := f.Write(s.Bytes()[p : p+1]); err != nil {
					t.Fatal(err)
				}
			}
			start, sent, ok := f.Sent(f.Newest(), 0)
			if ok != tt.whole || f.Err() != nil {
				t.Fatalf("whole = %v, %v", ok, f.Err())
			}
			if ok && (start.NS == 0 || sent.NS < start.NS) {
				t.Errorf("start %v, sent %v", start, sent)
			}
		})
	}
}

// Spans that nobody asks for are dropped, the oldest first.
func TestBytesBounded(t *testing.T) {
	var b body
	for i := range 1000 {
		b.add(10, sockstamp.Stamp{NS: 1, Ordinal: uint64(i)}, 16)
		if n := len(b.spans) - b.past; n > 16 {
			t.Fatalf("%d spans", n)
		}
	}
	if len(b.spans) > 64 {
		t.Errorf("%d spans in memory", len(b.spans))
	}
	if _, ok := b.find(9000); ok {
		t.Error("a dropped byte is there")
	}
	if s, ok := b.find(9845); !ok || s.at.Ordinal != 984 {
		t.Errorf("byte 9845: %+v, %v", s, ok)
	}
}
