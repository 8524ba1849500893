package openai

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// An endless answer of events that say nothing ends as a failed row that says
// why, and takes little memory, however small the events are.
func TestFlood(t *testing.T) { onEach(t, testFlood) }

func testFlood(t *testing.T, tr Transport) {
	const budget = 1 << 20
	// Large enough for what the budget lets in and the allocator rounds up, of
	// all that was ever allocated: less than a tenth of what 3-byte events took
	// when only their bytes were bounded.
	const most = 8 * budget
	for _, flood := range []string{":\n\n", "data:\n\n", "data: {}\n\n", "data: null\n\n", "data: {\"a\":1}\n\n"} {
		t.Run(fmt.Sprintf("%q", flood), func(t *testing.T) {
			piece := chunk(strings.Repeat(flood, 4096))
			addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
				for ok := write(c, streamHead+"Transfer-Encoding: chunked\r\n\r\n"); ok; ok = write(c, piece) {
				}
				return false
			})
			b := newBackend(t, Config{Transport: tr, URL: addr, MaxAnswerMemory: budget})
			s := open(t, b)
			before := allocated()
			x := exchange(t.Context(), t, b, s, `{}`)
			if took := allocated() - before; took > most {
				t.Errorf("allocated %d bytes with a budget of %d, want at most %d", took, budget, most)
			}
			r := &x.Request
			const want = "the answer exceeds its memory budget of 1048576 bytes; --max-answer-memory raises it"
			if r.Status != export.StatusProtocolError || r.Message != want {
				t.Errorf("%v, %q; want a protocol error that says %q", r.Status, r.Message, want)
			}
			if len(x.Raw) > 16 || r.UnrecordedEvents < budget/(backend.EventMemory+len(flood))/2 {
				t.Errorf("%d events kept, %d counted", len(x.Raw), r.UnrecordedEvents)
			}
		})
	}
}

// allocated is how many bytes there ever were.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A long answer of real tokens is recorded to its end, and so is one with more
// keep-alives than are recorded one by one.
func TestLongAnswer(t *testing.T) { onEach(t, testLongAnswer) }

func testLongAnswer(t *testing.T, tr Transport) {
	const tokens, pings = 100_000, 3000
	token := `data: {"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1700000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	piece := chunk(strings.Repeat(token, 100))
	addr := serveRaw(t, func(c net.Conn, _ int, _ []byte) bool {
		ok := write(c, streamHead+"Transfer-Encoding: chunked\r\n\r\n"+chunk(strings.Repeat(": ping\n\n", pings)))
		for i := 0; ok && i < tokens; i += 100 {
			ok = write(c, piece)
		}
		return ok && write(c, chunk(done)+"0\r\n\r\n")
	})
	b := newBackend(t, Config{Transport: tr, URL: addr})
	x := exchange(t.Context(), t, b, open(t, b), `{}`)
	r := &x.Request
	if r.Status != export.StatusOK || x.Tokens.N != tokens || len(r.Responses) != tokens+backend.RecordedEmptyEvents+1 || r.UnrecordedEvents != pings-backend.RecordedEmptyEvents {
		t.Errorf("%v %q: %d tokens, %d responses, %d events counted", r.Status, r.Message, x.Tokens.N, len(r.Responses), r.UnrecordedEvents)
	}
}
