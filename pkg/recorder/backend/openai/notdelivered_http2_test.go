package openai

import (
	"bytes"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// A request that the server did not process, as HTTP/2 says, is sent again, even if TCP delivered
// it. A request that ends otherwise without an answer is not sent again.
func TestHTTP2NotDelivered(t *testing.T) {
	for name, tt := range map[string]struct {
		second func(f *http2.Framer, stream uint32) error // what comes of the second request
		again  bool
	}{
		"refused": {func(f *http2.Framer, stream uint32) error {
			return f.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		}, true},
		"GOAWAY before it": {func(f *http2.Framer, stream uint32) error {
			return f.WriteGoAway(stream-2, http2.ErrCodeNo, nil)
		}, true},
		"reset":  {func(f *http2.Framer, stream uint32) error { return f.WriteRSTStream(stream, http2.ErrCodeInternal) }, false},
		"closed": {func(*http2.Framer, uint32) error { return io.EOF }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := nettest.Listen(t)
			requests, ended := 0, make(chan bool)
			go func() {
				defer close(ended)
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					serveFrames(c, func(f *http2.Framer, stream uint32) error {
						if requests++; requests == 2 {
							return tt.second(f, stream)
						}
						var head bytes.Buffer
						if err := hpack.NewEncoder(&head).WriteField(hpack.HeaderField{Name: ":status", Value: "200"}); err != nil {
							return err
						}
						return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndHeaders: true, EndStream: true})
					})
				}
			}()
			b := newBackend(t, Config{URL: l.Addr().String(), HTTP2: true})
			s, err := b.Open(t.Context(), 0, rxclock.New())
			if err != nil {
				t.Fatal(err)
			}
			exchange(t.Context(), t, b, s, `{}`)
			r := exchange(t.Context(), t, b, s, `{}`).Request
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			l.Close()
			<-ended
			want, code := 2, 0
			if tt.again {
				want, code = 3, 200
			}
			if requests != want || r.Resent != tt.again || r.Code != code || !tt.again && r.Status != export.StatusTruncated {
				t.Errorf("%v, %d, %q after %d requests, Resent = %v; want %d after %d", r.Status, r.Code, r.Message, requests, r.Resent, code, want)
			}
		})
	}
}

// serveFrames lets answer answer each request on a connection, until it fails.
func serveFrames(c net.Conn, answer func(f *http2.Framer, stream uint32) error) {
	defer c.Close()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	if f.WriteSettings() != nil {
		return
	}
	for {
		fr, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch fr := fr.(type) {
		case *http2.SettingsFrame:
			if !fr.IsAck() {
				err = f.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			if fr.StreamEnded() {
				err = answer(f, fr.StreamID)
			}
		case *http2.DataFrame:
			if fr.StreamEnded() {
				err = answer(f, fr.StreamID)
			}
		}
		if err != nil {
			return
		}
	}
}
