package sockstamp

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// tlsPair returns a TLS client over a Conn, and the server's end.
func tlsPair(t *testing.T, version uint16) (client *tls.Conn, raw *Conn, server *tls.Conn) {
	t.Helper()
	srv := httptest.NewTLSServer(nil) // for its certificate
	srv.Close()
	raw, peer := pair(t, Options{})
	client = tls.Client(raw, &tls.Config{InsecureSkipVerify: true, MaxVersion: version, MinVersion: version})
	server = tls.Server(peer, srv.TLS)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := server.Handshake(); err != nil {
			t.Error(err)
		}
	})
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	return client, raw, server
}

// The stamp after a read through TLS is the stamp of the raw read that completed
// the record; bytes that TLS held have the same stamp.
func TestTLS(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			client, raw, server := tlsPair(t, version)
			if c, ok := Of(client); c != raw || !ok {
				t.Errorf("Of = %p, %v, want %p", c, ok, raw)
			}
			buf := make([]byte, 64)
			previous := raw.LastRead().Ordinal
			for i := range 50 {
				before := userNow()
				if _, err := fmt.Fprintf(server, "token %3d", i); err != nil {
					t.Fatal(err)
				}
				sent := userNow()
				if n, err := client.Read(buf); n != 9 || err != nil {
					t.Fatalf("Read = %d, %v", n, err)
				}
				st := raw.LastRead()
				if st.NS < before || st.NS > userNow() || st.Ordinal <= previous {
					t.Errorf("record %d, written from %d to %d: %+v after ordinal %d", i, before, sent, st, previous)
				}
				previous = st.Ordinal
			}
			// Two records that have come when the first is asked for, in parts.
			for _, s := range []string{"abcdef", "ghijkl"} {
				if _, err := io.WriteString(server, s); err != nil {
					t.Fatal(err)
				}
			}
			var stamps []Stamp
			for range 6 {
				if _, err := io.ReadFull(client, buf[:2]); err != nil {
					t.Fatal(err)
				}
				stamps = append(stamps, raw.LastRead())
			}
			if stamps[0].Ordinal <= previous {
				t.Errorf("ordinal %d after %d", stamps[0].Ordinal, previous)
			}
			for i, st := range stamps[1:] {
				if st != stamps[0] && (i < 2 || st != stamps[3]) {
					t.Errorf("part %d: %+v, the first has %+v", i+1, st, stamps[0])
				}
			}
		})
	}
}

// A request through TLS, of several records, has the stamps of the first and
// the last.
func TestTLSRequest(t *testing.T) {
	client, raw, server := tlsPair(t, tls.VersionTLS13)
	needKernel(t, raw)
	var wg sync.WaitGroup
	defer wg.Wait()
	const size = 100_000
	wg.Go(func() {
		if _, err := io.CopyN(io.Discard, server, size); err != nil {
			t.Error(err)
		}
		_, _ = server.Write([]byte("."))
	})
	raw.Begin()
	before := userNow()
	if _, err := client.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	start, sent := raw.Request()
	answer := raw.LastRead().NS
	if start.Source != Kernel || sent.Source != Kernel || start.NS < before || sent.NS <= start.NS || answer < sent.NS {
		t.Errorf("written from %d, start %+v, sent %+v, answered at %d", before, start, sent, answer)
	}
}

// Below net/http, plain and with TLS, each event of a stream has a stamp
// between the times of its write and its read.
func TestHTTP(t *testing.T) {
	const events = 30
	ack := make(chan bool, 1) // so that events are not read together
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for range events {
			fmt.Fprintf(w, "data: %d\n\n", userNow())
			_ = http.NewResponseController(w).Flush()
			<-ack
		}
	})
	for _, secure := range []bool{false, true} {
		t.Run("secure="+strconv.FormatBool(secure), func(t *testing.T) {
			srv := httptest.NewUnstartedServer(handler)
			srv.Listener = &stampedListener{Listener: srv.Listener}
			if secure {
				srv.StartTLS()
			} else {
				srv.Start()
			}
			defer srv.Close()
			d := Dialer{}
			client := srv.Client()
			client.Transport.(*http.Transport).DialContext = d.DialContext
			var conn *Conn
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
				conn, _ = Of(info.Conn)
				conn.Begin()
			}})
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader(strings.Repeat("x", 5000)))
			if err != nil {
				t.Fatal(err)
			}
			issued := userNow()
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			start, end := conn.Request()
			if head := conn.LastRead(); start.NS < issued || end.NS < start.NS || head.NS < end.NS {
				t.Errorf("issued at %d, start %+v, sent %+v, answered at %+v", issued, start, end, head)
			}
			var last uint64
			seen := 0
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					ack <- true
					continue
				}
				sent, err := strconv.ParseUint(data, 10, 64)
				if st := conn.LastRead(); err != nil || st.NS < sent || st.NS > userNow() || st.Ordinal <= last {
					t.Errorf("event %d, %q: %+v after ordinal %d", seen, lines.Text(), st, last)
				}
				last = conn.LastRead().Ordinal
				seen++
			}
			if seen != events {
				t.Errorf("%d events, want %d", seen, events)
			}
		})
	}
}

// A unix socket works, with stamps in user space.
func TestUnixSocket(t *testing.T) {
	ln, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	d := Dialer{}
	nc, err := d.DialContext(t.Context(), "unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, _ := Of(nc)
	if rx, tx, why := c.Stamps(); rx || tx || !strings.Contains(why, "not a TCP socket") {
		t.Errorf("Stamps = %v, %v, %q", rx, tx, why)
	}
	before := userNow()
	c.Begin()
	if _, err := c.Write([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8)
	if _, err := s.Read(buf); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte("def")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(buf); err != nil {
		t.Fatal(err)
	}
	start, sent := c.Request()
	read := c.LastRead()
	if start.Source != User || sent.Source != User || read.Source != User ||
		start.NS < before || sent.NS < start.NS || read.NS < sent.NS || read.Ordinal != 1 {
		t.Errorf("begun at %d, start %+v, sent %+v, read %+v", before, start, sent, read)
	}
}
