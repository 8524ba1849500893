package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/pa-tools/pa/internal/kserve"
)

// keptClients returns functions that send a request to s, each on a connection that it keeps. They
// fail if they need a second connection.
func keptClients(t *testing.T, s *Server, perAPI int) (all []func() error) {
	t.Helper()
	overHTTP := func(url string, http2 bool) func() error {
		tr := &http.Transport{Protocols: new(http.Protocols), MaxConnsPerHost: 1}
		tr.Protocols.SetHTTP1(!http2)
		tr.Protocols.SetUnencryptedHTTP2(http2)
		t.Cleanup(tr.CloseIdleConnections)
		asked := false
		return func() error {
			var reused bool
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
			if err != nil {
				return err
			}
			resp, err := tr.RoundTrip(r)
			if err != nil {
				return fmt.Errorf("%s, HTTP/2 %t: %w", url, http2, err)
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				return fmt.Errorf("%s, HTTP/2 %t: %w", url, http2, err)
			}
			if resp.StatusCode != http.StatusOK || reused != asked {
				return fmt.Errorf("%s, HTTP/2 %t: %s, reused %t", url, http2, resp.Status, reused)
			}
			asked = true
			return nil
		}
	}
	overGRPC := func() func() error {
		var dials atomic.Int32
		cc, err := grpc.NewClient(s.TritonGRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				dials.Add(1)
				return new(net.Dialer).DialContext(ctx, "tcp", addr)
			}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cc.Close() })
		return func() error {
			_, err := pb.NewGRPCInferenceServiceClient(cc).ModelInfer(t.Context(), addSubRequest("", 1, 1, 2))
			if n := dials.Load(); err != nil || n != 1 {
				return fmt.Errorf("gRPC: %w, %d connections", err, n)
			}
			return nil
		}
	}
	for range perAPI {
		all = append(all, overHTTP(s.OpenAIURL()+"/v1/models", false), overHTTP(s.OpenAIURL()+"/v1/models", true),
			overHTTP(s.TritonHTTPURL()+"/v2/health/live", false), overGRPC())
	}
	return all
}

// silent opens a connection that sends text, and then nothing. The server may have closed it before the text.
func silent(t *testing.T, addr, text string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_, _ = io.WriteString(nc, text)
	return nc
}

// addresses returns the addresses of all APIs.
func (s *Server) addresses() []string {
	return []string{s.bound[openAIAPI], s.bound[tritonHTTPAPI], s.bound[tritonGRPCAPI]}
}

// halfRequests are what strangers send: nothing, or the beginning of a request.
var halfRequests = []string{"", "GET /v1/models HTTP/1.1\r\nHost: x\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}

// Connections without a request have few places, and take them from each other only: clients
// that have sent a request keep their connections, however many and however idle.
func TestSilentConnections(t *testing.T) {
	for _, n := range []int{64, 200, 384} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			const limit = 8
			c := fast()
			c.MaxNewcomers = limit
			s := start(t, c)
			clients := keptClients(t, s, 2*limit)
			ask := func(clients []func() error) {
				t.Helper()
				for _, ask := range clients {
					if err := ask(); err != nil {
						t.Fatal(err)
					}
				}
			}
			ask(clients)
			for i := range n {
				silent(t, s.addresses()[i%3], halfRequests[i/3%3])
				if i == n/2 {
					ask(clients)
				}
			}
			ask(clients)
			// Listeners accept strangers from their queues meanwhile: a new client may have to
			// connect again.
			again := 0
			for i := range 4 {
				err := errors.New("not asked")
				for end := time.Now().Add(time.Minute); err != nil; again++ {
					if err = keptClients(t, s, 1)[i](); err != nil && time.Now().After(end) {
						t.Fatal(err)
					}
				}
			}
			for end := time.Now().Add(time.Minute); s.DroppedConnections() < uint64(n/2) && time.Now().Before(end); {
				time.Sleep(time.Millisecond) // until the listeners have accepted all
			}
			if got, waiting := s.DroppedConnections(), s.waiting(); waiting > limit || got < uint64(n/2) || got > uint64(n+again) {
				t.Errorf("%d connections wait, %d were closed of %d, and %d clients connected", waiting, got, n, again)
			}
		})
	}
}

// waiting returns how many connections have not sent a request yet.
func (s *Server) waiting() int {
	s.newcomers.mu.Lock()
	defer s.newcomers.mu.Unlock()
	return s.newcomers.all.Len()
}

func timedOut(err error) bool {
	ne, ok := err.(net.Error) //nolint:errorlint // it comes from the connection itself
	return ok && ne.Timeout()
}

// A client that does not finish the header of a request is cut off; an idle one is not.
func TestHeaderTimeout(t *testing.T) {
	c := fast()
	c.HeaderTimeout = 200 * time.Millisecond // a client on a busy machine takes some of it
	s := start(t, c)
	clients := keptClients(t, s, 1)
	for round := range 2 {
		for _, ask := range clients {
			if err := ask(); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		var slow []net.Conn
		for _, addr := range s.addresses() {
			for _, text := range halfRequests[:2] {
				slow = append(slow, silent(t, addr, text))
			}
		}
		// The second request of a connection.
		slow = append(slow, silent(t, s.bound[openAIAPI], "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/mo"))
		for _, nc := range slices.Backward(slow) {
			_ = nc.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := io.Copy(io.Discard, nc); timedOut(err) {
				t.Fatalf("a slow connection to %s stays open", nc.RemoteAddr())
			}
		}
	}
	if s.DroppedConnections() != 0 {
		t.Errorf("%d connections closed for newer ones", s.DroppedConnections())
	}
}
