package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/export"
)

// Times are the kernel's where the socket has them, over TLS too, and the
// user's elsewhere; each says which.
func TestStampSources(t *testing.T) { onEach(t, testStampSources) }

func testStampSources(t *testing.T, tr Transport) {
	defer sockstamp.Hold()()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"index\":0}]}\n\n", "data: [DONE]\n\n"} {
			_, _ = io.WriteString(w, event)
			_ = http.NewResponseController(w).Flush()
		}
	})
	plain := httptest.NewServer(handler)
	defer plain.Close()
	secure := httptest.NewTLSServer(handler)
	defer secure.Close()
	servers := map[string]*httptest.Server{"plain": plain, "TLS": secure}
	if tr == Loop {
		delete(servers, "TLS")
	}
	for name, srv := range servers {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Transport: tr, URL: srv.URL}
			if c := srv.Client().Transport.(*http.Transport).TLSClientConfig; c != nil && name == "TLS" {
				cfg.TLS = c
			}
			b := newBackend(t, cfg)
			s := open(t, b)
			for range 3 { // on one connection
				x := exchange(t.Context(), t, b, s, `{}`)
				r := &x.Request
				if r.Status != export.StatusOK || !s.(connector).connected() {
					t.Fatalf("%v: %s", r.Status, r.Message)
				}
				want := map[bool]export.StampSource{true: export.SourceKernel, false: export.SourceUser}
				receive, transmit, why := s.(connector).stamps()
				if r.StartSource != want[transmit] {
					t.Errorf("start by %v, want %v (%s)", r.StartSource, want[transmit], why)
				}
				for i, p := range r.Responses {
					if p.Source != want[receive] {
						t.Errorf("response %d by %v, want %v (%s)", i, p.Source, want[receive], why)
					}
				}
				if r.IssuedNS > r.StartNS || r.StartNS > r.SentNS || r.SentNS > r.FirstByteNS {
					t.Errorf("issued %d, start %d, sent %d, first byte %d are not in order", r.IssuedNS, r.StartNS, r.SentNS, r.FirstByteNS)
				}
			}
		})
	}
}

// The reads of an answer that were handed on take no memory, and a byte has the stamp of its read.
func TestSpansAreDropped(t *testing.T) {
	t.Parallel()
	c := &stampedHTTPConn{}
	read := func(i int) {
		c.newest = span{read: uint32(i), at: stamp{ns: uint64(i) + 1}}
		c.add(6)
		c.add(4) // two pieces in one read
	}
	const most = 8
	for i := range 1000 {
		read(i)
		for _, offset := range []int64{0, 9} {
			if s := c.at(int64(10*i) + offset); s.read != uint32(i) || s.end != int64(10*i+10) {
				t.Fatalf("byte %d of read %d is of read %d, which ends at %d", offset, i, s.read, s.end)
			}
		}
	}
	if n := cap(c.spans); n > most {
		t.Errorf("%d spans kept, want at most %d", n, most)
	}
	for i := range most { // several reads before the first one is handed on
		read(1000 + i)
	}
	for i := range most {
		if s := c.at(int64(10 * (1000 + i))); s.read != uint32(1000+i) {
			t.Errorf("read %d, want %d", s.read, 1000+i)
		}
	}
}
