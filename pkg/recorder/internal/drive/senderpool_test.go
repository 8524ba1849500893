package drive

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// An openingBackend opens senders that do nothing, and notes when.
type openingBackend struct {
	backend.Backend // nil: only Open is called
	takes           time.Duration
	fails           int // slot that cannot be opened; 0: none

	mu     sync.Mutex
	begun  []time.Time
	now    int // being opened
	atOnce int // the most at a time
}

func (b *openingBackend) Open(ctx context.Context, slot int, clock *rxclock.Clock) (backend.Sender, error) {
	b.mu.Lock()
	b.begun = append(b.begun, time.Now())
	b.now++
	b.atOnce = max(b.atOnce, b.now)
	b.mu.Unlock()
	select {
	case <-time.After(b.takes):
	case <-ctx.Done():
	}
	b.mu.Lock()
	b.now--
	b.mu.Unlock()
	if slot == b.fails && slot > 0 {
		return nil, errors.New("refused")
	}
	return idleSender{}, ctx.Err()
}

type idleSender struct{}

func (idleSender) Send(context.Context, backend.Payload, *backend.Exchange) {}
func (idleSender) Close() error                                             { return nil }

// Senders are opened at most at the rate, evenly, and at most 32 at a time.
func TestOpenIsPaced(t *testing.T) {
	for _, tt := range []struct {
		name         string
		perSecond    float64
		takes        time.Duration
		slots        int
		least, most  time.Duration // in which all are opened
		atOnce, gaps int           // at a time; gaps of less than a millisecond
	}{
		{"no rate", 0, 10 * time.Millisecond, 320, 100 * time.Millisecond, 100 * time.Millisecond, 32, 310},
		{"quick", 1000, 0, 500, 499 * time.Millisecond, 499 * time.Millisecond, 1, 0},
		{"slower than the pace", 1000, 20 * time.Millisecond, 500, 519 * time.Millisecond, 519 * time.Millisecond, 21, 0},
		// (One may begin at the instant at which another one ends.) 32 at a time are waited for; those behind them are not hurried afterwards.
		{"a second each", 1000, time.Second, 64, 2031 * time.Millisecond, 2063 * time.Millisecond, 32, 0},
		{"one", 1000, time.Second, 1, time.Second, time.Second, 1, 0},
		{"none", 1000, time.Second, 0, 0, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &openingBackend{takes: tt.takes}
				p := NewSenderPool(b, rxclock.New(), tt.perSecond)
				begin := time.Now()
				if err := p.Open(t.Context(), tt.slots); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took < tt.least || took > tt.most {
					t.Errorf("opened in %v, want %v to %v", took, tt.least, tt.most)
				}
				gaps := 0
				slices.SortFunc(b.begun, time.Time.Compare)
				for i := 1; i < len(b.begun); i++ {
					if b.begun[i].Sub(b.begun[i-1]) < time.Millisecond {
						gaps++
					}
				}
				if len(b.begun) != tt.slots || b.atOnce > tt.atOnce || gaps > 0 && tt.gaps == 0 || gaps < tt.gaps {
					t.Errorf("%d opened, %d at a time, %d less than a millisecond apart; want %d, %d, %d", len(b.begun), b.atOnce, gaps, tt.slots, tt.atOnce, tt.gaps)
				}
				// A later level waits only for the senders that it adds.
				begin = time.Now()
				if err := p.Open(t.Context(), tt.slots); err != nil || time.Since(begin) > 0 {
					t.Errorf("opened again in %v: %v", time.Since(begin), err)
				}
			})
		})
	}
}

// When a process goes on after a stop of 50 ms, Open opens at most catchUp senders and the next
// sender at once, not all senders whose turn has passed. The process stops again and again.
func TestOpenAfterStandstills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const standstill = 50 * time.Millisecond
		b := &openingBackend{}
		p := NewSenderPool(b, rxclock.New(), 1000)
		begin := time.Now()
		p.wait = func(until time.Time, _ <-chan struct{}) bool {
			if late := time.Until(until); late > 0 {
				time.Sleep(time.Until(begin.Add(time.Since(begin.Add(-late)).Truncate(standstill) + standstill)))
			}
			return true
		}
		if err := p.Open(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
		atOnce := map[time.Duration]int{}
		for _, at := range b.begun {
			atOnce[at.Sub(begin)]++
		}
		for at, n := range atOnce {
			if n > catchUp+1 {
				t.Errorf("%d opened at %v, want at most %d", n, at, catchUp+1)
			}
		}
		if len(b.begun) != 100 || len(atOnce) < 20 {
			t.Errorf("%d opened at %d times, want 100 at 20 or more", len(b.begun), len(atOnce))
		}
	})
}

// A sender that cannot be opened, or the end of the run, ends the wait for the rest.
func TestOpenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := NewSenderPool(&openingBackend{fails: 7}, rxclock.New(), 10).Open(t.Context(), 1000); err == nil || err.Error() != "slot 7: refused" {
			t.Errorf("%v, want the error of slot 7", err)
		}
		// Any of the first maxOpening slots may take its turn before slot 7.
		if took := time.Since(begin); took > maxOpening*time.Second/10 {
			t.Errorf("it ended after %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		begin = time.Now()
		if err := NewSenderPool(&openingBackend{}, rxclock.New(), 1).Open(ctx, 1000); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the end of the context", err)
		}
		if took := time.Since(begin); took != 50*time.Millisecond {
			t.Errorf("it ended after %v", took)
		}
	})
}
