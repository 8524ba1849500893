package kserve

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/nettest"
)

// lineServer is a server of plain HTTP that says nothing before it has read a line,
// as llama.cpp's: a TLS handshake with it does not end.
func lineServer(t *testing.T) (addr string) {
	t.Helper()
	return nettest.StartServer(t, func(c net.Conn) {
		if line, err := bufio.NewReader(c).ReadString('\n'); err == nil && strings.HasSuffix(line, " HTTP/1.1\r\n") {
			_, _ = io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
		}
	})
}

// A server of another kind, or of plain HTTP in the place of TLS, is named with the
// flag that mends it.
func TestCheckOtherServer(t *testing.T) {
	openAI := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"tiny"}]}`)
	}
	plain := httptest.NewServer(http.HandlerFunc(openAI))
	defer plain.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	secured := httptest.NewUnstartedServer(http.NotFoundHandler())
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.StartTLS()
	defer secured.Close()
	// Closes a connection that does not begin with a handshake, as servers do that
	// are not Go's.
	hello := nettest.StartServer(t, func(c net.Conn) {
		first := make([]byte, 1)
		if _, err := io.ReadFull(c, first); err == nil && first[0] == 22 {
			_, _ = c.Write([]byte{21, 3, 3, 0, 2, 2, 40}) // alert: handshake failure
		}
	})

	const notServed = "the server does not speak KServe v2: GET /v2/health/live: HTTP status 404: "
	for _, tt := range []struct{ name, url, want string }{
		{"an OpenAI server", plain.Listener.Addr().String(), "the server does not speak KServe v2 and looks like an OpenAI server; add --service-kind openai"},
		{"neither", other.Listener.Addr().String(), notServed + "404 page not found"},
		{"https to plain HTTP, which is mute", "https://" + lineServer(t), "the server speaks plain HTTP, not TLS; use http:// in -u"},
		{"https to plain HTTP, which answers", "https://" + plain.Listener.Addr().String(), "the server does not speak TLS; use http:// in -u"},
		{"http to TLS, which answers", secured.Listener.Addr().String(), "HTTP 400: Client sent an HTTP request to an HTTPS server.; use https:// in -u"},
		{"http to TLS, which closes", hello, "the server speaks TLS; use https:// in -u"},
	} {
		b, err := New(Config{URL: tt.url, Model: "m", CheckTimeout: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		_, addr, ok := strings.Cut(tt.url, "://")
		if !ok {
			addr = tt.url
		}
		if err := b.Check(t.Context()); fmt.Sprint(err) != addr+": "+tt.want {
			t.Errorf("%s:\ngot  %v\nwant %s: %s", tt.name, err, addr, tt.want)
		}
	}
}
