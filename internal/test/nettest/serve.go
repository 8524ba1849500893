package nettest

import (
	"net"
	"sync"
	"testing"
)

// Listen listens on a free port of loopback.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Serve calls serve with each connection that l accepts, and closes the connection when serve returns. The end of the
// test closes l and all connections, and waits for serve.
func Serve(t testing.TB, l net.Listener, serve func(net.Conn)) {
	var conns sync.WaitGroup
	closing := make(chan struct{})
	conns.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			ended := make(chan struct{})
			conns.Go(func() {
				defer close(ended)
				defer nc.Close()
				serve(nc)
			})
			conns.Go(func() {
				select {
				case <-ended:
				case <-closing:
					nc.Close()
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(closing)
		conns.Wait()
	})
}

// StartServer serves a free port of loopback as [Serve] does.
func StartServer(t testing.TB, serve func(net.Conn)) (addr string) {
	t.Helper()
	l := Listen(t)
	Serve(t, l, serve)
	return l.Addr().String()
}
