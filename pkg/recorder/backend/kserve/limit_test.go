package kserve

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// An answer longer than MaxAnswerMemory ends its request, not the next one.
func TestMaxAnswerMemory(t *testing.T) {
	const limit = 10_000
	for _, c := range []Config{{Protocol: GRPC, Streaming: true}, {Protocol: GRPC}, {}} {
		t.Run(fmt.Sprintf("%s %v", c.Protocol, c.Streaming), func(t *testing.T) {
			b, s, p := openLimited(t, limit, c)
			r := &exchange(t.Context(), t, b, s, p, 1).Request
			if want := "the answer exceeds its memory budget of 10000 bytes; --max-answer-memory raises it"; r.Status != export.StatusProtocolError || r.Message != want || len(r.Responses) != 0 {
				t.Errorf("too long: %v %q, %d responses", r.Status, r.Message, len(r.Responses))
			}
			if r := &exchange(t.Context(), t, b, s, p, 2).Request; r.Status != export.StatusOK {
				t.Errorf("within the limit: %v %q", r.Status, r.Message)
			}
		})
	}
}

// openLimited opens a slot of a backend with the configuration c, whose answers may have limit bytes. The answer
// to request 1 is longer; other answers are shorter.
func openLimited(t *testing.T, limit int, c Config) (*Backend, backend.Sender, backend.Payload) {
	t.Helper()
	f := startFake(t, func(_ context.Context, req *wire.Request, send func(wire.Response)) error {
		n := limit / 2
		if req.ID == "1" {
			n = limit
		}
		send(text(req.ID, strings.Repeat("x", n), final))
		return nil
	})
	c.Model, c.MaxAnswerMemory = "adder", int64(limit)
	b := f.open(t, c)
	return b, openSlot(t, b, 0), prepare(t, b, entry("A", "[1,2]"))
}

func TestReadBodyLimit(t *testing.T) {
	for _, tt := range []struct {
		name    string
		n       int
		flush   bool
		limit   int64
		tooLong bool
	}{
		{"edge: empty", 0, false, 1, false},
		{"edge: as long as allowed", 1000, false, 1000, false},
		{"one more", 1001, false, 1000, true},
		{"edge: as long as allowed, length unknown", 1000, true, 1000, false},
		{"one more, length unknown", 1001, true, 1000, true},
		{"longer than a length is trusted", trustedBytes + 1, false, trustedBytes + 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.flush {
					w.(http.Flusher).Flush()
				} else {
					w.Header().Set("Content-Length", fmt.Sprint(tt.n))
				}
				fmt.Fprint(w, strings.Repeat("x", tt.n))
			}))
			defer h.Close()
			resp, err := h.Client().Get(h.URL)
			if err != nil {
				t.Fatal(err)
			}
			body, err := readBody(resp, tt.limit)
			if tt.tooLong {
				if want := fmt.Sprintf("the answer exceeds its memory budget of %d bytes; --max-answer-memory raises it", tt.limit); fmt.Sprint(err) != want {
					t.Errorf("got %d bytes, %v; want %s", len(body), err, want)
				}
			} else if err != nil || len(body) != tt.n {
				t.Errorf("got %d bytes, %v; want %d", len(body), err, tt.n)
			}
		})
	}
}

// For any shapes that a server claims, Prepare returns an error: it neither panics nor allocates
// that much.
func TestPrepareHostileShapes(t *testing.T) {
	generated := func(k workload.FillKind) *workload.Entry { return &workload.Entry{Fill: workload.Fill{Kind: k}} }
	const half = 1 << 27
	for _, tt := range []struct {
		name  string
		dt    wire.Datatype
		shape []int64
		e     *workload.Entry
		batch int
		want  string
	}{
		{"product is 0 in 64 bits", wire.INT32, []int64{1 << 32, 1 << 32, -1}, entry("X", "[1,2]"), 1, "the model's shape [4294967296,4294967296,-1] is too large"},
		{"product is negative in 64 bits", wire.INT32, []int64{1 << 62, 2, -1}, entry("X", "[1,2]"), 1, "the model's shape [4611686018427387904,2,-1] is too large"},
		{"edge: product fits", wire.INT32, []int64{math.MaxInt64, -1}, entry("X", "[1,2]"), 1, `the model leaves shape [9223372036854775807,-1] open; give --shape X:DIMS, or "shape" beside the data`},
		{"data for a closed shape", wire.INT32, []int64{1 << 32, 1 << 32}, entry("X", "[1,2]"), 1, "shape [4294967296,4294967296] is too large"},
		{"random", wire.FP32, []int64{1 << 40}, generated(workload.FillRandom), 1, "shape [1099511627776] of FP32: more than 268435456 bytes to generate"},
		{"zero", wire.FP32, []int64{1 << 40}, generated(workload.FillZero), 1, "shape [1099511627776] of FP32: more than 268435456 bytes to generate"},
		{"empty strings", wire.BYTES, []int64{1 << 40}, generated(workload.FillZero), 1, "1099511627776 strings of 0 bytes: more than 268435456 bytes to generate"},
		{"overflow", wire.BOOL, []int64{1 << 32, 1 << 32}, generated(workload.FillZero), 1, "shape [4294967296,4294967296] is too large"},
		{"a batch of large elements", wire.BOOL, []int64{half}, generated(workload.FillZero), 9, "the request would hold more than 1073741824 bytes of data"},
		{"no element, long strings", wire.BYTES, []int64{0}, &workload.Entry{Fill: workload.Fill{Kind: workload.FillRandom, StringLength: math.MaxInt}}, 1, "0 strings of 9223372036854775807 bytes: more than 268435456 bytes to generate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := fakeModel{name: "hostile", maxBatch: 16, inputs: []tensorSpec{{Name: "X", Datatype: tt.dt, Shape: tt.shape}}}
			_, err := checked(t, m, Config{BatchSize: tt.batch}).Prepare(tt.e)
			if err == nil || !strings.HasSuffix(err.Error(), `input "X": `+tt.want) {
				t.Errorf("\ngot  %v\nwant … %s", err, tt.want)
			}
		})
	}
}

// All inputs of a request share one bound.
func TestPrepareHostileInputs(t *testing.T) {
	b := checked(t, fakeModel{name: "m"}, Config{})
	spec := &tensorSpec{Name: "X", Datatype: wire.BOOL, Shape: []int64{100}}
	es := []*workload.Entry{{Fill: workload.Fill{Kind: workload.FillZero}}}
	if _, _, err := b.tensor(spec, es, 100); err != nil {
		t.Errorf("100 bytes of 100: %v", err)
	}
	if _, _, err := b.tensor(spec, es, 99); fmt.Sprint(err) != `input data, stream 0, step 0: input "X": the request would hold more than 1073741824 bytes of data` {
		t.Errorf("100 bytes of 99: %v", err)
	}
}

// A server that refuses a request as too long is not mistaken for an answer
// that is.
func TestIsTooLong(t *testing.T) {
	b, err := New(Config{Model: "m", MaxAnswerMemory: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]export.Status{
		"grpc: received message larger than max (1001 vs. 1000)": export.StatusProtocolError,
		"grpc: received message larger than max (5000 vs. 4000)": export.StatusRPCError,
		"rate limit (1001 vs. 1000)":                             export.StatusRPCError,
	} {
		var r export.Request
		b.fail(t.Context(), &r, status.Error(codes.ResourceExhausted, text), true)
		if r.Status != want {
			t.Errorf("%q: %v, want %v", text, r.Status, want)
		}
	}
}
