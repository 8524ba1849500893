package ranks

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A shiftedClock is a clock that is ahead of this machine's.
type shiftedClock time.Duration

var processStart = time.Now()

func (c shiftedClock) NowNS() uint64 {
	return uint64(processStart.UnixNano()) + uint64(time.Since(processStart)) + uint64(c)
}

// config returns the configuration of a rank on the loopback.
func config(rank, size int, addr string) Config {
	return Config{World: World{Rank: rank, Size: size}, Addr: addr, Secret: "s", Timeout: 5 * time.Second}
}

// joined returns the sessions of all ranks of a world, closed with the test.
func joined(t *testing.T, size int, change func(*Config)) []*Session {
	t.Helper()
	all := make([]*Session, size)
	addr := "127.0.0.1:0"
	for rank := range size {
		cfg := config(rank, size, addr)
		if change != nil {
			change(&cfg)
		}
		s, err := Join(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		all[rank], addr = s, s.Addr()
	}
	t.Cleanup(func() {
		for _, s := range slices.Backward(all) {
			_ = s.Close()
		}
	})
	return all
}

// meetAll lets all sessions meet at once.
func meetAll(ctx context.Context, all []*Session, m func(rank int) Meeting) ([]Begin, []error) {
	begins, errs := make([]Begin, len(all)), make([]error, len(all))
	var meeting sync.WaitGroup
	for rank, s := range all {
		meeting.Go(func() { begins[rank], errs[rank] = s.Meet(ctx, m(rank)) })
	}
	meeting.Wait()
	return begins, errs
}

// All ranks get one instant, the largest next ID, and one session.
func TestMeet(t *testing.T) {
	t.Parallel()
	all := joined(t, 5, nil)
	ahead := func(rank int) time.Duration { return time.Duration(rank) * 7777 * time.Millisecond }
	for round := range 3 {
		begins, errs := meetAll(t.Context(), all, func(rank int) Meeting {
			return Meeting{Clock: shiftedClock(ahead(rank)), PlanSHA256: "p", NextID: uint64(10*round + rank), Start: round > 0}
		})
		for rank, b := range begins {
			if errs[rank] != nil {
				t.Fatalf("rank %d: %v", rank, errs[rank])
			}
			if all[rank].ID() != all[0].ID() || b.NextID != uint64(10*round+4) || b.AtNS != begins[0].AtNS || (b.AtNS != 0) != (round > 0) {
				t.Errorf("round %d, rank %d: %+v", round, rank, b)
			}
			if rank == 0 {
				continue
			}
			if off := time.Duration(b.Offset.OffsetNS) + ahead(rank); off.Abs() > time.Duration(b.Offset.BoundNS) {
				t.Errorf("rank %d: offset off by %v, bound %v", rank, off, time.Duration(b.Offset.BoundNS))
			}
			if b.Offset.Exchanges != exchanges {
				t.Errorf("rank %d: %d exchanges", rank, b.Offset.Exchanges)
			}
			if round > 0 && b.LocalNS != b.AtNS-uint64(b.Offset.OffsetNS) {
				t.Errorf("rank %d: local instant %d of %d", rank, b.LocalNS, b.AtNS)
			}
		}
	}
	var finishing sync.WaitGroup
	for rank, s := range all {
		finishing.Go(func() {
			c := s.Finish(t.Context(), shiftedClock(ahead(rank)))
			if len(c.Lost) != 0 || (c.Offset == nil) != (rank == 0) {
				t.Errorf("rank %d: closing %+v", rank, c)
			}
		})
	}
	finishing.Wait()
}

// The offset holds within its bound, whatever the network does: delays of 5 ms ± 2 ms
// in each direction, drawn for each piece, in 100 of 100 runs (make test: 33 of 33). Each run
// compares the clocks twice.
func TestOffsetWithinItsBound(t *testing.T) {
	t.Parallel()
	runs := 100 / testenv.Stride(3)
	var running sync.WaitGroup
	limit := make(chan struct{}, 20)
	for run := range runs {
		running.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			r := rand.New(rand.NewPCG(uint64(run), 1))
			ahead := time.Duration(r.Int64N(int64(time.Hour))) - 30*time.Minute
			server, err := Join(t.Context(), config(0, 2, "127.0.0.1:0"))
			if err != nil {
				t.Error(err)
				return
			}
			defer server.Close()
			proxy := delayProxy(t, server.Addr(), func() time.Duration {
				return 3*time.Millisecond + time.Duration(r.Int64N(int64(4*time.Millisecond)))
			})
			rank, err := Join(t.Context(), config(1, 2, proxy))
			if err != nil {
				t.Error(err)
				return
			}
			defer rank.Close()
			offsets, err := compareTwice(t.Context(), server, rank, []shiftedClock{0, shiftedClock(ahead)})
			if err != nil {
				t.Errorf("run %d: %v", run, err)
				return
			}
			for _, o := range offsets {
				off, bound := time.Duration(o.OffsetNS)+ahead, time.Duration(o.BoundNS)
				if off.Abs() > bound {
					t.Errorf("run %d: off by %v, bound %v", run, off, bound)
				}
				if bound < 3*time.Millisecond {
					t.Errorf("run %d: a bound of %v, less than the shortest way", run, bound)
				}
			}
		})
	}
	running.Wait()
}

// compareTwice lets two ranks meet and finish, each with its clock. It returns the offsets
// of rank 1 before and after.
func compareTwice(ctx context.Context, server, rank *Session, clocks []shiftedClock) ([]*export.ClockOffset, error) {
	begins, errs := meetAll(ctx, []*Session{server, rank}, func(rank int) Meeting { return Meeting{Clock: clocks[rank], Start: true} })
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	done := make(chan Closing)
	go func() { done <- rank.Finish(ctx, clocks[1]) }()
	server.Finish(ctx, clocks[0])
	after := (<-done).Offset
	if after == nil {
		return nil, errors.New("no offset after the run")
	}
	return []*export.ClockOffset{begins[1].Offset, after}, nil
}

// delayProxy passes bytes on to addr, each piece after a delay in its direction, in
// order. It returns its address.
func delayProxy(t *testing.T, addr string, delay func() time.Duration) string {
	t.Helper()
	l := nettest.Listen(t)
	t.Cleanup(func() { _ = l.Close() })
	var mu sync.Mutex // guards delay
	pass := func(to, from net.Conn) {
		defer to.Close()
		defer from.Close()
		type piece struct {
			at time.Time
			b  []byte
		}
		pieces := make(chan piece, 1000)
		go func() { // ends with from
			defer close(pieces)
			for {
				b := make([]byte, 4096)
				n, err := from.Read(b)
				if err != nil {
					return
				}
				mu.Lock()
				at := time.Now().Add(delay())
				mu.Unlock()
				pieces <- piece{at, b[:n]}
			}
		}()
		for p := range pieces {
			time.Sleep(time.Until(p.at))
			if _, err := to.Write(p.b); err != nil {
				break
			}
		}
		_ = from.Close()
		for range pieces { // until the reader ends
		}
	}
	go func() { // ends with the listener
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", addr)
			if err != nil {
				_ = in.Close()
				continue
			}
			go pass(out, in)
			go pass(in, out)
		}
	}()
	return l.Addr().String()
}

// Strangers are refused, whatever they send, and counted; the ranks meet all the same.
func TestStrangers(t *testing.T) {
	t.Parallel()
	server, err := Join(t.Context(), config(0, 2, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var refused *RefusedError
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"another secret", func(c *Config) { c.Secret = "guess" }, "the secret is wrong"},
		{"no secret", func(c *Config) { c.Secret = "" }, "the secret is wrong"},
		{"another size", func(c *Config) { c.World.Size = 3 }, "rank 1 of 3 does not belong to a world of 2 ranks"},
		{"a rank beyond", func(c *Config) { c.World.Rank = 2 }, "rank 2 of 2 does not belong"},
	} {
		cfg := config(1, 2, server.Addr())
		tt.change(&cfg)
		if _, err := Join(t.Context(), cfg); !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	strangers := 4
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", // its first bytes are a length of a gigabyte
		"\xff\xff\xff\xff",
		"\x00\x00\x00\x02{}",
		"\x00\x00\x00\x04null",
		"\x00\x00\x00\x05{\"a\":",
		"\x00\x00\x10\x00" + strings.Repeat("[", 4096),
		"",
	} {
		c, err := net.Dial("tcp", server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, text)
		_ = c.(*net.TCPConn).CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		answer, err := io.ReadAll(c)
		if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
			t.Errorf("%.20q: the connection stays open", text)
		}
		if len(answer) > 1000 || strings.Contains(string(answer), `"session"`) {
			t.Errorf("%.20q: the answer is %.200q", text, answer)
		}
		_ = c.Close()
		strangers++
	}
	// One that sends a byte now and then is closed after the handshake's time.
	c, err := net.Dial("tcp", server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	begin := time.Now()
	closed := make(chan struct{})
	go func() { // ends with the connection
		_, _ = io.Copy(io.Discard, c)
		close(closed)
	}()
	for slow := true; slow; {
		select {
		case <-closed:
			slow = false
		case <-time.After(100 * time.Millisecond):
			_, _ = c.Write([]byte{0})
		}
		if time.Since(begin) > 6*handshakeTimeout {
			t.Fatal("a slow stranger is not closed")
		}
	}
	strangers++

	rank, err := Join(t.Context(), config(1, 2, server.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer rank.Close()
	if _, err := Join(t.Context(), config(1, 2, server.Addr())); !errors.As(err, &refused) || !strings.Contains(err.Error(), "rank 1 is here already") {
		t.Errorf("a second rank 1: %v", err)
	}
	strangers++
	if _, errs := meetAll(t.Context(), []*Session{server, rank}, func(int) Meeting { return Meeting{Clock: shiftedClock(0)} }); errors.Join(errs...) != nil {
		t.Error(errs)
	}
	for wait := 0; server.Strangers() != (Strangers{strangers, 1}); wait++ { // the last may not be counted yet
		if wait == 1000 {
			t.Fatalf("%+v counted, want %d", server.Strangers(), strangers)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A server that does not know the secret is no rank 0: it may say anything.
func TestImpostorsOfRank0(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, hello, answer, want string }{
		{"another protocol", `{"version":"x"}`, "", `rank 0 speaks "x"`},
		{"no proof", `{"version":"` + version + `","nonce":"0"}`, `{"session":"a"}`, "does not know the secret"},
		{"a wrong proof", `{"version":"` + version + `","nonce":"0"}`, `{"session":"a","mac":"00"}`, "does not know the secret"},
		{"refusal", `{"version":"` + version + `","nonce":"0"}`, `{"refused":"` + strings.Repeat("x", 3000) + `"}`, "xxxx…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			addr := nettest.StartServer(t, func(nc net.Conn) {
				for _, text := range []string{tt.hello, tt.answer} {
					_, _ = nc.Write(append([]byte{0, 0, byte(len(text) >> 8), byte(len(text))}, text...))
				}
				_, _ = io.Copy(io.Discard, nc)
			})
			_, err := Join(t.Context(), config(1, 2, addr))
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 700 {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// The secret is in no frame.
func TestSecretIsNotSent(t *testing.T) {
	t.Parallel()
	const secret = "correct horse battery staple"
	server, err := Join(t.Context(), Config{World: World{Size: 2}, Addr: "127.0.0.1:0", Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	l := nettest.Listen(t)
	defer l.Close()
	var mu sync.Mutex
	var seen []byte
	go func() { // ends with the connections
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", server.Addr())
		if err != nil {
			return
		}
		tap := func(to io.WriteCloser, from io.Reader) {
			defer to.Close()
			b := make([]byte, 4096)
			for {
				n, err := from.Read(b)
				if err != nil {
					return
				}
				mu.Lock()
				seen = append(seen, b[:n]...)
				mu.Unlock()
				_, _ = to.Write(b[:n])
			}
		}
		go tap(out, in)
		tap(in, out)
	}()
	rank, err := Join(t.Context(), Config{World: World{Rank: 1, Size: 2}, Addr: l.Addr().String(), Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer rank.Close()
	if _, errs := meetAll(t.Context(), []*Session{server, rank}, func(int) Meeting { return Meeting{Clock: shiftedClock(0)} }); errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) == 0 || strings.Contains(string(seen), secret) || strings.Contains(string(seen), "horse") {
		t.Errorf("%d bytes seen, which hold the secret", len(seen))
	}
}

// A frame that was changed, repeated or left out on the way ends the connection.
func TestForgedFrames(t *testing.T) {
	t.Parallel()
	good := func(n uint64, text string) []byte {
		b := append([]byte{0, 0, 0, byte(len(text))}, text...)
		return append(b, frameMAC([]byte("key"), fromRank, n, []byte(text))...)
	}
	first, second := good(0, `{"kind":"beat"}`), good(1, `{"kind":"bye"}`)
	changed := slices.Clone(first)
	changed[12] ^= 1
	for _, tt := range []struct {
		name   string
		frames [][]byte
		taken  int
	}{
		{"both", [][]byte{first, second}, 2},
		{"changed", [][]byte{changed}, 0},
		{"repeated", [][]byte{first, first}, 1},
		{"left out", [][]byte{second}, 0},
		{"torn", [][]byte{first, second[:len(second)-1]}, 1},
	} {
		a, b := net.Pipe()
		c := newConn(b)
		c.authenticate([]byte("key"), fromServer, fromRank)
		go func() {
			for _, f := range tt.frames {
				_, _ = a.Write(f)
			}
			_ = a.Close()
		}()
		taken := 0
		for {
			var m message
			if err := c.receive(&m, time.Second); err != nil {
				break
			}
			taken++
		}
		_, _ = a.Close(), b.Close()
		if taken != tt.taken {
			t.Errorf("%s: %d frames taken, want %d", tt.name, taken, tt.taken)
		}
	}
}

// Ranks that die are named to the others, and no wait is endless.
func TestLostRank(t *testing.T) {
	t.Parallel()
	all := joined(t, 4, nil)
	meeting := func(int) Meeting { return Meeting{Clock: shiftedClock(0), PlanSHA256: "p"} }
	if _, errs := meetAll(t.Context(), all, meeting); errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	_ = all[2].rank.c.nc.Close() // as when its process dies
	alive := []*Session{all[0], all[1], all[3]}
	_, errs := meetAll(t.Context(), alive, meeting)
	for i, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "rank 2 was lost during the run") {
			t.Errorf("session %d: %v", i, err)
		}
	}
	var closings [3]Closing
	var finishing sync.WaitGroup
	for i, s := range alive {
		finishing.Go(func() { closings[i] = s.Finish(t.Context(), shiftedClock(0)) })
	}
	finishing.Wait()
	for i, c := range closings {
		if !slices.Equal(c.Lost, []int{2}) {
			t.Errorf("session %d: lost %v", i, c.Lost)
		}
	}
}

// A rank that is silent, though its connection stays open, is lost after a while.
func TestSilentRank(t *testing.T) {
	t.Parallel()
	server, err := Join(t.Context(), Config{World: World{Size: 2}, Addr: "127.0.0.1:0", Silence: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	cfg := config(1, 2, server.Addr())
	cfg.Secret = ""
	cfg.Silence = time.Hour // it beats every six minutes
	rank, err := Join(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer rank.Close()
	meeting := func(int) Meeting { return Meeting{Clock: shiftedClock(0)} }
	if _, errs := meetAll(t.Context(), []*Session{server, rank}, meeting); errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	if _, err := server.Meet(t.Context(), meeting(0)); err == nil || !strings.Contains(err.Error(), "rank 1 was lost") {
		t.Errorf("%v", err)
	}
	if c := server.Finish(t.Context(), shiftedClock(0)); !slices.Equal(c.Lost, []int{1}) {
		t.Errorf("lost %v", c.Lost)
	}
}

// When rank 0 dies, the others learn it in their next meeting.
func TestRank0Dies(t *testing.T) {
	t.Parallel()
	all := joined(t, 3, nil)
	meeting := func(int) Meeting { return Meeting{Clock: shiftedClock(0)} }
	if _, errs := meetAll(t.Context(), all, meeting); errors.Join(errs...) != nil {
		t.Fatal(errs)
	}
	hub := all[0].hub
	hub.mu.Lock()
	for _, m := range hub.members {
		_ = m.c.nc.Close()
	}
	hub.mu.Unlock()
	for _, s := range all[1:] {
		var lost *LostError
		if _, err := s.Meet(t.Context(), meeting(1)); !errors.As(err, &lost) || !slices.Contains(lost.Ranks, 0) {
			t.Errorf("%v", err)
		}
		if c := s.Finish(t.Context(), shiftedClock(0)); !slices.Contains(c.Lost, 0) || c.Offset != nil {
			t.Errorf("closing %+v", c)
		}
	}
}

// A rank that came and does not get ready, and a rank 0 that does not: both end in time.
func TestUnreadyRanks(t *testing.T) {
	t.Parallel()
	all := joined(t, 2, func(c *Config) { c.Timeout = 200 * time.Millisecond })
	if _, err := all[0].Meet(t.Context(), Meeting{Clock: shiftedClock(0)}); err == nil || err.Error() != "rank 1 came to the barrier but prepared for longer than 200ms" {
		t.Errorf("rank 0: %v", err)
	}
	all = joined(t, 2, func(c *Config) { c.Timeout = 200 * time.Millisecond })
	if _, err := all[1].Meet(t.Context(), Meeting{Clock: shiftedClock(0)}); err == nil || !strings.HasPrefix(err.Error(), "rank 0 had not gathered all ranks") {
		t.Errorf("rank 1: %v", err)
	}
	cfg := config(1, 2, "127.0.0.1:1")
	cfg.Timeout = 100 * time.Millisecond
	if _, err := Join(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "rank 0 did not answer within 100ms") {
		t.Errorf("no rank 0: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Join(ctx, config(1, 2, "127.0.0.1:1")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// One rank ends the run of all; the first reason counts.
func TestEnd(t *testing.T) {
	t.Parallel()
	all := joined(t, 3, nil)
	all[1].End("SIGINT")
	for rank, s := range all {
		select {
		case <-s.Ended():
		case <-time.After(20 * time.Second):
			t.Fatalf("rank %d does not end", rank)
		}
		if by := s.EndedBy(); by == nil || *by != (EndedError{1, "SIGINT"}) {
			t.Errorf("rank %d: ended by %v", rank, by)
		}
		if _, err := s.Meet(t.Context(), Meeting{Clock: shiftedClock(0)}); err == nil || err.Error() != "rank 1 ended the run: SIGINT" {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	all[2].End("later")
	if by := all[2].EndedBy(); by.Rank != 1 {
		t.Errorf("a later reason counts: %v", by)
	}
}

// A clock that goes back in the only exchange before the time is over gives an error, no offset.
func TestCompareBackward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, peer := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, peer) }() // ends with a
		defer a.Close()
		r := &client{c: newConn(a), ending: newEnding(), gone: make(chan struct{}), times: make(chan exchange, 1)}
		r.times <- exchange{t0: 100, t1: 50, t2: 50, t3: 90}
		o, err := r.compare(t.Context(), fixedClock(100), r.ending.done)
		if o != nil || err == nil || err.Error() != "the clocks cannot be compared: a clock went back" {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

// A fixedClock always shows the same time.
type fixedClock uint64

func (c fixedClock) NowNS() uint64 { return uint64(c) }

func TestBestOffset(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		all  []exchange
		want *export.ClockOffset
	}{
		{"none", nil, nil},
		// Rank 0 is 1000 ahead; the ways take 10 and 30: off by half their difference.
		{"uneven ways", []exchange{{100, 1110, 1112, 142}}, &export.ClockOffset{OffsetNS: 990, BoundNS: 21, AtNS: 142, Exchanges: 1}},
		{"the shortest round trip counts", []exchange{{0, 1500, 1500, 900}, {1000, 2010, 2010, 1020}, {2000, 3100, 3100, 2300}}, &export.ClockOffset{OffsetNS: 1000, BoundNS: 11, AtNS: 1020, Exchanges: 3}},
		{"a clock that went back", []exchange{{100, 50, 50, 90}}, nil},
		{"answered before it was received", []exchange{{100, 60, 50, 110}}, nil},
		{"far apart", []exchange{{1 << 62, 5, 5, 1<<62 + 2}}, &export.ClockOffset{OffsetNS: 5 - 1<<62 - 1, BoundNS: 2, AtNS: 1<<62 + 2, Exchanges: 1}},
	} {
		got := bestOffset(tt.all)
		if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// Without a secret, anybody who reaches rank 0 could join: it is refused except on this machine.
func TestSecretIsNeeded(t *testing.T) {
	t.Parallel()
	for rank, addr := range []string{"0.0.0.0:0", "192.0.2.1:7788"} {
		cfg := config(rank, 2, addr)
		cfg.Secret = ""
		s, err := Join(t.Context(), cfg)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || err.Error() != "barrier "+addr+": needs a secret, because it is not a loopback address" {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// A reason is cut between characters.
func TestCutReason(t *testing.T) {
	t.Parallel()
	if got, want := cutReason(strings.Repeat("é", 300)), strings.Repeat("é", 256)+"…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := cutReason("x"+strings.Repeat("é", 300)), "x"+strings.Repeat("é", 255)+"…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRanksText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ranks []int
		want  string
	}{
		{nil, "no rank"},
		{[]int{3}, "rank 3"},
		{[]int{3, 1}, "ranks 1 and 3"},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more"},
	} {
		if got := ranks(tt.ranks); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.ranks, got, tt.want)
		}
	}
}

// For any bytes of a peer, before or after the handshake, its connection ends or the bytes are
// taken; nothing panics or hangs.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02{}"), false)
	f.Add([]byte("\x00\x00\x00\x0f{\"kind\":\"beat\"}"), true)
	f.Add([]byte("\xff\xff\xff\xff"), true)
	f.Fuzz(func(t *testing.T, b []byte, authenticated bool) {
		a, peer := net.Pipe()
		defer a.Close()
		go func() {
			_, _ = peer.Write(b)
			_ = peer.Close()
		}()
		c := newConn(a)
		if authenticated {
			c.authenticate([]byte("key"), fromServer, fromRank)
		}
		for range len(b) + 1 {
			var m message
			if c.receive(&m, 5*time.Second) != nil {
				return
			}
			if authenticated {
				t.Fatalf("an unsigned frame was taken: %+v", m)
			}
		}
		t.Fatal("more frames than bytes")
	})
}

// FuzzStranger sends bytes to a barrier instead of a join.
func FuzzStranger(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte(fmt.Sprintf("\x00\x00\x00\x40%-64s", `{"version":"pa-barrier/1","rank":1,"size":2}`)))
	h := &hub{cfg: config(0, 2, ""), members: map[int]*member{}, joining: map[int]bool{}, came: map[int]bool{}, ending: newEnding(), changed: make(chan struct{})}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, peer := net.Pipe()
		defer a.Close()
		go func() {
			go func() { _, _ = io.Copy(io.Discard, peer) }()
			_, _ = peer.Write(b)
			_ = peer.Close()
		}()
		if m, _ := h.handshake(&handshake{nc: a}, handshakeTimeout); m != nil {
			t.Fatalf("a stranger is a member: %+v", m)
		}
	})
}

// signedFrames sends each line of texts in a frame with a correct MAC, as a peer does that
// knows the secret. It reads what comes back, and closes the connection at the end.
func signedFrames(peer net.Conn, texts []byte, direction byte) {
	go func() { _, _ = io.Copy(io.Discard, peer) }() // ends with the connection
	for n, text := range bytes.Split(texts, []byte("\n")) {
		text = text[:min(len(text), maxFrameBytes)]
		b := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
		b = append(b, text...)
		if _, err := peer.Write(append(b, frameMAC([]byte("key"), direction, uint64(n), text)...)); err != nil {
			break
		}
	}
	_ = peer.Close()
}

// For any frames of a peer that knows the secret, such as another release of pa-record, the session
// goes on or ends. Nothing panics or hangs, and the memory for its texts is bounded.
func FuzzSigned(f *testing.F) {
	f.Add([]byte(`{"kind":"ready","seq":1,"plan":"p","next_id":7}`+"\n"+`{"kind":"time","t0":5}`+"\n"+`{"kind":"measured","seq":1,"bound_ns":-9}`), true)
	f.Add([]byte(`{"kind":"measure","seq":1}`+"\n"+`{"kind":"time","t0":1,"t1":18446744073709551615,"t2":0}`+"\n"+`{"kind":"go","seq":1,"at_ns":1}`), false)
	f.Add([]byte(`{"kind":"end","rank":-1,"reason":"`+strings.Repeat("\\u0001", 600)+`"}`), true)
	f.Add([]byte(`{"kind":"lost","rank":99}`+"\n"+`{"kind":"end","reason":"x"}`+"\n"+`{"kind":"end","reason":"y"}`), false)
	f.Add([]byte(`{"kind":"finish"}`+"\n"+`{"kind":"bye"}`+"\n"+`{"kind":"beat"}`), true)
	f.Fuzz(func(t *testing.T, texts []byte, toServer bool) {
		a, peer := net.Pipe()
		defer a.Close()
		c := newConn(a)
		cfg := config(0, 2, "").withDefaults()
		by, done := newEnding(), make(chan struct{})
		if toServer {
			h := &hub{cfg: cfg, ending: by, endSent: make(chan struct{}), members: map[int]*member{}, came: map[int]bool{}, changed: make(chan struct{}), clock: shiftedClock(0), begun: true}
			c.authenticate([]byte("key"), fromServer, fromRank)
			m := &member{rank: 1, c: c}
			h.members[1] = m
			go signedFrames(peer, texts, fromRank)
			go func() {
				defer close(done)
				h.receive(m)
				_ = a.Close() // as serve does
				h.drop(m)
				if len(h.members) != 0 || len(h.gone)+len(h.left) != 1 {
					t.Errorf("%d members, lost %v, left %v after the connection", len(h.members), h.gone, h.left)
				}
			}()
		} else {
			r := &client{cfg: cfg, c: c, ending: by, gone: make(chan struct{}), measure: make(chan message, 1), proceed: make(chan message, 1), times: make(chan exchange, 1), clock: shiftedClock(0)}
			c.authenticate([]byte("key"), fromRank, fromServer)
			go signedFrames(peer, texts, fromServer)
			go func() {
				defer close(done)
				r.receive()
				_ = ranks(r.lostRanks())
			}()
		}
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("it hangs")
		}
		if err := by.get(); err != nil {
			if len(err.Reason) > maxReasonBytes+len("…") {
				t.Errorf("a reason of %d bytes", len(err.Reason))
			}
			if err := newConn(discard{}).send(endOf(err)); err != nil {
				t.Errorf("the end cannot be passed on: %v", err)
			}
		}
	})
}

// discard is a connection that takes everything.
type discard struct{ net.Conn }

func (discard) Write(b []byte) (int, error)      { return len(b), nil }
func (discard) SetWriteDeadline(time.Time) error { return nil }
