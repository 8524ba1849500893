package ranks

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A hub is the barrier at rank 0.
type hub struct {
	cfg      Config
	id       string
	listener net.Listener
	ending   ending
	endSent  chan struct{} // closed when the end was sent to all
	closed   chan struct{}
	running  sync.WaitGroup

	mu        sync.Mutex // guards the fields below
	changed   chan struct{}
	members   map[int]*member
	came      map[int]bool // ranks that have been members
	joining   map[int]bool // ranks whose handshake is about to succeed
	left      []int        // ranks that left since the first meeting
	gone      []int        // ranks that were lost since the first meeting
	begun     bool         // the first meeting is over
	pending   handshakes
	strangers strangerCount
	clock     Clock
	seq       int // meetings
	runs      int // finished by rank 0
}

// A member is a connected rank.
type member struct {
	rank     int
	c        *conn
	ready    message // the last one; Seq 0: none
	measured message
	finished int // runs
	leaving  bool
}

// listen begins to serve the barrier.
func listen(ctx context.Context, cfg Config) (*hub, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cfg.Addr)
	if notOurs(err) && !loopback(cfg.Addr) {
		_, port, splitErr := net.SplitHostPort(cfg.Addr)
		if splitErr != nil {
			return nil, fmt.Errorf("barrier %s: %w", cfg.Addr, splitErr)
		}
		l, err = lc.Listen(ctx, "tcp", ":"+port)
	}
	if err != nil {
		return nil, fmt.Errorf("barrier %s: %w", cfg.Addr, err)
	}
	h := &hub{cfg: cfg, id: newNonce()[:32], listener: l, ending: newEnding(), endSent: make(chan struct{}), closed: make(chan struct{}), changed: make(chan struct{}), members: map[int]*member{}, joining: map[int]bool{}, came: map[int]bool{}, pending: newHandshakes(cfg.World.Size)}
	h.running.Go(h.accept)
	h.running.Go(h.beat)
	return h, nil
}

// notOurs reports whether an address cannot be listened on because its host is unknown
// or another machine's.
func notOurs(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

// loopback reports whether the host of addr is a loopback address.
func loopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// accept accepts connections until the listener is closed.
func (h *hub) accept() {
	for {
		nc, err := h.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select {
			case <-h.closed:
				return
			case <-time.After(10 * time.Millisecond): // no file was left, say
				continue
			}
		}
		shake := &handshake{nc: nc, source: sourceOf(nc.RemoteAddr())}
		if patience, ok := h.admit(shake); ok {
			h.running.Go(func() { h.serve(shake, patience) })
		} else {
			_ = nc.Close()
		}
	}
}

// admit gives a connection a slot for its handshake and returns how long the handshake may
// take. It closes the connection whose slot it needs, not before that one has had
// leastPatience: until then it waits. ok is false if the hub closed meanwhile.
func (h *hub) admit(shake *handshake) (patience time.Duration, ok bool) {
	for {
		now := time.Now()
		patience = handshakeTimeout
		var closing []*handshake
		var wait time.Duration
		h.mu.Lock()
		if h.pending.crowded(shake.source) {
			patience = crowdedTimeout
			closing = h.pending.tooOld(now)
			for _, old := range closing {
				h.pending.remove(old)
			}
		}
		victim := h.pending.victim(shake.source)
		if victim != nil {
			wait = leastPatience - now.Sub(victim.since)
			if wait <= 0 {
				closing = append(closing, victim)
				h.pending.remove(victim)
			}
		}
		if wait <= 0 {
			shake.since = now
			h.pending.add(shake)
		}
		h.mu.Unlock()
		for _, old := range closing { // serve counts them
			_ = old.nc.Close()
		}
		if wait <= 0 {
			return patience, true
		}
		select {
		case <-h.closed:
			return 0, false
		case <-time.After(wait):
		}
	}
}

// serve is the goroutine of a connection.
func (h *hub) serve(shake *handshake, patience time.Duration) {
	nc := shake.nc
	defer nc.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // ends with stop
		select {
		case <-h.closed:
			_ = nc.Close()
		case <-stop:
		}
	}()
	m, err := h.handshake(shake, patience)
	if m == nil {
		h.mu.Lock()
		h.pending.remove(shake)
		h.strangers.add(shake.source)
		h.mu.Unlock()
	}
	if err != nil || m == nil {
		return
	}
	h.receive(m)
	h.drop(m)
}

// errSlotLost ends a handshake whose slot another connection got.
var errSlotLost = errors.New("too many connections; connect again")

// handshake makes a connection a member; nil if it does not prove that it is a rank of
// this world.
func (h *hub) handshake(shake *handshake, patience time.Duration) (*member, error) {
	c, ours := newConn(shake.nc), newNonce()
	if err := c.send(hello{version, ours, h.refused()}); err != nil {
		return nil, err
	}
	var j join
	// A deadline for the whole, however slowly the bytes come.
	if err := c.receive(&j, patience); err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) (*member, error) {
		reason := fmt.Sprintf(format, args...)
		_ = c.send(welcome{Refused: reason})
		return nil, errors.New(reason)
	}
	size := h.cfg.World.Size
	if j.Version != version {
		return refuse("rank 0 speaks %s; use the same pa-record everywhere", version)
	}
	want := proof(h.cfg.Secret, "join", ours, j.Nonce, fmt.Sprint(j.Rank), fmt.Sprint(j.Size))
	if !hmac.Equal([]byte(j.MAC), []byte(want)) {
		return refuse("the secret is wrong; set the same PA_RECORD_BARRIER_SECRET everywhere")
	}
	h.mu.Lock()
	inTime := h.pending.remove(shake) // from here on the connection keeps its place
	h.mu.Unlock()
	if !inTime {
		return nil, errSlotLost
	}
	if j.Size != size || j.Rank < 1 || j.Rank >= size {
		return refuse("rank %d of %d does not belong to a world of %d ranks", j.Rank, j.Size, size)
	}
	m := &member{rank: j.Rank, c: c}
	h.mu.Lock()
	twice := h.members[j.Rank] != nil || h.joining[j.Rank]
	late := h.begun
	if !twice && !late {
		h.joining[j.Rank] = true
	}
	h.mu.Unlock()
	switch {
	case twice:
		return refuse("rank %d is here already; each process needs a rank of its own", j.Rank)
	case late:
		return refuse("the run has begun without rank %d", j.Rank)
	}
	err := c.send(welcome{Session: h.id, MAC: proof(h.cfg.Secret, "welcome", j.Nonce, ours, h.id)})
	c.authenticate(derive(h.cfg.Secret, "session", ours, j.Nonce), fromServer, fromRank)
	by := h.ending.get()
	if by != nil && err == nil { // it came too late for the broadcast
		err = c.send(endOf(by))
	}
	h.mu.Lock()
	delete(h.joining, j.Rank)
	if err == nil {
		h.members[j.Rank] = m // from here on others send to it
	}
	h.mu.Unlock()
	if err != nil {
		return m, err
	}
	if now := h.ending.get(); by == nil && now != nil { // it ended meanwhile
		_ = c.send(endOf(now)) // receive notices a dead connection
	}
	h.mu.Lock()
	h.came[j.Rank] = true // and learns of the end, if there is one
	h.mu.Unlock()
	h.wake()
	return m, nil
}

// refused returns how many connections did not prove that they are ranks.
func (h *hub) refused() Strangers {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.strangers.with(nil)
}

// unproven is refused together with the connections that are in the handshake.
func (h *hub) unproven() Strangers {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.strangers.with(h.pending.all)
}

// wake wakes the goroutines that wait for a change.
func (h *hub) wake() {
	h.mu.Lock()
	close(h.changed)
	h.changed = make(chan struct{})
	h.mu.Unlock()
}

// receive handles the messages of a rank until its connection ends.
func (h *hub) receive(m *member) {
	for {
		var got message
		if err := m.c.receive(&got, h.cfg.Silence); err != nil {
			return
		}
		switch got.Kind {
		case kindTime:
			h.answerTime(m, got)
			continue
		case kindEnd:
			h.end(&EndedError{m.rank, cutReason(got.Reason)})
		case kindReady, kindMeasured, kindFinish, kindBye:
			h.mu.Lock()
			switch got.Kind {
			case kindReady:
				m.ready = got
			case kindMeasured:
				m.measured = got
			case kindFinish:
				m.finished++
			case kindBye:
				m.leaving = true
			}
			h.mu.Unlock()
			h.wake()
			if got.Kind == kindBye {
				return
			}
		}
	}
}

// answerTime answers an exchange.
func (h *hub) answerTime(m *member, got message) {
	h.mu.Lock()
	clock := h.clock
	h.mu.Unlock()
	if clock == nil {
		return
	}
	got.T1 = clock.NowNS()
	got.T2 = got.T1 // the answer leaves at once
	_ = m.c.send(got)
}

// drop notes that a rank's connection has ended. If the rank is lost, it tells the others first: who learns from a
// later message that the run has ended knows which rank was lost.
func (h *hub) drop(m *member) {
	_ = m.c.nc.Close() // a broadcast does not wait for it
	for told := false; ; told = true {
		h.mu.Lock()
		lost := h.begun && !m.leaving
		if lost && !told {
			h.mu.Unlock()
			h.broadcast(message{Kind: kindLost, Rank: m.rank})
			continue
		}
		if h.members[m.rank] == m {
			delete(h.members, m.rank)
		}
		switch {
		case lost:
			h.gone = append(h.gone, m.rank)
		case h.begun:
			h.left = append(h.left, m.rank)
		}
		h.mu.Unlock()
		h.wake()
		return
	}
}

// beat tells the ranks that rank 0 is alive.
func (h *hub) beat() {
	t := time.NewTicker(h.cfg.Silence / 10)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			h.broadcast(message{Kind: kindBeat, Strangers: h.refused()})
		case <-h.closed:
			return
		}
	}
}

// broadcast sends m to all ranks. A rank that does not take it will be lost.
func (h *hub) broadcast(m message) {
	h.mu.Lock()
	var all []*member
	for _, to := range h.members {
		all = append(all, to)
	}
	h.mu.Unlock()
	var sending sync.WaitGroup
	for _, to := range all {
		sending.Go(func() {
			if to.c.send(m) != nil {
				_ = to.c.nc.Close()
			}
		})
	}
	sending.Wait()
}

// end ends the run of all ranks.
func (h *hub) end(err *EndedError) {
	if h.ending.set(err) {
		h.broadcast(endOf(err))
		close(h.endSent)
		h.wake()
	}
}

// endOf returns the message that the run has ended.
func endOf(by *EndedError) message {
	return message{Kind: kindEnd, Rank: by.Rank, Reason: by.Reason}
}

// finish is Session.Finish of rank 0.
func (h *hub) finish(ctx context.Context) (lost []int) {
	h.mu.Lock()
	h.runs++
	runs := h.runs
	h.mu.Unlock()
	done := func() bool {
		for _, m := range h.members {
			if m.finished < runs && !m.leaving {
				return false
			}
		}
		return true
	}
	for {
		h.mu.Lock()
		ok, changed := done(), h.changed
		lost = slices.Clone(h.gone)
		h.mu.Unlock()
		if ok {
			return lost
		}
		select { // not the end of the run: the ranks finish after it, too
		case <-changed:
		case <-ctx.Done():
			return lost
		case <-h.closed:
			return lost
		}
	}
}

// linger is how long rank 0 stays to tell ranks that come late that the run has ended.
const linger = 3 * time.Second

// tellLatecomers waits for ranks that have not come yet to a run that ended before it
// began, and tells each rank that comes.
func (h *hub) tellLatecomers() {
	ctx, cancel := context.WithTimeout(context.Background(), min(linger, h.cfg.Timeout))
	defer cancel()
	for h.ending.get() != nil {
		<-h.endSent // sending is bounded by writeTimeout
		h.mu.Lock()
		all, changed := h.begun || len(h.came) == h.cfg.World.Size-1, h.changed
		h.mu.Unlock()
		if all {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// close stops serving the barrier. It lets the ranks close first, for up to byeTimeout: a
// socket that is closed with unread data resets the connection, and the last messages to
// a rank, such as the end of the run, may be lost.
func (h *hub) close() error {
	h.tellLatecomers()
	err := h.listener.Close()
	h.mu.Lock()
	for _, m := range h.members {
		if nc, ok := m.c.nc.(*net.TCPConn); ok {
			_ = nc.CloseWrite()
		}
	}
	h.mu.Unlock()
	timeout := time.NewTimer(byeTimeout)
	defer timeout.Stop()
	for {
		h.mu.Lock()
		left, changed := len(h.members), h.changed
		h.mu.Unlock()
		if left == 0 {
			break
		}
		select {
		case <-changed:
			continue
		case <-timeout.C:
		}
		break
	}
	close(h.closed)
	h.running.Wait()
	return err
}
