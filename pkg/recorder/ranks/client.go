package ranks

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// dialEvery is the pause between attempts to connect to rank 0.
const dialEvery = 200 * time.Millisecond

// byeTimeout bounds how long a rank that leaves waits for rank 0.
const byeTimeout = 2 * time.Second

// A client is the barrier at the other ranks.
type client struct {
	cfg     Config
	id      string
	c       *conn
	ending  ending
	gone    chan struct{} // closed: rank 0 is
	closing chan struct{}
	running sync.WaitGroup

	seq   int
	begun bool // the first meeting is over

	// Each has room for one message; the server sends the next one after an answer only.
	measure, proceed chan message
	times            chan exchange

	mu        sync.Mutex // guards the fields below
	clock     Clock
	lost      []int
	strangers Strangers // the last count of rank 0
}

// connect connects to rank 0 for up to Config.Timeout.
func connect(ctx context.Context, cfg Config) (*client, error) {
	deadline := time.Now().Add(cfg.Timeout)
	dialing, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var strangers Strangers // that rank 0 reported last
	for {
		r, err := connectOnce(dialing, cfg, &strangers)
		var refused *RefusedError
		switch {
		case err == nil:
			return r, nil
		case errors.As(err, &refused):
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case time.Until(deadline) < dialEvery:
			return nil, fmt.Errorf("barrier %s: rank 0 did not answer within %v: %w%s", cfg.Addr, cfg.Timeout, err, strangers.behind())
		}
		select {
		case <-time.After(dialEvery):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// connectOnce connects to rank 0 and proves that this is a rank. It stores in strangers
// how many strangers rank 0 reported.
func connectOnce(ctx context.Context, cfg Config, strangers *Strangers) (*client, error) {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	r := &client{
		cfg: cfg, c: newConn(nc), ending: newEnding(), gone: make(chan struct{}), closing: make(chan struct{}),
		measure: make(chan message, 1), proceed: make(chan message, 1), times: make(chan exchange, 1),
	}
	err = r.handshake()
	if r.strangers.Connections > 0 {
		*strangers = r.strangers
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	if !stop() {
		return nil, context.Cause(ctx)
	}
	r.running.Go(r.receive)
	r.running.Go(r.beat)
	return r, nil
}

func (r *client) handshake() error {
	refused := func(reason string) error { return &RefusedError{r.cfg.Addr, reason} }
	w, secret := r.cfg.World, r.cfg.Secret
	var h hello
	if err := r.c.receive(&h, handshakeTimeout); err != nil {
		return err
	}
	if h.Version != version {
		return refused(fmt.Sprintf("rank 0 speaks %.40q, this rank %s; use the same pa-record everywhere", h.Version, version))
	}
	r.strangers = h.Strangers
	ours := newNonce()
	j := join{Version: version, Rank: w.Rank, Size: w.Size, Nonce: ours}
	j.MAC = proof(secret, "join", h.Nonce, ours, fmt.Sprint(w.Rank), fmt.Sprint(w.Size))
	if err := r.c.send(j); err != nil {
		return err
	}
	var got welcome
	if err := r.c.receive(&got, handshakeTimeout); err != nil {
		return err
	}
	switch {
	case got.Refused != "":
		return refused(cutReason(got.Refused))
	case !hmac.Equal([]byte(got.MAC), []byte(proof(secret, "welcome", ours, h.Nonce, got.Session))):
		return refused("the process there does not know the secret")
	}
	r.id = got.Session
	r.c.authenticate(derive(secret, "session", h.Nonce, ours), fromRank, fromServer)
	return nil
}

// receive handles the messages of rank 0 until the connection ends.
func (r *client) receive() {
	defer close(r.gone)
	defer r.c.nc.Close()
	for {
		var got message
		if err := r.c.receive(&got, r.cfg.Silence); err != nil {
			return
		}
		switch got.Kind {
		case kindTime:
			r.mu.Lock()
			clock := r.clock
			r.mu.Unlock()
			if clock != nil {
				offer(r.times, exchange{got.T0, got.T1, got.T2, clock.NowNS()})
			}
		case kindMeasure:
			offer(r.measure, got)
		case kindGo:
			offer(r.proceed, got)
		case kindEnd:
			r.ending.set(&EndedError{got.Rank, cutReason(got.Reason)})
		case kindBeat:
			r.mu.Lock()
			r.strangers = got.Strangers
			r.mu.Unlock()
		case kindLost:
			r.mu.Lock()
			r.lost = append(r.lost, got.Rank)
			r.mu.Unlock()
		}
	}
}

// offer puts v into c and replaces what nobody took.
func offer[T any](c chan T, v T) {
	for {
		select {
		case c <- v:
			return
		default:
		}
		select {
		case <-c:
		default:
		}
	}
}

// beat tells rank 0 that this rank is alive.
func (r *client) beat() {
	t := time.NewTicker(r.cfg.Silence / 10)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			_ = r.c.send(message{Kind: kindBeat}) // receive notices a dead connection
		case <-r.gone:
			return
		case <-r.closing:
			return
		}
	}
}

// await waits for a message of meeting seq.
func (r *client) await(ctx context.Context, from <-chan message, timeout <-chan time.Time) (message, error) {
	for {
		select {
		case m := <-from:
			if m.Seq == r.seq {
				return m, nil
			}
		case <-r.ending.done:
			return message{}, r.ending.get()
		case <-r.gone:
			// The reason of the end may have come just before.
			if by := r.ending.get(); by != nil {
				return message{}, by
			}
			return message{}, &LostError{r.lostRanks()}
		case <-timeout:
			return message{}, &MissingError{[]int{0}, fmt.Sprintf("had not gathered all ranks after %v%s", r.cfg.Timeout, r.reported().behind())}
		case <-ctx.Done():
			return message{}, context.Cause(ctx)
		}
	}
}

// meet is Session.Meet.
func (r *client) meet(ctx context.Context, m Meeting) (Begin, error) {
	r.mu.Lock()
	r.clock = m.Clock
	r.mu.Unlock()
	r.seq++
	var timeout <-chan time.Time
	if !r.begun {
		// Rank 0 gives up after the same time, from when it is ready, and names the missing ranks.
		t := time.NewTimer(2 * r.cfg.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	if err := r.c.send(message{Kind: kindReady, Seq: r.seq, Plan: m.PlanSHA256, Parts: partsText(m.Parts), NextID: m.NextID}); err != nil {
		_ = r.c.nc.Close() // await returns the reason
	}
	if _, err := r.await(ctx, r.measure, timeout); err != nil {
		return Begin{}, err
	}
	offset, err := r.compare(ctx, m.Clock, r.ending.done)
	if err != nil {
		return Begin{}, err
	}
	if err := r.c.send(message{Kind: kindMeasured, Seq: r.seq, BoundNS: offset.BoundNS}); err != nil {
		_ = r.c.nc.Close()
	}
	proceed, err := r.await(ctx, r.proceed, nil)
	if err != nil {
		return Begin{}, err
	}
	r.begun = true
	b := Begin{NextID: proceed.NextID, Offset: offset}
	if m.Start {
		b.AtNS, b.LocalNS = proceed.AtNS, proceed.AtNS-uint64(offset.OffsetNS)
	}
	return b, nil
}

// compare compares the clock with the clock of rank 0, unless ended is closed.
func (r *client) compare(ctx context.Context, clock Clock, ended <-chan struct{}) (*export.ClockOffset, error) {
	var all []exchange
	timeout := time.NewTimer(compareTimeout / 2)
	defer timeout.Stop()
exchanging:
	for range exchanges {
		t0 := clock.NowNS()
		if err := r.c.send(message{Kind: kindTime, T0: t0}); err != nil {
			_ = r.c.nc.Close()
		}
	answer:
		for {
			select {
			case e := <-r.times:
				if e.t0 != t0 { // of an exchange that was given up
					continue
				}
				all = append(all, e)
				break answer
			case <-ended:
				return nil, r.ending.get()
			case <-r.gone:
				return nil, &LostError{r.lostRanks()}
			case <-timeout.C:
				if len(all) > 0 {
					break exchanging // the exchanges so far must do
				}
				return nil, &MissingError{[]int{0}, fmt.Sprintf("did not answer about its clock within %v", compareTimeout/2)}
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
	best := bestOffset(all)
	if best == nil {
		return nil, errors.New("the clocks cannot be compared: a clock went back")
	}
	return best, nil
}

// reported returns the strangers that rank 0 reported last.
func (r *client) reported() Strangers {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.strangers
}

// lostRanks returns the ranks that are lost, as far as this rank knows.
func (r *client) lostRanks() []int {
	r.mu.Lock()
	lost := slices.Clone(r.lost)
	r.mu.Unlock()
	select {
	case <-r.gone:
		lost = append(lost, 0)
	default:
	}
	return lost
}

// end asks rank 0 to end the run of all.
func (r *client) end(err *EndedError) {
	if r.ending.set(err) {
		_ = r.c.send(message{Kind: kindEnd, Rank: err.Rank, Reason: err.Reason}) // rank 0 may be gone
	}
}

// finish is Session.Finish.
func (r *client) finish(ctx context.Context, clock Clock) Closing {
	r.mu.Lock()
	r.clock = clock
	r.mu.Unlock()
	offset, _ := r.compare(ctx, clock, nil) // nil: rank 0 is gone, or the run must end at once
	lost := r.lostRanks()                   // before rank 0 may close
	_ = r.c.send(message{Kind: kindFinish})
	return Closing{Offset: offset, Lost: lost}
}

// close leaves the barrier.
func (r *client) close() error {
	close(r.closing)
	if r.c.send(message{Kind: kindBye}) == nil {
		// A socket that is closed with unread data resets the connection, and the message
		// may be lost: rank 0 closes first.
		select {
		case <-r.gone:
		case <-time.After(byeTimeout):
		}
	}
	_ = r.c.nc.Close()
	r.running.Wait()
	return nil
}
