package openai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/export"
)

// serveHTTP2 runs h on a server that speaks HTTP/2 only, and returns how to
// reach it.
func serveHTTP2(t testing.TB, secure bool, h http.HandlerFunc) Config {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	cfg := Config{HTTP2: true}
	if secure {
		srv.EnableHTTP2 = true
		srv.StartTLS()
		pool := x509.NewCertPool()
		pool.AddCert(srv.Certificate())
		cfg.TLS = &tls.Config{RootCAs: pool}
	} else {
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		srv.Config.Protocols = &protocols
		srv.Start()
	}
	t.Cleanup(srv.Close)
	cfg.URL = srv.URL
	return cfg
}

// bothWays runs a test over TLS and with prior knowledge.
func bothWays(t *testing.T, run func(t *testing.T, secure bool)) {
	t.Run("TLS", func(t *testing.T) { run(t, true) })
	t.Run("prior knowledge", func(t *testing.T) { run(t, false) })
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// Streams and bodies over HTTP/2 give the same rows as over HTTP/1; the connection is kept.
func TestHTTP2(t *testing.T) {
	bothWays(t, func(t *testing.T, secure bool) {
		long := `{"id":"c","choices":[],"x":"` + strings.Repeat("y", 6<<20) + `"}` // longer than the windows
		cfg := serveHTTP2(t, secure, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.ProtoMajor != 2 || r.UserAgent() != "pa-record" || r.Header.Get("X-A") != "b" || r.Header.Get("Accept-Encoding") != "" {
				t.Errorf("HTTP/%d, header %v", r.ProtoMajor, r.Header)
			}
			switch kind := string(body); {
			case strings.Contains(kind, "whole"):
				_, _ = io.WriteString(w, long)
			case strings.Contains(kind, "error"):
				http.Error(w, "no", http.StatusTeapot)
			default:
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Trailer", "X-End")
				for _, e := range chat {
					fmt.Fprint(w, e)
					flush(w)
				}
				w.Header().Set("X-End", "1")
			}
		})
		cfg.Headers = []Header{{"x-a", "b"}}
		b := newBackend(t, cfg)
		s := open(t, b)
		for i, tt := range []struct {
			body   string
			status export.Status
			code   int
			want   string
		}{
			{`{}`, export.StatusOK, 200, strings.Join(chat, "")},
			{`{"whole":1}`, export.StatusOK, 200, long},
			{`{"error":1}`, export.StatusHTTPError, 418, "no\n"},
			{`{"x":"` + strings.Repeat("z", 1<<20) + `"}`, export.StatusOK, 200, strings.Join(chat, "")},
			{`{}`, export.StatusOK, 200, strings.Join(chat, "")},
		} {
			x := exchange(t.Context(), t, b, s, tt.body)
			r := &x.Request
			if r.Status != tt.status || r.Code != tt.code || joined(x) != tt.want {
				t.Errorf("exchange %d: %v, %d, %s, %d bytes", i, r.Status, r.Code, r.Message, len(joined(x)))
			}
			if r.Reused != (i > 0) {
				t.Errorf("exchange %d: Reused = %v", i, r.Reused)
			}
			if r.StartNS == 0 || r.SentNS < r.StartNS || r.FirstByteNS < r.StartNS {
				t.Errorf("exchange %d: start %d, sent %d, first byte %d", i, r.StartNS, r.SentNS, r.FirstByteNS)
			}
		}
	})
}

// Each event has the stamp of the read that brought it, though the client's
// reader is another goroutine, and the kernel's where it has one.
func TestHTTP2Stamps(t *testing.T) {
	defer sockstamp.Hold()()
	bothWays(t, func(t *testing.T, secure bool) {
		next := make(chan bool, 1)
		cfg := serveHTTP2(t, secure, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			flush(w)
			fmt.Fprint(w, event("a")+event("b"))
			flush(w)
			<-next // the client has read it
			fmt.Fprint(w, event("c")+done)
		})
		b := newBackend(t, cfg)
		l, err := b.dial(t.Context(), "h2")
		if err != nil {
			t.Fatal(err)
		}
		l.nc = &hookConn{Conn: l.nc, after: func() { next <- true }}
		s := senderOn(t, b, l)
		defer s.Close()
		x := exchange(t.Context(), t, b, s, `{}`)
		r := x.Request.Responses
		if len(r) != 4 || x.Request.Status != export.StatusOK {
			t.Fatalf("%v, %d responses: %s", x.Request.Status, len(r), x.Request.Message)
		}
		if r[0].Read != r[1].Read || r[1].Read >= r[2].Read || r[2].Read != r[3].Read || r[1].RecvNS >= r[2].RecvNS {
			t.Errorf("reads %d %d %d %d, want two pairs", r[0].Read, r[1].Read, r[2].Read, r[3].Read)
		}
		want := map[bool]export.StampSource{true: export.SourceKernel, false: export.SourceUser}
		receive, transmit, why := l.raw.Stamps()
		if x.Request.StartSource != want[transmit] {
			t.Errorf("start by %v, want %v (%s)", x.Request.StartSource, want[transmit], why)
		}
		for i, p := range r {
			if p.Source != want[receive] {
				t.Errorf("response %d by %v, want %v (%s)", i, p.Source, want[receive], why)
			}
		}
	})
}

// A failed request has a row with a clear message, and the next request succeeds.
func TestHTTP2Broken(t *testing.T) {
	bothWays(t, func(t *testing.T, secure bool) {
		hang := make(chan bool)
		defer close(hang)
		cfg := serveHTTP2(t, secure, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			switch kind := string(body); {
			case strings.Contains(kind, "reset"):
				fmt.Fprint(w, event("a"))
				flush(w)
				panic(http.ErrAbortHandler)
			case strings.Contains(kind, "early"):
				panic(http.ErrAbortHandler)
			case strings.Contains(kind, "hang"):
				fmt.Fprint(w, event("a"))
				flush(w)
				<-hang
			case strings.Contains(kind, "open"):
				fmt.Fprint(w, event("a")+done)
				flush(w)
				<-hang
			default:
				fmt.Fprint(w, event("a")+done)
			}
		})
		b := newBackend(t, cfg)
		s := open(t, b)
		for _, tt := range []struct {
			kind   string
			status export.Status
			msg    string
			raw    string
		}{
			{"reset", export.StatusTruncated, "the answer broke off: the server reset the stream (INTERNAL_ERROR)", event("a")},
			{"early", export.StatusTruncated, "the answer broke off: the server reset the stream (INTERNAL_ERROR)", ""},
			{"hang", export.StatusTimeout, "no complete answer in the time allowed", event("a")},
			{"open", export.StatusOK, "", event("a") + done},
			{"fine", export.StatusOK, "", event("a") + done},
		} {
			ctx := t.Context()
			if tt.kind == "hang" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			x := exchange(ctx, t, b, s, fmt.Sprintf(`{%q:1}`, tt.kind))
			if r := &x.Request; r.Status != tt.status || r.Message != tt.msg || joined(x) != tt.raw {
				t.Errorf("%s: %v, %q, %q", tt.kind, r.Status, r.Message, joined(x))
			}
		}
	})
}

// A connection that the server closed is no failure, and one that breaks is.
func TestHTTP2Closed(t *testing.T) {
	var mu sync.Mutex
	var newest net.Conn
	closeNewest := func() { mu.Lock(); defer mu.Unlock(); newest.Close() }
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, event("a"))
		flush(w)
		if strings.Contains(string(body), "break") {
			closeNewest()
			return
		}
		fmt.Fprint(w, done)
	}))
	srv.Config.ConnState = func(c net.Conn, st http.ConnState) {
		if st == http.StateNew {
			mu.Lock()
			newest = c
			mu.Unlock()
		}
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	srv.Config.Protocols = &protocols
	srv.Start()
	defer srv.Close()
	b := newBackend(t, Config{URL: srv.URL, HTTP2: true})
	s := open(t, b)
	for i := range 2 {
		r := &exchange(t.Context(), t, b, s, `{}`).Request
		if r.Status != export.StatusOK || r.Reused {
			t.Errorf("exchange %d: %v, %s, Reused = %v", i, r.Status, r.Message, r.Reused)
		}
		closeNewest()
	}
	r := &exchange(t.Context(), t, b, s, `{"break":1}`).Request
	if r.Status != export.StatusTruncated || !strings.HasPrefix(r.Message, "the connection broke before the end of the answer: ") {
		t.Errorf("%v, %q", r.Status, r.Message)
	}
}

// A server without HTTP/2 is told apart, by Check too.
func TestHTTP2Missing(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(streamHandler))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(streamHandler))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS() // offers HTTP/1.1 only
	defer secure.Close()
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	silent := serveTLS(t, nil) // takes no part in the negotiation
	silent.HTTP2 = true
	for _, tt := range []struct {
		name   string
		cfg    Config
		status export.Status
		want   string // after the URL in an error of Check
	}{
		{"plain", Config{URL: plain.URL, HTTP2: true}, export.StatusProtocolError, ": the server does not speak HTTP/2; ask for HTTP/1.1"},
		{"TLS", Config{URL: secure.URL, HTTP2: true, TLS: &tls.Config{RootCAs: pool}}, export.StatusConnectError, ": the server does not speak HTTP/2; ask for HTTP/1.1"},
		{"TLS without negotiation", silent, export.StatusConnectError, ": the server does not speak HTTP/2; ask for HTTP/1.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBackend(t, tt.cfg)
			x := exchange(t.Context(), t, b, open(t, b), `{}`)
			if r := &x.Request; r.Status != tt.status || !strings.HasSuffix(r.Message, strings.TrimPrefix(tt.want, ": ")) {
				t.Errorf("%v, %q", r.Status, r.Message)
			}
			defer b.Close()
			if err := b.Check(t.Context()); err == nil || !strings.HasSuffix(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), tt.cfg.URL) {
				t.Errorf("Check = %v", err)
			}
		})
	}
}
