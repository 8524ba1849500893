package h2follow

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An event is a message that ended.
type event struct {
	stream uint32
	end    int
}

// follow feeds both directions, the client's first, in the pieces given.
func follow(client, server [][]byte) (events []event, failed bool, names map[string]uint32) {
	t := newTable(Config{Streams: 8, Ended: 4, Messages: 4})
	out := parser{table: &t, what: "written", requests: true, preface: len(preface), headers: newHeaders("pa-stream")}
	in := parser{table: &t, what: "read", incoming: true}
	for i, pieces := range [][][]byte{client, server} {
		r := []*parser{&out, &in}[i]
		offset := 0
		for _, p := range pieces {
			err := r.feed(p, func(s *stream, m extent) {
				if m.begin < 0 || m.begin >= m.end || m.end > len(p) || !m.first && !m.last && m.headEnd == 0 || m.headEnd > m.end {
					panic("extent out of range")
				}
				if m.last {
					events = append(events, event{s.id, offset + m.end})
				}
			})
			if err != nil {
				failed = true
				break
			}
			offset += len(p)
		}
	}
	for _, s := range t.streams {
		if s.id > t.newest {
			panic("a stream newer than the newest")
		}
	}
	if len(t.streams) > 12 || len(t.ended) > 4 || t.open != len(t.streams)-len(t.ended) || len(t.names) > len(t.streams) {
		panic("bounds")
	}
	return events, failed, t.names
}

// However the bytes are chopped, the messages are the same, and so is whether
// they can be followed.
func FuzzChopping(f *testing.F) {
	client := clientScript()
	client.data(1, 0, 50, 0, 3)
	client.data(3, 9, 5)
	f.Add(client.Bytes(), serverScript().Bytes(), uint64(1), uint8(5))
	f.Add(client.Bytes()[:90], serverScript().Bytes()[:200], uint64(2), uint8(1))
	f.Add([]byte(preface), []byte("HTTP/1.1 400"), uint64(3), uint8(2))
	f.Fuzz(func(t *testing.T, client, server []byte, seed uint64, most uint8) {
		r := rand.New(rand.NewPCG(seed, 0))
		want, wantFailed, wantNames := follow([][]byte{client}, [][]byte{server})
		got, failed, names := follow(chop(client, r, 1+int(most)), chop(server, r, 1+int(most)))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(event{})); diff != "" || failed != wantFailed {
			t.Errorf("failed: %v whole, %v in pieces; messages (-whole +pieces):\n%s", wantFailed, failed, diff)
		}
		if diff := cmp.Diff(wantNames, names); diff != "" && !failed {
			t.Errorf("names (-whole +pieces):\n%s", diff)
		}
	})
}
