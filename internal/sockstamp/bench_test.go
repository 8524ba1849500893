package sockstamp

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// BenchmarkRead is a read of 250 bytes that are there. The TCPConn shows what of
// it is neither Conn's nor the stamp's.
func BenchmarkRead(b *testing.B) {
	run := func(b *testing.B, nc net.Conn, peer net.Conn) {
		const atOnce = 200 // so that the writes do not count
		tokens, buf := make([]byte, atOnce*250), make([]byte, 250)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%atOnce == 0 {
				if _, err := peer.Write(tokens); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := io.ReadFull(nc, buf); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("TCPConn", func(b *testing.B) {
		nc, peer := tcpPair(b, (&net.Dialer{}).DialContext)
		run(b, nc, peer)
	})
	for _, name := range []string{"user", "kernel, receive", "kernel"} {
		b.Run(name, func(b *testing.B) {
			c, peer := pair(b, options[name])
			run(b, c, peer)
		})
	}
}

// BenchmarkRoundTrip is a request of one write and its answer of one read.
func BenchmarkRoundTrip(b *testing.B) {
	for _, name := range []string{"user", "kernel, receive", "kernel"} {
		b.Run(name, func(b *testing.B) {
			c, peer := pair(b, options[name])
			go func() { _, _ = io.Copy(struct{ io.Writer }{peer}, struct{ io.Reader }{peer}) }()
			buf := make([]byte, 4096)
			b.ReportAllocs()
			for b.Loop() {
				c.Begin()
				if _, err := c.Write(buf[:1000]); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, buf[:1000]); err != nil {
					b.Fatal(err)
				}
				c.Request()
			}
		})
	}
}

const (
	// senderEnv makes this program a sender. Its value is how often it sends on
	// each connection.
	senderEnv = "SOCKSTAMP_TEST_SENDER"
	stampSize = 8
)

// sendStamps accepts connections, and sends the time on each every so often,
// until standard input ends. It prints its address.
func sendStamps(every string) int {
	interval, err := time.ParseDuration(every)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(ln.Addr())
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				var p [stampSize]byte
				for range time.Tick(interval) {
					binary.NativeEndian.PutUint64(p[:], userNow())
					if _, err := nc.Write(p[:]); err != nil {
						return
					}
				}
			}()
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// BenchmarkStampError measures stamps against a sender in another process that
// sends its time on each connection, every 20 ms or, on a single one, 1 ms: how much later than that is
// the stamp of the kernel, and the time that this process has after the same
// read. Run it with -benchtime 20000x or so: an iteration is a read.
func BenchmarkStampError(b *testing.B) {
	for _, streams := range []int{1, 64, 512} {
		b.Run("streams="+strconv.Itoa(streams), func(b *testing.B) {
			every := 20 * time.Millisecond
			if streams == 1 {
				every = time.Millisecond
			}
			addr := startSender(b, every)
			var mu sync.Mutex
			var kernel, user []uint64
			merged := 0
			var wg sync.WaitGroup
			for i := range streams {
				d := Dialer{}
				nc, err := d.DialContext(b.Context(), "tcp", addr)
				if err != nil {
					b.Fatal(err)
				}
				c := nc.(*Conn)
				defer c.Close()
				reads := b.N / streams
				if i < b.N%streams {
					reads++
				}
				wg.Go(func() {
					var ks, us []uint64
					more := 0
					buf := make([]byte, 64*stampSize)
					for range reads {
						n, err := c.Read(buf)
						now := userNow()
						if err != nil || n%stampSize != 0 {
							b.Errorf("Read = %d, %v", n, err)
							return
						}
						sent := binary.NativeEndian.Uint64(buf[n-stampSize:])
						more += n/stampSize - 1
						if st := c.LastRead(); st.Source == Kernel {
							ks = append(ks, st.NS-sent)
						}
						us = append(us, now-sent)
					}
					mu.Lock()
					defer mu.Unlock()
					kernel, user = append(kernel, ks...), append(user, us...)
					merged += more
				})
			}
			wg.Wait()
			b.ReportMetric(float64(merged)/float64(b.N), "merged/op")
			for name, errs := range map[string][]uint64{"kernel": kernel, "user": user} {
				if len(errs) == 0 {
					continue
				}
				slices.Sort(errs)
				for _, pct := range []int{50, 99} {
					b.ReportMetric(float64(errs[(len(errs)-1)*pct/100])/1e3, fmt.Sprintf("%s-p%d-µs", name, pct))
				}
			}
		})
	}
}

// startSender starts the sender process and returns its address.
func startSender(b *testing.B, every time.Duration) string {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), exe)
	cmd.Env = append(os.Environ(), senderEnv+"="+every.String())
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait() // killed when the benchmark's context ended, or gone by itself
	})
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		b.Fatal("the sender printed no address: ", lines.Err())
	}
	return lines.Text()
}
