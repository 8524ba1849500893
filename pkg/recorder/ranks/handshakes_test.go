package ranks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pa-tools/pa/internal/test/nettest"
)

// A full source loses its own oldest connection; if all slots are taken, the source with
// most connections does.
func TestHandshakeSlots(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		sources string // of the connections in the handshake, the oldest first
		from    byte   // source of the next one
		want    int    // index of the victim, -1: none
		crowded bool
	}{
		{"empty", "", 'a', -1, false},
		{"one", "a", 'a', -1, false},
		{"half of a source", "aa", 'a', -1, true},
		{"others have half of a source", "aab", 'b', -1, false},
		{"half of all", "abcd", 'e', -1, true},
		{"a full source", "baaaa", 'a', 1, true},
		{"beside a full source", "baaaa", 'b', -1, true},
		{"all full", "baaaabcc", 'c', 1, true},
		{"all full, a new source", "caaabbbb", 'd', 4, true},
		{"all full, equal sources", "abababab", 'c', 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := handshakes{perSource: 4, bySource: map[netip.Prefix]int{}}
			source := func(c byte) netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, c}), 32) }
			for i := range len(tt.sources) {
				p.add(&handshake{source: source(tt.sources[i])})
			}
			var want *handshake
			if tt.want >= 0 {
				want = p.all[tt.want]
			}
			if got := p.victim(source(tt.from)); got != want || p.crowded(source(tt.from)) != tt.crowded {
				t.Errorf("victim %v, want %v; crowded %v", got, want, p.crowded(source(tt.from)))
			}
			for len(p.all) > 0 {
				if h := p.all[len(p.all)/2]; !p.remove(h) || p.remove(h) {
					t.Error("a connection is not removed exactly once")
				}
			}
			if len(p.bySource) > 0 {
				t.Errorf("sources are left: %v", p.bySource)
			}
		})
	}
	if p := newHandshakes(1000); p.perSource < 1000 {
		t.Errorf("%d ranks of one address find %d slots", 1000, p.perSource)
	}
}

func TestSourceOf(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1/32", "[::ffff:192.0.2.1]:80": "192.0.2.1/32",
		"[2001:db8::1:2:3:4]:80": "2001:db8::/64", "[fe80::1%eth0]:80": "fe80::/64", "[::1]:9": "::/64",
	} {
		a, err := netip.ParseAddrPort(addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := sourceOf(net.TCPAddrFromAddrPort(a)).String(); got != want {
			t.Errorf("sourceOf(%s) = %s, want %s", addr, got, want)
		}
	}
}

func TestStrangersText(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Strangers{
		"": {}, "1 connection from 1 address did not prove that it belongs to the run": {1, 1},
		"1,384 connections from 2 addresses did not prove that they belong to the run":              {1384, 2},
		"5,000 connections from at least 1,000 addresses did not prove that they belong to the run": {5000, maxSources},
	} {
		if got := s.String(); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
	var c strangerCount
	for i := range 2 * maxSources {
		c.add(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32))
	}
	if got := c.with([]*handshake{{}}); got != (Strangers{2*maxSources + 1, maxSources}) || len(c.sources) != maxSources {
		t.Errorf("%+v, %d addresses kept", got, len(c.sources))
	}
}

// flood keeps n connections to addr open that say nothing, until the test ends or stop is
// called. A connection that rank 0 closes is opened again at once.
func flood(t *testing.T, addr string, n int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running, connected sync.WaitGroup
	for range n {
		connected.Add(1)
		running.Go(func() {
			first := sync.OnceFunc(connected.Done)
			defer first()
			for ctx.Err() == nil {
				nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
				if err != nil {
					continue
				}
				first()
				release := context.AfterFunc(ctx, func() { _ = nc.Close() })
				_, _ = io.Copy(io.Discard, nc)
				release()
				_ = nc.Close()
			}
		})
	}
	connected.Wait()
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// Connections that say nothing, all from the address of the ranks, do not keep the ranks
// out: before, while and after they come.
func TestRanksMeetAmongSilentStrangers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{64, 200, 384} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			const size = 4
			cfg := config(0, size, "127.0.0.1:0")
			cfg.Timeout = 20 * time.Second
			server, err := Join(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			all := []*Session{server}
			join := func(rank int) {
				cfg := config(rank, size, server.Addr())
				cfg.Timeout = 4 * time.Second // shorter than the patience of a server that is not crowded
				s, err := Join(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, s)
			}
			join(1)
			stop := flood(t, server.Addr(), n)
			join(2)
			stop()
			join(3)
			_, failed := meetAll(t.Context(), all, func(int) Meeting { return Meeting{Clock: shiftedClock(0)} })
			if err := errors.Join(failed...); err != nil {
				t.Error(err)
			}
			// All were accepted before rank 3 was; some may not have noticed their end.
			if got := server.hub.unproven(); got.Connections < n || got.Addresses != 1 {
				t.Errorf("%+v counted", got)
			}
			for _, s := range all[1:] {
				_ = s.Close()
			}
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Strangers that connect all the time take slots from each other, but each connection has the
// time for a handshake.
func TestSlotIsKeptForAHandshake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &hub{cfg: config(0, 2, "").withDefaults(), closed: make(chan struct{}), pending: newHandshakes(2)}
		begin := time.Now()
		shakes := make([]*handshake, 3*leastSlots)
		for i := range shakes {
			nc, peer := net.Pipe()
			defer peer.Close()
			shakes[i] = &handshake{nc: nc, source: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), 32)}
			patience, ok := h.admit(shakes[i])
			if !ok || (patience == handshakeTimeout) != (i < leastSlots/2) {
				t.Fatalf("connection %d: %v, %v", i, patience, ok)
			}
			if i >= leastSlots && time.Since(shakes[i-leastSlots].since) < leastPatience {
				t.Fatalf("connection %d lost its slot after %v", i-leastSlots, time.Since(shakes[i-leastSlots].since))
			}
			if i >= leastSlots && h.pending.remove(shakes[i-leastSlots]) {
				t.Fatalf("connection %d has kept its slot", i-leastSlots)
			}
		}
		if took := time.Since(begin); took != 2*leastPatience {
			t.Errorf("twice as many connections as slots took %v more", took)
		}
		time.Sleep(crowdedTimeout + 1)
		nc, peer := net.Pipe()
		defer peer.Close()
		if last := (&handshake{nc: nc}); len(h.pending.all) != leastSlots {
			t.Errorf("%d connections", len(h.pending.all))
		} else if _, ok := h.admit(last); !ok || len(h.pending.all) != 1 {
			t.Errorf("%d connections are left that have had a second", len(h.pending.all)-1)
		}
		for range leastSlots {
			h.pending.add(&handshake{nc: nc, since: time.Now()})
		}
		close(h.closed)
		if _, ok := h.admit(&handshake{nc: nc}); ok {
			t.Error("a closed hub admits a connection")
		}
	})
}

// stranger connects, says nothing, and returns when rank 0 has counted it.
func stranger(t *testing.T, addr string) {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, nc) // rank 0 counts, then closes
}

// Each side that waits in vain says how many strangers came.
func TestTimeoutsTellOfStrangers(t *testing.T) {
	t.Parallel()
	const sentence = "; 3 connections from 1 address did not prove that they belong to the run"
	meeting := Meeting{Clock: shiftedClock(0)}
	t.Run("rank 0 and a rank that came", func(t *testing.T) {
		t.Parallel()
		cfg := config(0, 3, "127.0.0.1:0")
		cfg.Timeout = 200 * time.Millisecond
		server, err := Join(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		stranger(t, server.Addr())
		stranger(t, server.Addr())
		rank, err := Join(t.Context(), config(1, 3, server.Addr()))
		if err != nil {
			t.Fatal(err)
		}
		defer rank.Close()
		if got := rank.Strangers(); got != (Strangers{2, 1}) {
			t.Errorf("the rank knows of %+v", got)
		}
		silent, err := net.Dial("tcp", server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		if _, err := silent.Read(make([]byte, 1)); err != nil { // its handshake has begun
			t.Fatal(err)
		}
		_, errs := meetAll(t.Context(), []*Session{server, rank}, func(int) Meeting { return meeting })
		for rank, err := range errs {
			if err == nil || !strings.Contains(err.Error(), "rank 2 did not come to the barrier within 200ms"+sentence) {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
	})
	t.Run("a rank that waits for rank 0 to gather the others", func(t *testing.T) {
		t.Parallel()
		cfg := config(0, 2, "127.0.0.1:0")
		cfg.Silence = 10 * time.Second // a beat each second
		server, err := Join(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		for range 3 {
			stranger(t, server.Addr())
		}
		cfg = config(1, 2, server.Addr())
		cfg.Timeout = 50 * time.Millisecond
		rank, err := Join(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer rank.Close()
		if _, err := rank.Meet(t.Context(), meeting); err == nil || !strings.Contains(err.Error(), "had not gathered all ranks after 50ms"+sentence) {
			t.Error(err)
		}
	})
	t.Run("a rank that does not get in", func(t *testing.T) {
		t.Parallel()
		addr := nettest.StartServer(t, func(nc net.Conn) {
			_ = newConn(nc).send(hello{version, newNonce(), Strangers{3, 1}})
			_ = nc.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, nc)
		})
		cfg := config(1, 2, addr)
		cfg.Timeout = time.Second
		if _, err := Join(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "rank 0 did not answer within 1s: ") || !strings.HasSuffix(err.Error(), sentence) {
			t.Error(err)
		}
	})
	t.Run("later strangers, in a beat", func(t *testing.T) {
		t.Parallel()
		all := joined(t, 2, func(c *Config) { c.Silence = 200 * time.Millisecond })
		stranger(t, all[0].Addr())
		for all[1].Strangers() != (Strangers{1, 1}) {
			select {
			case <-t.Context().Done():
				return
			case <-time.After(time.Millisecond): // until a beat comes
			}
		}
	})
}
