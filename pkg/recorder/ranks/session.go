package ranks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// Defaults of Config.
const (
	DefaultTimeout = 5 * time.Minute
	defaultSilence = 20 * time.Second
)

// Config says which rank this is and where the barrier is.
type Config struct {
	World World
	// Addr is host:port of rank 0. Rank 0 listens there, or on all its addresses if the
	// host is not one of its own (yet), as in a pod behind a service.
	Addr string
	// Secret is shared by all ranks. It may be empty on a loopback address only.
	Secret string
	// Timeout bounds how long a rank waits for the others before the first meeting; 0
	// means DefaultTimeout.
	Timeout time.Duration
	// Silence is how long a rank may be silent before it counts as lost; 0 means 20 s.
	// A living rank sends something every tenth of it.
	Silence time.Duration
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Silence == 0 {
		c.Silence = defaultSilence
	}
	return c
}

// A Meeting is one call of Meet.
type Meeting struct {
	// Clock is the rank's clock. Begin.LocalNS is on it, and Meet compares it with the
	// clock of rank 0.
	Clock Clock
	// PlanSHA256 must be the same in all ranks; see export.ShardMeta.
	PlanSHA256 string
	// Parts are the parts of the plan by name. The error of ranks with different plans names
	// the parts that differ; nil names none.
	Parts map[string]string
	// NextID is the rank's next free request ID.
	NextID uint64
	// Start asks for an instant at which all ranks begin.
	Start bool
}

// Begin is the outcome of a meeting.
type Begin struct {
	// AtNS is the instant at which all ranks begin, on the clock of rank 0. LocalNS is the
	// same instant on the clock of this rank. Both are 0 if no start was asked for.
	AtNS, LocalNS uint64
	// NextID is the largest of the ranks' next free request IDs.
	NextID uint64
	// Offset compares the rank's clock with the clock of rank 0; nil for rank 0.
	Offset *export.ClockOffset
}

// A Closing is the outcome of a run.
type Closing struct {
	// Offset compares the clocks after the run; nil for rank 0, and if rank 0 is gone.
	Offset *export.ClockOffset
	// Lost are the ranks that were lost during the run, as far as this rank knows.
	Lost []int
}

// A Session is a rank's part in the barrier. Meet, Finish and Close are called by one
// goroutine; the other methods are safe for concurrent use. Use Join.
type Session struct {
	cfg  Config
	hub  *hub    // of rank 0
	rank *client // of the others
}

// Join takes part in the barrier: rank 0 begins to serve it, and the other ranks connect
// to it, for up to Config.Timeout. The error of a rank that rank 0 refuses is a
// *RefusedError. Without a secret, an address that is not of the loopback is an error.
func Join(ctx context.Context, cfg Config) (*Session, error) {
	cfg = cfg.withDefaults()
	if cfg.Secret == "" && !loopback(cfg.Addr) {
		return nil, fmt.Errorf("barrier %s: needs a secret, because it is not a loopback address", cfg.Addr)
	}
	s := &Session{cfg: cfg}
	var err error
	if cfg.World.Rank == 0 {
		s.hub, err = listen(ctx, cfg)
	} else {
		s.rank, err = connect(ctx, cfg)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ID returns the name of the session, which is the same in all ranks and, for all
// practical purposes, in no other session.
func (s *Session) ID() string {
	if s.hub != nil {
		return s.hub.id
	}
	return s.rank.id
}

// Addr returns the address at which rank 0 serves the barrier.
func (s *Session) Addr() string {
	if s.hub != nil {
		return s.hub.listener.Addr().String()
	}
	return s.cfg.Addr
}

// Strangers returns how many connections rank 0 has refused or dropped because they did
// not prove that they are ranks of this world. Other ranks return the last count that rank 0 has
// sent.
func (s *Session) Strangers() Strangers {
	if s.hub == nil {
		return s.rank.reported()
	}
	return s.hub.refused()
}

// Meet waits until all ranks meet. All ranks must call it in the same order and ask for a
// start in the same meetings.
//
// The first meeting waits at most Config.Timeout for ranks that have not come. After that
// rank 0 gets a *MissingError, and the other ranks get an *EndedError with its text.
// Later meetings wait as long as all ranks live. The error is an *EndedError if a rank
// ended the run, a *LostError if rank 0 is gone, or the error of ctx. A lost rank
// ends the run.
func (s *Session) Meet(ctx context.Context, m Meeting) (Begin, error) {
	if s.hub != nil {
		return s.hub.meet(ctx, m)
	}
	return s.rank.meet(ctx, m)
}

// End ends the run of all ranks because of reason. Only the first reason counts.
func (s *Session) End(reason string) {
	reason = cutReason(reason)
	if s.hub != nil {
		s.hub.end(&EndedError{s.cfg.World.Rank, reason})
		return
	}
	s.rank.end(&EndedError{s.cfg.World.Rank, reason})
}

// Ended returns a channel that is closed when a rank has ended the run.
func (s *Session) Ended() <-chan struct{} {
	if s.hub != nil {
		return s.hub.ending.done
	}
	return s.rank.ending.done
}

// EndedBy returns who ended the run; nil if nobody has.
func (s *Session) EndedBy() *EndedError {
	if s.hub != nil {
		return s.hub.ending.get()
	}
	return s.rank.ending.get()
}

// Finish reports that this rank has finished a run, and compares the clocks once more.
// Rank 0 waits until all living ranks have finished, or ctx is done.
func (s *Session) Finish(ctx context.Context, clock Clock) Closing {
	if s.hub != nil {
		return Closing{Lost: s.hub.finish(ctx)}
	}
	return s.rank.finish(ctx, clock)
}

// Close leaves the barrier; call it once. Ranks that still need rank 0 count it as lost when it
// closes.
func (s *Session) Close() error {
	if s.hub != nil {
		return s.hub.close()
	}
	return s.rank.close()
}

// An ending keeps the first reason why the run ended.
type ending struct {
	done chan struct{}
	by   chan *EndedError // holds the reason, and is a lock; nil: none yet
}

func newEnding() ending {
	e := ending{done: make(chan struct{}), by: make(chan *EndedError, 1)}
	e.by <- nil
	return e
}

// set stores why the run ends; false if it has ended before.
func (e *ending) set(err *EndedError) bool {
	by := <-e.by
	if by != nil {
		e.by <- by
		return false
	}
	e.by <- err
	close(e.done)
	return true
}

func (e *ending) get() *EndedError {
	by := <-e.by
	e.by <- by
	return by
}

// errClosed ends the goroutines of a session that was closed.
var errClosed = errors.New("the barrier is closed")
