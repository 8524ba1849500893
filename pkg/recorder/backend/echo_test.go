package backend_test

import (
	"io"
	"net"
	"sync"
)

// echo starts a server that sends back what it gets. stop ends it when its clients have
// gone.
func echo() (addr string, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			})
		}
	})
	return l.Addr().String(), func() {
		_ = l.Close()
		serving.Wait()
	}
}
